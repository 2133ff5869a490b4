# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Junctions, superelevation, cubics by arc length, and what is passed over with a note."""

from __future__ import annotations

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ros2_cosim.world.map import OFF_ROAD, RoadError, RoadNetwork, RoadPosition
from ros2_cosim.world.map.plan_view import Poly3
from ros2_cosim.world.map.signals import holds_for

_RADIUS = 20.0
_QUARTER = math.pi / 2.0 * _RADIUS


def _lanes(left: bool = True) -> str:
    def lane(number: int) -> str:
        return (
            f'<lane id="{number}" type="driving"><link><predecessor id="{number}"/>'
            f'<successor id="{number}"/></link><width sOffset="0" a="4" b="0" c="0" d="0"/></lane>'
        )

    sides = f"<left>{lane(1)}</left>" if left else ""
    return f'<laneSection s="0">{sides}<right>{lane(-1)}</right></laneSection>'


def _road(
    number: int,
    start: tuple[float, float, float],
    length: float,
    link: str,
    shape: str = "<line/>",
    junction: int = -1,
    height: float = 0.0,
    more: str = "",
) -> str:
    x, y, heading = start
    return (
        f'<road name="" id="{number}" length="{length!r}" junction="{junction}">'
        f'<link>{link}</link><planView><geometry s="0" x="{x!r}" y="{y!r}" hdg="{heading!r}" '
        f'length="{length!r}">{shape}</geometry></planView><elevationProfile>'
        f'<elevation s="0" a="{height!r}" b="0" c="0" d="0"/></elevationProfile>{more}'
        f"<lanes>{_lanes(junction < 0)}</lanes></road>"
    )


def _next(kind: str, number: int, contact: str = "") -> str:
    point = f' contactPoint="{contact}"' if contact else ""
    where = "junction" if not contact else "road"
    return f'<{kind} elementType="{where}" elementId="{number}"{point}/>'


def _connection(number: int, incoming: int, over: int, pairs: str = "") -> str:
    return (
        f'<connection id="{number}" incomingRoad="{incoming}" connectingRoad="{over}" '
        f'contactPoint="start">{pairs or "<laneLink from=" + repr("-1") + " to=" + repr("-1")}'
        f"{'' if pairs else '/>'}</connection>"
    )


def fork(more: str = "", bridge: bool = False) -> RoadNetwork:
    """Road 1 along x ends at (100, 0); from there 10 leads straight to road 2, 11 left to 3."""
    straight = _next("predecessor", 1, "end") + _next("successor", 2, "start")
    left = _next("predecessor", 1, "end") + _next("successor", 3, "start")
    arc = f'<arc curvature="{1.0 / _RADIUS!r}"/>'
    corner = (100.0 + _RADIUS, _RADIUS)
    roads = [
        _road(1, (0.0, 0.0, 0.0), 100.0, _next("successor", 5)),
        _road(2, (140.0, 0.0, 0.0), 60.0, _next("predecessor", 5)),
        _road(3, (*corner, math.pi / 2.0), 60.0, _next("predecessor", 5)),
        _road(11, (100.0, 0.0, 0.0), _QUARTER, left, arc, 5),
        _road(10, (100.0, 0.0, 0.0), 40.0, straight, junction=5),
    ]
    if bridge:
        roads.append(_road(20, (50.0, -50.0, math.pi / 2.0), 100.0, "", height=6.0))
    junction = (
        f'<junction id="5" name="fork">{_connection(0, 1, 11)}{_connection(1, 1, 10)}'
        '<controller id="9" type="0"/></junction>'
    )
    return RoadNetwork.from_xodr(
        f"<OpenDRIVE><header/>{''.join(roads)}{junction}{more}</OpenDRIVE>", "fork.xodr"
    )


def test_a_lane_goes_on_straight_through_a_junction() -> None:
    roads = fork()
    assert roads.advance(1, -1, 90.0, 30.0) == (10, -1, 20.0)
    assert roads.advance(1, -1, 90.0, 60.0) == (2, -1, 10.0)
    assert roads.advance(11, -1, 0.0, _QUARTER + 5.0) == (3, -1, pytest.approx(5.0))
    # Nothing leads back from road 2 into the junction: its left lane ends there.
    assert roads.advance(2, 1, 20.0, 50.0) == (2, 1, 0.0)
    assert roads.junctions[5].controllers == ("9",)


