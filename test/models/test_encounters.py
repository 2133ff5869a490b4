# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Who is in whose way: pairs by hand, and properties of the geometry."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from buildtools.highway import make_highway
from ros2_cosim.world.map import RoadNetwork
from ros2_cosim.world.map.encounters import (
    Encounters,
    Extreme,
    MovingBox,
    _along_path,
    _leaves_lane,
    apart,
    corners,
    encounter,
    time_headway,
    time_to_collision,
    touch,
)
from ros2_cosim.world.map.lane_frame import box_at
from ros2_cosim.world.map.open_ground import OPEN_GROUND

ROAD = RoadNetwork.from_xodr(make_highway())
SECOND = 1_000_000_000


def mover(
    name: str,
    s: float,
    left: float = 0.0,
    speed: float = 0.0,
    *,
    yaw: float = 0.0,
    size: tuple[float, float] = (4.0, 2.0),
    **motion: float,
) -> MovingBox:
    """One on lane -2, so far left of its centre and turned so far to the left."""
    x, y, _, heading = ROAD.pose(1, s, ROAD.lane_centre(1, -2, s) + left)
    turned = heading + yaw
    cos, sin = math.cos(turned), math.sin(turned)
    vy, yaw_rate = motion.get("vy", 0.0), motion.get("yaw_rate", 0.0)
    box = box_at(ROAD, x, y, cos, sin, *size, None, speed, vy)
    return MovingBox(name, box, speed, vy, yaw_rate)


EGO = mover("ego", 100.0, speed=20.0)


def gap(other: MovingBox, ego: MovingBox = EGO) -> Any:
    found = encounter(ROAD, ego, other)
    return None if found is None else found.gap


def test_the_gap_in_the_lane_is_from_bumper_to_bumper() -> None:
    found = encounter(ROAD, EGO, mover("other", 130.0, speed=15.0))
    assert found is not None
    assert found.gap == pytest.approx(26.0)
    assert found.closing == pytest.approx(5.0)
    assert found.time_to_collision == pytest.approx(5.2)


def test_one_behind_or_alongside_does_not_count() -> None:
    assert gap(mover("behind", 90.0, speed=30.0)) is None
    assert gap(mover("alongside", 101.0, 3.5, 20.0)) is None
    assert gap(mover("alongside", 101.0, 3.5, 20.0, vy=-1.0)) is None


@pytest.mark.parametrize(("left", "counts"), [(1.95, True), (-1.95, True), (2.05, False)])
def test_a_standing_one_counts_where_the_widths_overlap(left: float, counts: bool) -> None:
    assert (gap(mover("other", 130.0, left)) is not None) == counts


@pytest.mark.parametrize(
    ("left", "vy", "counts"),
    [
        (3.5, 0.0, False),  # keeps its lane
        (3.5, -0.35, True),  # 1.5 m in 4.3 s
        (3.5, -0.28, False),  # 1.4 m in 5 s
        (-3.5, 0.35, True),
        (3.5, 0.35, False),  # moves away
    ],
)
def test_one_beside_counts_if_it_comes_into_the_strip_within_five_seconds(
    left: float, vy: float, counts: bool
) -> None:
    found = gap(mover("other", 130.0, left, 20.0, vy=vy))
    # Between the front of the one and the nearest point of the other: 26 m ahead, 1.5 m aside.
    assert found == (pytest.approx(math.hypot(26.0, 1.5)) if counts else None)


def test_a_turn_counts_too() -> None:
    # It has begun to turn out of its lane, 3.5 m to the left, and goes on by 0.1 rad/s.
    assert gap(mover("other", 130.0, 3.5, 10.0, yaw=0.04, yaw_rate=-0.1)) is not None
    assert gap(mover("other", 130.0, 3.5, 10.0, yaw=0.04, yaw_rate=0.1)) is None


def test_one_that_keeps_its_lane_does_not_count_whatever_its_yaw_rate() -> None:
    """At 30 m/s a yaw rate of 0.003 rad/s is a metre within five seconds."""
    assert gap(mover("other", 130.0, 3.5, 30.0, yaw=-0.009, yaw_rate=-0.003)) is None
    assert gap(mover("other", 130.0, 3.5, 30.0, yaw=-0.011, yaw_rate=-0.003)) is not None


def test_a_pedestrian_on_the_way_to_the_strip_counts() -> None:
    size = (0.5, 0.5)
    walker = mover("walker", 130.0, 6.0, 1.2, yaw=-math.pi / 2, size=size)
    assert gap(walker) == pytest.approx(math.hypot(27.75, 4.75))
    assert gap(mover("walker", 130.0, 8.0, 1.2, yaw=-math.pi / 2, size=size)) is None


