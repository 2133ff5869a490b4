# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The methods of estimation, their limits, and values of earlier runs."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.coupling_signals import MS, SECOND, Signal, adapted, step_at

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.messages.records import Acceleration, Odometry
from ros2_cosim.core.realtime.estimators import (
    CharacteristicMap,
    Curve,
    EarlierRun,
    Extrapolation,
    Limits,
    Method,
    Point,
    Rate,
)
from ros2_cosim.core.realtime.estimators_of_records import RecordEstimator, Rule, order_rule
from ros2_cosim.core.realtime.rules import VALUES_FILE, make_rules, read_values, write_values
from ros2_cosim.core.realtime.settings import RuleSettings

HISTORY = [Point(2 * SECOND, 7.0), Point(1 * SECOND, 4.0), Point(0, 3.0)]
STATE = {"fast.x": 1.5, "fast.y": 10.0}
CURVE = Curve("fast.x", [(1, 10), (2, 30)])
MAP = CharacteristicMap(["fast.x", "fast.y"], [1, 2], [0, 20], [[0, 2], [4, 6]])


@pytest.mark.parametrize(
    ("method", "value"),
    [
        (Extrapolation(0), 7.0),
        (Extrapolation(1), 10.0),
        (Extrapolation(2), 12.0),  # 3, 4, 7, 12: the differences grow by 2
        (Rate("fast.x", 2.0), 10.0),
        (CURVE, 20.0),
        (MAP, 3.0),
        (EarlierRun([0, 2 * SECOND, 4 * SECOND], [0.0, 4.0, 5.0]), 7.5),
    ],
)
def test_methods(method: Method, value: float) -> None:
    assert method.estimate(HISTORY, 3 * SECOND, STATE) == value


@pytest.mark.parametrize(
    ("x", "value"), [(0.0, 10.0), (1.0, 10.0), (1.25, 15.0), (2.0, 30.0), (9.0, 30.0)]
)
def test_a_curve_holds_its_end_values(x: float, value: float) -> None:
    assert CURVE.estimate([], 0, {"fast.x": x}) == value
    assert CURVE.estimate([], 0, {}) is None


def test_a_curve_needs_a_point() -> None:
    with pytest.raises(ConfigurationError, match=r"^points: found \[\]; allowed are growing numb"):
        Curve("fast.x", [])


@pytest.mark.parametrize("known", [0, 1, 2])
def test_a_lower_order_is_used_while_little_is_known(known: int) -> None:
    found = Extrapolation(2).estimate(HISTORY[:known], 3 * SECOND, {})
    assert found == [None, 7.0, 10.0][known]


@given(st.lists(st.integers(1, 10**9), min_size=3, max_size=3), st.integers(1, 10**9))
def test_a_parabola_is_met_whatever_the_distances(steps: list[int], ahead: int) -> None:
    def parabola(time: int) -> float:
        t = time / SECOND
        return 2.0 - 3.0 * t + 0.5 * t * t

    times = [sum(steps[: i + 1]) for i in range(3)]
    history = [Point(t, parabola(t)) for t in reversed(times)]
    goal = times[-1] + min(ahead, 2 * min(steps))
    found = Extrapolation(2).estimate(history, goal, {})
    assert found == pytest.approx(parabola(goal), abs=1e-4)


@pytest.mark.parametrize(
    ("estimate", "limits", "value"),
    [
        (100.0, Limits(), 100.0),
        (100.0, Limits(maximum=50.0), 50.0),
        (100.0, Limits(minimum=200.0), 200.0),
        (100.0, Limits(rate=3.0), 10.0),
        (100.0, Limits(rate=3.0, maximum=8.0), 8.0),
        (100.0, Limits(rate=3.0, minimum=30.0), 30.0),  # the bound on the value wins
        (-100.0, Limits(rate=3.0), 4.0),
        (-100.0, Limits(rate=3.0, minimum=5.0), 5.0),
        (6.0, Limits(rate=3.0, minimum=4.0, maximum=10.0), 6.0),
    ],
)
def test_limits(estimate: float, limits: Limits, value: float) -> None:
    assert limits.apply(estimate, HISTORY[0], 3 * SECOND) == value


@pytest.mark.parametrize(
    ("rule", "value"),
    [
        ({}, 10.0),
        ({"order": 2}, 12.0),
        ({"method": "rate", "of": ["fast.x"], "gain": 2.0}, 10.0),
        ({"method": "rate", "of": ["fast.x"]}, 8.5),
        ({"method": "curve", "of": ["fast.x"], "points": [[1, 10], [2, 30]]}, 20.0),
        (
            {"method": "map", "of": ["fast.x", "fast.y"], "x": [1, 2], "y": [0, 20],
             "values": [[0, 2], [4, 6]]},
            3.0,
        ),
        ({"method": "earlier", "file": VALUES_FILE}, 7.5),
    ],
)  # fmt: skip
def test_a_rule_of_a_scenario_has_its_method(
    tmp_path: Path, rule: dict[str, Any], value: float
) -> None:
    earlier = {"out.ax": ([0, 2 * SECOND, 4 * SECOND], [0.0, 4.0, 5.0])}
    write_values(tmp_path, {"slow": earlier})
    (made,) = make_rules([RuleSettings(**rule)], "estimate", "slow", tmp_path)
    assert made.method("out", "ax").estimate(HISTORY, 3 * SECOND, STATE) == value