def test_the_way_through_a_junction_is_measured_over_the_road_taken() -> None:
    roads = fork()
    before = RoadPosition(1, 90.0, -2.0, -1, 0.0)
    straight = RoadPosition(2, 5.0, -2.0, -1, 0.0)
    left = RoadPosition(3, 5.0, -2.0, -1, math.pi / 2.0)
    assert roads.distance(before, straight) == pytest.approx(10.0 + 40.0 + 5.0)
    assert roads.distance(straight, before) == pytest.approx(-55.0)
    # Two metres outside of the left curve the way is longer.
    assert roads.distance(before, left) == pytest.approx(10.0 + math.pi / 2.0 * 22.0 + 5.0)
    assert roads.distance(left, before) == -roads.distance(before, left)
    inside = RoadPosition(11, 8.0, -2.0, -1, 0.4)
    assert roads.distance(inside, left) == pytest.approx(
        _QUARTER - 8.0 + 5.0 + 2.0 * (_QUARTER - 8.0) / _RADIUS
    )
    with pytest.raises(RoadError, match="roads 2 and 3 are not linked"):
        roads.distance(straight, left)


@given(st.floats(0.05, 0.95), st.floats(-1.0, 1.0), st.sampled_from([1, 2, 3, 10, 11]))
def test_a_point_in_a_lane_is_found_on_the_nearest_lane(
    share: float, off: float, number: int
) -> None:
    """Of the roads that hold a point, that with the nearest centre of a lane."""
    roads = fork()
    s = share * roads.length(number)
    x, y, _, _ = roads.pose(number, s, -2.0 + off)
    for hint in (None, RoadPosition(number, max(s - 2.0, 0.0), -2.0, -1, 0.0)):
        found = roads.project(x, y, hint)
        back = roads.pose(found.road_id, found.s, found.t)
        assert (back[0], back[1]) == pytest.approx((x, y), abs=1e-8)
        assert found.lane_id != OFF_ROAD
        if hint is not None or number < 10:
            assert found.road_id == number
        else:
            assert abs(found.t + 2.0) <= abs(off) + 1e-9


def test_a_vehicle_is_followed_through_the_junction_and_corrected_on_the_other_branch() -> None:
    roads = fork()
    for last, number in ((10, 2), (11, 3)):
        place: RoadPosition | None = None
        seen = []
        for road_id, length in ((1, 100.0), (last, roads.length(last)), (number, 60.0)):
            for k in range(int(length)):
                x, y, _, _ = roads.pose(road_id, float(k), -2.0)
                place = roads.project(x, y, place)
                assert place.lane_id == -1
                if not seen or seen[-1] != place.road_id:
                    seen.append(place.road_id)
        # On the left branch the straight one is taken first, as long as its lane holds the point.
        assert seen == ([1, 10, 2] if last == 10 else [1, 10, 11, 3])


def test_height_tells_a_bridge_from_the_road_below() -> None:
    roads = fork(bridge=True)
    assert roads.project(50.0, -2.0, z=0.3).road_id == 1
    above = roads.project(52.0, -2.0, z=6.2)
    assert above.road_id == 20
    # The hint keeps the level.
    assert roads.project(52.0, -1.0, above).road_id == 20
    assert roads.pose(20, above.s, above.t)[2] == 6.0


def test_superelevation_lifts_the_left_side() -> None:
    lateral = (
        '<lateralProfile><superelevation s="0" a="0.1" b="0.001" c="0" d="0"/></lateralProfile>'
    )
    road = _road(1, (0.0, 0.0, 0.0), 100.0, "", more=lateral)
    roads = RoadNetwork.from_xodr(f"<OpenDRIVE><header/>{road}</OpenDRIVE>")
    assert roads.pose(1, 0.0, 2.0)[2] == pytest.approx(2.0 * math.tan(0.1))
    assert roads.pose(1, 50.0, -2.0)[2] == pytest.approx(-2.0 * math.tan(0.15))
    z, slope, cross = roads.roads[1].surface(50.0, -2.0)
    h = 1e-5
    assert slope == pytest.approx(
        (roads.pose(1, 50.0 + h, -2.0)[2] - roads.pose(1, 50.0 - h, -2.0)[2]) / (2.0 * h), rel=1e-6
    )
    assert cross == pytest.approx((roads.pose(1, 50.0, 0.0)[2] - z) / 2.0)


