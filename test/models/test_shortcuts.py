# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What is kept or worked out once gives the bits of what is worked out anew."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from ros2_cosim.core.kernel.exactmath import sincos
from ros2_cosim.core.messages.records import Odometry
from ros2_cosim.world.map import RoadNetwork
from ros2_cosim.world.map.cubics import Cubics
from ros2_cosim.world.map.frames import (
    body_to_world,
    conjugate,
    quaternion_from_rpy,
    world_to_body,
)
from ros2_cosim.world.map.lane_boxes import LaneBoxes
from ros2_cosim.world.map.lane_frame import LaneBox
from ros2_cosim.world.map.lanes import Lane, Lanes, LaneSection
from ros2_cosim.world.map.plan_view import Spiral

_HIGHWAY = Path(__file__).resolve().parents[2] / "config" / "highway.xodr"
_ANGLE = st.floats(-3.2, 3.2)
_PART = st.floats(-100.0, 100.0)
_NETWORK = RoadNetwork.from_file(_HIGHWAY)


@given(st.lists(st.floats(0.0, 100.0), min_size=1, max_size=200))
def test_a_spiral_that_keeps_frames_gives_what_a_fresh_one_gives(stations: list[float]) -> None:
    used = Spiral(3.0, -2.0, 0.7, 100.0, 0.0, 0.01)
    for ds in stations + stations:
        assert used.frame(ds) == Spiral(3.0, -2.0, 0.7, 100.0, 0.0, 0.01).frame(ds)


@given(st.floats(-10.0, 60.0), _PART, _PART)
def test_value_and_slope_together_are_those_alone(s: float, b: float, c: float) -> None:
    for pieces in (
        [],
        [(0.0, 1.5, 0.0, 0.0, 0.0)],
        [(0.0, 1.5, b, c, 0.25), (20.0, c, b, 0.5, -0.125)],
    ):
        function = Cubics(pieces)
        assert function.value_and_slope(s) == (function.value(s), function.slope(s))


@given(st.floats(0.0, 50.0), st.floats(-12.0, 12.0))
def test_lanes_of_fixed_width_equal_those_of_computed_width(s: float, t: float) -> None:
    def lanes(slope: float) -> Lanes:
        # A slope that begins behind the section keeps the width, but not as a constant.
        made = {
            i: Lane(
                i, "driving",
                Cubics([(0.0, 3.25 + 0.1 * abs(i), 0.0, 0.0, 0.0)]
                       + ([(60.0, 3.0, slope, 0.0, 0.0)] if slope else [])),
                None, None,
            )
            for i in (-3, -2, -1, 1, 2)
        }  # fmt: skip
        return Lanes([LaneSection(0.0, 50.0, made)], Cubics([(0.0, 0.2, 0.0, 0.0, 0.0)]))

    fixed, general = lanes(0.0), lanes(0.5)
    assert fixed.lane_at(s, t) == general.lane_at(s, t)
    for lane in (-3, -2, -1, 1, 2):
        assert fixed.centre(lane, s) == general.centre(lane, s)
        assert fixed.borders(lane, s) == general.borders(lane, s)


@given(st.floats(0.0, 3200.0), st.sampled_from((-3, -2, -1, 1, 2, 3)))
def test_a_lane_point_is_that_of_the_lane_pose(s: float, lane: int) -> None:
    assert _NETWORK.lane_point(1, lane, s) == _NETWORK.lane_pose(1, lane, s)[:2]


@given(_ANGLE, st.sampled_from((0.0, -0.0)), st.sampled_from((0.0, -0.0)))
def test_level_ground_gives_the_bits_of_the_general_rotation(
    yaw: float, roll: float, pitch: float
) -> None:
    sr, cr = sincos(0.5 * roll)
    sp, cp = sincos(0.5 * pitch)
    sy, cy = sincos(0.5 * yaw)
    general = (
        sr * cp * cy - cr * sp * sy,
        cr * sp * cy + sr * cp * sy,
        cr * cp * sy - sr * sp * cy,
        cr * cp * cy + sr * sp * sy,
    )
    assert list(map(float.hex, quaternion_from_rpy(roll, pitch, yaw))) == list(
        map(float.hex, general)
    )


@given(_ANGLE, _ANGLE, _ANGLE, st.tuples(_PART, _PART, _PART))
def test_the_opposite_rotation_turns_into_the_body(
    roll: float, pitch: float, yaw: float, vector: tuple[float, float, float]
) -> None:
    q = quaternion_from_rpy(roll, pitch, yaw)
    assert body_to_world(conjugate(q), vector) == world_to_body(q, vector)


def content(box: LaneBox) -> tuple[Any, ...]:
    """What a box holds."""
    plane = box.x, box.y, box.cos, box.sin, box.length, box.width
    lane = box.lane_cos, box.lane_sin, box.half, box.speed, box.direction
    return (*plane, box.position, *lane)


def test_a_box_is_shared_only_between_equal_questions() -> None:
    x, y, z, _ = _NETWORK.lane_pose(1, -2, 850.0)
    odometry = Odometry(x, y, z, 0.0, 0.0, 0.0, 1.0, 20.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    boxes = LaneBoxes(_NETWORK)
    first = boxes.vehicle(odometry, 4.5, 1.8)
    assert boxes.vehicle(odometry, 4.5, 1.8) is first
    assert boxes.vehicle(odometry, 4.5, 2.0).width == 2.0
    hinted = boxes.vehicle(odometry, 4.5, 1.8, first.position)
    assert hinted is not first
    other = RoadNetwork.from_file(_HIGHWAY)
    assert content(LaneBoxes(other).vehicle(odometry, 4.5, 1.8)) == content(first)
    moved = odometry._replace(x=x + 1.0)
    assert boxes.vehicle(moved, 4.5, 1.8).x == x + 1.0
