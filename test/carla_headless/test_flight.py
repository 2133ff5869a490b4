# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Vehicles that leave the road: they fall, turn over and come to stand again."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ros2_cosim.world.headless.actors import VehicleActor
from ros2_cosim.world.headless.flight import DROP, FreeBody, GroundPlane, box_shape
from ros2_cosim.world.headless.wire_types import Rotation, Transform, Vector, VehicleControl
from ros2_cosim.world.headless.world import World
from ros2_cosim.world.map.frames import world_to_body
from ros2_cosim.world.vehicle.parameters import GRAVITY

CONFIG = Path(__file__).parents[2] / "config"
HIGHWAY = (CONFIG / "highway.xodr").read_text(encoding="utf-8")
TOWN = (CONFIG / "town.xodr").read_text(encoding="utf-8")
LEVEL = GroundPlane(0.0, 0.0, 0.0, 0.0, 0.0)
SHAPE = box_shape(1800.0, (2.4, 0.95, 0.75), 0.5, 2800.0)


@pytest.fixture
def world() -> World:
    return World(HIGHWAY, 0.01)


def car(world: World, z: float = 0.0, **rotation: float) -> VehicleActor:
    place = Transform(
        Vector(300.0, 5.25, z), Rotation(**{"pitch": 0.0, "yaw": 0.0, "roll": 0.0} | rotation)
    )
    actor = world.spawn("vehicle.tesla.model3", place)
    assert isinstance(actor, VehicleActor)
    return actor


def run(world: World, seconds: float) -> None:
    for _ in range(round(seconds / world.step_s)):
        world.tick()


def test_a_vehicle_above_the_road_falls_and_stands(world: World) -> None:
    """The way of a free fall; then it stands where it was dropped, as any vehicle."""
    actor = car(world, 10.0)
    run(world, 1.0)
    fallen = 10.0 - actor.state.transform.location.z
    assert fallen == pytest.approx(0.5 * GRAVITY, rel=0.02)
    assert actor.state.velocity.z == pytest.approx(-GRAVITY, rel=1e-3)
    assert actor.state.acceleration.z == pytest.approx(-GRAVITY, rel=1e-6)
    run(world, 4.0)
    assert actor.state.transform.location == pytest.approx((300.0, 5.25, 0.0), abs=1e-3)
    assert actor.state.velocity == pytest.approx((0.0, 0.0, 0.0), abs=1e-6)
    world.apply_control(actor.id, VehicleControl(throttle=0.6))
    run(world, 2.0)
    assert actor.state.velocity.x > 3.0


def test_what_is_put_a_little_above_the_road_lies_down_at_once(world: World) -> None:
    """Spawn points are 0.3 m above it."""
    actor = car(world, DROP - 0.01)
    assert actor.state.transform.location.z == 0.0


def test_a_vehicle_on_its_roof_stays_there_and_does_not_drive(world: World) -> None:
    actor = car(world, 2.0, roll=180.0)
    run(world, 4.0)
    assert abs(actor.state.transform.rotation.roll) == pytest.approx(180.0, abs=2.0)
    height = 2.0 * actor.blueprint.hull.z
    assert actor.state.transform.location.z == pytest.approx(height, abs=0.05)
    world.apply_control(actor.id, VehicleControl(throttle=1.0))
    run(world, 1.0)
    assert abs(actor.state.velocity.x) < 0.1
    world.set_transform(actor.id, Transform(Vector(300.0, 5.25, 0.0), Rotation()))
    run(world, 2.0)
    assert actor.state.velocity.x > 2.0


def test_an_impulse_upwards_throws_it_as_high_as_it_must(world: World) -> None:
    actor = car(world)
    speed = 6.0
    world.add_impulse(actor.id, Vector(0.0, 0.0, speed * actor.body.mass))
    highest = 0.0
    for _ in range(200):
        world.tick()
        highest = max(highest, actor.state.transform.location.z)
    assert highest == pytest.approx(speed * speed / (2.0 * GRAVITY), rel=0.02)
    assert actor.state.transform.location.z == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize(("share", "rises"), [(0.9, False), (1.5, True)])
def test_a_force_lifts_a_vehicle_if_it_is_more_than_its_weight(
    world: World, share: float, rises: bool
) -> None:
    actor = car(world)
    for _ in range(100):
        world.add_force(actor.id, Vector(0.0, 0.0, share * actor.body.mass * GRAVITY))
        world.tick()
    expected = 0.5 * (share - 1.0) * GRAVITY if rises else 0.0
    assert actor.state.transform.location.z == pytest.approx(expected, rel=0.03)


