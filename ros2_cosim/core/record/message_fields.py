# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The fields of any ROS message, by their paths: which of them differ between two messages.

A *place* is one value in a message, such as ``objects[0].distance``; a *field* is what all
elements of an array have in common, such as ``objects[].distance``. The number of elements of a
sequence is the field ``objects.size()``. Messages are decoded by ``rosbags`` from the definition
that their bag carries: whole, with everything that a record of the catalogue leaves out.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np
from rosbags.typesys import Stores, get_types_from_msg, get_typestore

from ros2_cosim.core.documents.one_line import one_line
from ros2_cosim.core.kernel.errors import ConfigurationError, ProtocolError
from ros2_cosim.core.kernel.guesses import did_you_mean
from ros2_cosim.core.messages.definitions import SCALAR, SEQUENCE, Field, read_field
from ros2_cosim.core.record.bag import describe_types
from ros2_cosim.core.record.bag_reader import TopicType

#: So much of a text is shown: both begin shortly before they differ.
TEXT_SHOWN = 120
_BEFORE = 20

SIZE = "size()"
_TEXTS = ("string", "wstring")

Value = bool | int | float | str


class PathStep(NamedTuple):
    """One step of a path: a name, and the number of an element where it is an array's."""

    name: str
    element: int | None = None


Path = tuple[PathStep, ...]


class FieldDifference(NamedTuple):
    """What differs between two messages in one field.

    :ivar field: path without the numbers of elements
    :ivar place: the first value of the field that differs, ``a`` and ``b`` its values
    :ivar largest: largest absolute difference of all its values, None if they are not numbers, or
        not finite
    :ivar largest_place: where that is
    :ivar scale: largest magnitude of the values that differ
    """

    field: str
    place: str
    a: Value
    b: Value
    largest: float | None
    largest_place: str
    scale: float


class FieldRule(NamedTuple):
    """How much values may differ below a path; an infinite allowance ignores them."""

    path: Path
    allowance: float


class Leaf(NamedTuple):
    """A field of a type; ``steps`` are its names, each with whether it is an array."""

    steps: tuple[tuple[str, bool], ...]
    is_number: bool

    @property
    def field(self) -> str:
        """Its path, such as ``objects[].distance``."""
        return ".".join(name + "[]" * is_array for name, is_array in self.steps)


class MessageFields:
    """Decodes the messages of one type and compares them, value by value.

    :ivar leaves: the fields of the type
    :ivar type_hash: RIHS01 hash, equal for equal definitions
    :raises ConfigurationError: the type has no definition in the bag, and is not known here, or
        its definition is not understood
    """

    def __init__(self, described: TopicType) -> None:
        self.type_name = described.type_name
        text = described.definition or describe_types([self.type_name])[self.type_name].text
        self._store = get_typestore(Stores.EMPTY)
        try:
            types = get_types_from_msg(text, self.type_name)
            self._store.register({n: t for n, t in types.items() if n not in self._store.types})
            self.leaves = tuple(self._leaves(self.type_name, ()))
            self.type_hash = self._store.hash_rihs01(self.type_name)
        except Exception as error:  # what the library raises has no common class
            raise ConfigurationError(
                f"message type {self.type_name}: its definition is not understood: "
                f"{one_line(repr(error))}"
            ) from None
        self._plans: dict[str, tuple[_PlannedField, ...]] = {}

    def decode(self, data: bytes) -> Any:
        """A message as an object of the library.

        :raises ProtocolError: the bytes are not such a message
        """
        try:
            return self._store.deserialize_cdr(data, self.type_name)
        except Exception as error:  # as above
            raise ProtocolError(
                f"{self.type_name}: not such a message: {one_line(repr(error))}"
            ) from None

    def differences(
        self, a: Any, b: Any, rules: Sequence[FieldRule] = ()
    ) -> dict[str, FieldDifference]:
        """What differs between two decoded messages, by field, in the order of the definition.

        Floats are the same if their bits are, or if neither is a number; a zero has a sign.
        """
        found: dict[str, FieldDifference] = {}
        for difference in self._compare(self.type_name, a, b, (), rules):
            former = found.get(difference.field)
            found[difference.field] = difference if former is None else _joined(former, difference)
        return found

    def reader(self, place: str) -> Callable[[Any], float]:
        """A function that takes the number at a place out of a decoded message.

        It gives NaN where a message has no such element.
        """
        path = parse_path(place)
        is_size = path[-1].name == SIZE
        steps = [(attrgetter(name), element) for name, element in path[: len(path) - is_size]]

        def read(message: Any) -> float:
            for get, element in steps:
                message = get(message)
                if element is not None:
                    if element >= len(message):
                        return math.nan
                    message = message[element]
            return float(len(message) if is_size else message)

        return read

    def _leaves(self, type_name: str, above: tuple[tuple[str, bool], ...]) -> Iterator[Leaf]:
        for name, kind, length, *_ in self.fields_of(type_name):
            if length == SEQUENCE:
                yield Leaf((*above, (name, False), (SIZE, False)), True)
            path = (*above, (name, length != SCALAR))
            if "/" in kind:
                yield from self._leaves(kind, path)
            else:
                yield Leaf(path, kind not in (*_TEXTS, "bool"))

    def fields_of(self, type_name: str) -> list[Field]:
        """The fields of the type, or of a type that it is built of."""
        return [read_field(*field) for field in self._store.fielddefs[type_name][1]]

    def _plan(self, type_name: str) -> tuple[_PlannedField, ...]:
        plan = self._plans.get(type_name)
        if plan is None:
            plan = tuple(self._planned(field) for field in self.fields_of(type_name))
            self._plans[type_name] = plan
        return plan

    def _planned(self, field: Field) -> _PlannedField:
        one = self._structures(field.type) if "/" in field.type else _compare_scalars
        if field.length == SCALAR:
            compare = one
        elif "/" in field.type or field.type in _TEXTS:
            compare = _elementwise(one)
        else:
            compare = _compare_arrays
        return _PlannedField(field.name, attrgetter(field.name), compare)

    def _structures(self, type_name: str) -> _Compare:
        def compare(
            a: Any, b: Any, path: Path, rules: Sequence[FieldRule]
        ) -> Iterator[FieldDifference]:
            return self._compare(type_name, a, b, path, rules)

        return compare

    def _compare(
        self, type_name: str, a: Any, b: Any, path: Path, rules: Sequence[FieldRule]
    ) -> Iterator[FieldDifference]:
        for name, get, compare in self._plan(type_name):
            yield from compare(get(a), get(b), (*path, PathStep(name)), rules)


