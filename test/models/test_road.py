# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Plan view elements, lanes and networks of linked roads."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ros2_cosim.world.map import (
    OFF_ROAD,
    RoadError,
    RoadNetwork,
    RoadPosition,
    driving_direction,
    lateral_error,
)
from ros2_cosim.world.map.cubics import Cubics
from ros2_cosim.world.map.lanes import Lane, LaneSection
from ros2_cosim.world.map.plan_view import (
    Arc,
    ParamPoly3,
    PlanElement,
    ReferenceLine,
    Spiral,
    StraightLine,
)

curvature = st.floats(-0.05, 0.05)


def road_xml(
    road_id: int, geometry: str, length: float, *, link: str = "", lanes: str = "", more: str = ""
) -> str:
    """One road with one lane of 4 m on each side, or with the given lanes."""
    if not lanes:
        lanes = (
            '<laneSection s="0">'
            '<left><lane id="1" type="driving"><link><predecessor id="1"/><successor id="1"/>'
            '</link><width sOffset="0" a="4" b="0" c="0" d="0"/></lane></left>'
            '<right><lane id="-1" type="driving"><link><predecessor id="-1"/><successor id="-1"/>'
            '</link><width sOffset="0" a="4" b="0" c="0" d="0"/></lane></right></laneSection>'
        )
    return (
        f'<road name="" id="{road_id}" length="{length!r}" junction="-1"><link>{link}</link>{more}'
        f"<planView>{geometry}</planView><lanes>{lanes}</lanes></road>"
    )


def geometry_xml(x: float, y: float, heading: float, length: float, shape: str) -> str:
    return (
        f'<geometry s="0" x="{x!r}" y="{y!r}" hdg="{heading!r}" length="{length!r}">'
        f"{shape}</geometry>"
    )


def network(*roads: str) -> RoadNetwork:
    return RoadNetwork.from_xodr(f"<OpenDRIVE><header/>{''.join(roads)}</OpenDRIVE>")


def two_roads(*, reversed_second: bool = False) -> RoadNetwork:
    """Road 1 from (0, 0) to (100, 0); road 2 goes on to (160, 0) or is drawn from there."""
    contact = "end" if reversed_second else "start"
    other = "successor" if reversed_second else "predecessor"
    first = f'<successor elementType="road" elementId="2" contactPoint="{contact}"/>'
    second = f'<{other} elementType="road" elementId="1" contactPoint="end"/>'
    x, heading = (160.0, math.pi) if reversed_second else (100.0, 0.0)
    lanes = ""
    if reversed_second:
        lanes = (
            '<laneSection s="0"><left><lane id="1" type="driving"><link><successor id="-1"/></link>'
            '<width sOffset="0" a="4" b="0" c="0" d="0"/></lane></left><right><lane id="-1" '
            'type="driving"><link><successor id="1"/></link><width sOffset="0" a="4" b="0" c="0" '
            'd="0"/></lane></right></laneSection>'
        )
    lanes_of_first = lanes if reversed_second else ""
    return network(
        road_xml(
            1, geometry_xml(0.0, 0.0, 0.0, 100.0, "<line/>"), 100.0, link=first,
            lanes=lanes_of_first,
        ),
        road_xml(
            2, geometry_xml(x, 0.0, heading, 60.0, "<line/>"), 60.0, link=second, lanes=lanes
        ),
    )  # fmt: skip


def ring() -> RoadNetwork:
    """Two half circles of radius 50 m, counter-clockwise around (0, 50)."""
    half = math.pi * 50.0
    roads = []
    for road_id, (y, heading) in ((1, (0.0, 0.0)), (2, (100.0, math.pi))):
        other = 3 - road_id
        link = (
            f'<predecessor elementType="road" elementId="{other}" contactPoint="end"/>'
            f'<successor elementType="road" elementId="{other}" contactPoint="start"/>'
        )
        shape = geometry_xml(0.0, y, heading, half, '<arc curvature="0.02"/>')
        roads.append(road_xml(road_id, shape, half, link=link))
    return network(*roads)


@given(curvature.filter(lambda k: abs(k) > 1e-9), st.floats(0.0, 300.0))
def test_spiral_of_constant_curvature_is_an_arc(k: float, ds: float) -> None:
    arc = Arc(3.0, -2.0, 0.7, 300.0, k).at(ds)
    spiral = Spiral(3.0, -2.0, 0.7, 300.0, k, k).at(ds)
    assert spiral == pytest.approx(arc, abs=1e-11)


def test_arc_is_a_circle() -> None:
    arc = Arc(0.0, 0.0, 0.0, 100.0, 0.02)
    point = arc.at(50.0 * math.pi / 2.0)
    assert point == pytest.approx((50.0, 50.0, 0.0, 1.0, 0.02), abs=1e-12)
    assert arc.turn(50.0) == 1.0


