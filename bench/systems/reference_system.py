# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The nodes of the Autoware reference system: sensors, transforms, fusions, a planner, sinks.

Ported from ros-realtime/reference-system (Apache-2.0), commit
de8f3bc06f399ac99d6073460b50c5b59fc73a9c: the graph and its periods are those of
``autoware_reference_system/include/autoware_reference_system`` (autoware_system_builder.hpp,
system/timing/default.hpp), the callbacks those of ``reference_system/include/reference_system``
(nodes/rclcpp/, sample_management.hpp, number_cruncher.hpp). Timers follow the clock of the node, as
do the times in samples. A sample has the size of the original, 4 kB, but is a ``UInt8MultiArray``:
the package of its own type is not among the installed ones. Primes are counted up to 512 and not
up to 4096, which takes Python about 1 ms.
"""

from __future__ import annotations

import array
import struct
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from rclpy.node import Node
from reference_graph import CLUSTERS, COMMANDS, FUSIONS, PLANNED, ROOTS, SENSORS, TRANSFORMS
from spinning import CallbackLog, spin
from std_msgs.msg import UInt8MultiArray

#: Of one node in a sample: time [ns], number, how many were missed before, name.
_ENTRY = struct.Struct("<QII48s")
_SIZE = struct.Struct("<Q")
_MOST, _BYTES = 63, 4096
_UP_TO = 512


class Entry(NamedTuple):
    """What a node has added to a sample."""

    time_ns: int
    number: int
    missed: int
    name: str


def packed(entries: Sequence[Entry], primes: int) -> UInt8MultiArray:
    """A sample of 4096 bytes."""
    head = _SIZE.pack(len(entries))
    body = b"".join(_ENTRY.pack(*each[:3], each.name.encode()) for each in entries)
    data = (head + body).ljust(_BYTES - 56, b"\0") + struct.pack("<7q", primes, *[0] * 6)
    return UInt8MultiArray(data=array.array("B", data))


def entries_of(message: UInt8MultiArray) -> list[Entry]:
    """The entries of a sample."""
    data = bytes(message.data)
    (count,) = _SIZE.unpack_from(data)
    found = _ENTRY.iter_unpack(data[_SIZE.size : _SIZE.size + count * _ENTRY.size])
    return [Entry(*numbers, name.rstrip(b"\0").decode()) for *numbers, name in found]


def primes(up_to: int) -> int:
    """How many primes there are, found the slow way."""
    return sum(all(number % n for n in range(2, number)) for number in range(2, up_to + 1))


class Last:
    """The number of the last sample of an input."""

    def __init__(self) -> None:
        self._number = 0

    def missed(self, sample: Sequence[Entry]) -> int:
        """How many were lost before this one."""
        before, self._number = self._number, sample[-1].number if sample else 0
        return max(0, self._number - before - 1)


class SystemNode(Node):
    """A node of the system, with one output at most."""

    def __init__(self, log: CallbackLog, name: str) -> None:
        super().__init__(name)
        self._log, self._name = log, name

    def noted(self, sample: Sequence[Entry] = ()) -> int:
        """A callback begins: note the numbers of the roots in its sample; its time [ns]."""
        numbers = {each.name: each.number for each in sample}
        self._log.note(self._name, ",".join(str(numbers.get(root, "-")) for root in ROOTS))
        return int(self.get_clock().now().nanoseconds)

    def output(self, topic: str) -> Output:
        """An output with its own count."""
        return Output(self, self._name, topic)


class Output:
    """Sends samples."""

    def __init__(self, node: Node, name: str, topic: str) -> None:
        self._writer = node.create_publisher(UInt8MultiArray, topic, 1)
        self._name, self._number = name, 0

    def send(self, time_ns: int, given: Sequence[Sequence[Entry]], missed: int, count: int) -> None:
        """Send the entries of samples, each node's first one, and an own one behind them."""
        found: dict[str, Entry] = {}
        for sample in given:
            for each in sample:
                found.setdefault(each.name, each)
        own = Entry(time_ns, self._number, missed, self._name)
        self._number += 1
        self._writer.publish(packed([*found.values(), own][:_MOST], count))


