# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The state of an object as plain data, for models whose state is their attributes.

A model declares which classes its state consists of, and which are the same in every run of its
scenario. Saving anything else raises an error. The saved state is a tree of
numbers, texts, bytes and lists: reading one that comes from a stranger runs no code and makes no
objects but those of declared classes.

State goes into an object that has been made in the same way: lists, mappings and declared parts
are changed in place, so that references to them stay valid.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Iterable
from enum import Enum
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.model import Traits
from ros2_cosim.core.kernel.random_streams import RandomStream

_PLAIN = (type(None), bool, int, float, str, bytes)
#: No state of a model is nested deeper; a document of a stranger may be.
_DEEPEST = 60


def _name(kind: type) -> str:
    return f"{kind.__module__}:{kind.__qualname__}"


#: Class -> attributes that it and its bases name themselves.
_NAMES: dict[type, tuple[str, ...]] = {}


def _declared_attributes(kind: type) -> tuple[str, ...]:
    """The attributes that the classes of an object name themselves: slots, and compiled ones."""
    known = _NAMES.get(kind)
    if known is not None:
        return known
    names: dict[str, None] = {}
    for base in reversed(kind.__mro__):
        for table in ("__mypyc_attrs__", "__slots__"):
            found = vars(base).get(table, ())
            names.update(dict.fromkeys((found,) if isinstance(found, str) else found))
    declared = tuple(name for name in names if name not in ("__dict__", "__weakref__"))
    return _NAMES.setdefault(kind, declared)


def _attributes(owner: Any) -> dict[str, Any]:
    """All attributes of an object that have a value."""
    found: dict[str, Any] = {}
    for name in _declared_attributes(type(owner)):
        try:
            found[name] = object.__getattribute__(owner, name)
        except AttributeError:
            continue
    try:
        found.update(vars(owner))
    except TypeError:  # it has slots alone
        pass
    return found


def _has_default(kind: type, name: str) -> bool:
    """Whether a class gives an attribute a plain value, as long as the object has none."""
    return any(name in vars(base) and type(vars(base)[name]) in _PLAIN for base in kind.__mro__)


class SavedAttributes:
    """What the state of a model consists of.

    :param parts: classes of objects with their own state, which is saved with the model's
    :param values: classes of objects that never change, and whose constructor takes all of their
        attributes by name
    :param constants: classes of objects that are the same in every run of a scenario
        (subclasses too). So are functions, and what a model declares of itself
    :param plain: whether objects of any class that is written in Python alone are parts, and arrays
        are values, of code that declares nothing. It then refuses values that hide a state: a
        callable object, a function with variables of another one
    """

    def __init__(
        self,
        *,
        parts: Iterable[type] = (),
        values: Iterable[type] = (),
        constants: Iterable[type] = (),
        plain: bool = False,
    ) -> None:
        self._plain = plain
        self._parts = {_name(kind): kind for kind in parts}
        self._values = {_name(kind): kind for kind in values}
        self._constants = (Traits, type, *constants)

    def save(self, owner: object) -> Any:
        """The state of an object as plain data.

        :raises ConfigurationError: it has an attribute of a class that is not declared
        """
        writer = _Writer(self._parts, self._values, self._constants, owner if self._plain else None)
        return writer.attributes(owner, type(owner).__name__)

    def restore(self, owner: object, state: Any) -> None:
        """Go back to a state; ``owner`` was made in the same way as the object of the state.

        :raises ConfigurationError: it is not a state of such an object
        """
        reader = _Reader(self._parts, self._values, owner if self._plain else None)
        try:
            reader.attributes(owner, state, 0)
        except ConfigurationError:
            raise
        except (TypeError, ValueError, KeyError, IndexError, AttributeError) as error:
            raise ConfigurationError(
                f"state of a {type(owner).__name__}: {type(error).__name__}: {error}"
            ) from None


