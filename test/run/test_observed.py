# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What becomes of the messages of a run in one process."""

from __future__ import annotations

from ros2_cosim.core.kernel.participant import Sample
from ros2_cosim.core.run.observed import Observed


class Kept:
    """A sink that remembers what it was given."""

    def __init__(self) -> None:
        self.messages: list[tuple[str, int, int, bytes]] = []
        self.advances: list[tuple[int, int]] = []

    def write(self, topic: str, stamp_ns: int, seq: int, data: bytes) -> None:
        self.messages.append((topic, stamp_ns, seq, data))

    def advance(self, time_ns: int) -> None:
        self.advances.append((len(self.messages), time_ns))

    def conclude(self, trace_sha256: str) -> None:
        raise AssertionError

    def close(self) -> None:
        raise AssertionError


def test_a_message_goes_to_all_that_want_it() -> None:
    shown: list[Sample] = []
    noted: list[tuple[str, int, bytes]] = []
    places = {"a": [("/x", bytes.upper), ("/y", bytes.lower)], "b": [("/z", bytes)]}
    observed = Observed(places, {("a", 1): shown.append}, lambda: 0)
    samples = [Sample(3, 0, "one"), Sample(4, 7, "two"), Sample(5, 1, "three")]
    observed.take("a", 1, samples[0], b"First")
    sink = Kept()
    observed.keep(sink)
    observed.note = lambda participant, port, data: noted.append((participant, port, data))
    observed.take("a", 0, samples[1], b"Second")
    observed.take("a", 1, samples[2], b"Third")
    observed.keep(None)
    observed.take("b", 0, samples[1], b"Fourth")
    assert shown == [samples[0], samples[2]]
    assert noted == [("a", 0, b"Second"), ("a", 1, b"Third"), ("b", 0, b"Fourth")]
    assert sink.messages == [("/x", 4, 7, b"SECOND"), ("/y", 5, 1, b"third")]
    assert sink.advances == []


def test_what_is_complete_may_be_written_every_so_often() -> None:
    """So a long slice fills no memory; the time is that of the activation that is going on."""
    now = [0]
    observed = Observed({"a": [("/x", bytes)]}, {}, lambda: now[0])
    sink = Kept()
    observed.keep(sink)
    for number in range(12_000):
        now[0] = number // 10
        observed.take("a", 0, Sample(now[0] + 5, number, None), b"")
    assert len(sink.messages) == 12_000
    assert len(sink.advances) == 2
    for count, time in sink.advances:
        assert time == (count - 1) // 10
        assert all(stamp >= time for _, stamp, _, _ in sink.messages[count:])