class Sensor(SystemNode):
    """Sends samples at a period [ms]."""

    def __init__(self, log: CallbackLog, name: str, period: int) -> None:
        super().__init__(log, name)
        self._out = self.output(name)
        self.create_timer(period / 1000, self._due)

    def _due(self) -> None:
        self._out.send(self.noted(), (), 0, 0)


class Intersection(SystemNode):
    """Passes each input on to an output; a transform has one pair of them."""

    def __init__(self, log: CallbackLog, name: str, pairs: Sequence[tuple[str, str]]) -> None:
        super().__init__(log, name)
        for source, topic in pairs:
            came = partial(self._came, self.output(topic), Last())
            self.create_subscription(UInt8MultiArray, source, came, 1)

    def _came(self, out: Output, last: Last, message: UInt8MultiArray) -> None:
        sample = entries_of(message)
        time_ns = self.noted(sample)
        count = primes(_UP_TO)
        out.send(time_ns, (sample,), last.missed(sample), count)


class Fusion(SystemNode):
    """Waits for a sample of each input; a new one takes the place of one that waits."""

    def __init__(self, log: CallbackLog, name: str, sources: Sequence[str]) -> None:
        super().__init__(log, name)
        self._out = self.output(name)
        self._last = [Last() for _ in sources]
        self._there: dict[int, list[Entry]] = {}
        for place, source in enumerate(sources):
            self.create_subscription(UInt8MultiArray, source, partial(self._came, place), 1)

    def _came(self, place: int, message: UInt8MultiArray) -> None:
        sample = entries_of(message)
        time_ns = self.noted(sample)
        self._there[place] = sample
        if len(self._there) < len(self._last):
            return
        count = primes(_UP_TO)
        given = [self._there[each] for each in range(len(self._last))]
        missed = sum(last.missed(sample) for last, sample in zip(self._last, given, strict=True))
        self._out.send(time_ns, given, missed, count)
        self._there.clear()


class Cyclic(SystemNode):
    """Sends, at a period [ms], what has come since."""

    def __init__(self, log: CallbackLog, name: str, sources: Sequence[str], period: int) -> None:
        super().__init__(log, name)
        self._out = self.output(name)
        self._last = [Last() for _ in sources]
        self._there: dict[int, list[Entry]] = {}
        for place, source in enumerate(sources):
            self.create_subscription(UInt8MultiArray, source, partial(self._came, place), 1)
        self.create_timer(period / 1000, self._due)

    def _came(self, place: int, message: UInt8MultiArray) -> None:
        self._there[place] = entries_of(message)

    def _due(self) -> None:
        time_ns = self.noted()
        count = primes(_UP_TO)
        there = sorted(self._there.items())
        missed = sum(self._last[place].missed(sample) for place, sample in there)
        self._out.send(time_ns, [sample for _, sample in there], missed, count)
        self._there.clear()


class Command(SystemNode):
    """Takes what comes."""

    def __init__(self, log: CallbackLog, name: str, source: str) -> None:
        super().__init__(log, name)
        self.create_subscription(UInt8MultiArray, source, self._came, 10)

    def _came(self, message: UInt8MultiArray) -> None:
        self.noted(entries_of(message))


if __name__ == "__main__":
    spin(
        {
            **{n: partial(Sensor, name=n, period=period) for n, period in SENSORS.items()},
            **{n: partial(Intersection, name=n, pairs=[(s, n)]) for n, s in TRANSFORMS.items()},
            **{n: partial(Fusion, name=n, sources=sources) for n, sources in FUSIONS.items()},
            "BehaviorPlanner": partial(Cyclic, name="BehaviorPlanner", sources=PLANNED, period=100),
            "EuclideanClusterDetector": partial(
                Intersection, name="EuclideanClusterDetector", pairs=CLUSTERS
            ),
            **{n: partial(Command, name=n, source=source) for n, source in COMMANDS.items()},
        }
    )