class _Writer:
    """Turns one object into plain data; what occurs twice is written once."""

    def __init__(
        self,
        parts: dict[str, type],
        values: dict[str, type],
        constants: tuple[type, ...],
        plain_owner: object | None,
    ) -> None:
        self._plain = plain_owner is not None
        self._owner = plain_owner
        self._parts = parts
        self._values = values
        self._constants = constants
        #: Identity of what may change -> its number. The objects are kept, so that identities stay.
        self._numbers: dict[int, int] = {}
        self._kept: list[Any] = []

    def attributes(self, owner: object, where: str) -> dict[str, Any]:
        found = {}
        for name, value in _attributes(owner).items():
            if not self._is_constant(value):
                found[name] = self.value(value, f"{where}.{name}")
        return found

    def _is_constant(self, value: Any) -> bool:
        if self._plain:
            if isinstance(value, FunctionType):
                return value.__closure__ is None
            if isinstance(value, MethodType):
                return value.__self__ is self._owner
            return isinstance(value, (*self._constants, BuiltinFunctionType, ModuleType))
        return _name(type(value)) not in self._parts and (
            isinstance(value, self._constants) or callable(value)
        )

    # Long, for it is a table: a line or two for each kind of value, and their order matters.
    def value(self, value: Any, where: str) -> Any:
        kind = type(value)
        if kind in _PLAIN:
            return value
        if issubclass(kind, tuple):
            items = [self.value(item, where) for item in value]
            return ["t", *items] if kind is tuple else ["r", _known_name(kind, where), *items]
        if issubclass(kind, Enum):
            return ["e", _known_name(kind, where), value.name]
        if kind in (set, frozenset):
            # In its own order: that of a set depends on the run of the interpreter.
            items = sorted((self.value(item, where) for item in value), key=repr)
            return ["s" if kind is set else "f", *items]
        number = self._numbers.get(id(value))
        if number is not None:
            return ["=", number]
        if kind is RandomStream:
            return ["x", self._number(value), *value.save_state()]
        if kind in (list, deque):
            mark = "l" if kind is list else "q"
            number = self._number(value)
            return [mark, number, *[self.value(item, where) for item in value]]
        if kind is dict:
            number = self._number(value)
            pairs = [[self.value(k, where), self.value(v, where)] for k, v in value.items()]
            return ["d", number, *pairs]
        if _name(kind) in self._parts:
            number = self._number(value)
            return ["p", number, _name(kind), self.attributes(value, f"{where}({kind.__name__})")]
        if _name(kind) in self._values:
            return ["v", _name(kind), self.attributes(value, f"{where}({kind.__name__})")]
        if self._is_constant(value):
            return ["c"]
        if not self._plain:
            raise ConfigurationError(
                f"{where}: found a {_name(kind)}, which is declared neither as a part of the state "
                "nor as a constant"
            )
        if kind.__module__ == "numpy" and _is_array(value):
            return ["n", kind.__name__ == "ndarray", value.dtype.str, list(value.shape),
                    value.tobytes()]  # fmt: skip
        if _is_plain_class(kind):
            number = self._number(value)
            return ["o", number, _known_name(kind, where),
                    self.attributes(value, f"{where}({kind.__name__})")]  # fmt: skip
        raise ConfigurationError(
            f"{where}: found a {_name(kind)}, which cannot be saved; allowed are numbers, texts, "
            "bytes, lists, mappings, sets, arrays, random streams and objects of these"
        )

    def _number(self, value: Any) -> int:
        number = self._numbers[id(value)] = len(self._kept)
        self._kept.append(value)
        return number


