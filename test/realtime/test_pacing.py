# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Pacing with a clock that the tests move: absolute deadlines, no drift, slip, histograms."""

from __future__ import annotations

import math
from collections import deque
from fractions import Fraction
from math import ceil

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.coupling_signals import MS, SECOND
from support.virtual_clock import VirtualClock

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.time import FOREVER
from ros2_cosim.core.realtime.hard_realtime import HardRealtime
from ros2_cosim.core.realtime.histogram import BOUNDS_NS, Histogram
from ros2_cosim.core.realtime.pacing import Pacer, TimeScale, checked_rate, parse_rate
from ros2_cosim.core.realtime.run_settings import RealtimeRun, realtime_run
from ros2_cosim.core.realtime.wall_clock import MonotonicClock


@pytest.mark.parametrize("rate", [1.0, 0.1, 3.0, 7.3, 20.0])
def test_deadlines_are_counted_from_the_start(rate: float) -> None:
    clock = VirtualClock(start=123)
    pacer = Pacer(rate, clock)
    pacer.start()
    clock.oversleep = 70_000  # every single wait is too long
    for step in range(1, 2001):
        pacer.wait(step * 5 * MS)
        exact = 123 + Fraction(step * 5 * MS) / Fraction(repr(rate))
        assert clock.waits[-1] == ceil(exact)
        assert clock.now() - exact <= 70_001


def test_a_rate_is_the_number_that_was_written() -> None:
    pacer = Pacer(0.1, VirtualClock())
    assert pacer.wall(SECOND) == 10 * SECOND
    assert pacer.simulated(10 * SECOND) == SECOND


@given(st.lists(st.integers(0, 30), min_size=1, max_size=50))
def test_lost_time_is_caught_up(costs: list[int]) -> None:
    clock = VirtualClock(start=0)
    pacer = Pacer(1.0, clock)
    pacer.start()
    free = 0  # when the work before it is complete
    for step, cost in enumerate(costs):
        lateness = pacer.wait(step * 10 * MS)
        assert clock.now() == max(free, step * 10 * MS)
        assert lateness == clock.now() - step * 10 * MS
        clock.work(cost * MS)
        free = clock.now()
    assert pacer.waits == len(costs) == pacer.jitter.number


def test_slipping_moves_all_later_deadlines() -> None:
    clock = VirtualClock(start=0)
    pacer = Pacer(2.0, clock)
    pacer.start()
    pacer.slip(3 * MS)
    assert pacer.due(10 * MS) == 8 * MS
    assert pacer.slipped_ns == 3 * MS


def test_deadlines_follow_a_pause_and_another_rate() -> None:
    clock = VirtualClock(start=0)
    pacer = Pacer(1.0, clock)
    pacer.start()
    clock.work(100 * MS)  # 30 ms are simulated, the rest was a pause
    pacer.start(clock.now(), 30 * MS)
    assert pacer.due(40 * MS) == 110 * MS
    pacer.change(2.0)
    pacer.start(clock.now(), 40 * MS)
    assert (pacer.rate, pacer.due(60 * MS)) == (2.0, 110 * MS)
    pacer.change(None)
    assert pacer.due(60 * MS) == pacer.limit(0) == FOREVER
    assert pacer.wait(10 * SECOND) == 0 and clock.now() == 100 * MS


RATES = st.one_of(
    st.floats(1e-6, 1e6, exclude_max=True),
    st.sampled_from([1.0, 0.1, 1 / 3, 7.3, 1e-3, 999.9]),
)
TIMES = st.integers(0, 10**18)


@given(rate=RATES, start=TIMES, dt=st.integers(1, 10**10), number=st.integers(10**6, 10**7))
def test_there_is_no_drift_after_a_million_steps(
    rate: float, start: int, dt: int, number: int
) -> None:
    scale = TimeScale(rate)
    scale.start(start)
    exact = start + Fraction(number * dt) / Fraction(repr(rate))
    assert 0 <= scale.due(number * dt) - exact < 1