@given(curvature, curvature)
def test_spiral_agrees_with_fine_numerical_integration(start: float, end: float) -> None:
    length = 80.0
    spiral = Spiral(0.0, 0.0, 0.0, length, start, end)
    n = 2000
    x = y = 0.0
    for i in range(n):
        u = (i + 0.5) * length / n
        angle = u * (start + 0.5 * (end - start) * u / length)
        x += math.cos(angle) * length / n
        y += math.sin(angle) * length / n
    point = spiral.at(length)
    assert (point.x, point.y) == pytest.approx((x, y), abs=2e-5)
    assert math.atan2(point.sin, point.cos) == pytest.approx(
        math.remainder(spiral.turn(length), 2.0 * math.pi), abs=1e-12
    )
    assert point.curvature == pytest.approx(end, abs=1e-15)


def test_clothoid_from_zero_has_the_fresnel_coordinates() -> None:
    """x = A sqrt(pi) C(u), y = A sqrt(pi) S(u) with u = L / (A sqrt(pi)); u = 1 here."""
    scale = 100.0
    spiral = Spiral(0.0, 0.0, 0.0, scale, 0.0, math.pi / scale)
    point = spiral.at(scale)
    assert point.x / scale == pytest.approx(0.7798934003768228, abs=1e-14)
    assert point.y / scale == pytest.approx(0.4382591473903548, abs=1e-14)


def test_parametric_cubic_follows_its_polynomials() -> None:
    u, v = (0.0, 50.0, 0.0, 0.0), (0.0, 0.0, 10.0, -4.0)
    curve = ParamPoly3(1.0, 2.0, math.pi / 2.0, 50.0, u, v, normalized=True)
    point = curve.at(25.0)
    assert (point.x, point.y) == pytest.approx((1.0 - (2.5 - 0.5), 2.0 + 25.0))
    assert curve.turn(25.0) == pytest.approx(math.atan2(10.0 - 3.0, 50.0))
    with pytest.raises(RoadError, match="stands still"):
        ParamPoly3(0.0, 0.0, 0.0, 10.0, (0.0,) * 4, (0.0,) * 4, normalized=False)


@given(st.floats(-10.0, 300.0))
def test_elements_continue_straight_or_round_beyond_their_ends(ds: float) -> None:
    line = StraightLine(0.0, 0.0, 0.0, 100.0)
    assert line.at(ds)[:2] == (ds, 0.0)


def test_cubics_pick_their_piece_and_are_zero_before_the_first() -> None:
    cubics = Cubics([(10.0, 1.0, 2.0, 3.0, 4.0), (20.0, 5.0, 0.0, 0.0, 0.0)])
    assert cubics.value(5.0) == 0.0
    assert cubics.slope(5.0) == 0.0
    assert cubics.value(11.0) == 10.0
    assert cubics.slope(11.0) == 20.0
    assert cubics.value(25.0) == 5.0
    assert Cubics([]).constant == 0.0


@given(st.floats(0.01, 157.0), st.floats(-3.99, 3.99), st.sampled_from([1, 2]))
def test_projection_undoes_pose(s: float, t: float, road_id: int) -> None:
    roads = ring()
    x, y, _, heading = roads.pose(road_id, s, t)
    for hint in (None, RoadPosition(road_id, min(max(s - 3.0, 0.0), 157.0), t, -1, 0.0)):
        found = roads.project(x, y, hint)
        assert (found.road_id, found.s) == (road_id, pytest.approx(s, abs=1e-8))
        assert found.heading == pytest.approx(heading, abs=1e-9)
        assert found.t == pytest.approx(t, abs=1e-8)
        assert found.lane_id == (-1 if t < 0.0 else 1) or abs(t) < 1e-8


_ELEMENTS = (
    StraightLine(3.0, -2.0, 0.7, 90.0),
    Arc(3.0, -2.0, 0.7, 700.0, 0.02),  # more than once round
    Arc(3.0, -2.0, 0.7, 90.0, -1e-8),
    Spiral(3.0, -2.0, 0.7, 90.0, 0.0, 0.02),
    Spiral(3.0, -2.0, 0.7, 90.0, 0.01, -0.02),
    ParamPoly3(
        3.0, -2.0, 0.7, 90.0, (0.0, 88.0, 0.0, 0.0), (0.0, 0.0, 20.0, -14.0), normalized=True
    ),
)


