# SPDX-License-Identifier: Apache-2.0
"""Steering of the vehicles that clients and scenarios share."""

from __future__ import annotations

from math import atan2, degrees

import pytest
from support.headless_process import TOWN

from ros2_cosim.core.scene.simulator import CLASS_STEERING, STEERING
from ros2_cosim.world.headless.blueprints import LIBRARY, Blueprint
from ros2_cosim.world.headless.wire_types import VehicleControl
from ros2_cosim.world.headless.world import World
from ros2_cosim.world.vehicle.parameters import GRAVITY, VehicleParameters
from ros2_cosim.world.vehicle.vehicle import ActuatorCommand, Vehicle

SHARED = ["vehicle.tesla.model3", "vehicle.gazelle.omafiets", "vehicle.audi.a2"]


def _angle_after(world: World, blueprint: str, seconds: float, **attributes: str) -> float:
    vehicle = world.spawn(blueprint, world.spawn_points()[0], attributes)
    world.apply_control(vehicle.id, VehicleControl(steer=1.0))
    for _ in range(round(seconds / world.step_s)):
        world.tick()
    angle = world.require_vehicle(vehicle.id).body.steer_angle_degrees()
    world.destroy(vehicle.id)
    return angle


@pytest.mark.parametrize("blueprint", SHARED)
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
    vehicles = {entry.id for entry in LIBRARY.values() if entry.kind == "vehicle"}
    assert {entry.id for entry in LIBRARY.values() if entry.class_dynamics} == vehicles
    named = {e.id for e in LIBRARY.values() if any(a.id == STEERING for a in e.attributes)}
    assert named == vehicles


@pytest.mark.parametrize(
    "entry", [entry for entry in LIBRARY.values() if entry.dynamics], ids=lambda entry: entry.id
)
def test_hard_braking_in_a_bend_turns_no_vehicle_around(entry: Blueprint) -> None:
    """As CARLA's traffic manager brakes on a motorway: two-wheelers and short cars spun."""
    carla, real = entry.dynamics, entry.class_dynamics
    assert carla is not None and real is not None
    for p in (carla, real) if real.cg_height == carla.cg_height else (carla,):
        brake_in_a_bend(p)


def brake_in_a_bend(p: VehicleParameters) -> None:
    speed = min(28.0, p.max_speed - 1.0)
    across = 5.0  # m/s^2
    softness = (1.0 / p.front_stiffness - 1.0 / p.rear_stiffness) / GRAVITY
    wheel = p.wheelbase * across / (speed * speed) + softness * across
    vehicle = Vehicle(p, speed=speed)
    for _ in range(20):
        vehicle.step(0.05, ActuatorCommand(0.3, 0.0, wheel / p.max_steer_angle))
    most = 0.0
    while vehicle.vx > 3.0 and most < 20.0:
        vehicle.step(0.05, ActuatorCommand(0.0, 1.0, wheel / p.max_steer_angle))
        most = max(most, abs(degrees(atan2(vehicle.vy, vehicle.vx))))
    assert most < 6.0
