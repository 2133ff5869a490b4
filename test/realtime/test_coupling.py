# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The coupling under random lateness: never a missed step, errors by order, catching up."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.coupling_signals import MS, SECOND, ArrivesAt, Signal, adapted, coupled, step_at

from ros2_cosim.core.kernel.errors import ConfigurationError, ParticipantError
from ros2_cosim.core.kernel.random_streams import RandomStream
from ros2_cosim.core.realtime.check_pattern import CheckPattern
from ros2_cosim.core.realtime.coupling import MacroStepCoupling
from ros2_cosim.core.realtime.estimators_of_records import RecordEstimator, order_rule

STEPS = 400


def smooth(seed: int) -> Any:
    """A sum of three slow oscillations, drawn from the seed."""
    stream = RandomStream(seed, "test", "signal")
    parts = [
        (stream.uniform_between(0.5, 1.5), stream.uniform_between(1.0, 6.0), stream.uniform() * 6.0)
        for _ in range(3)
    ]
    return lambda t: sum(a * math.sin(w * t + p) for a, w, p in parts)


def errors_of(order: int, seed: int, lateness: float) -> tuple[float, int]:
    """(mean absolute error of the estimates, their number) of a run with drawn lateness."""
    signal = smooth(seed)
    participant = adapted(
        Signal(signal),
        {
            "estimate": [{"order": order}],
            "lateness": {"probability": lateness, "delay": {"uniform": ["10ms", "25ms"]}},
        },
        seed=seed,
    )
    errors = []
    for step in range(STEPS):
        time = step * 10 * MS
        before = participant.report().realtime["coupling"]["estimates"]
        value = participant.activate(step_at(time))["out"].ax
        if participant.report().realtime["coupling"]["estimates"] > before:
            errors.append(abs(value - signal(time / 1e9)))
    return sum(errors) / len(errors), len(errors)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("lateness", [0.05, 0.2])
def test_higher_orders_are_closer_on_smooth_signals(seed: int, lateness: float) -> None:
    found = [errors_of(order, seed, lateness) for order in (0, 1, 2)]
    # The same steps are late whatever the estimator does.
    assert len({number for _, number in found}) == 1 and found[0][1] >= 5
    assert found[2][0] < found[1][0] < found[0][0]


@given(st.lists(st.integers(0, 3), min_size=1, max_size=60), st.booleans())
def test_every_step_of_the_fast_part_has_data(arrived: list[int], overlap: bool) -> None:
    counts = {number * 10 * MS: count for number, count in enumerate(arrived, 1)}
    model = Signal(lambda t: t)
    participant, coupling = coupled(model, ArrivesAt(counts), overlap=overlap)
    for number in range(len(arrived) + 1):
        assert participant.activate(step_at(number * 10 * MS))["out"] is not None
        # An empty buffer means that tv has caught up with te, and the data are calculated.
        behind = len([s for s in coupling.pending if s.due <= number * 10 * MS])
        assert (coupling.check(number * 10 * MS).estimated) == (behind > 0)
    times = [step.time for step in model.steps]
    assert times == [number * 10 * MS for number in range(len(times))]


@given(st.lists(st.integers(0, 3), min_size=1, max_size=60), st.booleans())
def test_what_is_late_is_delivered_when_it_has_caught_up(arrived: list[int], overlap: bool) -> None:
    counts = {number * 10 * MS: count for number, count in enumerate(arrived, 1)}
    participant, coupling = coupled(Signal(lambda t: t * t), ArrivesAt(counts), overlap=overlap)
    for number in range(len(arrived) + 2):
        participant.activate(step_at(number * 10 * MS))
    # In the last step everything had arrived: all cases are closed, each with its error.
    assert all(case.delivered is not None and case.errors for case in coupling.cases)
    found = participant.report().realtime["coupling"]
    assert found["late"] == len(coupling.cases) and found["never_delivered"] == 0