@given(
    st.sampled_from(_ELEMENTS), st.floats(0.0, 1.0), st.floats(-9.0, 9.0), st.floats(-20.0, 20.0)
)
def test_the_foot_on_an_element_undoes_a_lateral_offset(
    element: PlanElement, share: float, t: float, off: float
) -> None:
    ds = share * element.length
    x, y, cos, sin, _ = element.frame(ds)
    guess = min(max(ds + off, 0.0), element.length)
    foot = element.project(x - t * sin, y + t * cos, guess)
    heading = element.heading + element.turn(ds)
    assert foot == pytest.approx((ds, t, heading), abs=2e-9)


@pytest.mark.parametrize("turn", [0.1, -0.1])
def test_projection_at_a_kink(turn: float) -> None:
    line = ReferenceLine([StraightLine(0.0, 0.0, 0.0, 50.0), StraightLine(50.0, 0.0, turn, 50.0)])
    outside = math.copysign(2.0, -turn)
    for guess in (49.0, 51.0):  # outside, the joint is nearer than what lies before and behind
        foot = line.project(50.1, outside, guess)
        assert foot == pytest.approx((50.0, outside, turn), abs=0.03)
    assert line.project(80.0, 0.0, 1.0) is not None
    assert line.project(20.0, -outside, 99.0) == pytest.approx((20.0, -outside, 0.0))


def test_projection_follows_links_from_a_hint() -> None:
    for roads, heading in ((two_roads(), 0.0), (two_roads(reversed_second=True), math.pi)):
        hint = roads.project(95.0, -1.0)
        found = roads.project(130.0, -1.0, hint)
        assert found.road_id == 2
        assert found.s == pytest.approx(30.0)
        assert found.t == pytest.approx(-1.0 if heading == 0.0 else 1.0)
        assert found.heading == pytest.approx(heading)
        back = roads.project(80.0, -1.0, found)
        assert (back.road_id, back.s) == (1, pytest.approx(80.0))


def test_projection_with_a_wrong_hint_still_finds_the_road() -> None:
    roads = ring()
    far = RoadPosition(1, 0.0, 0.0, -1, 0.0)
    found = roads.project(0.0, 101.0, far)
    assert (found.t, found.lane_id) == (pytest.approx(-1.0), -1)
    centre = roads.project(0.0, 50.0)
    assert centre.lane_id == OFF_ROAD
    assert centre.t == pytest.approx(50.0)


def test_projection_beyond_the_end_stops_at_the_end() -> None:
    roads = two_roads()
    assert roads.project(170.0, 1.0).s == 60.0
    assert roads.project(-5.0, 1.0).s == 0.0
    assert roads.project(-5.0, 1.0, RoadPosition(1, 1.0, 0.0, 1, 0.0)).s == 0.0


@pytest.mark.parametrize("reverse", [False, True])
def test_distance_runs_over_several_roads(reverse: bool) -> None:
    roads = two_roads(reversed_second=reverse)
    a, b = roads.project(40.0, -1.0), roads.project(120.0, 3.0)
    sign = -1.0 if reverse else 1.0
    assert roads.distance(a, b) == pytest.approx(80.0)
    assert roads.distance(b, a) == pytest.approx(-80.0 * sign)


@given(st.floats(0.0, 157.0), st.floats(-78.0, 78.0), st.floats(-4.0, 4.0))
def test_distance_in_a_curve_is_that_of_the_lane(s: float, way: float, t: float) -> None:
    """On a circle of radius 50 m, left of the line is nearer to the centre."""
    roads = ring()
    a = RoadPosition(1, s, t, -1, 0.0)
    total = s + way
    half = math.pi * 50.0
    road_id = 1 if 0.0 <= total <= half else 2
    b = RoadPosition(road_id, total % half, t, -1, 0.0)
    if abs(way) < 0.25 * half * 2.0:
        assert roads.distance(a, b) == pytest.approx(way * (50.0 - t) / 50.0, abs=1e-6)


def test_distance_between_unconnected_roads_is_an_error() -> None:
    line = "<line/>"
    roads = network(
        road_xml(1, geometry_xml(0.0, 0.0, 0.0, 10.0, line), 10.0),
        road_xml(2, geometry_xml(0.0, 50.0, 0.0, 10.0, line), 10.0),
    )
    with pytest.raises(RoadError, match="roads 1 and 2 are not linked"):
        roads.distance(roads.project(1.0, 0.0), roads.project(1.0, 50.0))


