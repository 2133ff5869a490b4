# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Binds a record class to a message definition: which wire field carries which value.

The result is a :class:`Structure`: the message's fields in wire order with nested messages
inlined, and two functions between a record and the flat values of its bound fields.
"""

from __future__ import annotations

import keyword
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Annotated, Any, Final, NamedTuple, get_args, get_origin, get_type_hints

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.messages.definitions import PRIMITIVES, SCALAR, SEQUENCE, Field

Lookup = Callable[[str], tuple[Field, ...]]
MAX_FIXED_ARRAY = 4096
_TIME: Final = "builtin_interfaces/msg/Time"
_NS_PER_S: Final = 1_000_000_000

BUFFER: Final = "buffer"
"""Marks a record field, as in ``Annotated[tuple[float, ...], BUFFER]``: its numbers are read as a
``memoryview`` of the message, not as Python objects, and written from any sequence or buffer."""

SINCE_START: Final = "since start"
"""Marks a record field, as in ``Annotated[int, SINCE_START]``: a time in nanoseconds, which counts
from the start of the run in the record, and as ROS does in the message. Each
``builtin_interfaces/Time`` is one."""


class Scalar(NamedTuple):
    """A primitive on the wire; unbound ones are sent as zero and ignored when read."""

    code: str
    bound: bool


class Text(NamedTuple):
    """A string on the wire; unbound ones carry a constant, looked up by their ``path``."""

    path: str
    bound: bool
    limit: int = 0


class Repeated(NamedTuple):
    """Structures one after the other; unbound ones are sent empty and skipped when read.

    ``length`` is that of a fixed array, or ``SEQUENCE``, of at most ``limit`` elements (0: any).
    """

    element: Structure
    bound: bool
    length: int = SEQUENCE
    limit: int = 0


class Block(NamedTuple):
    """Primitives one after the other, which the record holds as a buffer; always bound."""

    code: str
    length: int = SEQUENCE
    limit: int = 0

    @property
    def bound(self) -> bool:
        """Whether a record field is bound to it."""
        return True


def record_name(field_name: str) -> str:
    """The name that a field of a message has in a record."""
    return f"{field_name}_" if keyword.iskeyword(field_name) else field_name


def field_name(record_name: str) -> str:
    """The field of a message that a record calls so."""
    name = record_name.removesuffix("_")
    return name if keyword.iskeyword(name) else record_name


Item = Scalar | Text | Repeated | Block


@dataclass
class Structure:
    """A message as the codec walks it.

    ``flatten`` turns a record into the values of the bound items in wire order, ``build``
    does the reverse. ``flat``: the record itself already is that tuple.
    """

    items: list[Item] = field(default_factory=list)
    flatten: Callable[[Any], Sequence[Any]] = tuple
    build: Callable[[Sequence[Any]], Any] = tuple
    flat: bool = True


class _Scope(NamedTuple):
    """The record whose fields are being bound: ``mapping`` is message path -> record field."""

    record: type
    mapping: Mapping[str, str]
    hints: Mapping[str, Any]
    strict: bool


def bind(
    type_name: str,
    record: type,
    lookup: Lookup,
    *,
    paths: Mapping[str, str] | None = None,
    skip: int = 0,
    start_ns: int = 0,
    at_start: bool = False,
) -> Structure:
    """Bind a NamedTuple class to a message type.

    :param lookup: full type name -> its fields
    :param paths: record field -> dotted path in the message; message fields that no record
        field is mapped to are sent as zero. Without it every field must have its namesake
        (``class_`` is that of ``class``, a word of Python).
    :param skip: so many leading fields of the message are left to the caller
    :param start_ns: the start of the run is 0 in a record, and this time in a message [ns]
    :param at_start: whether the message is sent at the start. In a later one a
        ``builtin_interfaces/Time`` of 0 is a stamp that was not set, and stays 0
    :raises ConfigurationError: record and message do not fit
    """
    return _Binder(type_name, lookup, start_ns, at_start).structure(type_name, record, paths, skip)


class _Binder:
    def __init__(self, type_name: str, lookup: Lookup, start_ns: int, at_start: bool) -> None:
        self._root = type_name
        self._lookup = lookup
        self.start_ns = start_ns
        self._at_start = at_start

    def structure(
        self, type_name: str, record: type, paths: Mapping[str, str] | None = None, skip: int = 0
    ) -> Structure:
        names = _record_fields(record, self._root)
        mapping = {path: n for n, path in (paths or {n: field_name(n) for n in names}).items()}
        if sorted(mapping.values()) != sorted(names):
            self.fail(f"the mapping names {sorted(mapping.values())}, {record} has {names}")
        hints = get_type_hints(record, include_extras=True)
        scope = _Scope(record, mapping, hints, strict=paths is None)
        walk = _Walk(self, scope)
        walk.message(self._lookup(type_name)[skip:], "")
        missing = [path for path in mapping if mapping[path] not in walk.getters]
        if missing:
            self.fail(f"{record.__name__} has {missing}, the message {type_name} has not")
        return walk.finish(names)

    def sub_structure(self, wire: Field, hint: Any, path: str) -> Structure:
        """The element of an array, or a nested message, bound to the type ``hint``."""
        if wire.type in PRIMITIVES:
            return Structure([Scalar(PRIMITIVES[wire.type], True)])
        if wire.type == "string":
            return Structure([Text(path, True, wire.text_limit)])
        inner = self.structure(wire.type, hint)
        if wire.type == _TIME and self.start_ns:
            return _moved(inner, self.start_ns, self._at_start)
        return inner

    def unbound(self, wire: Field, path: str) -> list[Item]:
        """Items of a field that no record field is bound to."""
        if wire.length == SEQUENCE:
            element = Structure(self.unbound(wire._replace(length=SCALAR), path))
            return [Repeated(element, False)]
        if wire.type in PRIMITIVES:
            once: list[Item] = [Scalar(PRIMITIVES[wire.type], False)]
        elif wire.type == "string":
            once = [Text(path, False)]
        else:
            fields = self._lookup(wire.type)
            once = [item for f in fields for item in self.unbound(f, f"{path}.{f.name}")]
        if wire.length > MAX_FIXED_ARRAY:
            self.fail(f"{path}: fixed array of {wire.length}, at most {MAX_FIXED_ARRAY}")
        return once * (wire.length or 1)

    def fields(self, type_name: str) -> tuple[Field, ...]:
        return self._lookup(type_name)

    def fail(self, text: str) -> None:
        raise ConfigurationError(f"message type {self._root}: {text}")


class _Walk:
    """Collects the items of one structure and how each record field is reached."""

    def __init__(self, binder: _Binder, scope: _Scope) -> None:
        self._binder = binder
        self._scope = scope
        self._items: list[Item] = []
        self._readers: list[tuple[str, Callable[[Any], Sequence[Any]] | None]] = []
        self.getters: dict[str, Callable[[Sequence[Any]], Any] | int] = {}
        self._width = 0

    def message(self, fields: Sequence[Field], prefix: str) -> None:
        for wire in fields:
            path = prefix + wire.name
            name = self._scope.mapping.get(path)
            if name is not None:
                self._bound(wire, path, name)
            elif self._scope.strict:
                self._binder.fail(f"{self._scope.record.__name__} has no field {path!r}")
            elif wire.length == SCALAR and "/" in wire.type:
                self.message(self._binder.fields(wire.type), path + ".")
            else:
                self._items.extend(self._binder.unbound(wire, path))

    def _bound(self, wire: Field, path: str, name: str) -> None:
        hint = self._scope.hints[name]
        if get_origin(hint) is Annotated:
            if BUFFER in get_args(hint) and wire.type in PRIMITIVES and wire.length != SCALAR:
                block = Block(PRIMITIVES[wire.type], wire.length, wire.limit)
                self._place(name, [block], None, None)
                return
            start = self._binder.start_ns
            if SINCE_START in get_args(hint) and start:
                number = Scalar(PRIMITIVES[wire.type], True)
                self._place(name, [number], lambda v: (v + start,), lambda v: v[0] - start)
                return
            hint = get_args(hint)[0]
        if wire.length != SCALAR:
            if get_origin(hint) is not tuple or not get_args(hint):
                self._binder.fail(f"{path} is an array, its record field must be a tuple[...]")
            hint = get_args(hint)[0]
        inner = self._binder.sub_structure(wire, hint, path)
        if wire.length == SEQUENCE:
            self._place(name, [Repeated(inner, True, limit=wire.limit)], None, None)
        elif wire.length != SCALAR:
            if wire.type not in PRIMITIVES:
                self._place(name, [Repeated(inner, True, wire.length)], None, None)
            else:
                self._place(name, inner.items * wire.length, _exactly(wire.length, path), tuple)
        elif "/" in wire.type:
            self._place(name, inner.items, inner.flatten, inner.build)
        else:
            self._place(name, inner.items, None, None)

    def _place(
        self,
        name: str,
        items: list[Item],
        read: Callable[[Any], Sequence[Any]] | None,
        make: Callable[[Sequence[Any]], Any] | None,
    ) -> None:
        start = self._width
        bound = sum(item.bound for item in items)
        self._items.extend(items)
        self._width = stop = start + bound
        self._readers.append((name, read))
        if make is None:
            self.getters[name] = start
        else:
            builder = make
            self.getters[name] = lambda values: builder(values[start:stop])

    def finish(self, names: tuple[str, ...]) -> Structure:
        record = self._scope.record
        plain = [self.getters[name] for name in names]
        if plain == list(range(self._width)):

            def build_flat(values: Sequence[Any]) -> Any:
                return tuple.__new__(record, values)

            return Structure(self._items, tuple, build_flat, True)
        readers = [(names.index(name), read) for name, read in self._readers]
        takers = [itemgetter(get) if isinstance(get, int) else get for get in plain]

        def flatten(value: Any) -> Sequence[Any]:
            out: list[Any] = []
            for index, read in readers:
                if read is None:
                    out.append(value[index])
                else:
                    out.extend(read(value[index]))
            return out

        def build(values: Sequence[Any]) -> Any:
            return tuple.__new__(record, [take(values) for take in takers])

        return Structure(self._items, flatten, build, False)


def _moved(time: Structure, start_ns: int, at_start: bool) -> Structure:
    """A time that counts from the start in the record, and as ROS does in the message.

    For ROS a time of 0 is not set.
    """

    def flatten(value: Any) -> Sequence[Any]:
        since_ns = value[0] * _NS_PER_S + value[1]
        return divmod(since_ns + start_ns if since_ns or at_start else 0, _NS_PER_S)

    def build(values: Sequence[Any]) -> Any:
        shown_ns = values[0] * _NS_PER_S + values[1]
        return time.build(divmod(shown_ns - start_ns if shown_ns else 0, _NS_PER_S))

    return Structure(time.items, flatten, build, False)


def _record_fields(record: Any, root: str) -> tuple[str, ...]:
    if not (isinstance(record, type) and issubclass(record, tuple) and hasattr(record, "_fields")):
        raise ConfigurationError(f"message type {root}: {record!r} is not a NamedTuple class")
    names: tuple[str, ...] = record._fields
    return names


def _exactly(count: int, path: str) -> Callable[[Any], Sequence[Any]]:
    def check(value: Any) -> Sequence[Any]:
        if len(value) != count:
            raise TypeError(f"{path} takes exactly {count} values, got {len(value)}")
        values: Sequence[Any] = value
        return values

    return check
