# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The clock's decisions: time shown, horizon, the end of the run."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.engine_network import digests
from support.kernel_systems import CoordinatedRun, System, systems

from ros2_cosim.core.kernel.coordinator import Coordinator
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.sequential import SequentialScheduler
from ros2_cosim.core.kernel.time import FOREVER, NEVER

UNTIL = 200


def coordinator(*names: str, duration: int = 1000, window: int = 50, stop: int = 80) -> Coordinator:
    """A coordinator of the named participants."""
    return Coordinator(names, duration_ns=duration, run_ahead_ns=window, stop_latency_ns=stop)


def test_before_any_report_the_horizon_is_one_window() -> None:
    clock = coordinator("a", "b")
    assert clock.time == NEVER
    assert clock.horizon == 50
    assert not clock.finished


def test_time_is_that_of_the_slowest_and_the_horizon_one_window_beyond() -> None:
    clock = coordinator("a", "b")
    clock.completed("a", 40)
    assert (clock.time, clock.slowest()) == (NEVER, "b")
    clock.completed("b", 10)
    assert (clock.time, clock.horizon, clock.slowest()) == (10, 60, "b")
    clock.completed("b", 40)
    assert (clock.time, clock.slowest()) == (40, "a")  # by name when equal


def test_only_the_last_one_of_those_at_the_same_bound_moves_time() -> None:
    clock = coordinator("a", "b", "c")
    assert clock.time == NEVER
    assert [clock.completed(name, 10) for name in "abc"] == [False, False, True]
    assert clock.time == 10
    assert [clock.completed(name, 20) for name in "ab"] == [False, False]
    assert not clock.completed("c", 10)  # again
    clock.dropped("c")
    assert (clock.time, clock.completed("b", 30), clock.time) == (20, False, 20)
    assert (clock.completed("a", 40), clock.time) == (True, 30)


@given(st.lists(st.tuples(st.sampled_from("abcd"), st.integers(0, 30)), max_size=60))
def test_time_is_the_smallest_bound_and_moves_only_when_that_is_said(
    reports: list[tuple[str, int]],
) -> None:
    clock = coordinator(*"abcd")
    bounds = dict.fromkeys("abcd", NEVER)
    for name, bound in reports:
        before = clock.time
        moved = clock.completed(name, bound)
        bounds[name] = max(bounds[name], bound)
        assert clock.time == min(bounds.values())
        assert moved or clock.time == before


def test_an_overtaken_report_takes_nothing_back() -> None:
    clock = coordinator("a")
    clock.completed("a", 40)
    clock.completed("a", 30)
    assert clock.lower_bound_of("a") == clock.time == 40


def test_the_run_ends_at_its_duration() -> None:
    clock = coordinator("a")
    clock.completed("a", 960)
    assert (clock.horizon, clock.finished, clock.end_is_final) == (1000, False, True)
    clock.completed("a", FOREVER)
    assert (clock.time, clock.finished) == (1000, True)
    assert clock.stop_reason == "end of the run at 1us"


def test_a_stop_ends_the_run_a_fixed_latency_later() -> None:
    clock = coordinator("a", "b")
    clock.stop_requested("a", 100, "done")
    assert (clock.end, clock.stop_reason) == (180, "a: done")
    assert (clock.end_is_final, clock.finished) == (False, False)  # b may have asked earlier
    clock.completed("a", 180)
    clock.completed("b", 130)
    assert (clock.end_is_final, clock.finished) == (True, False)
    clock.completed("b", 180)
    assert (clock.end_is_final, clock.finished) == (True, True)


@pytest.mark.parametrize("time", [920, 990])
def test_a_stop_does_not_prolong_the_run(time: int) -> None:
    clock = coordinator("a")
    clock.stop_requested("a", time, "done")
    assert (clock.end, clock.stop_reason) == (1000, "end of the run at 1us")


@pytest.mark.parametrize("order", list(itertools.permutations(range(4))))
def test_which_stop_counts_does_not_depend_on_the_order_of_arrival(order: list[int]) -> None:
    requests = [("c", 100, "x"), ("b", 100, "y"), ("d", 300, "z"), ("a", 200, "w")]
    clock = coordinator("a", "b", "c", "d")
    for index in order:
        clock.stop_requested(*requests[index])
    assert (clock.end, clock.stop_reason) == (180, "b: y")


def test_an_end_that_is_set_counts_unless_there_is_an_earlier_one() -> None:
    clock = coordinator("a")
    clock.stop_at(1000, "too late")
    assert (clock.end, clock.stop_reason) == (1000, "end of the run at 1us")
    clock.stop_at(400, "asked to")
    clock.stop_at(500, "later")
    assert (clock.end, clock.stop_reason) == (400, "asked to")
    # What a participant asks for afterwards does not prolong the run, and may shorten it.
    clock.stop_requested("a", 350, "done")
    assert (clock.end, clock.stop_reason) == (400, "asked to")
    clock.stop_requested("a", 100, "done")
    assert (clock.end, clock.stop_reason) == (180, "a: done")


@pytest.mark.parametrize("window", [-1, 81])
def test_a_window_beyond_the_stop_latency_is_refused(window: int) -> None:
    with pytest.raises(
        ConfigurationError, match=r"run_ahead is .*; .* at most stop_latency \(80ns"
    ):
        coordinator("a", window=window)


def test_a_stop_without_latency_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="stop_latency is 0s; it must be above zero"):
        coordinator("a", window=0, stop=0)


def test_a_window_of_zero_is_lockstep() -> None:
    clock = coordinator("a", "b", window=0)
    clock.completed("a", 20)
    clock.completed("b", 10)
    # What is due at the time shown may run, and nothing else.
    assert (clock.time, clock.horizon) == (10, 11)


@st.composite
def stopping_systems(draw: Any) -> System:
    """Random systems, in which up to three participants ask for the end."""
    system: System = draw(systems(max_participants=7))
    for entry in draw(st.lists(st.sampled_from(system.plan), max_size=3)):
        entry["stop_after"] = draw(st.integers(1, 20))
    return system


@settings(max_examples=100)
@given(
    system=stopping_systems(),
    seed=st.integers(0, 2**32),
    window=st.integers(0, 60),
    surplus=st.integers(0, 40),
)
def test_whatever_is_late_no_participant_passes_the_end_and_the_result_is_the_same(
    system: System, seed: int, window: int, surplus: int
) -> None:
    stop_latency = max(1, window + surplus)
    run = CoordinatedRun(system, UNTIL, seed, window=window, stop_latency=stop_latency)
    found = run.run()

    graph, behaviours = system.build()
    reference = SequentialScheduler(graph, behaviours, stop_latency_ns=stop_latency)
    end = reference.run(UNTIL)
    assert run.coordinator.end == end
    assert run.latest < end
    assert run.final_ends <= {end}
    if end < UNTIL:
        assert run.coordinator.stop_reason == reference.stop_reason
    assert found == digests(reference.runtimes)
