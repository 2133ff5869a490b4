# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Algorithm 1: the smallest safe prefix that satisfies alpha gives the time advance."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from support.activations import PORTS, activations, all_activations

from ros2_cosim.core.kernel.activation import Activation, Count, all_of
from ros2_cosim.core.kernel.participant import Sample
from ros2_cosim.core.kernel.time_advance import QueuedSample, TimeAdvance


def entry(stamp: int, channel: int, seq: int = 0, value: int = 0) -> QueuedSample:
    """A sample on the port that belongs to the channel."""
    return QueuedSample(stamp, channel, seq, PORTS[channel], Sample(stamp, seq, value))


def drain(advance: TimeAdvance, lbts: int) -> list[tuple[int, list[QueuedSample]]]:
    """All activations that are possible with this LBTS."""
    found = []
    while (time := advance.determine(lbts)) is not None:
        found.append((time, advance.take()))
    return found


def test_worked_example_of_figure_2() -> None:
    """LBTS 5: what has come is later, and what is still in transit is older than that."""
    advance = TimeAdvance(Count("a") | Count("b"))
    advance.push(entry(12, 0, 0))
    advance.push(entry(20, 0, 1))
    assert advance.determine(5) is None
    advance.push(entry(7, 1, 0))
    assert advance.determine(5) is None
    assert [time for time, _ in drain(advance, 21)] == [7, 12, 20]


def test_worked_example_of_figure_3() -> None:
    advance = TimeAdvance(all_of(["a", "b"]))
    m00, m01, m10 = entry(5, 0, 0), entry(20, 0, 1), entry(32, 1, 0)
    advance.push(m10)
    advance.push(m00)
    # Fig. 3a: LBTS 10 lies between the two samples received, m01 is in transit.
    assert advance.determine(10) is None
    # Fig. 3b: m01 is here, LBTS is 40, all three are safe.
    advance.push(m01)
    assert advance.determine(40) == 32
    assert advance.take() == [m00, m01, m10]
    assert advance.determine(40) is None
    assert len(advance) == 0


def test_a_sample_stamped_lbts_is_not_safe() -> None:
    advance = TimeAdvance(Count("a"))
    advance.push(entry(10, 0))
    assert advance.determine(10) is None
    assert advance.determine(11) == 10


def test_an_activation_stays_until_it_is_taken_and_the_rest_stays_queued() -> None:
    advance = TimeAdvance(Count("a", 2))
    for stamp in (3, 7, 9):
        advance.push(entry(stamp, 0, stamp))
    assert [advance.determine(100) for _ in range(3)] == [7, 7, 7]
    assert len(advance) == 3
    assert [e.stamp for e in advance.take()] == [3, 7]
    assert advance.determine(100) is None
    assert len(advance) == 1


def test_equal_stamps_are_ordered_by_channel_then_number() -> None:
    advance = TimeAdvance(Count("b"))
    for arrived in (entry(4, 1, 0), entry(4, 0, 1), entry(4, 2, 0), entry(4, 0, 0)):
        advance.push(arrived)
    assert advance.determine(5) == 4
    assert advance.take() == [entry(4, 0, 0), entry(4, 0, 1), entry(4, 1, 0)]
    assert advance.next_stamp() == 4  # channel c came behind the one that activated


def test_next_stamp_is_that_of_the_oldest_sample_alpha_has_not_seen() -> None:
    advance = TimeAdvance(Count("a", 3))
    assert advance.next_stamp() is None
    advance.push(entry(8, 0, 1))
    advance.push(entry(2, 0, 0))
    assert advance.next_stamp() == 2
    advance.determine(5)
    assert advance.next_stamp() == 8


@st.composite
def arrivals(draw: Any) -> tuple[list[QueuedSample], list[tuple[int, list[QueuedSample]]]]:
    """Samples, and rounds of (LBTS, samples arriving before it) as a transport may deliver them."""
    stamps = draw(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 2)), max_size=14))
    samples = [
        entry(stamp, channel, seq, draw(st.integers(0, 12)))
        for seq, (stamp, channel) in enumerate(sorted(stamps))
    ]
    bounds = sorted(draw(st.lists(st.integers(0, 40), min_size=1, max_size=6)))
    rounds: list[tuple[int, list[QueuedSample]]] = [(lbts, []) for lbts in bounds]
    for sample in draw(st.permutations(samples)):
        # It must be here once LBTS says that nothing so old can come any more.
        due = next((i for i, lbts in enumerate(bounds) if lbts > sample.stamp), len(bounds) - 1)
        rounds[draw(st.integers(0, due))][1].append(sample)
    return samples, rounds


@settings(max_examples=200)
@given(alpha=activations(), plan=arrivals())
def test_any_arrival_gives_the_smallest_prefixes(
    alpha: Activation, plan: tuple[list[QueuedSample], list[tuple[int, list[QueuedSample]]]]
) -> None:
    samples, rounds = plan
    advance = TimeAdvance(alpha)
    found = []
    for lbts, arriving in rounds:
        for sample in arriving:
            advance.push(sample)
        found += drain(advance, lbts)
    expected = all_activations(alpha, samples, rounds[-1][0])
    assert found == [(max(e.stamp for e in prefix), prefix) for prefix in expected]
    assert len(advance) == len(samples) - sum(map(len, expected))


@settings(max_examples=100)
@given(alpha=activations(), plan=arrivals())
def test_evaluating_at_once_gives_the_same(
    alpha: Activation, plan: tuple[list[QueuedSample], list[tuple[int, list[QueuedSample]]]]
) -> None:
    samples, rounds = plan
    once, stepwise = TimeAdvance(alpha), TimeAdvance(alpha)
    found = []
    for lbts, arriving in rounds:
        for sample in arriving:
            stepwise.push(sample)
        found += drain(stepwise, lbts)
    for sample in samples:
        once.push(sample)
    assert drain(once, rounds[-1][0]) == found
