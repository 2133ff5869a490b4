# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What the transport did to messages is seen, counted and named; never papered over."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.behaviours import Scripted, wire

from ros2_cosim.core.kernel.channel import Promise
from ros2_cosim.core.kernel.engine import Engine
from ros2_cosim.core.kernel.errors import CausalityError
from ros2_cosim.core.kernel.graph import Graph, InputPort, OutputPort, ParticipantSpec
from ros2_cosim.core.kernel.participant import Sample
from ros2_cosim.core.kernel.runtime import ParticipantRuntime
from ros2_cosim.core.kernel.time import FOREVER


def engine_for(schedule: str) -> Engine:
    """Reader ``r`` of ``w.out``; ``w`` has period 10."""
    graph = Graph(
        [
            ParticipantSpec("w", 10, outputs=(OutputPort("out", schedule=schedule),)),
            ParticipantSpec("r", 10, inputs=(InputPort("in"),)),
        ],
        wire("w.out>r.in"),
    )
    return Engine(graph, ParticipantRuntime(graph, "r", Scripted()))


def counts(engine: Engine) -> tuple[int, int, int]:
    """(timing, order, loss)."""
    return engine.counts.timing, engine.counts.order, engine.counts.loss


def test_a_gap_in_the_numbers_counts_every_lost_message() -> None:
    engine = engine_for("every")
    engine.receive(0, Sample(0, 0, None))
    with pytest.raises(CausalityError) as caught:
        engine.receive(0, Sample(40, 4, None))
    assert str(caught.value) == (
        "participant 'r', input from w.out: message number 4, stamped 40ns, arrived where "
        "number 1 was expected: messages are lost"
    )
    assert counts(engine) == (0, 0, 3)


def test_of_a_writer_that_is_gone_nothing_more_is_awaited_or_judged() -> None:
    engine = engine_for("every")
    (channel,) = engine.channels
    engine.receive(0, Sample(0, 0, None))
    assert (channel.has_all(1), channel.has_all(2), channel.promise) == (True, False, 10)
    channel.close()
    assert (channel.has_all(2), channel.promise) == (True, FOREVER)
    engine.receive(0, Sample(40, 4, "on its way when it was said"))
    assert (channel.received, counts(engine)) == (1, (0, 0, 0))


@pytest.mark.parametrize("number", [0, 1])
def test_a_repeated_or_overtaken_message_is_named(number: int) -> None:
    engine = engine_for("every")
    for k in range(2):
        engine.receive(0, Sample(10 * k, k, None))
    with pytest.raises(CausalityError) as caught:
        engine.receive(0, Sample(10 * number, number, None))
    assert str(caught.value).endswith(
        f"message number {number}, stamped {'10ns' if number else '0s'}, arrived after number 1: "
        "repeated or overtaken"
    )
    assert counts(engine) == (0, 1, 0)


def test_a_message_before_the_implied_time_is_named() -> None:
    engine = engine_for("every")
    engine.receive(0, Sample(0, 0, None))
    with pytest.raises(CausalityError) as caught:
        engine.receive(0, Sample(9, 1, None))
    assert str(caught.value) == (
        "participant 'r', input from w.out: message number 1, stamped 9ns, arrived, but "
        "nothing before 10ns was promised"
    )
    assert counts(engine) == (1, 0, 0)


def test_a_message_before_an_explicit_promise_is_named() -> None:
    engine = engine_for("sparse")
    engine.receive(0, Sample(0, 0, None))
    engine.channels[0].promised(Promise(1, 30))
    with pytest.raises(CausalityError, match="stamped 20ns, arrived, but nothing before 30ns"):
        engine.receive(0, Sample(20, 1, None))
    assert counts(engine) == (1, 0, 0)


def test_stamps_that_go_back_are_named_without_any_promise() -> None:
    engine = engine_for("sparse")
    engine.receive(0, Sample(20, 0, None))
    with pytest.raises(CausalityError, match="nothing before 20ns was promised"):
        engine.receive(0, Sample(19, 1, None))


def test_a_second_message_of_a_once_port_is_named() -> None:
    engine = engine_for("once")
    engine.receive(0, Sample(0, 0, None))
    with pytest.raises(CausalityError, match="nothing before forever was promised"):
        engine.receive(0, Sample(10, 1, None))


def test_equal_stamps_of_one_port_are_in_order() -> None:
    engine = engine_for("sparse")
    for seq in range(3):
        engine.receive(0, Sample(20, seq, None))
    assert engine.channels[0].received == 3


@settings(max_examples=100)
@given(
    count=st.integers(2, 12),
    fault=st.sampled_from(["lose", "repeat", "swap"]),
    seed=st.integers(0, 1000),
)
def test_no_single_fault_of_the_transport_passes(count: int, fault: str, seed: int) -> None:
    messages = [Sample(10 * k, k, None) for k in range(count)]
    place = random.Random(seed).randrange(count - 1)
    if fault == "lose":
        del messages[place]
    elif fault == "repeat":
        messages.insert(place + 1, messages[place])
    else:
        messages[place], messages[place + 1] = messages[place + 1], messages[place]
    engine = engine_for("every")
    with pytest.raises(CausalityError):
        for message in messages:
            engine.receive(0, message)
    assert engine.channels[0].received == place + (fault == "repeat")
    assert sum(counts(engine)) == 1
