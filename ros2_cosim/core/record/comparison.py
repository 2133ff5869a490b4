# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Compares the messages of two bags: the first that differs, and a summary of all others.

Both bags are read in the order (stamp, topic, sequence number), one chunk of each at a time.
Messages with the same place in that order belong together. Equal bytes are not looked into.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import count, groupby
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

from ros2_cosim.core.kernel.errors import ConfigurationError, ProtocolError
from ros2_cosim.core.kernel.guesses import did_you_mean
from ros2_cosim.core.kernel.time import format_ns
from ros2_cosim.core.record.bag_reader import BagMessage, TopicType, read_bag, topic_types
from ros2_cosim.core.record.message_fields import (
    FieldRule,
    Leaf,
    MessageFields,
    Value,
    below,
    field_meant,
    parse_path,
)

#: More messages with one stamp are not a recording of anything; they are sorted in memory.
MAX_SAME_STAMP = 100_000
#: So many of the messages that differ at the first time are kept, to find where it began.
MAX_AT_FIRST = 1000

PRESENT = "present"


class Difference(NamedTuple):
    """A message that differs.

    :ivar number: how many messages of the topic were before it
    :ivar field: place of the first value that differs, such as ``objects[0].distance``; None:
        the whole message is missing, is of another type, or cannot be decoded
    :ivar a: the value in the first bag; of a whole message: ``present``, None where it is missing,
        its type, or its first byte that differs
    :ivar b: the same in the second bag
    """

    time_ns: int
    topic: str
    number: int
    field: str | None
    a: Value | None
    b: Value | None


@dataclass
class TopicCounts:
    """Messages of a topic, as far as they are compared."""

    a: int = 0
    b: int = 0
    different: int = 0
    missing_in_a: int = 0
    missing_in_b: int = 0

    @property
    def is_equal(self) -> bool:
        """Whether no message differs."""
        return not (self.different or self.missing_in_a or self.missing_in_b)


@dataclass
class FieldCounts:
    """The differences of one field of a topic.

    ``largest`` is the largest absolute difference, at ``place`` and ``largest_ns``; None where none
    is finite.
    ``scale`` is the largest magnitude of the values that differ.
    """

    topic: str
    field: str
    place: str
    first_ns: int
    messages: int = 0
    largest: float | None = None
    largest_ns: int | None = None
    scale: float = 0.0


@dataclass
class Comparison:
    """The result; equal if nothing is ``first``.

    ``at_first`` are all messages that differ at the time of the first one, in their order, at
    most ``MAX_AT_FIRST``. ``same_values`` counts messages with other bytes that are taken for
    equal: what differs is ignored, tolerated, in a gap between fields, or the pattern of a value
    that is not a number.
    """

    first: Difference | None = None
    at_first: list[Difference] = field(default_factory=list)
    topics: dict[str, TopicCounts] = field(default_factory=dict)
    fields: dict[tuple[str, str], FieldCounts] = field(default_factory=dict)
    same_values: int = 0

    @property
    def equal(self) -> bool:
        """Whether nothing differs."""
        return self.first is None


class Rules:
    """What is ignored, and how much values may differ.

    :param ignore: ``TOPIC`` or ``TOPIC.FIELD``
    :param tolerances: ``TOPIC.FIELD`` -> largest absolute difference that does not count
    """

    def __init__(
        self, ignore: Iterable[str] = (), tolerances: Mapping[str, float] | None = None
    ) -> None:
        self.topics = {text for text in ignore if "." not in text}
        self.fields = [(text, float("inf")) for text in ignore if "." in text]
        self.fields += (tolerances or {}).items()

    def resolve(
        self, types: Mapping[str, Sequence[MessageFields | None]]
    ) -> dict[str, list[FieldRule]]:
        """The rules for the fields of each topic, checked.

        :param types: topic -> its type in each bag that has it, None where it is not understood
        :raises ConfigurationError: a topic or field does not exist, or is not a number
        """
        for topic in sorted(self.topics):
            _check_topic(topic, types, f"ignored topic {topic}")
        rules: dict[str, list[FieldRule]] = {}
        for text, allowance in self.fields:
            is_tolerance = allowance != float("inf")
            where = f"{'tolerance for' if is_tolerance else 'ignored field'} {text}"
            topic, dot, place = text.partition(".")
            _check_topic(topic, types, where)
            if not dot:
                raise ConfigurationError(f"{where}: found no field; allowed is TOPIC.FIELD")
            leaves = [leaf for known in types[topic] if known for leaf in known.leaves]
            try:
                path = parse_path(place)
            except ValueError as error:
                raise ConfigurationError(
                    f"{where}: found '{error}'; allowed are names and elements of arrays with "
                    "dots between, such as objects[0].distance"
                ) from None
            found = below(leaves, path)
            if not found:
                raise ConfigurationError(f"{where}: no such field; {_known_fields(leaves, place)}")
            if is_tolerance and not any(leaf.is_number for leaf in found):
                raise ConfigurationError(f"{where}: not a number; only numbers have tolerances")
            rules.setdefault(topic, []).append(FieldRule(path, allowance))
        return rules