_Compare = Callable[[Any, Any, Path, Sequence[FieldRule]], Iterator[FieldDifference]]


class _PlannedField(NamedTuple):
    name: str
    get: Callable[[Any], Any]
    compare: _Compare


def parse_path(text: str) -> Path:
    """Read a path; ``objects[].distance`` and ``objects.distance`` are the same.

    :raises ValueError: the text is not a path
    """
    steps = []
    for part in text.split("."):
        found = re.fullmatch(r"([A-Za-z]\w*|size\(\))(?:\[(\d*)\])?", part, re.ASCII)
        if found is None:
            raise ValueError(part)
        steps.append(PathStep(found[1], int(found[2]) if found[2] else None))
    return tuple(steps)


def show_path(path: Path) -> str:
    """The text of the place that a path leads to."""
    return ".".join(n if i is None else f"{n}[{i}]" for n, i in path)


def below(leaves: Iterable[Leaf], path: Path) -> list[Leaf]:
    """The fields at or below a path."""
    return [
        leaf
        for leaf in leaves
        if len(leaf.steps) >= len(path)
        and all(
            step.name == name and (step.element is None or is_array)
            for step, (name, is_array) in zip(path, leaf.steps, strict=False)
        )
    ]


def field_meant(leaves: Iterable[Leaf], text: str) -> str:
    """For a message: the field, or part of one, that a wrong text may mean; see did_you_mean."""
    known = {
        ".".join(name for name, _ in leaf.steps[:length])
        for leaf in leaves
        for length in range(1, len(leaf.steps) + 1)
    }
    return did_you_mean(re.sub(r"\[\d*\]", "", text), sorted(known))


def _allowance(path: Path, rules: Sequence[FieldRule]) -> float:
    """How much a value may differ: the rule for the most precise path counts."""
    best: tuple[int, ...] = ()
    allowance = 0.0
    for rule in rules:
        if len(rule.path) <= len(path) and all(
            wanted.name == found.name
            and (wanted.element is None or wanted.element == found.element)
            for wanted, found in zip(rule.path, path, strict=False)
        ):
            if math.isinf(rule.allowance):
                return math.inf
            precision = (len(rule.path), sum(step.element is not None for step in rule.path))
            if precision >= best:
                best, allowance = precision, rule.allowance
    return allowance