def test_a_million_waits_that_are_too_long_do_not_add_up() -> None:
    rate = 0.7
    clock = VirtualClock(start=123)
    clock.waits = deque(maxlen=1)
    pacer = Pacer(rate, clock)
    pacer.start()
    clock.oversleep = 1_000
    for step in range(1, 1_000_001):
        pacer.wait(step * MS)
    exact = 123 + Fraction(1_000_000 * MS) / Fraction(repr(rate))
    assert clock.waits[-1] == ceil(exact)
    assert pacer.late == 0 and pacer.jitter.largest_ns == 1_000


@given(rate=RATES, wall=TIMES, simulated=TIMES, time=TIMES, now=TIMES)
def test_wall_time_and_simulated_time_round_trip(
    rate: float, wall: int, simulated: int, time: int, now: int
) -> None:
    scale = TimeScale(rate)
    scale.start(wall, simulated)
    # What is due may run, and nothing else: on both sides of each border.
    assert scale.limit(scale.due(time)) > time
    assert scale.limit(scale.due(time) - 1) <= time
    assert (time < scale.limit(now)) == (scale.due(time) <= now)
    # The way there and back is off by less than one nanosecond of the coarser clock.
    duration = abs(time - simulated)
    there_and_back = scale.simulated(scale.wall(duration))
    assert duration <= there_and_back <= duration + Fraction(repr(rate))
    if rate <= 1:
        assert there_and_back == duration
    if rate >= 1:
        assert scale.wall(scale.simulated(duration)) == duration


@pytest.mark.parametrize("text", ["0", "-1", "nan", "inf", "1000000", "1e-300", "fast", ""])
def test_a_rate_that_makes_no_sense_is_refused(text: str) -> None:
    refused = f"rate: found '{text}'; allowed is a number from 0.0001 to below 1e6, or max"
    with pytest.raises(ConfigurationError, match=refused):
        parse_rate(text)


def test_a_time_beyond_all_clocks_is_due_at_their_end() -> None:
    assert Pacer(1e-300, VirtualClock()).due(1) == FOREVER


def test_rates_are_read_as_they_are_written() -> None:
    assert parse_rate("max") is checked_rate(None) is None
    assert parse_rate("0.1") == 0.1
    assert TimeScale(parse_rate("0.1")).wall(1) == 10