def test_the_nearest_point_inside_the_strip_counts_not_the_nearest_corner() -> None:
    """A truck across the road at 45 degrees, 5 m to the left.

    Its rear left corner is 4.95 m nearer than its centre and 0.46 m beside the strip; the edge from
    there to the rear right corner meets the strip's border 0.46 m further on.
    """
    truck = mover("truck", 130.0, 5.0, yaw=math.pi / 4, size=(12.0, 2.0))
    assert gap(truck) == pytest.approx(23.5147, abs=1e-4)


def test_boxes_that_touch_have_a_gap_of_nothing_or_less() -> None:
    assert gap(mover("other", 103.9)) == pytest.approx(-0.1)
    # Seen from the one in front the other is behind.
    assert gap(EGO, mover("other", 103.9)) is None


def test_an_ego_that_leaves_its_lane_has_a_strip_along_its_path() -> None:
    other = mover("other", 130.0, 3.5, 20.0)
    assert gap(other) is None
    leaving = mover("ego", 100.0, speed=20.0, yaw=0.1)
    assert gap(other, leaving) == pytest.approx(26.0, abs=0.5)
    # In a turn to the right its path leads elsewhere.
    assert gap(other, leaving._replace(yaw_rate=-0.3)) is None


def test_times_to_collision_have_limits() -> None:
    assert time_to_collision(10.0, 5.0) == 2.0
    assert time_to_collision(10.0, 0.1) == math.inf
    assert time_to_collision(10.0, 0.4) == math.inf  # 25 s
    assert time_to_collision(-1.0, 5.0) == 0.0


def test_the_distance_of_two_boxes_is_that_of_their_nearest_points() -> None:
    other = mover("other", 130.0, 5.0)
    assert apart(EGO.box, other.box) == pytest.approx(math.hypot(26.0, 3.0))
    # A corner of the one, turned by 45 degrees, and the side of the other.
    turned = mover("other", 110.0, yaw=math.pi / 4, size=(2.0, 2.0))
    assert apart(EGO.box, turned.box) == pytest.approx(8.0 - math.sqrt(2.0))


def test_the_time_headway_is_the_gap_over_the_own_speed() -> None:
    assert time_headway(26.0, 20.0) == 1.3
    assert time_headway(26.0, 0.5) == 52.0
    assert time_headway(26.0, 0.0) == time_headway(26.0, -1.0) == math.inf


def test_a_watch_keeps_the_smallest_values_with_pair_and_time() -> None:
    watch = Encounters(ROAD)
    near, far = mover("near", 130.0, speed=20.0), mover("far", 200.0)
    watch.look(1 * SECOND, [EGO], [EGO, far])
    watch.look(2 * SECOND, [EGO], [EGO, near, far])
    watch.look(3 * SECOND, [EGO], [EGO, mover("near", 140.0, speed=20.0), far])
    assert [*watch.gap] == [pytest.approx(26.0), ("ego", "near"), 2 * SECOND]
    assert [*watch.ttc] == [pytest.approx(4.8), ("ego", "far"), 1 * SECOND]


places = st.tuples(st.floats(100.0, 140.0), st.floats(-8.0, 8.0), st.floats(-3.2, 3.2))
sizes = st.tuples(st.floats(0.5, 12.0), st.floats(0.5, 3.0))


def drawn(name: str, place: tuple[float, float, float], size: tuple[float, float]) -> MovingBox:
    return mover(name, place[0], place[1], 3.0, yaw=place[2], size=size)


@given(places, sizes, places, sizes)
def test_contact_is_mutual_and_that_of_sampled_points(
    one: Any, one_size: Any, two: Any, two_size: Any
) -> None:
    a, b = drawn("a", one, one_size).box, drawn("b", two, two_size).box
    assert touch(a, b) == touch(b, a)
    steps = [k / 40 - 0.5 for k in range(41)]
    points = [
        (a.x + u * a.length * a.cos - v * a.width * a.sin,
         a.y + u * a.length * a.sin + v * a.width * a.cos)
        for u in steps for v in steps
    ]  # fmt: skip
    inside = any(
        abs((x - b.x) * b.cos + (y - b.y) * b.sin) < 0.5 * b.length
        and abs((y - b.y) * b.cos - (x - b.x) * b.sin) < 0.5 * b.width
        for x, y in points
    )
    if inside:
        assert touch(a, b)
    from_corner = min(math.dist(p, q) for p in corners(a) for q in corners(b))
    assert 0.0 <= apart(a, b) <= from_corner + 1e-9
    assert apart(a, b) == pytest.approx(apart(b, a), abs=1e-9)
    assert (apart(a, b) == 0.0) == touch(a, b)