def test_the_first_rule_that_fits_counts_and_other_numbers_hold() -> None:
    rules = [
        Rule("pose*", "v?", lambda port, field: Extrapolation(1), Limits(maximum=2.5)),
        order_rule(2, ports="pose*", fields="x"),
    ]
    estimator = RecordEstimator(rules, ["pose", "other"])
    for t in range(3):
        n = float(t * t)
        pose = Odometry(n, n, 0.0, 0.0, 0.0, 0.0, 1.0, n, 0.0, 0.0, 0.0, 0.0, 0.0)
        estimator.observe(t * SECOND, {"pose": pose, "other": Acceleration(n, 0.0, 0.0)})
    found = estimator.estimate(3 * SECOND, {})
    assert found["pose"].x == 9.0 and found["pose"].y == 4.0 and found["pose"].vx == 2.5
    assert found["other"].ax == 4.0


def test_an_estimated_orientation_is_a_unit_quaternion() -> None:
    estimator = RecordEstimator([order_rule(1)], ["pose"])
    for t, (z, w) in enumerate([(0.0, 1.0), (0.6, 0.8)]):
        pose = Odometry(0.0, 0.0, 0.0, 0.0, 0.0, z, w, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
        estimator.observe(t * SECOND, {"pose": pose})
    found = estimator.estimate(2 * SECOND, {})["pose"]
    assert found.qz**2 + found.qw**2 == pytest.approx(1.0)
    assert found.qz / found.qw == pytest.approx(1.2 / 0.6)


def test_learning_removes_an_error_that_comes_again() -> None:
    """On a parabola a line is wrong by the same amount each time; with learning it is not."""
    errors = {}
    for share in (0.0, 0.5):
        settings = {
            "estimate": [{"order": 1, "adapt": share}],
            "lateness": {"probability": 0.3, "delay": "12ms"},
        }
        participant = adapted(Signal(lambda t: 40.0 * t * t), settings, seed=3)
        for n in range(200):
            participant.activate(step_at(n * 10 * MS))
        cases = participant.report().realtime["coupling"]["cases"]
        errors[share] = [case[2] for case in cases]
    assert len(errors[0.0]) == len(errors[0.5]) > 20
    assert sum(errors[0.5][10:]) < 0.3 * sum(errors[0.0][10:])


def test_values_of_an_earlier_run_are_exact_when_it_is_the_same(tmp_path: Path) -> None:
    signal = Signal(lambda t: (t * 50.0) % 1.7)  # nothing that could be extrapolated
    first = adapted(signal, {"keep_values": True})
    for n in range(100):
        first.activate(step_at(n * 10 * MS))
    write_values(tmp_path, {"slow": first.report().realtime["values"]})
    settings = {
        "estimate": [{"method": "earlier", "file": VALUES_FILE}],
        "lateness": {"probability": 0.2, "delay": "25ms"},
    }
    later = adapted(signal, settings, base_directory=tmp_path)
    sent = [later.activate(step_at(n * 10 * MS))["out"].ax for n in range(100)]
    assert later.report().realtime["coupling"]["late"] > 10
    assert sent == pytest.approx([(n * 0.5) % 1.7 for n in range(100)])


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ({"order": 3}, "order"),
        ({"method": "curve", "points": [[0, 1]]}, "takes 1 port.field in 'of', found 0"),
        ({"method": "curve", "of": ["a.x"]}, "needs points"),
        ({"method": "curve", "of": ["a.x"], "points": [[1, 1], [1, 2]]}, "growing"),
        ({"method": "map", "of": ["a.x"]}, "takes 2"),
        (
            {"method": "map", "of": ["a.x", "a.y"], "x": [0, 1], "y": [0], "values": [[1]]},
            "found 1 rows; allowed are 2 rows",
        ),
        ({"method": "earlier"}, "needs file"),
        ({"file": "values.json"}, "file: found with method extrapolate, which does not use"),
        ({"gain": 2.0}, "gain: found with method extrapolate, .* allowed with method rate"),
        ({"method": "rate", "of": ["a.x"], "order": 2}, "order: found with method rate"),
        ({"method": "earlier", "file": "none.json"}, "none.json cannot be read"),
        ({"min": 1, "max": 0}, "min 1 is above max 0"),
        ({"adapt": 2}, "adapt"),
    ],
)
def test_wrong_rules_are_refused(rule: dict[str, Any], message: str) -> None:
    with pytest.raises((ConfigurationError, ValueError), match=message):
        adapted(Signal(abs), {"estimate": [rule]})