def test_an_unknown_origin_is_taken_from_the_best_case() -> None:
    clock = VirtualClock(start=0)
    pacer = Pacer(1.0, clock, floating=True)
    seen = []
    for time, now in ((0, 7), (10, 15), (20, 22), (30, 39)):
        clock.time = now * MS
        seen.append(pacer.began(time * MS) // MS)
    # Begins were 7, 5, 2 and 9 ms after some start: 2 is the best, 9 then is 7 too late.
    assert seen == [0, 0, 0, 7]


def test_the_clock_of_the_system_waits_for_absolute_times() -> None:
    clock = MonotonicClock()
    deadline = clock.now() + 2 * MS
    clock.sleep_until(deadline)
    assert clock.now() >= deadline
    clock.sleep_until(deadline)  # the past is not waited for


def test_a_run_as_fast_as_possible_has_no_pacer() -> None:
    assert realtime_run(None, hard=False, arrivals=None) == RealtimeRun()
    paced = realtime_run(2.0, hard=False, arrivals=None).pacer
    assert paced is not None and paced.rate == 2.0


@given(st.lists(st.integers(-10, 10**10), max_size=50))
def test_classes_of_a_histogram(delays: list[int]) -> None:
    histogram = Histogram()
    for delay in delays:
        histogram.add(delay)
    found = histogram.plain()
    assert found["number"] == len(delays) == sum(count for _, count in found["classes"])
    bounds = [*BOUNDS_NS, None]
    for bound, count in zip(bounds, histogram.counts, strict=True):
        below = 0 if bound == BOUNDS_NS[0] else (bound // 2 if bound else BOUNDS_NS[-1])
        wanted = [d for d in delays if (bound is None or d <= bound) and (d > below or not below)]
        assert count == len(wanted)
    shown = [(bound / 1e9 if bound else None) for bound in bounds]
    counts = zip(shown, histogram.counts, strict=True)
    assert found["classes"] == [[bound, count] for bound, count in counts if count]
    held = [max(0, delay) for delay in delays] or [0]
    assert found["mean_s"] == pytest.approx(sum(held) / len(held) * 1e-9)
    assert found["largest_s"] == pytest.approx(max(held) * 1e-9)


def test_what_is_not_granted_is_said_plainly() -> None:
    assert "granted" in HardRealtime("", "", "").statement()
    refused = HardRealtime("SCHED_FIFO: Operation not permitted", "", "")
    assert not refused.granted
    assert refused.statement() == (
        "soft real time only; not granted: real-time priority (SCHED_FIFO: Operation not permitted)"
    )


def test_a_pacer_says_how_late_each_time_begins() -> None:
    clock = VirtualClock()
    clock.time = 1000
    pacer = Pacer(2.0, clock)
    pacer.start(1000, 100)
    assert (pacer.due(100), pacer.due(300), pacer.limit(1000), pacer.limit(1100)) == (
        1000, 1100, 101, 301
    )  # fmt: skip
    assert pacer.wait(300) == 0
    assert (clock.time, pacer.waits, pacer.late) == (1100, 1, 0)
    assert pacer.wait(300) == 0  # due just now is not late
    assert (pacer.waits, pacer.late) == (2, 0)
    clock.time = 1250
    assert pacer.began(400) == 100
    assert pacer.wait(400) == 100
    assert (pacer.waits, pacer.late) == (3, 1)
    assert (pacer.jitter.number, pacer.jitter.total_ns, pacer.jitter.largest_ns) == (3, 100, 100)
    pacer.slip(100)
    assert pacer.slipped_ns == 100 and pacer.due(400) == 1250
    pacer.slip(5)
    assert pacer.slipped_ns == 105 and pacer.due(400) == 1255


def test_a_pacer_without_a_rate_waits_for_nothing() -> None:
    clock = VirtualClock()
    clock.time = 7
    pacer = Pacer(None, clock)
    assert pacer.wait(10**12) == 0 and clock.time == 7
    assert (pacer.waits, pacer.due(3), pacer.limit(3)) == (0, FOREVER, FOREVER)


def test_a_pacer_starts_with_the_first_question() -> None:
    for ask in (lambda p: p.due(0), lambda p: p.began(0), lambda p: p.slip(0)):
        clock = VirtualClock()
        clock.time = 500
        pacer = Pacer(1.0, clock)
        ask(pacer)
        clock.time = 800
        assert pacer.due(10) == 510


def test_an_origin_that_floats_moves_to_the_earliest_begin() -> None:
    clock = VirtualClock()
    pacer = Pacer(1.0, clock, floating=True)
    late = []
    for wall, time in ((1000, 100), (1150, 200), (1190, 300), (1290, 400), (1300, 400)):
        clock.time = wall
        late.append(pacer.began(time))
    assert late == [0, 50, 0, 0, 10]


@pytest.mark.parametrize(
    ("rate", "duration", "wall", "simulated"),
    [
        (None, 7, 7, 7),
        (1.0, 7, 7, 7),
        (2.0, 7, 4, 14),
        (0.1, 7, 70, 0),
        (0.3, 10, 34, 3),
        (3.0, -7, -2, -21),
    ],
)
def test_durations_at_a_rate_are_rounded_to_the_safe_side(
    rate: float | None, duration: int, wall: int, simulated: int
) -> None:
    scale = TimeScale(rate)
    assert (scale.rate, scale.wall(duration), scale.simulated(duration)) == (rate, wall, simulated)


@pytest.mark.parametrize("rate", [1e-4, 1.0, 999_999.0, None])
def test_rates_from_the_smallest_to_below_the_limit_are_taken(rate: float | None) -> None:
    assert checked_rate(rate) == rate
    assert parse_rate("max" if rate is None else repr(rate)) == rate


@pytest.mark.parametrize("rate", [0.99e-4, 0.0, -1.0, 1e6, math.nan, math.inf])
def test_rates_beyond_them_are_refused(rate: float) -> None:
    said = f"rate: found {rate}; allowed is a number from 0.0001 to below 1e6, or max"
    with pytest.raises(ConfigurationError) as error:
        checked_rate(rate)
    assert str(error.value) == said
    with pytest.raises(ConfigurationError) as error:
        parse_rate(str(rate))
    assert str(error.value) == said.replace(f"found {rate}", f"found '{rate}'")
