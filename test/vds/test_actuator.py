# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The way of a command to the wheels, and the vehicle that gets it: numbers by hand."""

from __future__ import annotations

import math

import pytest

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.vds.actuator import Actuator, ActuatorLimits, ActuatorSettings, DelayLine
from ros2_cosim.vds.vehicle_plant import (
    FAIL_SAFE,
    FORWARD,
    IDLE,
    NEUTRAL,
    REVERSE,
    VehicleCommand,
    VehiclePlant,
)
from ros2_cosim.world.vehicle import SEDAN

MS = 1_000_000
SECOND = 1_000_000_000


def test_a_value_is_seen_its_delay_later_and_held() -> None:
    line = DelayLine(15, "a")
    line.put(0, "b")
    line.put(10, "c")
    line.put(10, "d")
    assert [line.at(t) for t in (0, 14, 15, 24, 25, 99)] == ["a", "a", "b", "b", "d", "d"]


@pytest.mark.parametrize("delay", [-1, 10 * SECOND + 1])
def test_a_delay_is_0_to_10_seconds(delay: int) -> None:
    with pytest.raises(ConfigurationError, match="allowed is 0s to 10s"):
        DelayLine(delay, 0)
    assert DelayLine(0, 1).at(0) == DelayLine(10 * SECOND, 1).at(0) == 1


@pytest.mark.parametrize(
    ("position", "target", "expected"),
    [
        (0.0, 0.5, 0.2),
        (0.0, 0.2, 0.2),
        (0.0, 0.1, 0.1),
        (0.0, -0.5, -0.2),
        (0.0, -0.1, -0.1),
        (0.9, 5.0, 1.0),
        (0.5, 5.0, 0.7),
        (-0.9, -5.0, -1.0),
        (0.3, 0.3, 0.3),
    ],
)
def test_an_actuator_follows_within_range_and_rate(
    position: float, target: float, expected: float
) -> None:
    limits = ActuatorLimits(-1.0, 1.0, 2.0)
    assert limits.follow(position, target, 0.1) == pytest.approx(expected, abs=1e-12)
    assert ActuatorLimits().follow(position, target, 0.1) == target


@pytest.mark.parametrize("limits", [(1.0, 0.0, 1.0), (0.0, 1.0, 0.0), (0.0, 1.0, -1.0)])
def test_limits_leave_a_value_and_a_motion(limits: tuple[float, float, float]) -> None:
    with pytest.raises(ConfigurationError, match="allowed is low <= high and a rate above 0"):
        ActuatorLimits(*limits)
    assert ActuatorLimits(1.0, 1.0, 1e-9).follow(1.0, 0.0, 1.0) == 1.0


def test_each_channel_has_its_limits_and_all_have_the_delay() -> None:
    settings = ActuatorSettings(
        10 * MS,
        ActuatorLimits(-0.5, 0.5, 1.0),
        ActuatorLimits(0.0, 1.0, 2.0),
        ActuatorLimits(0.0, 0.8, 4.0),
    )
    actuator = Actuator(settings, VehicleCommand(0.1, 0.2, 0.3))
    wanted = VehicleCommand(-1.0, 2.0, 2.0, REVERSE, True, 1.5, 3.0)
    first = actuator.apply(wanted, 0, 100 * MS)
    assert first[:3] == pytest.approx((0.1, 0.2, 0.3)) and first.gear == FORWARD
    second = actuator.apply(wanted, 10 * MS, 100 * MS)
    assert second[:3] == pytest.approx((0.0, 0.4, 0.7))
    assert second[3:] == (REVERSE, True, 1.5, 3.0)
    third = actuator.apply(wanted, 110 * MS, 10 * SECOND)
    assert third[:3] == pytest.approx((-0.5, 1.0, 0.8))
    plain = Actuator(ActuatorSettings())
    assert plain.apply(VehicleCommand(9.0, 9.0, -9.0), 0, 1)[:3] == (9.0, 1.0, 0.0)
    for wrong in ("steer", "throttle", "brake"):
        with pytest.raises(ConfigurationError, match="steer and pedals must be finite"):
            plain.apply(IDLE._replace(**{wrong: math.nan}), 1, 1)


