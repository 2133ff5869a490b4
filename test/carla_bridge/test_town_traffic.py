# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Background traffic in the town: it gives way in junctions, to each other and to the scene."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ros2_cosim.core.scene.simulator import MapChoice
from ros2_cosim.world.carla.crossings import Crossings, Reservations, WayRequest
from ros2_cosim.world.carla.inprocess_world import InProcessWorld
from ros2_cosim.world.carla.parameters import DriverSpec, SceneParameters, VehicleSpec
from ros2_cosim.world.carla.scene import Scene
from ros2_cosim.world.map import RoadNetwork

TEXT = (Path(__file__).parents[2] / "config" / "town.xodr").read_text(encoding="utf-8")
TOWN = RoadNetwork.from_xodr(TEXT, "town.xodr")


def scene_in_town(traffic: int, seed: int, **changes: Any) -> Scene:
    values: dict[str, Any] = {
        "map": MapChoice(opendrive=TEXT),
        "step_ns": 20_000_000,
        "vehicles": (VehicleSpec("leader", -1, 120.0, 8.0, road=23, driver=DriverSpec()),),
        "traffic": traffic,
        "traffic_seed": seed,
        "route": (23, 6, 14, 8, 7),
        "settle_ticks": 20,
        "control_period_ns": 40_000_000,
    }
    return Scene(InProcessWorld(), SceneParameters(**(values | changes)))


def driven(scene: Scene, steps: int) -> int:
    """Let a scene run; the number of contacts."""
    scene.initialise()
    contacts = 0
    for _ in range(steps):
        scene.step({})
        contacts += len(scene.collisions())
    return contacts


def test_traffic_in_the_town_comes_through_junctions_without_a_collision() -> None:
    scene = scene_in_town(40, 6)
    assert driven(scene, 900) == 0
    traffic = scene._traffic
    assert traffic is not None
    passed = [
        vehicle
        for vehicle in traffic.vehicles
        if vehicle.keeper.position is not None
        and vehicle.keeper.position.road_id != vehicle.spec.road
    ]
    assert len(passed) > 20
    assert max(abs(vehicle.keeper.lateral_error) for vehicle in traffic.vehicles) < 1.0
    leader = scene.read()["leader"].odometry
    assert leader.vx > 4.0


def test_without_reservations_the_same_vehicles_collide(monkeypatch: pytest.MonkeyPatch) -> None:
    """So the test above can fail."""
    monkeypatch.setattr(Reservations, "holds", lambda self, vehicle, way: True)
    assert driven(scene_in_town(40, 6), 250) > 0


def connections() -> list[tuple[tuple[int, int], int]]:
    return [
        ((connection.connecting_road, to), junction.id)
        for junction in TOWN.junctions.values()
        for connection in junction.connections
        for _, to in connection.lanes
    ]


def test_ways_that_cross_or_meet_are_in_conflict_and_parallel_ones_are_not() -> None:
    crossings = Crossings(TOWN)
    by_junction: dict[int, list[tuple[int, int]]] = {}
    for way, junction in connections():
        by_junction.setdefault(junction, []).append(way)
    pairs = [
        (one, other, crossings.conflict(one, other))
        for ways in by_junction.values()
        for one in ways
        for other in ways
    ]
    assert any(found for _, _, found in pairs) and not all(found for _, _, found in pairs)
    for one, other, found in pairs:
        assert crossings.conflict(other, one) == found
        if one == other:
            assert not found
        ends = []
        for road_id, lane in (one, other):
            network_end = 0.0 if lane > 0 else TOWN.length(road_id)
            ends.append(TOWN.lane_point(road_id, lane, network_end))
        (x, y), (u, v) = ends
        if one != other and (x - u) ** 2 + (y - v) ** 2 < 0.01:
            assert found, (one, other)  # they lead into one lane


def test_a_way_is_given_in_order_and_taken_away_for_the_scene() -> None:
    crossings = Crossings(TOWN)
    first, second, junction = next(
        (one, other, here)
        for one, here in connections()
        for other, there in connections()
        if here == there and crossings.conflict(one, other)
    )
    a, b = WayRequest(0, first, junction), WayRequest(1, second, junction)
    reservations = Reservations(crossings)
    reservations.decide([b, a], {})
    assert reservations.holds(1, second) and not reservations.holds(0, first)
    reservations.decide([a], {})
    assert not reservations.holds(0, first)
    reservations.release(1, [])
    reservations.decide([a], {second: junction})
    assert not reservations.holds(0, first)
    reservations.decide([a], {})
    assert reservations.holds(0, first)
    reservations.yield_way(a, {})
    assert reservations.holds(0, first)
    reservations.yield_way(a, {second: junction})
    assert not reservations.holds(0, first)


def test_a_driver_keeps_its_distance_to_background_traffic() -> None:
    """A faster leader comes up behind traffic in its lane."""
    scene = scene_in_town(1, 1)
    scene.initialise()
    traffic = scene._traffic
    assert traffic is not None
    ahead = traffic.vehicles[0]
    leader = scene._vehicles["leader"]
    keeper = ahead.keeper
    spec = VehicleSpec("slow", -1, 145.0, 1.0, road=23)
    assert keeper.position is None
    ahead.spec, keeper.lane_id = spec, -1
    traffic._shares[0] = None
    point = TOWN.lane_pose(23, -1, 145.0)
    start = leader.start._replace(x=point.x, y=-point.y, z=point.z)
    scene._simulator.place(ahead.actor, start, (0.0, 0.0, 0.0))
    scene._simulator.tick()
    scene._observe()
    gaps = []
    for _ in range(400):
        scene.step({})
        assert not scene.collisions()
        here, there = scene.read()["leader"].odometry, scene._traffic_readings[0].odometry
        gaps.append(
            ((here.x - there.x) ** 2 + (here.y - there.y) ** 2) ** 0.5 - ahead.body.extent[0] * 2
        )
    assert 0.5 < gaps[-1] < 12.0