def test_target_velocity_and_turn_in_all_directions(world: World) -> None:
    actor = car(world)
    world.set_target_velocity(actor.id, Vector(3.0, -2.0, 8.0))
    world.set_target_angular_velocity(actor.id, Vector(0.0, 90.0, 0.0))
    run(world, 0.4)
    x, y, z = actor.state.transform.location
    assert (x - 300.0, y - 5.25) == pytest.approx((1.2, -0.8), abs=0.5)
    assert z > 1.0
    assert abs(actor.state.transform.rotation.pitch) == pytest.approx(36.0, abs=1.0)
    assert actor.state.angular_velocity == pytest.approx((0.0, 90.0, 0.0), abs=1.0)


def test_a_torque_turns_a_vehicle_over_if_it_is_stronger_than_its_weight(world: World) -> None:
    actor = car(world)
    weight = actor.body.mass * GRAVITY
    world.add_torque(actor.id, Vector(0.5 * weight * actor.blueprint.hull.y, 0.0, 0.0))
    run(world, 0.5)
    assert actor.state.transform.rotation.roll == 0.0
    for _ in range(60):
        world.add_torque(actor.id, Vector(3.0 * weight * actor.blueprint.hull.y, 0.0, 0.0))
        world.tick()
    rolls = []
    for _ in range(300):
        world.tick()
        rolls.append(abs(actor.state.transform.rotation.roll))
    assert max(rolls) > 60.0


def test_without_gravity_nothing_falls(world: World) -> None:
    actor = car(world, 10.0)
    world.enable_gravity(actor.id, False)
    run(world, 1.0)
    assert actor.state.transform.location.z == 10.0
    world.enable_gravity(actor.id, True)
    run(world, 4.0)
    assert actor.state.transform.location.z == pytest.approx(0.0, abs=1e-6)


def test_off_the_road_it_stands_on_the_ground(world: World) -> None:
    actor = car(world)
    world.set_transform(actor.id, Transform(Vector(300.0, 120.0, 5.0), Rotation()))
    run(world, 4.0)
    assert actor.state.transform.location == pytest.approx((300.0, 120.0, 0.0), abs=1e-3)


def test_on_a_slope_it_comes_to_stand_along_it() -> None:
    world = World(TOWN, 0.02)
    start = next(p for p in world.spawn_points() if abs(p.rotation.pitch) > 2.0)
    above = start._replace(location=start.location._replace(z=start.location.z + 3.0))
    actor = world.spawn("vehicle.audi.tt", above)
    world.apply_control(actor.id, VehicleControl(hand_brake=True))
    run(world, 5.0)
    assert actor.state.transform.rotation.pitch == pytest.approx(start.rotation.pitch, abs=1.0)
    assert abs(actor.state.velocity.z) < 0.05


def test_a_long_step_of_the_world_is_made_of_short_ones_of_the_physics() -> None:
    world = World(HIGHWAY, 3.0)
    actor = car(world)
    world.apply_control(actor.id, VehicleControl(throttle=1.0))
    world.tick()
    fine = World(HIGHWAY, 0.01)
    other = car(fine)
    fine.apply_control(other.id, VehicleControl(throttle=1.0))
    run(fine, 3.0)
    assert actor.state.velocity.x == pytest.approx(other.state.velocity.x, rel=0.05)


@settings(max_examples=12)
@given(
    st.tuples(*[st.floats(-20.0, 20.0)] * 3),
    st.tuples(*[st.floats(-10.0, 10.0)] * 3),
    st.floats(0.0, 5.0),
)
def test_a_thrown_box_comes_to_rest_on_the_ground(
    velocity: tuple[float, float, float], turn: tuple[float, float, float], height: float
) -> None:
    """No energy comes from nowhere, no corner stays below the ground, whatever the throw."""
    body = FreeBody(SHAPE, (0.0, 0.0, height), (0.0, 0.0, 0.0, 1.0), velocity, turn)
    before = energy(body)
    for _ in range(400):
        body.step(0.02, LEVEL)
        assert min(corner[2] for corner in body._corners()) >= -1e-9
        assert all(math.isfinite(value) for value in (*body.origin, *body.velocity, *body.turn))
    # Half a step of gravity is how far the explicit step is off.
    assert energy(body) <= before + SHAPE.mass * GRAVITY * 0.6 + 1.0


def energy(body: FreeBody) -> float:
    kinetic = 0.5 * body.shape.mass * sum(v * v for v in body.velocity)
    turning = world_to_body(body.orientation, body.turn)
    kinetic += 0.5 * sum(i * w * w for i, w in zip(body.shape.inertia, turning, strict=True))
    return kinetic + body.shape.mass * GRAVITY * body._centre[2]


def test_the_same_flight_has_the_same_bits() -> None:
    found = []
    for _ in range(2):
        body = FreeBody(
            SHAPE, (0.0, 0.0, 3.0), (0.0, 0.0, 0.0, 1.0), (4.0, 1.0, 2.0), (3.0, 2.0, 1.0)
        )
        for _ in range(300):
            body.step(0.01, LEVEL)
        found.append(repr((body.origin, body.orientation)))
    assert found[0] == found[1]