@example((102.0, 0.0, -2.0), (1.0, 1.0), (100.0, 2.0, -1.0), (1.0, 1.0))
@given(places, sizes, places, sizes)
def test_the_quick_bound_hides_nothing(one: Any, one_size: Any, two: Any, two_size: Any) -> None:
    """A watch that has found more than a pair has takes it, whatever the quick bound says."""
    ego, other = drawn("ego", one, one_size), drawn("other", two, two_size)
    found = encounter(ROAD, ego, other)
    watch = Encounters(ROAD)
    if found is not None:
        watch.gap = Extreme(found.gap + 1e-6)
        watch.ttc = Extreme(found.time_to_collision + 1e-6)
    watch.look(SECOND, [ego], [other])
    assert (watch.gap.pair is not None) == (found is not None)
    if found is not None:
        assert watch.gap.value == found.gap
        assert watch.ttc.value == found.time_to_collision


# Numbers without any rounding: the road runs along x, and 0.6 and 0.8 are cosine and sine.

AT_X, AT_Y, _, _ = ROAD.pose(1, 100.0, ROAD.lane_centre(1, -2, 100.0))
TURNED = (0.6, 0.8)


def exact(
    ahead: float,
    left: float = 0.0,
    vx: float = 0.0,
    vy: float = 0.0,
    *,
    heading: tuple[float, float] = (1.0, 0.0),
    size: tuple[float, float] = (4.0, 2.0),
    rate: float = 0.0,
    name: str = "other",
    road: Any = ROAD,
) -> MovingBox:
    box = box_at(road, AT_X + ahead, AT_Y + left, *heading, *size, None, vx, vy)
    return MovingBox(name, box, vx, vy, rate)


class Asked:
    """The road, as a ring if it has a length; it counts how often it is asked for a way."""

    def __init__(self, length: float = 0.0) -> None:
        self.ways = 0
        self._length = length
        self.project = ROAD.project

    def beside_lane(self, *place: Any) -> Any:
        self.ways += 1
        return ROAD.beside_lane(*place)

    def distance(self, start: Any, end: Any) -> float:
        self.ways += 1
        way = ROAD.distance(start, end)
        return way + self._length if way < 0.0 else way


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        # Its side is that of the strip.
        (exact(30.0, 2.0), (26.0, 20.0)),
        (exact(30.0, -2.0), (26.0, 20.0)),
        # Its corner is on the strip's side, 1 m before its centre; another is 5 m before it.
        (exact(30.0, 6.5, heading=TURNED, size=(10.0, 5.0)), (27.0, 20.0)),
        # What is in the strip is behind ego as a whole, though the centre is not.
        (exact(2.0, 8.5, heading=TURNED, size=(20.0, 1.0)), None),
        # Of two at one place none is behind.
        (exact(0.0), (-4.0, 20.0)),
        # Beside ego's front, on its way into the strip.
        (exact(4.0, 3.5, 20.0, -1.0), (1.5, 0.0)),
        # At its side after five seconds; and then just before ego's front.
        (exact(30.0, 7.0, 20.0, -1.0), (math.hypot(26.0, 5.0), 0.0)),
        (exact(104.0, 7.0, -20.0, -1.0), (math.hypot(100.0, 5.0), 40.0)),
    ],
)
def test_what_just_meets_the_strip_counts(
    other: MovingBox, expected: tuple[float, float] | None
) -> None:
    assert encounter(ROAD, exact(0.0, vx=20.0, name="ego"), other) == expected


@pytest.mark.parametrize(("length", "counts"), [(65.0, True), (65.5, False)])
def test_a_place_that_is_met_again_round_a_block_does_not_count(
    length: float, counts: bool
) -> None:
    """In five seconds the other moves by 25 m, of which 15 lead behind ego: 10 m from the end.

    Its gap may then be 1 m and twice these 25, and is the ring less 10 and both half lengths.
    """
    found = encounter(Asked(length), exact(0.0, name="ego"), exact(5.0, 22.0, -3.0, -4.0))
    assert (found is not None) is counts


