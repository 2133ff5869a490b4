# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Encounters on a straight road: each number is one that a drawing on paper gives."""

from __future__ import annotations

import math

import pytest

from buildtools.highway import make_highway
from ros2_cosim.world.map import RoadNetwork
from ros2_cosim.world.map.encounters import (
    Encounter,
    Encounters,
    Extreme,
    MovingBox,
    _leaves_lane,
    corners,
    encounter,
    time_to_collision,
    touch,
)
from ros2_cosim.world.map.lane_frame import LaneBox, box_at

ROAD = RoadNetwork.from_xodr(make_highway())
ORIGIN_X, ORIGIN_Y, _, HEADING = ROAD.pose(1, 1700.0, ROAD.lane_centre(1, -2, 1700.0))
COS, SIN = math.cos(HEADING), math.sin(HEADING)
NONE = (math.inf, None, None)


def mover(
    ahead: float,
    left: float = 0.0,
    yaw: float = 0.0,
    speed: float = 0.0,
    *,
    vy: float = 0.0,
    rate: float = 0.0,
    size: tuple[float, float] = (4.0, 2.0),
    name: str = "other",
) -> MovingBox:
    """One whose centre is so far ahead and left of a place on lane -2."""
    x, y = ORIGIN_X + ahead * COS - left * SIN, ORIGIN_Y + ahead * SIN + left * COS
    c, s = math.cos(HEADING + yaw), math.sin(HEADING + yaw)
    return MovingBox(name, box_at(ROAD, x, y, c, s, *size, None, speed, vy), speed, vy, rate)


def seen(box: LaneBox) -> tuple[float, float, float]:
    """Where a box is: ahead, left, and turned by how much to the left."""
    dx, dy = box.x - ORIGIN_X, box.y - ORIGIN_Y
    yaw = math.atan2(box.sin * COS - box.cos * SIN, box.cos * COS + box.sin * SIN)
    return dx * COS + dy * SIN, dy * COS - dx * SIN, yaw


def on(ego: MovingBox, other: MovingBox) -> tuple[float, float] | None:
    found = encounter(ROAD, ego, other)
    return None if found is None else (found.gap, found.closing)


@pytest.mark.parametrize(
    ("start", "seconds", "there"),
    [
        (mover(5.0, 1.0, 0.0, 10.0), 2.0, (25.0, 1.0, 0.0)),
        (mover(5.0, 1.0, 0.0, 10.0, vy=-3.0), 2.0, (25.0, -5.0, 0.0)),
        (mover(0.0, 0.0, math.pi / 2, 10.0, vy=3.0), 2.0, (-6.0, 20.0, math.pi / 2)),
        # A quarter of a circle of 10 m to the left, from the heading and from across it.
        (mover(0.0, 0.0, 0.0, 5.0 * math.pi, rate=math.pi / 2), 1.0, (10.0, 10.0, math.pi / 2)),
        (mover(0.0, 0.0, 0.0, 5.0 * math.pi, rate=-math.pi / 2), 1.0, (10.0, -10.0, -math.pi / 2)),
        (
            mover(0.0, 0.0, 0.0, 0.0, vy=5.0 * math.pi, rate=math.pi / 2),
            1.0,
            (-10.0, 10.0, math.pi / 2),
        ),
        (
            mover(2.0, 0.0, 0.5, 5.0 * math.pi, rate=math.pi / 2),
            1.0,
            (5.981570232861699, 13.570081004945757, 0.5 + math.pi / 2),
        ),
    ],
)
def test_a_mover_is_there_later(
    start: MovingBox, seconds: float, there: tuple[float, float, float]
) -> None:
    box = start.after(ROAD, seconds)
    assert seen(box) == pytest.approx(there, abs=1e-9)
    assert (box.length, box.width) == (4.0, 2.0)
    turned = there[2]
    along = start.vx * math.cos(turned) - start.vy * math.sin(turned)
    assert box.speed == pytest.approx(along, abs=1e-9)


@pytest.mark.parametrize(
    ("gap", "closing", "expected"),
    [
        (10.0, 5.0, 2.0),
        (1.0, 0.1, math.inf),
        (1.0, 0.125, 8.0),
        (1.0, -5.0, math.inf),
        (10.0, 0.5, 20.0),
        (10.1, 0.5, math.inf),
        (0.0, 5.0, 0.0),
        (-1.0, 5.0, 0.0),
        (-1.0, -5.0, math.inf),
    ],
)
def test_a_time_to_collision_is_gap_over_closing_speed(
    gap: float, closing: float, expected: float
) -> None:
    assert time_to_collision(gap, closing) == expected
    assert Encounter(gap, closing).time_to_collision == expected