def test_advance_follows_lane_links_to_the_end() -> None:
    roads = two_roads()
    assert roads.advance(1, -1, 90.0, 30.0) == (2, -1, 20.0)
    assert roads.advance(2, 1, 20.0, 30.0) == (1, 1, 90.0)
    assert roads.advance(2, -1, 20.0, 500.0) == (2, -1, 60.0)
    turned = two_roads(reversed_second=True)
    assert turned.advance(1, -1, 90.0, 30.0) == (2, 1, 40.0)
    assert turned.advance(2, -1, 40.0, 30.0) == (1, 1, 90.0)
    around = ring()
    road_id, lane_id, s = around.advance(1, -1, 10.0, 10.0 * math.pi * 100.0)
    assert (road_id, lane_id, s) == (1, -1, pytest.approx(10.0))


def test_lanes_with_sections_offset_and_changing_width() -> None:
    lanes = (
        '<laneOffset s="0" a="0.5" b="0.01" c="0" d="0"/>'
        '<laneSection s="0"><right>'
        '<lane id="-1" type="driving"><link><successor id="-2"/></link>'
        '<width sOffset="0" a="3" b="0" c="0" d="0"/></lane>'
        '<lane id="-2" type="shoulder"><width sOffset="0" a="1" b="0.02" c="0" d="0"/></lane>'
        '</right></laneSection><laneSection s="50"><right>'
        '<lane id="-1" type="driving"><width sOffset="0" a="2" b="0" c="0" d="0"/></lane>'
        '<lane id="-2" type="driving"><link><predecessor id="-1"/></link>'
        '<width sOffset="0" a="3" b="0" c="0" d="0"/></lane></right></laneSection>'
    )
    roads = network(road_xml(7, geometry_xml(0.0, 0.0, 0.0, 100.0, "<line/>"), 100.0, lanes=lanes))
    assert roads.lane_ids(7, 10.0) == [-2, -1]
    assert roads.lane_ids(7, 10.0, "driving") == [-1]
    assert roads.lane_centre(7, -1, 10.0) == pytest.approx(0.6 - 1.5)
    assert roads.lane_width(7, -2, 25.0) == 1.5
    assert roads.lane_borders(7, -2, 25.0) == pytest.approx((0.75 - 3.0, 0.75 - 4.5))
    assert roads.lane_centre(7, -2, 75.0) == pytest.approx(1.25 - 3.5)
    assert roads.advance(7, -1, 45.0, 10.0) == (7, -2, 55.0)
    assert roads.project(10.0, 0.7).lane_id == OFF_ROAD
    assert roads.project(10.0, 0.5).lane_id == -1
    with pytest.raises(RoadError, match=r"no lane 1 at s=10.000: there are lanes \[-2, -1\]"):
        roads.lane_centre(7, 1, 10.0)


def test_lines_for_drawing_and_spawning() -> None:
    roads = two_roads()
    right, left = roads.centre_line(1, -1, 30.0), roads.centre_line(1, 1, 30.0)
    assert [p.x for p in right] == [0.0, 30.0, 60.0, 90.0, 100.0]
    assert [p.x for p in left] == [100.0, 90.0, 60.0, 30.0, 0.0]
    assert {p.y for p in right} == {-2.0}
    assert {p.heading for p in left} == {math.pi}
    assert roads.road(1).lanes.borders(-1, 50.0)[1] == pytest.approx(-4.0)
    assert len(roads.spawn_points(20.0, 15.0)) == 4 * 2 + 2 * 2
    assert (driving_direction(-1), driving_direction(2)) == (1, -1)


def test_lateral_error_is_positive_to_the_left_of_the_driver() -> None:
    roads = two_roads()
    assert lateral_error(roads, roads.project(10.0, -1.5), -1) == pytest.approx(0.5)
    assert lateral_error(roads, roads.project(10.0, 1.5), 1) == pytest.approx(0.5)


def test_places_that_do_not_exist_are_errors() -> None:
    roads = two_roads()
    with pytest.raises(RoadError, match=r"no road 3: there are roads \[1, 2\]"):
        roads.pose(3, 0.0, 0.0)
    with pytest.raises(RoadError, match=r"s=100.1 is not on road 1: 0 to 100.0 is allowed"):
        roads.pose(1, 100.1, 0.0)


def test_a_section_knows_which_of_its_lanes_are_driven_and_where_they_are() -> None:
    width = Cubics([(0.0, 3.5, 0.0, 0.0, 0.0)])
    kinds = {-3: "sidewalk", -2: "shoulder", -1: "driving", 1: "none"}
    lanes = {number: Lane(number, kind, width, None, None) for number, kind in kinds.items()}
    section = LaneSection(0.0, 10.0, lanes)
    assert [number for number in range(-4, 3) if section.is_driven(number)] == [-2, -1]
    assert [section.fixed_centre(number) for number in (-2, -1, 0, 1)] == [-5.25, -1.75, None, 1.75]
    assert section.edges(5.0) == (-10.5, 3.5)