def test_the_constants_of_commands() -> None:
    assert (FORWARD, NEUTRAL, REVERSE) == (1, 0, -1)
    assert IDLE[:5] == (0.0, 0.0, 0.0, 1, False) and math.isnan(IDLE[5]) and math.isnan(IDLE[6])
    assert FAIL_SAFE[:5] == (0.0, 0.0, 0.3, 1, False)


def test_the_state_of_a_vehicle_that_rolls() -> None:
    parameters = SEDAN
    plant = VehiclePlant(parameters, x=3.0, y=4.0, yaw=0.5, speed=10.0)
    state = plant.state()
    assert state[:6] == (3.0, 4.0, 0.0, 0.0, 0.0, 0.5)
    assert state[6:14] == (10.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    radius = parameters.wheel_radius
    assert state.wheel_spin == pytest.approx((10.0 / radius,) * 4)
    assert (state.steer, state.wheel_radius) == (0.0, radius)
    weight = parameters.mass * 9.81
    assert sum(state.wheel_load) == pytest.approx(weight, rel=1e-3)
    front, _, rear, _ = state.wheel_load
    assert front / rear == pytest.approx(parameters.rear_axle / parameters.front_axle)
    assert state.wheel_load == (front, front, rear, rear)


def speeds(*commands: VehicleCommand, speed: float = 10.0) -> list[float]:
    """After each of the commands has held for half a second."""
    plant = VehiclePlant(SEDAN, speed=speed)
    found = []
    for command in commands:
        for _ in range(50):
            plant.step(command, 10 * MS)
        found.append(plant.state().vx)
    return found


def test_pedals_and_gears_do_what_they_say() -> None:
    (coasting,) = speeds(IDLE)
    assert 9.5 < coasting < 10.0
    assert speeds(VehicleCommand(throttle=1.0))[0] > coasting + 0.3
    assert speeds(VehicleCommand(throttle=7.0)) == speeds(VehicleCommand(throttle=1.0))
    assert speeds(VehicleCommand(throttle=-7.0)) == [coasting]
    assert speeds(VehicleCommand(throttle=1.0, gear=NEUTRAL)) == speeds(IDLE._replace(gear=NEUTRAL))
    assert speeds(VehicleCommand(brake=0.3))[0] < coasting - 0.5
    assert speeds(VehicleCommand(brake=9.0)) == speeds(VehicleCommand(brake=1.0))
    assert speeds(VehicleCommand(handbrake=True))[0] < coasting - 0.5
    assert speeds(VehicleCommand(throttle=1.0, gear=REVERSE), speed=0.0)[0] < -0.2
    full = SEDAN.max_steer_angle
    most, more = speeds(VehicleCommand(steer=full)), speeds(VehicleCommand(steer=9.0))
    assert most == more != [coasting]


def test_braking_loads_the_front_wheels_and_a_turn_spins_the_front_ones_faster() -> None:
    parameters = SEDAN
    plant = VehiclePlant(parameters, speed=10.0)
    at_rest = plant.state().wheel_load
    for _ in range(30):
        plant.step(VehicleCommand(steer=0.2, brake=0.3), 10 * MS)
    state = plant.state()
    assert state.ax < -1.0 and state.yaw_rate > 0.05
    shift = -parameters.mass * state.ax * parameters.cg_height / parameters.wheelbase
    assert state.wheel_load[0] - at_rest[0] == pytest.approx(0.5 * shift)
    assert at_rest[2] - state.wheel_load[2] == pytest.approx(0.5 * shift)
    along = state.vx * math.cos(state.steer)
    across = (state.vy + parameters.front_axle * state.yaw_rate) * math.sin(state.steer)
    assert state.wheel_spin[0] * state.wheel_radius == pytest.approx(along + across)
    assert state.wheel_spin[2] * state.wheel_radius == pytest.approx(state.vx)