@pytest.mark.parametrize(
    ("other", "touches"),
    [
        (mover(3.99), True),
        (mover(4.01), False),
        (mover(-4.01), False),
        (mover(0.0, 1.99), True),
        (mover(0.0, 2.01), False),
        (mover(0.0, -2.01), False),
        # Across: half a width and half a length.
        (mover(2.99, 0.0, math.pi / 2), True),
        (mover(3.01, 0.0, math.pi / 2), False),
        (mover(0.0, 2.99, math.pi / 2), True),
        (mover(0.0, 3.01, math.pi / 2), False),
        # Turned by 45 degrees its corner is 3 / sqrt(2) = 2.1213 m from its centre.
        (mover(4.11, 0.0, math.pi / 4), True),
        (mover(4.13, 0.0, math.pi / 4), False),
        (mover(0.0, 3.11, math.pi / 4), True),
        (mover(0.0, 3.13, math.pi / 4), False),
        (mover(0.0, 3.11, -math.pi / 4), True),
        # Corner to corner only its own side is between: 1.4142 m from the edge's line.
        (mover(2.0 + 0.7, -1.0 - 0.7, math.pi / 4), True),
        (mover(3.5, -2.5, math.pi / 4), False),
        (mover(3.0, 2.0, math.pi / 4, size=(4.0, 0.5)), True),
        (mover(3.3, 0.5, math.pi / 4, size=(6.0, 0.5)), True),
        (mover(3.6, -0.9, math.pi / 4, size=(6.0, 0.5)), False),
    ],
)
def test_boxes_touch_or_not(other: MovingBox, touches: bool) -> None:
    ego = mover(0.0, name="ego").box
    assert touch(ego, other.box) is touches
    assert touch(other.box, ego) is touches


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        (mover(30.0, speed=15.0), (26.0, 5.0)),
        (mover(30.0, 0.0, math.pi, 15.0), (26.0, 35.0)),
        # A wall across the road is 1 m thick for ego; it moves aside.
        (mover(30.0, 0.0, math.pi / 2, 3.0), (27.0, 20.0)),
        # At 30 degrees its rear left corner is nearest, 2 cos + 1 sin before its centre; ...
        (mover(30.0, 0.0, math.pi / 6), (30.0 - 2.0 - math.sqrt(3.0) - 0.5, 20.0)),
        # ... further left its rear edge meets the border of the strip, 1 m from the middle.
        (mover(30.0, 2.5, math.pi / 6), (26.556624327025933, 20.0)),
        (mover(30.0, -2.5, -math.pi / 6), (26.556624327025933, 20.0)),
        # One longer than the strip is wide has no corner inside of it.
        (mover(30.0, 0.0, math.pi / 3, size=(12.0, 2.0)), (26.26794919243112, 20.0)),
        (mover(30.0, 2.01), None),
        (mover(30.0, -2.01), None),
        (mover(-1.0), None),
        (mover(0.5), (-3.5, 20.0)),
        (mover(-2.0, speed=0.0), None),
    ],
)
def test_what_stands_or_keeps_its_lane_counts_in_the_strip(
    other: MovingBox, expected: tuple[float, float] | None
) -> None:
    ego = mover(0.0, speed=20.0, name="ego")
    assert on(ego, other) == (None if expected is None else pytest.approx(expected))


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        # It crosses from the right: its front is 3.5 - 2 - 1 m beside the strip.
        (mover(30.0, -3.5, math.pi / 2, 1.0), (math.hypot(27.0, 0.5), 20.0)),
        # 4.9 m at 1 m/s are less than 5 s, 5.1 m are more.
        (mover(30.0, -7.9, math.pi / 2, 1.0), (math.hypot(27.0, 4.9), 20.0)),
        (mover(30.0, -8.1, math.pi / 2, 1.0), None),
        # A fast one has crossed the strip within one step of 0.2 s, but for its length.
        (mover(30.0, -18.0, math.pi / 2, 40.0), (math.hypot(27.0, 15.0), 20.0)),
        (mover(30.0, -9.0, math.pi / 2, 40.0), (math.hypot(27.0, 6.0), 20.0)),
        # 0.3 m/s across is to keep the lane.
        (mover(30.0, 2.5, 0.0, 20.0, vy=-0.3), None),
        (mover(30.0, 2.5, 0.0, 20.0, vy=-0.31), (math.hypot(26.0, 0.5), 0.0)),
        # Oncoming, and across into the strip.
        (mover(100.0, 3.5, math.pi, 20.0, vy=1.0), (math.hypot(96.0, 1.5), 40.0)),
        # Past ego's front before it is in the strip.
        (mover(30.0, 3.5, math.pi, 20.0, vy=0.5), None),
        (mover(-30.0, -3.5, math.pi / 2, 1.0), None),
    ],
)
def test_what_comes_into_the_strip_within_five_seconds_counts(
    other: MovingBox, expected: tuple[float, float] | None
) -> None:
    ego = mover(0.0, speed=20.0, name="ego")
    assert on(ego, other) == (None if expected is None else pytest.approx(expected))