def test_without_lateness_the_adapter_changes_nothing() -> None:
    plain, behind = Signal(math.sin), Signal(math.sin)
    participant = adapted(behind, {})
    for number in range(50):
        step = step_at(number * 10 * MS, fast=float(number))
        assert dict(participant.activate(step)) == dict(plain.activate(step))
    assert behind.steps == plain.steps


@pytest.mark.parametrize(
    ("check", "points"),
    [
        (1, [0, 1, 2, 3, 4, 5, 6, 7, 8]),
        (2, [0, 2, 4, 6, 8]),  # figure 4A
        ([2, 1], [0, 2, 3, 5, 6, 8]),  # figure 4B: short and long steps in turns
        ([3, 1], [0, 3, 4, 7, 8]),  # figure 4C
        ([1, 1, 3], [0, 1, 2, 5, 6, 7]),
    ],
)
def test_patterns_of_exchange(check: int | list[int], points: list[int]) -> None:
    pattern = CheckPattern(check)
    assert [n for n in range(9) if pattern.is_exchange(n)] == points
    for point, following in zip(points, points[1:], strict=False):
        assert pattern.to_next(point) == following - point


@pytest.mark.parametrize("overlap", [False, True])
@pytest.mark.parametrize("hold", [False, True])
def test_between_two_exchanges_data_are_held_or_estimated(overlap: bool, hold: bool) -> None:
    model = Signal(lambda t: t)
    participant, _ = coupled(
        model, ArrivesAt({}), check=[2, 1], overlap=overlap, hold=hold, period_ns=SECOND
    )
    sent = [participant.activate(step_at(n * SECOND))["out"].ax for n in range(7)]
    held, estimated = [0, 0, 2, 3, 3, 5, 6], [0, 0, 2, 3, 4, 5, 6]
    assert sent == (held if hold else estimated)
    # The model makes its own steps all the same, none of them twice.
    assert [s.time // SECOND for s in model.steps] == list(range(len(model.steps)))


def test_an_estimate_holds_until_the_next_exchange() -> None:
    late = ArrivesAt({4 * SECOND: 0})
    participant, _ = coupled(Signal(lambda t: t), late, check=2, period_ns=SECOND)
    sent = [participant.activate(step_at(n * SECOND))["out"].ax for n in range(8)]
    # At 4 s the line through 0 and 2 is used, and held; going back to 2 would be a jump.
    assert sent == [0, 0, 2, 2, 4, 4, 6, 6]


@pytest.mark.parametrize("check", [0, -1, [], [1, 0], [2000]])
def test_wrong_patterns_are_refused(check: Any) -> None:
    with pytest.raises(ConfigurationError, match="found .*allowed"):
        CheckPattern(check)


def test_a_slow_part_that_never_keeps_up_is_named() -> None:
    participant = adapted(
        Signal(math.sin), {"buffer": 5, "lateness": {"probability": 1, "delay": "11s"}}
    )
    with pytest.raises(ParticipantError, match=r"'slow' is behind by 5 macro steps at 60ms"):
        for number in range(10):
            participant.activate(step_at(number * 10 * MS))


def test_the_load_tells_whether_the_slow_part_is_fast_enough_on_average() -> None:
    loads = []
    for takes in ("5ms", "12ms"):
        participant = adapted(
            Signal(math.sin), {"lateness": {"probability": 1, "delay": takes}, "overlap": True}
        )
        for number in range(101):
            participant.activate(step_at(number * 10 * MS))
        found = participant.report().realtime["coupling"]
        loads.append(found["load"])
        assert (found["late"] > 0) == (takes == "12ms")
    assert loads[0] == pytest.approx(0.5, abs=0.01) and loads[1] > 1.0


def test_a_result_without_a_request_is_an_error() -> None:
    coupling = MacroStepCoupling(RecordEstimator([order_rule(0)], []), owner="plant")
    with pytest.raises(ParticipantError, match="'plant' delivered a result at 1s"):
        coupling.complete(SECOND, {})