def _compare_scalars(
    a: Any, b: Any, path: Path, rules: Sequence[FieldRule]
) -> Iterator[FieldDifference]:
    if a == b and (a or type(a) is not float or math.copysign(1.0, a) == math.copysign(1.0, b)):
        return
    if a != a and b != b:
        return
    allowed = _allowance(path, rules)
    if math.isinf(allowed):
        return
    place = show_path(path)
    if isinstance(a, str):
        shown = _excerpts(a, b)
        yield FieldDifference(field_of(place), place, *shown, None, place, 0.0)
        return
    distance = None if isinstance(a, bool) else float(abs(a - b))
    if distance is not None and allowed and distance <= allowed:
        return
    scale = float(max(abs(a), abs(b)))
    if distance is None or not math.isfinite(distance):
        distance = None
        scale = 0.0
    yield FieldDifference(field_of(place), place, a, b, distance, place, scale)


def _compare_arrays(
    a: Any, b: Any, path: Path, rules: Sequence[FieldRule]
) -> Iterator[FieldDifference]:
    """Compare arrays of numbers, element by element."""
    yield from _compare_sizes(a, b, path, rules)
    size = min(len(a), len(b))
    a, b = a[:size], b[:size]
    differ = a != b
    is_float = a.dtype.kind == "f"
    if is_float:
        differ &= ~(np.isnan(a) & np.isnan(b))
        differ |= (a == b) & (np.signbit(a) != np.signbit(b))
    if not differ.any():
        return
    head, (name, _) = path[:-1], path[-1]
    where = np.flatnonzero(differ)
    with np.errstate(invalid="ignore"):
        # Whole numbers of 64 bits have more digits than a float: their signs and sizes do here.
        distances = np.abs(a[where].astype(np.float64) - b[where].astype(np.float64))
    if rules:
        allowed = np.array([_allowance((*head, PathStep(name, int(i))), rules) for i in where])
        kept = ~np.isinf(allowed) & ~((allowed > 0) & (distances <= allowed))
        where, distances = where[kept], distances[kept]
        if not len(where):
            return
    first = int(where[0])
    place = show_path((*head, PathStep(name, first)))
    values = (a[first].item(), b[first].item())
    finite = np.isfinite(distances)
    if a.dtype.kind == "b" or not finite.any():
        yield FieldDifference(field_of(place), place, *values, None, place, 0.0)
        return
    number = int(np.argmax(np.where(finite, distances, -np.inf)))
    both = np.abs(np.concatenate((a[where[finite]], b[where[finite]])).astype(np.float64))
    yield FieldDifference(
        field_of(place),
        place,
        *values,
        float(distances[number]),
        show_path((*head, PathStep(name, int(where[number])))),
        float(both.max()),
    )


def _elementwise(compare: _Compare) -> _Compare:
    """Compare the elements of two lists."""

    def compare_all(
        a: Any, b: Any, path: Path, rules: Sequence[FieldRule]
    ) -> Iterator[FieldDifference]:
        yield from _compare_sizes(a, b, path, rules)
        head, (name, _) = path[:-1], path[-1]
        for index, (mine, other) in enumerate(zip(a, b, strict=False)):
            yield from compare(mine, other, (*head, PathStep(name, index)), rules)

    return compare_all


def _compare_sizes(
    a: Any, b: Any, path: Path, rules: Sequence[FieldRule]
) -> Iterator[FieldDifference]:
    return _compare_scalars(len(a), len(b), (*path, PathStep(SIZE)), rules)


def field_of(place: str) -> str:
    """The field of a place: its path without the numbers of elements."""
    return re.sub(r"\[\d+\]", "[]", place)


def _joined(one: FieldDifference, other: FieldDifference) -> FieldDifference:
    """The differences of several elements as those of one field."""
    scale = max(one.scale, other.scale)
    if other.largest is not None and (one.largest is None or other.largest > one.largest):
        return one._replace(largest=other.largest, largest_place=other.largest_place, scale=scale)
    return one._replace(scale=scale)


def _excerpts(a: str, b: str) -> tuple[str, str]:
    """Two texts from shortly before the first character that differs."""
    if max(len(a), len(b)) <= TEXT_SHOWN:
        return a, b
    same = next(
        (i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b))
    )
    start = max(0, same - _BEFORE)
    return _excerpt(a, start), _excerpt(b, start)


def _excerpt(text: str, start: int) -> str:
    dots = "\N{HORIZONTAL ELLIPSIS}"
    stop = start + TEXT_SHOWN
    return dots * (start > 0) + text[start:stop] + dots * (stop < len(text))