@pytest.mark.parametrize(
    "content", ["", "[]", "{}", '{"format": "x"}', '{"format": "ros2_cosim values 1"}']
)
def test_files_that_hold_no_values_are_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / VALUES_FILE
    path.write_text(content, encoding="utf-8")
    with pytest.raises(ConfigurationError, match="does not hold values of 'slow'"):
        read_values(path, "slow")
    series = {"format": "ros2_cosim values 1", "participants": {"slow": {"out.ax": [[], []]}}}
    path.write_text(json.dumps(series), encoding="utf-8")
    with pytest.raises(ConfigurationError, match="at least 1"):
        read_values(path, "slow")


def test_values_of_another_format_are_refused(tmp_path: Path) -> None:
    path = write_values(tmp_path, {"slow": {"out.ax": ([0], [1.0])}})
    assert set(read_values(path, "slow")) == {"out.ax"}
    path.write_text(path.read_text().replace("values 1", "values 2"))
    with pytest.raises(ConfigurationError, match="of 'slow' .*: format 'ros2_cosim values 2'"):
        read_values(path, "slow")


APART = [Point(5 * SECOND, 7.0), Point(2 * SECOND, 4.0), Point(0, 3.0)]


@pytest.mark.parametrize(
    ("method", "value"),
    [
        (Extrapolation(0), 7.0),
        (Extrapolation(1), 9.0),
        # Slopes 1 and 1/2; their difference over 5 s; (7 - 5) (7 - 2) times that.
        (Extrapolation(2), 10.0),
        (Rate("fast.x", 2.0), 13.0),
        (Rate("fast.z", 2.0), 7.0),
        (EarlierRun([0, 10 * SECOND], [1.0, 21.0]), 11.0),
        (EarlierRun([6 * SECOND, 8 * SECOND], [1.0, 21.0]), 17.0),
    ],
)
def test_methods_count_time_in_seconds(method: Method, value: float) -> None:
    assert method.estimate(APART, 7 * SECOND, STATE) == pytest.approx(value)


@pytest.mark.parametrize(
    ("time", "value"),
    [(-1, 4.0), (0, 4.0), (1, 4.0), (2, 6.0), (3, 8.0), (4, 8.0), (5, 5.0), (7, 5.0)],
)
def test_an_earlier_run_is_read_between_its_times_and_held_beyond_them(
    time: int, value: float
) -> None:
    earlier = EarlierRun([1, 3, 5], [4.0, 8.0, 5.0])
    expected = 6.5 if time == 4 else value
    assert earlier.estimate([], time, {}) == expected
    assert earlier.estimate([Point(3, 9.0)], time, {}) == expected + 1.0


@pytest.mark.parametrize(
    ("x", "y", "value"),
    [
        (1.0, 0.0, 0.0),
        (1.0, 20.0, 2.0),
        (2.0, 0.0, 4.0),
        (2.0, 20.0, 6.0),
        (1.25, 5.0, 1.5),
        (0.0, -5.0, 0.0),
        (9.0, 99.0, 6.0),
    ],
)
def test_a_map_is_linear_in_both_directions(x: float, y: float, value: float) -> None:
    assert MAP.estimate([], 0, {"fast.x": x, "fast.y": y}) == value
    assert MAP.estimate([], 0, {"fast.x": x}) is None
    assert MAP.estimate([], 0, {"fast.y": y}) is None


def test_methods_refuse_what_they_cannot_use() -> None:
    assert Rate("fast.x", 2.0).estimate([], 0, STATE) is None
    for order in (-1, 3):
        with pytest.raises(ConfigurationError, match=f"order: found {order}; allowed are 0, 1 and"):
            Extrapolation(order)
    for times, values in (([], []), ([1], []), ([1], [1.0, 2.0])):
        with pytest.raises(ConfigurationError, match="as many times as values are needed"):
            EarlierRun(times, values)
    for rows in ([[0, 2]], [[0, 2], [4]], [[0, 2], [4, 6], [7, 8]]):
        with pytest.raises(ConfigurationError, match=f"values: found {len(rows)} rows; allowed ar"):
            CharacteristicMap(["fast.x", "fast.y"], [1, 2], [0, 20], rows)


def test_a_number_that_does_not_adapt_learns_nothing_from_one_that_is_none() -> None:
    """A record may have no number in a field for a while, as the pedals of a command."""
    estimator = RecordEstimator([order_rule(0)], ["out"])
    for time, value in ((0, math.nan), (3 * SECOND, 4.0)):
        calculated = {"out": Acceleration(value, 0.0, 0.0)}
        estimator.observe(time, calculated)
        estimate = estimator.estimate(time + SECOND, {})
        estimator.learn(time + SECOND, estimate, calculated)
    assert estimator.estimate(5 * SECOND, {})["out"].ax == 4.0
    assert estimator.corrections() == {}
