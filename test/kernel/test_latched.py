# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Latched inputs: what readers share is what each would see alone."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from ros2_cosim.core.kernel.latched import (
    REFERENCE,
    LatchedChannel,
    LatchedInputs,
    LatchedPort,
    SharedInputs,
)
from ros2_cosim.core.kernel.sample import Sample

WRITERS = "abc"

#: For each reader: for each of its ports the writers, and whether it is delayed.
READERS = st.lists(
    st.lists(
        st.tuples(st.lists(st.sampled_from(WRITERS), max_size=2, unique=True), st.booleans()),
        min_size=1,
        max_size=3,
    ),
    min_size=1,
    max_size=3,
)
#: What happens at each time: a writer sends, stamped so much later, or a reader is activated.
EVENTS = st.lists(
    st.tuples(
        st.integers(0, 2),
        st.one_of(
            st.tuples(st.sampled_from(WRITERS), st.integers(0, 3)),
            st.integers(0, 2),
        ),
    ),
    max_size=40,
)


class Reader:
    """The latched ports of a participant, alone or sharing with others."""

    def __init__(
        self, wanted: Any, shared: SharedInputs | None, at_once: Collection[str] = ()
    ) -> None:
        self.channels: list[tuple[str, LatchedChannel]] = []
        ports = []
        for place, (writers, delayed) in enumerate(wanted):
            port = LatchedPort(f"in{place}")
            for writer in writers:
                channel = (
                    LatchedChannel(delayed)
                    if shared is None
                    else shared.channel(writer, "out", delayed, writer in at_once)
                )
                port.add(len(self.channels), channel)
                self.channels.append((writer, channel))
            ports.append(port)
        self.inputs = LatchedInputs(ports) if shared is None else shared.inputs(ports)

    def read(self, time: int) -> Any:
        """What an activation gets, and what the trace records of it."""
        self.inputs.advance(time)
        return self.inputs.latest.copy(), self.inputs.count, self.inputs.references


@given(READERS, EVENTS, st.sets(st.sampled_from(WRITERS)))
def test_readers_that_share_see_what_each_would_see_alone(
    wanted: Any, events: Any, at_once: set[str]
) -> None:
    shared = SharedInputs()
    together = [Reader(one, shared, at_once) for one in wanted]
    alone = [Reader(one, None) for one in wanted]
    common = {id(channel): (w, channel) for r in together for w, channel in r.channels}
    sent = dict.fromkeys(WRITERS, 0)
    stamps = dict.fromkeys(WRITERS, 0)
    time = 0
    for passes, event in events:
        time += passes
        if isinstance(event, int):
            place = event % len(wanted)
            assert together[place].read(time) == alone[place].read(time)
            continue
        writer, later = event
        stamps[writer] = time if writer in at_once else max(stamps[writer], time + later)
        sample = Sample(stamps[writer], sent[writer], object())
        sent[writer] += 1
        targets = [*common.values(), *(pair for reader in alone for pair in reader.channels)]
        for source, channel in targets:
            if source == writer:
                channel.push(sample)


def test_readers_of_the_same_connections_look_at_them_once() -> None:
    shared = SharedInputs()
    wanted = [(["a", "b"], False), (["c"], True)]
    first, second = Reader(wanted, shared), Reader(wanted, shared)
    other = Reader([(["a", "b"], False), (["c"], False)], shared)
    assert first.inputs is second.inputs and other.inputs is not first.inputs


def test_what_was_read_stays_when_more_has_come() -> None:
    reader = Reader([(["a"], False)], None)
    (_, channel) = reader.channels[0]
    samples = [Sample(10 * k, k, k) for k in range(2)]
    channel.push(samples[0])
    reader.inputs.advance(0)
    before = reader.inputs.latest
    channel.push(samples[1])
    reader.inputs.advance(10)
    assert before == {"in0": samples[0]} and reader.inputs.latest == {"in0": samples[1]}
    assert reader.inputs.references == REFERENCE(0, 10, 1)