@pytest.mark.parametrize(
    ("ego", "other", "expected"),
    [
        # On a circle of 10 m around the other's centre: straight ahead of it, 10 m to the left.
        (
            exact(0.0, vx=10.0, rate=1.0),
            exact(0.0, 10.0, 3.0, 1.0, size=(4.0, 8.0)),
            (-4.0, 5.0, 7.0, -2.0),
        ),
        # Too slow for a bend, too slight a bend, and as far as it comes in five seconds.
        (exact(0.0, vx=0.3, rate=0.3), exact(5.5), (1.5, -2.0, 0.3, 3.5)),
        (exact(0.0, vx=1.0, rate=1e-6), exact(8.0), (4.0, -2.0, 1.0, 6.0)),
        (exact(0.0, vx=20.0), exact(104.0), (100.0, -2.0, 20.0, 102.0)),
        (exact(0.0, vx=20.0), exact(104.5), (math.inf, -2.0, 20.0, 102.5)),
    ],
)
def test_a_box_is_seen_along_a_path(
    ego: MovingBox, other: MovingBox, expected: tuple[float, float, float, float]
) -> None:
    assert tuple(_along_path(ROAD, ego, other, other.box)) == expected


@pytest.mark.parametrize(
    ("vx", "vy", "leaves"), [(0.3, 0.0, False), (0.0, 0.3, False), (0.2, 0.25, True)]
)
@pytest.mark.parametrize("heading", [(1.0, 0.0), (0.0, 1.0)])
def test_where_no_lane_is_each_that_moves_leaves_it(
    vx: float, vy: float, leaves: bool, heading: tuple[float, float]
) -> None:
    assert _leaves_lane(exact(0.0, vx=vx, vy=vy, heading=heading, road=OPEN_GROUND)) is leaves


def test_a_mover_stands_still_unless_it_is_said_to_move() -> None:
    box = exact(0.0).box
    assert MovingBox("other", box) == ("other", box, 0.0, 0.0, 0.0)


def test_to_drift_by_0_3_metres_a_second_is_to_keep_the_lane() -> None:
    assert not _leaves_lane(exact(0.0, vx=20.0, vy=0.3))
    assert _leaves_lane(exact(0.0, vx=20.0, vy=0.31))


def test_on_open_ground_the_path_alone_counts() -> None:
    ego, standing = (exact(0.0, vx=v, name="ego", road=OPEN_GROUND) for v in (20.0, 0.0))
    other = exact(30.0, road=OPEN_GROUND)
    assert encounter(OPEN_GROUND, ego, other) == (26.0, 20.0)
    assert encounter(OPEN_GROUND, standing, other) is None
    assert encounter(OPEN_GROUND, ego, exact(-30.0, road=OPEN_GROUND)) is None


def test_boxes_that_just_touch_do_and_crossing_ones_have_no_distance() -> None:
    box = exact(0.0).box
    assert touch(box, exact(4.0).box) and touch(box, exact(0.0, 2.0).box)
    assert apart(box, exact(0.0, size=(1.0, 12.0)).box) == 0.0
    assert apart(box, exact(7.0, 6.0).box) == 5.0


class OtherRoad:
    """The road under another number."""

    def project(self, x: float, y: float, hint: Any = None) -> Any:
        return ROAD.project(x, y, hint)._replace(road_id=7)


#: Around its centre ego's front, with the strip's corners, reaches 4.5 m, and the other 5 m.
WIDE, LONG = (7.0, 4.0), (7.0, 1.0)


def ego_at(
    vx: float = 20.0, vy: float = 0.0, heading: tuple[float, float] = (1.0, 0.0)
) -> MovingBox:
    return exact(0.0, vx=vx, vy=vy, heading=heading, size=WIDE, name="ego")


def elsewhere(heading: tuple[float, float] = TURNED) -> MovingBox:
    return exact(30.0, vx=20.0, heading=heading, size=LONG, road=OtherRoad())


