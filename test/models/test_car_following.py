# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The car-following scenario: models by themselves, and all together."""

from __future__ import annotations

from typing import Any

import pytest
from support.models import made

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.participant import Sample, Step
from ros2_cosim.core.messages.records import ControlCommand, DetectedObject, ObjectList, Odometry
from ros2_cosim.driving.car_following import (
    DrivingFunction,
    LeaderMotion,
    RangeSensor,
    TrafficSimulator,
)

MS = 1_000_000
MOTION = {"start": 40.0, "speed": 25.0, "amplitude": 2.0, "period": 20.0, "phase": 0.3}


def model(kind: Any, seed: int = 1, **parameters: Any) -> Any:
    context = {"period_ns": 10 * MS, "run_seed": seed}
    return made(kind, parameters, name="model", context=context)


def odometry(x: float, v: float) -> Sample:
    return Sample(0, 0, Odometry(x, *[0.0] * 5, 1.0, v, *[0.0] * 5))


def step(time: int = 0, **latest: Sample | None) -> Step:
    return Step(time, {}, latest)


def seen(distance: float, relative_speed: float) -> Sample:
    item = DetectedObject(2, 1, distance, relative_speed, 0.0, 4.5, 1.8, 1.0)
    return Sample(0, 0, ObjectList((item,)))


def test_motion_starts_where_it_should_and_its_speed_is_its_derivative() -> None:
    motion = LeaderMotion(**MOTION)
    assert motion.at(0)[0] == 40.0
    for time in range(0, 60_000 * MS, 777 * MS):
        before, after = motion.at(time)[0], motion.at(time + 2 * MS)[0]
        assert (after - before) / 0.002 == pytest.approx(motion.at(time + MS)[1], abs=1e-5)


def test_first_activation_publishes_the_start_and_the_next_ones_step() -> None:
    traffic = model(TrafficSimulator, front=MOTION, rear={**MOTION, "start": -40.0})
    first = traffic.activate(step(0, control=None))
    assert (first["odometry/ego"].x, first["odometry/ego"].vx) == (0.0, 25.0)
    assert first["odometry/rear"].x == -40.0
    command = Sample(0, 0, ControlCommand(3.0, 1.0, 0.0, 0.0))
    for n in range(1, 301):
        result = traffic.activate(step(n * 10 * MS, control=command))
    # A first-order lag of 0.3 s costs 0.3 s of acceleration.
    assert result["odometry/ego"].vx == pytest.approx(25.0 + 3.0 * 2.7, abs=0.05)


def test_ego_vehicle_never_drives_back() -> None:
    traffic = model(TrafficSimulator, front=MOTION, rear={**MOTION, "start": -400.0}, speed=1.0)
    command = Sample(0, 0, ControlCommand(-6.0, 0.0, 1.0, 0.0))
    way = [traffic.activate(step(n * 10 * MS, control=command)) for n in range(200)]
    positions = [state["odometry/ego"].x for state in way]
    assert positions == sorted(positions)
    assert way[-1]["odometry/ego"].vx == 0.0


def test_contact_is_counted_once_and_fails_the_verdict() -> None:
    traffic = model(
        TrafficSimulator, front={**MOTION, "start": 4.0}, rear={**MOTION, "start": -90.0}
    )
    for n in range(10):
        traffic.activate(step(n * 10 * MS, control=None))
    assert traffic.report().figures["collisions"] == 1
    assert traffic.report().figures["min_gap_m"] < 0.0
    assert [v["passed"] for v in traffic.report().verdicts] == [False]


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_sensor_measures_bumper_to_bumper_to_either_side(side: float) -> None:
    sensor = model(RangeSensor, target_id=2, distance_noise=0.0, speed_noise=0.0)
    result = sensor.activate(step(own=odometry(100.0, 20.0), target=odometry(100 + side * 30, 21)))
    (item,) = result["objects"].objects
    assert (item.distance, item.relative_speed) == (25.5, 1.0)
    assert sensor.activate(step(own=None, target=None))["objects"].objects == ()


def test_sensor_noise_depends_on_the_seed_alone() -> None:
    def measure(seed: int) -> Any:
        sensor = model(RangeSensor, seed, target_id=2)
        inputs = step(own=odometry(0.0, 0.0), target=odometry(30.0, 0.0))
        return [sensor.activate(inputs)["objects"].objects[0].distance for _ in range(5)]

    assert measure(1) == measure(1)
    assert measure(1) != measure(2)


@pytest.mark.parametrize(("front", "rear", "sign"), [(40.0, 20.0, 1), (20.0, 40.0, -1)])
def test_driving_function_moves_to_the_middle(front: float, rear: float, sign: int) -> None:
    driving = model(DrivingFunction)
    command = driving.activate(
        step(front=seen(front, 0.0), rear=seen(rear, 0.0), own=odometry(0.0, 25.0))
    )["control"]
    assert command.acceleration * sign > 0.0
    assert (command.throttle > 0.0) == (sign > 0)
    assert (command.brake > 0.0) == (sign < 0)


def test_driving_function_holds_its_speed_while_it_sees_nothing() -> None:
    driving = model(DrivingFunction, set_speed=20.0)
    inputs = step(front=None, rear=None, own=odometry(0.0, 20.0))
    assert driving.activate(inputs)["control"].acceleration == 0.0


@pytest.mark.parametrize("processor_time", [0, 3 * MS])
def test_an_activation_takes_its_declared_processor_time(
    processor_time: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    slept: list[float] = []
    monkeypatch.setattr("time.sleep", slept.append)
    declared = {"processor_time": f"{processor_time}ns"}
    traffic = model(TrafficSimulator, front=MOTION, rear={**MOTION, "start": -40.0}, **declared)
    traffic.activate(step(0, control=None))
    model(RangeSensor, target_id=2, **declared).activate(step(0, own=None, target=None))
    driving = model(DrivingFunction, **declared)
    driving.activate(step(0, front=None, rear=None, own=None))
    assert slept == [0.003] * 3 if processor_time else slept == []


@pytest.mark.parametrize(
    ("make", "parameters", "what"),
    [
        (TrafficSimulator, {}, "parameters.front: missing"),
        (
            TrafficSimulator,
            {"front": MOTION, "rear": {**MOTION, "phase": "x"}},
            "rear.phase: found",
        ),
        (
            TrafficSimulator,
            {"front": MOTION, "rear": {**MOTION, "period": 0}},
            "front.period: found 0|rear.period: found 0",
        ),
        (
            TrafficSimulator,
            {"front": MOTION, "rear": MOTION, "lag": 0.001},
            "lag: found 0.001 s; allowed is at least the period",
        ),
        (TrafficSimulator, {"front": MOTION, "rear": MOTION, "start": "a"}, "start: found 'a'"),
        (TrafficSimulator, {"front": MOTION, "rear": MOTION, "weight": 1}, "weight: unknown key"),
        (RangeSensor, {"target_id": 1, "length": 0}, "length: found 0"),
        (DrivingFunction, {"gain": 0.0}, "gain: found 0"),
    ],
)
def test_wrong_parameters_are_named(make: Any, parameters: dict[str, Any], what: str) -> None:
    with pytest.raises(ConfigurationError, match=what):
        model(make, **parameters)