def along(angle: float, radius: float, outside: float = 0.0, **motion: float) -> MovingBox:
    """One on a circle to the left, which begins at ego with its heading of 0.1, or outside it."""
    x = (radius + outside) * math.sin(angle)
    y = radius - (radius + outside) * math.cos(angle)
    c, s = math.cos(0.1), math.sin(0.1)
    return mover(x * c - y * s, x * s + y * c, 0.1 + angle, **motion)


@pytest.mark.parametrize(
    ("rate", "other", "expected"),
    [
        # Straight on, turned by 0.1 rad: 30 m along its path.
        (0.0, mover(30.0 * math.cos(0.1), 30.0 * math.sin(0.1), 0.1, 5.0), (26.0, 15.0)),
        (0.0, mover(30.0 * math.cos(0.1), 30.0 * math.sin(0.1), 0.1, 5.0, vy=2.0), (26.0, 15.0)),
        # A radius of 100 m to the left and to the right.
        (0.2, along(0.3, 100.0, speed=5.0), (26.0, 15.0)),
        (0.2, along(0.3, 100.0, speed=5.0, vy=2.0), (26.0, 15.0)),
        (-0.2, along(-0.5, -100.0, speed=5.0), (46.0, 15.0)),
        # 1.9 m outside and inside of the circle its side is still in the strip.
        (0.2, along(0.3, 100.0, 1.9), (26.0, 20.0)),
        (0.2, along(0.3, 100.0, -1.9), (26.0, 20.0)),
        # A path ends after five seconds, 100 m.
        (0.2, along(1.0, 100.0), (96.0, 20.0)),
        (0.2, along(1.05, 100.0), None),
    ],
)
def test_an_ego_that_leaves_its_lane_meets_what_is_on_its_path(
    rate: float, other: MovingBox, expected: tuple[float, float] | None
) -> None:
    ego = mover(0.0, 0.0, 0.1, 20.0, rate=rate, name="ego")
    assert on(ego, other) == (None if expected is None else pytest.approx(expected))


def test_of_two_strips_the_nearer_gap_counts() -> None:
    ego = mover(0.0, 0.0, 0.1, 20.0, name="ego")
    # The lane's strip has more of the one, ...
    assert on(ego, mover(15.0, 0.5, 0.1)) == pytest.approx((10.849949, 19.900083))
    # ... and the path's of the other.
    assert on(ego, mover(15.0, 3.0, -0.7)) == pytest.approx((12.304033, 20.0))


def test_the_corners_of_a_box_go_round_it() -> None:
    x, y = ORIGIN_X, ORIGIN_Y
    box = box_at(ROAD, x, y, 0.6, 0.8, 10.0, 5.0, None, 0.0, 0.0)
    expected = [(x + 1.0, y + 5.5), (x + 5.0, y + 2.5), (x - 1.0, y - 5.5), (x - 5.0, y - 2.5)]
    for found, corner in zip(corners(box), expected, strict=True):
        assert found == pytest.approx(corner)