class _Reader:
    """Puts plain data into an object."""

    def __init__(
        self, parts: dict[str, type], values: dict[str, type], plain_owner: object | None
    ) -> None:
        self._plain = plain_owner is not None
        self._parts = parts
        self._values = values
        self._known: dict[int, Any] = {}

    def attributes(self, owner: Any, state: Any, depth: int) -> None:
        if not isinstance(state, dict):
            raise ConfigurationError(f"state of a {type(owner).__name__}: found no mapping")
        present = _attributes(owner)
        allowed = {*present, *_declared_attributes(type(owner))}
        for name, saved in state.items():
            known = name in allowed or _has_default(type(owner), name)
            if not known and not (self._plain and isinstance(name, str)):
                raise ConfigurationError(
                    f"state of a {type(owner).__name__}: found '{name}', which it does not have"
                )
            value = self.value(saved, present.get(name), depth + 1)
            if name not in present or value is not present[name]:
                # Of a class that declares nothing no code runs: an attribute is what it had.
                (object.__setattr__ if self._plain else setattr)(owner, name, value)

    def value(self, saved: Any, present: Any, depth: int) -> Any:
        """A value; ``present`` is what is in its place, which is changed where that is possible."""
        if type(saved) in _PLAIN:
            return saved
        if depth > _DEEPEST or type(saved) is not list or not saved:
            raise ConfigurationError("state of a model: found what is not a saved value")
        mark = saved[0]
        read = self._READERS.get(mark) if isinstance(mark, str) else None
        if read is None:
            raise ConfigurationError(f"state of a model: found the kind {mark!r}")
        return read(self, saved[1:], present, depth + 1)

    def _constant(self, items: list[Any], present: Any, depth: int) -> Any:
        if present is None:
            raise ConfigurationError("state of a model: a constant is not where it was")
        return present

    def _tuple(self, items: list[Any], present: Any, depth: int) -> Any:
        former = present if type(present) is tuple and len(present) == len(items) else None
        return tuple(
            self.value(item, None if former is None else former[i], depth)
            for i, item in enumerate(items)
        )

    def _record(self, items: list[Any], present: Any, depth: int) -> Any:
        name, *fields = items
        kind = _loaded(name)
        names: tuple[str, ...] | None = vars(kind).get("_fields")
        if not issubclass(kind, tuple) or names is None or len(names) != len(fields):
            raise ConfigurationError(f"state of a model: {name} is not a record with these fields")
        former = present if type(present) is kind else (None,) * len(fields)
        values = (self.value(f, p, depth) for f, p in zip(fields, former, strict=True))
        # Not by its own constructor: data run no code.
        return tuple.__new__(kind, values)

    def _enum(self, items: list[Any], present: Any, depth: int) -> Any:
        name, member = items
        kind = _loaded(name)
        if not issubclass(kind, Enum):
            raise ConfigurationError(f"state of a model: {name} is not an enumeration")
        return kind[member]

    def _set(self, items: list[Any], present: Any, depth: int) -> Any:
        values = {self.value(item, None, depth) for item in items}
        if type(present) is set:
            present.clear()
            present.update(values)
            return present
        return values

    def _frozenset(self, items: list[Any], present: Any, depth: int) -> Any:
        return frozenset(self.value(item, None, depth) for item in items)

    def _same(self, items: list[Any], present: Any, depth: int) -> Any:
        return self._known[items[0]]

    def _list(self, items: list[Any], present: Any, depth: int) -> Any:
        return self._sequence(items, present if type(present) is list else [], depth)

    def _deque(self, items: list[Any], present: Any, depth: int) -> Any:
        return self._sequence(items, present if type(present) is deque else deque(), depth)

    def _sequence(self, items: list[Any], target: Any, depth: int) -> Any:
        number, *saved = items
        self._known[number] = target
        former = list(target)
        target.clear()
        for i, item in enumerate(saved):
            target.append(self.value(item, former[i] if i < len(former) else None, depth))
        return target

    def _mapping(self, items: list[Any], present: Any, depth: int) -> Any:
        number, *pairs = items
        target = present if type(present) is dict else {}
        self._known[number] = target
        former = dict(target)
        target.clear()
        for key_, saved in pairs:
            key = self.value(key_, None, depth)
            target[key] = self.value(saved, former.get(key), depth)
        return target

    def _stream(self, items: list[Any], present: Any, depth: int) -> Any:
        number, *state = items
        stream = present
        if type(stream) is not RandomStream:
            stream = RandomStream(0, "", "")
        self._known[number] = stream
        stream.restore_state(state)
        return stream

    def _part(self, items: list[Any], present: Any, depth: int) -> Any:
        number, name, state = items
        kind: Any = self._parts.get(name)
        if kind is None:
            raise ConfigurationError(f"state of a model: found a {name}, which is not part of it")
        # Made while the run went on: all that it has is in its state.
        target = present if type(present) is kind else kind.__new__(kind)
        self._known[number] = target
        self.attributes(target, state, depth)
        return target

    def _fixed(self, items: list[Any], present: Any, depth: int) -> Any:
        name, state = items
        kind: Any = self._values.get(name)
        if kind is None:
            raise ConfigurationError(f"state of a model: found a {name}, which is not part of it")
        return kind(**{key: self.value(saved, None, depth) for key, saved in state.items()})

    def _object(self, items: list[Any], present: Any, depth: int) -> Any:
        number, name, state = items
        kind = _loaded(name)
        if not self._plain or not _is_plain_class(kind):
            raise ConfigurationError(f"state of a model: found a {name}, which is not part of it")
        target = present if type(present) is kind else object.__new__(kind)
        self._known[number] = target
        self.attributes(target, state, depth)
        return target

    def _array(self, items: list[Any], present: Any, depth: int) -> Any:
        is_array, dtype, shape, data = items
        numpy = sys.modules.get("numpy")
        if not self._plain or numpy is None:
            raise ConfigurationError("state of a model: found an array, which is not part of it")
        found = numpy.frombuffer(data, dtype).reshape(shape)
        return found.copy() if is_array else found[()]

    _READERS: dict[str, Callable[[_Reader, list[Any], Any, int], Any]] = {
        "c": _constant,
        "t": _tuple,
        "r": _record,
        "e": _enum,
        "s": _set,
        "f": _frozenset,
        "=": _same,
        "l": _list,
        "q": _deque,
        "d": _mapping,
        "x": _stream,
        "p": _part,
        "v": _fixed,
        "o": _object,
        "n": _array,
    }


def _is_array(value: Any) -> bool:
    """Whether this is an array of numpy, or a number of it, of plain numbers."""
    numpy = sys.modules["numpy"]
    return isinstance(value, (numpy.ndarray, numpy.generic)) and not value.dtype.hasobject


def _is_plain_class(kind: type) -> bool:
    """Whether all that an object of a class has is its attributes: it is written in Python."""
    made: Any = kind.__new__
    return made is object.__new__ and "__call__" not in dir(kind)


def _known_name(kind: type, where: str) -> str:
    """The name by which a class is found again."""
    name = _name(kind)
    try:
        found = _loaded(name)
    except ConfigurationError:
        found = object
    if found is not kind:
        raise ConfigurationError(f"{where}: found a {name}, which cannot be found by that name")
    return name


def _loaded(name: Any) -> type:
    """A class of a module that has been loaded already; a name imports no module."""
    module, _, path = name.partition(":")
    found: Any = sys.modules.get(module)
    for part in path.split("."):
        found = None if found is None else vars(found).get(part)
    if not isinstance(found, type):
        raise ConfigurationError(f"state of a model: found {name!r}, which is not a known class")
    return found
