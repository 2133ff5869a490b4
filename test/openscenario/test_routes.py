# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Routes through the junctions of the town: ways of lanes, and vehicles that take them."""

from __future__ import annotations

from pathlib import Path

import pytest
from openscenario.test_storyboard import begins, marker, played
from support.xosc_files import at, by_entity, document, event, group, private

from ros2_cosim.core.kernel.errors import RunError
from ros2_cosim.core.scenario.scenario_error import ScenarioError
from ros2_cosim.world.map import RoadNetwork
from ros2_cosim.world.map.lane_routes import Stretch, lane_route, place_on, roads_of

TOWN_FILE = Path(__file__).resolve().parents[2] / "config" / "town.xodr"
TOWN = RoadNetwork.from_file(TOWN_FILE)
#: From road 3 one may go on to 10, 7 and 9; from 9 in lane -1 to 11 and 4.
START = Stretch(3, -1, 10.0)


def test_a_way_is_that_of_the_lanes() -> None:
    way = lane_route(TOWN, START, Stretch(4, 1, 30.0))
    assert way is not None and way[0] == START
    assert roads_of(TOWN, way) == [3, 9, 4]
    inside = [part.road for part in way if TOWN.road(part.road).junction is not None]
    assert len(inside) == 2 and len(way) == 5
    # Up to a place inside a junction: the road behind it says which turn that is.
    to_junction = lane_route(TOWN, START, Stretch(inside[0], -1, 1.0))
    assert to_junction is not None
    assert roads_of(TOWN, to_junction) == [3, 9]


def test_a_place_behind_is_reached_around_the_block() -> None:
    way = lane_route(TOWN, START, START._replace(s=5.0))
    assert way is not None
    roads = roads_of(TOWN, way)
    assert roads[0] == roads[-1] == 3 and len(roads) > 3


def test_no_way_against_the_traffic() -> None:
    assert lane_route(TOWN, Stretch(30, -1, 5.0), Stretch(30, -1, 1.0)) is not None
    assert roads_of(TOWN, lane_route(TOWN, START, Stretch(10, -1, 1.0)) or []) == [3, 10]
    one_way = RoadNetwork.from_file(TOWN_FILE.with_name("ramp.xodr"))
    ids = sorted(one_way.roads)
    ways = [lane_route(one_way, Stretch(a, -1, 1.0), Stretch(b, -1, 0.5)) for a in ids for b in ids]
    assert None in ways


def test_a_place_on_a_way() -> None:
    way = lane_route(TOWN, START, Stretch(9, -1, 60.0))
    assert way is not None
    assert place_on(TOWN, way, 20.0) == START._replace(s=30.0)
    inside = TOWN.length(way[1].road)
    found = place_on(TOWN, way, TOWN.length(3) - 10.0 + inside + 25.0)
    assert found is not None
    assert (found.road, found.lane, found.s) == (9, way[2].lane, pytest.approx(25.0))
    assert place_on(TOWN, way, 10_000.0) is None


def lane(road: int, lane: int, s: float) -> str:
    place = f'<LanePosition roadId="{road}" laneId="{lane}" s="{s}"/>'
    return f"<Position>{place}</Position>"


def assign(*positions: str) -> str:
    points = "".join(f'<Waypoint routeStrategy="shortest">{each}</Waypoint>' for each in positions)
    route = f'<Route name="r" closed="false">{points}</Route>'
    return private(f"<RoutingAction><AssignRouteAction>{route}</AssignRouteAction></RoutingAction>")


def acquire(position: str) -> str:
    action = f"<AcquirePositionAction>{position}</AcquirePositionAction>"
    return private(f"<RoutingAction>{action}</RoutingAction>")


def driven(action: str, stop: float = 30.0) -> str:
    """Car A on road 3 at 5 m/s, with an action at 1 s; B stands elsewhere."""
    reach = '<ReachPositionCondition tolerance="1.5">{}</ReachPositionCondition>'
    events = event("route", action, at(1.0)) if action else marker("route", at(1.0))
    events += marker("there", by_entity(reach.format(lane(9, -1, 40))))
    return document(
        group(events),
        stop=at(stop),
        start_a='<LanePosition roadId="3" laneId="-1" s="10"/>',
        start_b='<LanePosition roadId="30" laneId="-1" s="50"/>',
        road=str(TOWN_FILE),
    ).replace('<AbsoluteTargetSpeed value="20"/>', '<AbsoluteTargetSpeed value="5"/>')


pytestmark = pytest.mark.filterwarnings(
    "ignore::ros2_cosim.core.kernel.errors.WithoutEffectWarning"
)


def test_a_vehicle_turns_as_its_route_does(tmp_path: Path) -> None:
    on_route = played(tmp_path, driven(assign(lane(3, -1, 5), lane(9, -1, 60))))
    assert begins(on_route)["there"] == pytest.approx(26.0, abs=3.0)
    to_place = played(tmp_path, driven(acquire(lane(9, -1, 60))))
    assert to_place.trace_sha256 == on_route.trace_sha256
    assert "there" not in begins(played(tmp_path, driven("")))


def test_a_route_that_begins_elsewhere_is_driven_to(tmp_path: Path) -> None:
    found = played(tmp_path, driven(assign(lane(9, -1, 20), lane(11, -1, 20))))
    assert "there" in begins(found)


def test_a_position_on_a_route_is_one_on_the_road(tmp_path: Path) -> None:
    points = "".join(
        f'<Waypoint routeStrategy="shortest">{each}</Waypoint>'
        for each in (lane(3, -1, 5), lane(9, -1, 60))
    )
    place = (
        f'<RoutePosition><RouteRef><Route name="r" closed="false">{points}</Route></RouteRef>'
        '<InRoutePosition><FromLaneCoordinates pathS="5" laneId="-1"/></InRoutePosition>'
        "</RoutePosition>"
    )
    on_road = '<LanePosition roadId="3" laneId="-1" s="10"/>'
    text = driven("", stop=1.0)
    assert on_road in text
    plain = played(tmp_path, text)
    assert played(tmp_path, text.replace(on_road, place)).trace_sha256 == plain.trace_sha256
    for aside in ("t", "pathT"):  # since OpenSCENARIO 1.1, and before
        by_road = place.replace(
            '<FromLaneCoordinates pathS="5" laneId="-1"/>',
            f'<FromRoadCoordinates pathS="5" {aside}="-1.75"/>',
        )
        assert by_road != place
        assert played(tmp_path, text.replace(on_road, by_road)).trace_sha256 == plain.trace_sha256
    late = text.replace(on_road, place.replace('pathS="5"', 'pathS="5000"'))
    with pytest.raises(ScenarioError, match=r"pathS: found 5000, behind the route's end"):
        played(tmp_path, late)


def test_a_route_that_no_lane_takes_is_refused(tmp_path: Path) -> None:
    ramp = TOWN_FILE.with_name("ramp.xodr")
    text = document(
        group(event("route", assign(lane(1, -1, 50), lane(1, -1, 10)), at(1.0))), road=str(ramp)
    )
    with pytest.raises(
        ScenarioError, match=r"Waypoint: found road 1, lane -1, s=10; no lane leads"
    ):
        played(tmp_path, text)
    text = document(group(event("route", acquire(lane(1, -1, 10)), at(1.0))), road=str(ramp))
    with pytest.raises(RunError, match=r"vehicle 'A': route: found road 1, lane -2"):
        played(tmp_path, text)