def test_what_reaches_far_from_its_centre_is_looked_at() -> None:
    """A wall whose end is in the strip, 11 m ahead; it goes as fast as ego, so no gap closes."""
    ego = mover(0.0, speed=20.0, name="ego")
    side = 20.0 * math.sqrt(0.5)
    wall = mover(20.0, 7.0, -math.pi / 4, side, vy=side, size=(1.0, 20.0), name="wall")
    found = encounter(ROAD, ego, wall)
    assert found is not None
    watch = Encounters(ROAD)
    watch.gap = Extreme(found.gap + 1e-6)
    watch.look(1, [ego], [wall])
    assert tuple(watch.gap) == (found.gap, ("ego", "wall"), 1)


def test_a_watch_keeps_the_first_of_equal_values_and_only_of_others() -> None:
    watch = Encounters(ROAD)
    ego = mover(0.0, speed=20.0, name="ego")
    assert tuple(watch.gap) == tuple(watch.ttc) == NONE == tuple(Extreme())
    watch.look(1, [ego], [ego, mover(-30.0, name="behind")])
    assert tuple(watch.gap) == tuple(watch.ttc) == NONE
    watch.look(2, [ego], [ego, mover(30.0, speed=20.0, name="a")])
    assert tuple(watch.gap) == (pytest.approx(26.0), ("ego", "a"), 2)
    assert tuple(watch.ttc) == NONE
    watch.look(3, [ego], [mover(30.0, speed=20.0, name="b")])
    assert tuple(watch.gap) == (pytest.approx(26.0), ("ego", "a"), 2)
    # Further away, but it closes.
    watch.look(4, [ego], [mover(54.0, name="c"), mover(104.0, name="d")])
    assert tuple(watch.gap) == (pytest.approx(26.0), ("ego", "a"), 2)
    assert tuple(watch.ttc) == (pytest.approx(2.5), ("ego", "c"), 4)
    watch.look(5, [ego], [mover(84.0, 0.0, math.pi, 20.0, name="oncoming")])
    assert tuple(watch.ttc) == (pytest.approx(2.0), ("ego", "oncoming"), 5)
    # Two that overlap: a negative gap, and no time left.
    watch.look(6, [ego], [mover(3.0, name="e")])
    assert tuple(watch.gap) == (pytest.approx(-1.0), ("ego", "e"), 6)
    assert tuple(watch.ttc) == (0.0, ("ego", "e"), 6)


@pytest.mark.parametrize(
    ("ego", "other", "ttc"),
    [
        # Sideways speed closes a gap as well; velocities are compared as vectors.
        (mover(0.0, 0.0, 0.0, 20.0), mover(64.0, 0.0, math.pi / 2, 0.0, vy=10.0), 61.0 / 30.0),
        (mover(0.0, 0.0, 0.0, 20.0), mover(64.0, 0.0, -math.pi / 2, 0.0, vy=-10.0), 61.0 / 30.0),
        (mover(0.0, 0.0, math.pi / 2, 0.0, vy=-20.0), mover(64.0), 61.0 / 20.0),
    ],
)
def test_a_pair_is_looked_at_as_long_as_it_can_be_the_soonest(
    ego: MovingBox, other: MovingBox, ttc: float
) -> None:
    watch = Encounters(ROAD)
    watch.gap = Extreme(1.0, ("x", "y"), 0)
    watch.ttc = Extreme(ttc + 0.5, ("x", "y"), 0)
    watch.look(7, [ego._replace(name="ego")], [other])
    assert tuple(watch.ttc) == (pytest.approx(ttc), ("ego", "other"), 7)


@pytest.mark.parametrize(
    ("yaw", "speed", "vy", "leaves"),
    [
        (0.0, 20.0, 0.29, False),
        (0.0, 20.0, -0.31, True),
        (0.1, 3.0, 0.0, False),
        (0.1, 3.1, 0.0, True),
        (-0.1, 3.0, 0.0, False),
        (-0.1, 3.1, 0.0, True),
        # Its heading and its drift are opposite.
        (0.1, 10.0, -0.8, False),
        (0.1, 10.0, -1.4, True),
        (math.pi, 20.0, 0.29, False),
        (math.pi / 2, 0.29, 5.0, False),
    ],
)
def test_a_mover_leaves_its_lane_faster_than_0_3_metres_a_second_across(
    yaw: float, speed: float, vy: float, leaves: bool
) -> None:
    """One that leaves, beside the strip and to its right, is in it within five seconds or not."""
    ego = mover(0.0, 0.0, yaw, speed, vy=vy, name="ego")
    assert _leaves_lane(ego) is leaves
