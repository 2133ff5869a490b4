# SPDX-License-Identifier: Apache-2.0
"""Steering of the vehicles that clients and scenarios share."""

from __future__ import annotations

from math import degrees

import pytest
from support.headless_process import TOWN

from ros2_cosim.carla_headless.blueprints import LIBRARY
from ros2_cosim.carla_headless.wire_types import VehicleControl
from ros2_cosim.carla_headless.world import World
from ros2_cosim.interfaces.simulator import CLASS_STEERING, STEERING

SHARED = ["vehicle.tesla.model3", "vehicle.lincoln.mkz_2020", "vehicle.audi.tt"]


def _angle_after(world: World, blueprint: str, seconds: float, **attributes: str) -> float:
    vehicle = world.spawn(blueprint, world.spawn_points()[0], attributes)
    world.apply_control(vehicle.id, VehicleControl(steer=1.0))
    for _ in range(round(seconds / world.step_s)):
        world.tick()
    angle = world.require_vehicle(vehicle.id).body.steer_angle_degrees()
    world.destroy(vehicle.id)
    return angle


@pytest.mark.parametrize("blueprint", [*SHARED, "vehicle.audi.a2"])
def test_what_clients_spawn_steers_as_in_carla(blueprint: str) -> None:
    world = World(TOWN.read_text(encoding="utf-8"), 0.01)
    assert _angle_after(world, blueprint, 1.0) == pytest.approx(70.0, abs=0.5)
    assert _angle_after(world, blueprint, 0.2) > 25.0


@pytest.mark.parametrize("blueprint", SHARED)
def test_scenarios_steer_the_same_vehicles_as_real_cars(blueprint: str) -> None:
    world = World(TOWN.read_text(encoding="utf-8"), 0.01)
    chosen = {STEERING: CLASS_STEERING}
    parameters = LIBRARY[blueprint].class_dynamics
    assert parameters is not None
    angle = _angle_after(world, blueprint, 3.0, **chosen)
    assert angle == pytest.approx(degrees(parameters.max_steer_angle), abs=0.5)
    # 0.6 rad/s, a quarter of CARLA's.
    assert _angle_after(world, blueprint, 0.2, **chosen) < 7.0


def test_scenarios_choose_that_steering() -> None:
    chosen = {entry.id for entry in LIBRARY.values() if entry.class_dynamics is not None}
    named = {e.id for e in LIBRARY.values() if any(a.id == STEERING for a in e.attributes)}
    assert chosen == {*SHARED, "vehicle.mercedes.sprinter"}
    # The others have it, too: it says whether they keep exactly to their way.
    assert named == {entry.id for entry in LIBRARY.values() if entry.kind == "vehicle"}