@pytest.mark.parametrize(
    ("ego", "other", "least", "ways"),
    [
        # 30 m less 9.5 m is not below the least gap so far: the road is not asked.
        (ego_at(), exact(30.0, vx=20.0, size=LONG), (20.5, 0.0), 0),
        (ego_at(), exact(-30.0, vx=20.0, size=LONG), (20.5, 0.0), 0),
        (ego_at(), exact(18.0, 24.0, vx=20.0, size=LONG), (20.5, 0.0), 0),
        (ego_at(), exact(18.0, -24.0, vx=20.0, size=LONG), (20.5, 0.0), 0),
        # It may be below; along the road it is 23 m, and is not, or is.
        (ego_at(), exact(30.0, vx=20.0, size=LONG), (20.51, 0.0), 1),
        (ego_at(), exact(18.0, 24.0, vx=20.0, size=LONG), (20.51, 0.0), 2),
        (ego_at(), exact(30.0, vx=20.0, size=LONG), (22.9, 0.0), 1),
        (ego_at(), exact(30.0, vx=20.0, size=LONG), (23.0, 0.0), 2),
        # 20.5 m and 23 m at 5 m/s.
        (ego_at(), exact(30.0, vx=15.0, size=LONG), (0.0, 4.1), 0),
        (ego_at(), exact(30.0, vx=15.0, size=LONG), (0.0, 4.11), 1),
        (ego_at(), exact(30.0, vx=15.0, size=LONG), (0.0, 4.6), 2),
        # Against the road's direction.
        (ego_at(heading=(-1.0, 0.0)), exact(-30.0, size=LONG), (0.0, 1.02), 0),
        (ego_at(heading=(-1.0, 0.0)), exact(-30.0, size=LONG), (0.0, 1.03), 1),
        # Longer than 20 s says nothing, and 0.1 m/s is not to close.
        (ego_at(1.0), exact(30.0, size=LONG), (0.0, math.inf), 0),
        (ego_at(1.03), exact(30.0, size=LONG), (0.0, math.inf), 1),
        (ego_at(0.1), exact(10.5, size=LONG), (0.0, math.inf), 0),
        (ego_at(0.11), exact(10.5, size=LONG), (0.0, math.inf), 1),
        # One that leaves its lane: the other is 3 m/s and 4 m/s slower, along and across.
        (ego_at(3.0, 4.0), exact(30.0, size=LONG), (0.0, 4.1), 0),
        (ego_at(3.0, 4.0), exact(30.0, size=LONG), (0.0, 4.11), 1),
        # Else each may come towards the other round a bend, whatever the headings: 5 m/s twice,
        (ego_at(3.0, 4.0), exact(30.0, vx=3.0, vy=4.0, size=LONG), (0.0, 2.04), 0),
        (ego_at(3.0, 4.0), exact(30.0, vx=3.0, vy=4.0, size=LONG), (0.0, 2.06), 1),
        # and on another road 20 m/s twice.
        (ego_at(), elsewhere(), (0.0, 0.51), 0),
        (ego_at(), elsewhere(), (0.0, 0.52), 2),
        (ego_at(), elsewhere((1.0, 0.0)), (0.0, 0.51), 0),
        (ego_at(), elsewhere((1.0, 0.0)), (0.0, 0.52), 2),
        # One that ends behind ego's front, or before it.
        (ego_at(), exact(-0.1, 12.0, vx=20.0, size=LONG), (math.inf, 0.0), 1),
        (ego_at(), exact(0.1, 12.0, vx=20.0, size=LONG), (math.inf, 0.0), 2),
        # A bound of nothing, and of half a metre.
        (ego_at(), exact(9.5, vx=20.0, size=LONG), (-1.0, 0.0), 1),
        (ego_at(), exact(10.0, vx=20.0, size=LONG), (0.4, 0.0), 0),
    ],
)
def test_the_road_is_asked_only_for_pairs_that_can_have_less(
    ego: MovingBox, other: MovingBox, least: tuple[float, float], ways: int
) -> None:
    road = Asked()
    watch = Encounters(road)
    watch.gap, watch.ttc = Extreme(least[0]), Extreme(least[1])
    watch.look(SECOND, [ego], [other])
    assert road.ways == ways


@given(st.lists(st.tuples(places, sizes), max_size=7), st.integers(1, 3))
def test_a_look_at_many_finds_what_all_pairs_in_their_order_have(
    crowd: list[Any], count: int
) -> None:
    """Near pairs are compared first. Among equal values the first pair still counts."""
    movers = [drawn(str(i), place, size) for i, (place, size) in enumerate(crowd)]
    movers += [one._replace(name=f"twin of {one.name}") for one in movers[:2]]
    gap, ttc = Extreme(), Extreme()
    watch = Encounters(ROAD)
    for time in (SECOND, 2 * SECOND):
        for ego in movers[:count]:
            for other in movers:
                found = encounter(ROAD, ego, other) if other.name != ego.name else None
                if found is not None:
                    pair, least = (ego.name, other.name), found.time_to_collision
                    gap = Extreme(found.gap, pair, time) if found.gap < gap.value else gap
                    ttc = Extreme(least, pair, time) if least < ttc.value else ttc
        watch.look(time, movers[:count], movers)
    assert (watch.gap, watch.ttc) == (gap, ttc)
