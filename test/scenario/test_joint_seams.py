# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A vehicle as its joints: states that controllers of others integrate, commands that drive it."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.messages.catalogue import DEFAULT
from ros2_cosim.core.messages.records import ControlCommand, Odometry
from ros2_cosim.core.messages.seams import MadeOutput, SeamPlace, Seams
from ros2_cosim.driving.seams.joints import FromJoints, ToJointStates
from ros2_cosim.world.vehicle import VEHICLES

CAR = VEHICLES["sedan"]
SCENE = {"vehicles": {"a": {"dynamics": "sedan"}}}
STATES, TRAJECTORY, ARRAY = FromJoints.source_types
RADIUS, BASE, TRACK = CAR.wheel_radius, CAR.wheelbase, 0.8 * CAR.width
LEFT, RIGHT = "rear_left_wheel_joint", "rear_right_wheel_joint"
STEERS = ("front_left_steering_joint", "front_right_steering_joint")


def moving(speed: float, rate: float = 0.0) -> Odometry:
    return Odometry(*[0.0] * 7, speed, *[0.0] * 4, rate)


def states(**given: Any) -> ToJointStates:
    place = SeamPlace("here", "joint_states/a", "", (), SCENE)
    return ToJointStates(place, ToJointStates.Parameters(**given))


def commands(source: str, **given: Any) -> FromJoints:
    place = SeamPlace("here", "control/a", source, ("odometry/a",), SCENE)
    return FromJoints(place, FromJoints.Parameters(**given))


def obeyed(seam: FromJoints, record: Any, speed: float = 5.0) -> ControlCommand:
    made = seam.convert(record, {"odometry/a": moving(speed)})
    assert made is not None
    return made


@given(
    st.one_of(st.floats(0.6, 40.0), st.floats(-8.0, -0.6)),
    st.floats(-CAR.max_steer_angle, CAR.max_steer_angle),
    st.integers(0, 2),
)
def test_what_the_joints_do_is_the_command_that_keeps_them_at_it(
    speed: float, angle: float, steered: int
) -> None:
    steering = STEERS[:steered]
    seam = states(steering=steering)
    told = seam.convert(0, moving(speed, speed * math.tan(angle) / BASE))
    assert len(told.name) == len(told.position) == len(told.velocity) == 4 + steered
    made = obeyed(commands(STATES, steering=steering), told, speed)
    assert made.acceleration == pytest.approx(0.0, abs=1e-9)
    assert made.steer == pytest.approx(angle / CAR.max_steer_angle, abs=1e-9)


def test_wheels_turn_as_far_as_they_roll() -> None:
    seam = states()
    for step in range(101):
        told = seam.convert(step * 10_000_000, moving(0.1 * step, 0.02 * step))
    values = dict(zip(told.name, told.position, strict=True))
    rates = dict(zip(told.name, told.velocity, strict=True))
    assert values[RIGHT] == pytest.approx((5.0 + 0.5 * TRACK) / RADIUS)
    assert values[LEFT] == pytest.approx((5.0 - 0.5 * TRACK) / RADIUS)
    assert rates[RIGHT] == pytest.approx((10.0 + TRACK) / RADIUS)
    # The wheels of the front axle turn about the same point as those of the rear one.
    for side, name in ((-0.5, STEERS[0]), (0.5, STEERS[1])):
        assert math.tan(values[name]) == pytest.approx(BASE * 2.0 / (10.0 + side * TRACK * 2.0))
    speed = math.hypot(10.0 - TRACK, BASE * 2.0)
    assert rates["front_left_wheel_joint"] == pytest.approx(speed / RADIUS)


def test_at_rest_the_steering_stays_as_it_was() -> None:
    seam = states()
    turned = seam.convert(0, moving(1.0, 0.1)).position[-2:]
    still = seam.convert(100_000_000, moving(0.0))
    assert still.position[-2:] == turned != (0.0, 0.0)
    assert list(still.velocity) == [0.0] * 6


def test_a_vehicle_whose_joints_are_told_cannot_be_saved() -> None:
    seams = Seams({}, [MadeOutput("joint_states/a", states(), ("odometry/a",))])
    assert seams.unsaved is not None and Seams({}, []).unsaved is None


def test_commands_of_hardware_have_the_values_of_commanded_joints_only() -> None:
    record: Any = DEFAULT.record(STATES)
    names = ("lamp", STEERS[1], LEFT, STEERS[0], RIGHT)
    made = obeyed(commands(STATES), record(names, (0.2, 0.2), (30.0, 10.0), ()))
    assert made.acceleration == pytest.approx(20.0 * RADIUS - 5.0)
    assert made.steer == pytest.approx(0.2 / CAR.max_steer_angle)
    nothing = obeyed(commands(STATES), record(names, (), (), ()))
    assert (nothing.acceleration, nothing.steer) == (0.0, 0.0)
    unknown = record((LEFT, RIGHT), (), (math.nan, 10.0), ())
    assert obeyed(commands(STATES), unknown).acceleration == pytest.approx(10.0 * RADIUS - 5.0)


def test_a_trajectory_counts_by_its_last_point() -> None:
    point: Any = DEFAULT.part("trajectory_msgs/msg/JointTrajectoryPoint")
    record: Any = DEFAULT.record(TRAJECTORY)
    points = (point(positions=(0.5, 0.5)), point(positions=(0.1, 0.1)))
    made = obeyed(commands(TRAJECTORY), record(STEERS, points))
    assert made.steer == pytest.approx(0.1 / CAR.max_steer_angle)
    assert made.acceleration == 0.0 and math.isnan(made.throttle)
    assert obeyed(commands(TRAJECTORY), record(STEERS, ())).steer == 0.0


def test_the_values_of_a_group_have_an_order() -> None:
    record: Any = DEFAULT.record(ARRAY)
    whole = obeyed(commands(ARRAY, gain=0.5), record(data=(20.0, 20.0, -0.1, -0.1)))
    assert whole.acceleration == pytest.approx(0.5 * (20.0 * RADIUS - 5.0))
    assert whole.steer == pytest.approx(-0.1 / CAR.max_steer_angle)
    turned = obeyed(commands(ARRAY, order=STEERS), record(data=(0.1, 0.1)))
    assert (turned.acceleration, turned.steer) == (0.0, pytest.approx(0.1 / CAR.max_steer_angle))


def test_without_steering_the_wheels_differ() -> None:
    record: Any = DEFAULT.record(ARRAY)
    made = obeyed(commands(ARRAY, steering=(), track=1.5), record(data=(19.0, 21.0)))
    rate = 2.0 * RADIUS / 1.5
    assert made.steer == pytest.approx(math.atan(BASE * rate / 5.0) / CAR.max_steer_angle)
    assert obeyed(commands(ARRAY, steering=()), record(data=(19.0, 21.0)), 0.1).steer == 0.0


def test_what_does_not_fit_is_named() -> None:
    place = SeamPlace("here", "joint_states", "", (), SCENE)
    with pytest.raises(ConfigurationError, match="found the port 'joint_states'; allowed is .* a"):
        ToJointStates(place, ToJointStates.Parameters())
    place = SeamPlace("here", "control/b", STATES, ("odometry/b",), {})
    with pytest.raises(ConfigurationError, match="the scene, which has none"):
        FromJoints(place, FromJoints.Parameters())
    with pytest.raises(ConfigurationError, match="here.order: found lamp; allowed are front_left"):
        commands(ARRAY, order=("lamp",))