def compare_bags(a: Path, b: Path, rules: Rules | None = None) -> Comparison:
    """Compare two complete bags, of this suite or any of rosbag2.

    :raises ConfigurationError: there is no complete bag, or a rule does not fit
    :raises ProtocolError: a bag is damaged
    """
    rules = rules or Rules()
    declared = (topic_types(a), topic_types(b))
    both = [{topic: _understood(kind) for topic, kind in types.items()} for types in declared]
    names = sorted(declared[0].keys() | declared[1].keys())
    of_topic = {name: [types[name] for types in both if name in types] for name in names}
    resolved = rules.resolve(of_topic)
    topics = [name for name in names if name not in rules.topics]
    comparers = {
        name: _Comparer(
            name,
            of_topic[name][0],
            _different_types([types.get(name) for types in declared], of_topic[name]),
            resolved.get(name, ()),
        )
        for name in topics
    }
    result = Comparison(topics={name: TopicCounts() for name in topics})
    for mine, other in _pairs(in_order(a, topics), in_order(b, topics)):
        comparers[(mine or other).topic].compare(mine, other, result)  # type: ignore[union-attr]
    return result


class PlacedMessage(NamedTuple):
    """A message at its place: ``number`` counts those with the same stamp and topic."""

    stamp: int
    topic: str
    number: int
    data: bytes


def in_order(bag: Path, topics: Iterable[str], stop: int | None = None) -> Iterator[PlacedMessage]:
    """The messages of some topics in the order (stamp, topic, sequence number).

    :param stop: the stamp behind the last one that is wanted; None: all
    :raises ConfigurationError, ProtocolError: as :func:`~.bag_reader.read_bag`
    """
    wanted = set(topics)
    last: int | None = None
    for stamp, group in groupby(read_bag(bag, stop=stop), attrgetter("stamp")):
        if last is not None and stamp < last:
            raise ProtocolError(
                f"{bag}: its messages are not in the order of their stamps: "
                f"{format_ns(stamp)} follows {format_ns(last)}"
            )
        last = stamp
        yield from _placed(bag, stamp, (m for m in group if m.topic in wanted))


def _placed(bag: Path, stamp: int, messages: Iterable[BagMessage]) -> Iterator[PlacedMessage]:
    """Messages with one stamp in their order."""
    by_topic: dict[str, list[bytes]] = {}
    for number, message in enumerate(messages):
        if number == MAX_SAME_STAMP:
            raise ProtocolError(
                f"{bag}: more than {MAX_SAME_STAMP} messages have the stamp {format_ns(stamp)}"
            )
        by_topic.setdefault(message.topic, []).append(message.data)
    for topic in sorted(by_topic):
        for number, data in enumerate(by_topic[topic]):
            yield PlacedMessage(stamp, topic, number, data)


def _pairs(
    first: Iterator[PlacedMessage], second: Iterator[PlacedMessage]
) -> Iterator[tuple[PlacedMessage | None, PlacedMessage | None]]:
    """The messages of two bags side by side; None where one of them has no such message."""
    place = attrgetter("stamp", "topic", "number")
    a, b = next(first, None), next(second, None)
    while a is not None or b is not None:
        if b is None or (a is not None and place(a) < place(b)):
            yield a, None
            a = next(first, None)
        elif a is None or place(b) < place(a):
            yield None, b
            b = next(second, None)
        else:
            yield a, b
            a, b = next(first, None), next(second, None)


