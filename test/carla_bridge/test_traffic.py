# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Number of vehicles and background traffic: what is there, where it starts, how it drives."""

from __future__ import annotations

from functools import partial

import pytest
from support.bridge_scenes import GENERATED, HIGHWAY, platoon, record
from support.world_scenarios import world_scenario

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.scenario.system import build_model
from ros2_cosim.core.scene.scene import FIRST_TRAFFIC_ID
from ros2_cosim.world.carla.inprocess_world import InProcessWorld
from ros2_cosim.world.carla.scene import Scene
from ros2_cosim.world.carla.traffic import STYLE
from ros2_cosim.world.carla.traffic_placement import place_traffic
from ros2_cosim.world.drivers.intelligent_driver import intelligent_driver
from ros2_cosim.world.map import RoadNetwork

ROADS = RoadNetwork.from_file(HIGHWAY)


def test_a_seed_places_the_same_traffic_and_more_of_it_keeps_the_first() -> None:
    few = place_traffic(ROADS, platoon(traffic=5, traffic_seed=3))
    assert few == place_traffic(ROADS, platoon(traffic=5, traffic_seed=3))
    assert few == place_traffic(ROADS, platoon(traffic=60, traffic_seed=3))[:5]
    assert few != place_traffic(ROADS, platoon(traffic=5, traffic_seed=4))
    assert place_traffic(ROADS, platoon()) == []


def test_traffic_stays_out_of_the_lanes_of_the_scene() -> None:
    specs = place_traffic(ROADS, platoon(traffic=200))
    assert {spec.lane for spec in specs} == {-3, -1, 1, 2, 3}
    stations = sorted(spec.s for spec in specs if spec.lane == -1)
    assert min(b - a for a, b in zip(stations, stations[1:], strict=False)) > 25.0


def test_a_map_with_too_little_room_says_how_much_there_is() -> None:
    with pytest.raises(ConfigurationError, match=r"traffic=500; .* has room for \d\d\d$"):
        Scene(InProcessWorld(), platoon(traffic=500)).initialise()


def test_traffic_drives_without_a_collision_and_stops_where_the_road_ends() -> None:
    scene = Scene(
        InProcessWorld(), platoon(traffic=16, traffic_seed=39, control_period_ns=20_000_000)
    )
    scene.initialise()
    traffic = scene._traffic
    assert traffic is not None
    for _ in range(2000):
        scene.step({})
        for collision in scene.collisions():
            assert max(collision.event.vehicle, collision.event.other) < FIRST_TRAFFIC_ID
    speeds = [reading.odometry.vx for reading in scene._traffic_readings]
    assert any(speed > 25.0 for speed in speeds)
    assert any(speed < 0.2 for speed in speeds)
    assert all(abs(vehicle.keeper.lateral_error) < 0.1 for vehicle in traffic.vehicles)
    assert set(scene.read()) == {"leader", "follower1", "follower2"}


def test_traffic_changes_nothing_for_the_vehicles_that_do_not_meet_it() -> None:
    alone = record(InProcessWorld(), platoon(), 100)
    assert record(InProcessWorld(), platoon(traffic=10), 100) == alone


def test_the_driver_model_keeps_speed_and_gap() -> None:
    follow = partial(intelligent_driver, STYLE)
    assert follow(30.0, 30.0, None, 0.0) == 0.0
    assert follow(0.0, 30.0, None, 0.0) == pytest.approx(1.5)
    assert follow(20.0, 30.0, 10.0, -10.0) == -8.0
    assert follow(0.0, 30.0, 2.0, 0.0) == pytest.approx(0.0)
    assert follow(20.0, 30.0, 60.0, 5.0) > follow(20.0, 30.0, 60.0, 0.0) > 0.0


def test_the_first_vehicles_only() -> None:
    scene = Scene(InProcessWorld(), platoon(count=2))
    scene.initialise()
    assert list(scene.read()) == ["leader", "follower1"]
    assert len(place_traffic(ROADS, platoon(count=1, traffic=3))) == 3


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"count": 4}, "vehicles=4 must be between 1 and 3"),
        ({"count": 0}, "vehicles=0 must be between 1 and 3"),
        ({"traffic": -1}, "traffic=-1 must be between 0 and 500"),
        ({"traffic_seed": -1}, "traffic_seed=-1 must be between 0"),
    ],
)
def test_wrong_numbers(changes: dict[str, int], expected: str) -> None:
    with pytest.raises(ConfigurationError, match=expected):
        platoon(GENERATED, **changes)


@pytest.mark.parametrize(
    ("ports", "parameters", "expected"),
    [
        (3, {"vehicles": 4}, "world.parameters.vehicles: found 4; allowed is 1 to 3"),
        (3, {"vehicles": True}, "found true; allowed is an integer"),
        (3, {"vehicles": 2}, "found 2; the output 'odometry/third' needs more"),
        (3, {"traffic": "many"}, "parameters.traffic: found 'many'; allowed is an integer"),
        (3, {"traffic": 501}, "parameters.traffic: found 501; allowed is a number of at most 500"),
        (3, {"dcp": {"port": -1}}, "parameters.dcp.port: found -1; allowed is a number of at le"),
        (3, {"dcp": {"transport": "serial"}}, "dcp.transport: found 'serial'; allowed is 'tcp'"),
        (3, {"traffic": 400}, "has room for"),
        (3, {"traffic_seed": 1.5}, "parameters.traffic_seed: found 1.5"),
        (
            3,
            {"trafic": 5},
            "world.parameters.trafic: unknown key; did you mean 'traffic'. allowed are control",
        ),
        (
            3,
            {"dcp": {"prot": 5}},
            "parameters.dcp.prot: unknown key; did you mean 'port'. allowed are transport",
        ),
    ],
)
def test_wrong_numbers_in_a_scenario(
    ports: int, parameters: dict[str, object], expected: str
) -> None:
    with pytest.raises(ConfigurationError, match=expected):
        build_model(world_scenario(ports, **parameters), "world", "inproc")


def test_nothing_starts_before_a_bend_that_it_cannot_brake_for() -> None:
    """108 km/h on the straight; the bend behind it holds 13 m/s at 9 m/s^2."""
    lanes = "".join(
        f'<lane id="-{n}" type="driving"><width sOffset="0" a="4" b="0" c="0" d="0"/></lane>'
        for n in (1, 2, 3)
    )
    road = RoadNetwork.from_xodr(f"""<OpenDRIVE><header/>
<road name="r" length="2050" id="1" junction="-1"><type s="0" type="rural">
<speed max="30" unit="m/s"/></type><planView>
<geometry s="0" x="0" y="0" hdg="0" length="1500"><line/></geometry>
<geometry s="1500" x="1500" y="0" hdg="0" length="50"><arc curvature="0.05"/></geometry>
<geometry s="1550" x="1511.97" y="36.02" hdg="2.5" length="500"><line/></geometry></planView>
<lanes><laneSection s="0"><center><lane id="0" type="none"/></center><right>{lanes}</right>
</laneSection></lanes></road></OpenDRIVE>""")
    starts = [spec.s for spec in place_traffic(road, platoon(traffic=60))]
    way = (30.0 * 30.0 - 9.0 * 20.0) / (2.0 * 8.0)
    assert not [s for s in starts if 1500.0 - way + 12.0 < s < 1545.0]
    assert [s for s in starts if s < 1400.0] and [s for s in starts if s > 1560.0]