@given(st.floats(0.0, 50.0), st.floats(-0.02, 0.02), st.floats(-2e-4, 2e-4))
def test_a_cubic_is_followed_by_its_length(ds: float, c: float, d: float) -> None:
    curve = Poly3(1.0, 2.0, 0.3, 50.0, (0.0, 0.1, c, d))
    n = 400
    length, before = 0.0, curve.at(0.0)
    for k in range(1, n + 1):
        point = curve.at(ds * k / n)
        length += math.dist(point[:2], before[:2])
        before = point
    assert length == pytest.approx(ds, abs=1e-3)
    end = curve.at(ds)
    assert math.atan2(end.sin, end.cos) == pytest.approx(0.3 + curve.turn(ds), abs=1e-9)
    foot = curve.project(end.x - 1.5 * end.sin, end.y + 1.5 * end.cos, min(ds + 2.0, 50.0))
    assert foot is not None
    assert foot[:2] == pytest.approx((ds, 1.5), abs=1e-6)


def test_what_is_passed_over_is_named_once() -> None:
    text = (
        "<OpenDRIVE><header/>"
        + _road(
            1, (0.0, 0.0, 0.0), 50.0, _next("successor", 77),
            more='<lateralProfile><crossfall s="0" a="0.02" b="0" c="0" d="0"/>'
            '<crossfall s="9" a="0.02" b="0" c="0" d="0"/></lateralProfile>'
            '<signals><signal id="4" s="nowhere" t="1"/>\n'
            '<signal id="5" s="nowhere" t="9"/></signals>'
            '<objects><object s="1" t="2"><outline><cornerLocal u="1"/></outline></object>'
            "</objects>",
        )
        + "</OpenDRIVE>"
    )  # fmt: skip
    roads = RoadNetwork.from_xodr(text, "a.xodr")
    assert roads.signals == {}
    notes = "\n".join(roads.notes)
    assert "<crossfall> of the cross-section is passed over (2 times in this file)" in notes
    assert "a road refers to a junction that does not exist: it ends there" in notes
    assert re.search(
        "a.xodr, line 1: a signal is passed over: <signal>: attribute s='nowhere' must be .* "
        r"\(2 times in this file\)",
        notes,
    )
    assert (
        "a.xodr, line 2: an object is passed over: <cornerLocal>: attribute 'v' is missing" in notes
    )
    assert len(roads.notes) == 4


def test_signals_references_controllers_marks_and_objects_are_read() -> None:
    more = (
        '<objects><object id="1" type="crosswalk" name="c" s="10" t="-1" hdg="0.5"><outline>'
        '<cornerLocal u="1" v="2" z="0"/><cornerLocal u="3" v="4"/></outline></object></objects>'
        '<signals><signal id="7" s="95" t="-5" dynamic="yes" type="1000001" orientation="+" '
        'zOffset="2" hOffset="0.1"><validity fromLane="-1" toLane="-3"/></signal>'
        '<signalReference id="7" s="90" t="1" orientation="-"/></signals>'
    )
    controller = (
        '<controller id="9" name="c" sequence="2"><control signalId="7" type=""/>'
        '<control signalId="7" type=""/></controller>'
    )
    road = _road(1, (0.0, 0.0, 0.0), 100.0, "", more=more)
    road = road.replace(
        'd="0"/></lane></right>',
        'd="0"/><roadMark sOffset="5" type="solid" color="yellow" width="0.12" '
        'laneChange="none"/></lane></right>',
    )
    roads = RoadNetwork.from_xodr(f"<OpenDRIVE><header/>{road}{controller}</OpenDRIVE>")
    signal = roads.signals["7"]
    assert (signal.type, signal.dynamic, signal.lanes) == ("1000001", True, ((-3, -1),))
    assert holds_for(signal.lanes, -2)
    assert not holds_for(signal.lanes, 1)
    assert holds_for((), 1)
    assert [reference.s for reference in roads.signal_references] == [90.0]
    assert roads.controllers["9"].signals == ("7",)
    assert roads.roads[1].objects[0].outline == ((1.0, 2.0, 0.0), (3.0, 4.0, 0.0))
    (mark,) = roads.roads[1].lanes.sections[0].lanes[-1].marks
    assert mark == (5.0, "solid", "yellow", 0.12, "none")