#: Place of the first value that differs, and the value in both bags.
_Found = tuple[str | None, Value | None, Value | None]


class _Comparer:
    """Compares the messages of one topic.

    :param fields: what decodes its messages; None: nothing does
    :param types: its type in both bags if that is not the same
    """

    def __init__(
        self,
        topic: str,
        fields: MessageFields | None,
        types: tuple[str, str] | None,
        rules: Sequence[FieldRule],
    ) -> None:
        self._topic = topic
        self._fields = fields
        self._types = types
        self._rules = rules

    def compare(self, a: PlacedMessage | None, b: PlacedMessage | None, result: Comparison) -> None:
        """Compare two messages, of which one may be missing."""
        counts = result.topics[self._topic]
        counts.a += a is not None
        counts.b += b is not None
        if a is None or b is None:
            counts.missing_in_a += a is None
            counts.missing_in_b += b is None
            found: _Found = (None, a and PRESENT, b and PRESENT)
        elif self._types is not None:
            counts.different += 1
            found = (None, *self._types)
        elif a.data == b.data:
            return
        else:
            values = self._values(a, b, result)
            if values is None:
                return
            counts.different += 1
            found = values
        placed = a or b
        assert placed is not None
        number = (counts.a if a is not None else counts.b) - 1
        difference = Difference(placed.stamp, self._topic, number, *found)
        if result.first is None:
            result.first = difference
        if placed.stamp == result.first.time_ns and len(result.at_first) < MAX_AT_FIRST:
            result.at_first.append(difference)

    def _values(self, a: PlacedMessage, b: PlacedMessage, result: Comparison) -> _Found | None:
        """The first field that differs and its values; None if none does."""
        if self._fields is None:
            return _bytes_that_differ(a.data, b.data)
        try:
            decoded = (self._fields.decode(a.data), self._fields.decode(b.data))
        except ProtocolError:
            return _bytes_that_differ(a.data, b.data)
        found = self._fields.differences(*decoded, self._rules)
        for difference in found.values():
            key = (self._topic, difference.field)
            entry = result.fields.get(key)
            if entry is None:
                entry = FieldCounts(*key, difference.largest_place, a.stamp)
                result.fields[key] = entry
            entry.messages += 1
            entry.scale = max(entry.scale, difference.scale)
            largest = difference.largest
            if largest is not None and (entry.largest is None or largest > entry.largest):
                entry.largest = largest
                entry.largest_ns = a.stamp
                entry.place = difference.largest_place
        if not found:
            result.same_values += 1
            return None
        first = next(iter(found.values()))
        return first.place, first.a, first.b


def _bytes_that_differ(a: bytes, b: bytes) -> tuple[None, str, str]:
    """The first byte that differs between messages that cannot be decoded."""
    for number, mine, other in zip(count(), a, b):  # what is longer comes below
        if mine != other:
            return None, f"byte {number}: {mine:02x}", f"byte {number}: {other:02x}"
    return None, f"{len(a)} bytes", f"{len(b)} bytes"


@lru_cache(maxsize=256)
def _understood(described: TopicType) -> MessageFields | None:
    """What decodes messages of a type; None if that is not known."""
    try:
        return MessageFields(described)
    except ConfigurationError:
        return None


def _different_types(
    declared: Sequence[TopicType | None], understood: Sequence[MessageFields | None]
) -> tuple[str, str] | None:
    """The types of a topic in both bags as texts, if they differ."""
    a, b = declared
    if a is None or b is None:
        return None
    if a.type_name != b.type_name:
        return a.type_name, b.type_name
    mine, other = understood
    if mine is None or other is None or mine.type_hash == other.type_hash:
        return None
    return f"{a.type_name} {mine.type_hash}", f"{b.type_name} {other.type_hash}"


def _check_topic(topic: str, types: Mapping[str, object], where: str) -> None:
    if topic not in types:
        known = sorted(types)
        raise ConfigurationError(
            f"{where}: no such topic in the bags; {did_you_mean(topic, known)}there are "
            f"{', '.join(known) or 'none'}"
        )


def _known_fields(leaves: Sequence[Leaf], text: str) -> str:
    if not leaves:
        return "the type of the topic is not known"
    known = dict.fromkeys(leaf.field for leaf in leaves)
    return f"{field_meant(leaves, text)}there are {', '.join(known)}"
