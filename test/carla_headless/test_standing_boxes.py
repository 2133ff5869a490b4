# SPDX-License-Identifier: Apache-2.0
"""Vehicles hit houses, poles and rails, and the sensor says what it was."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from support.headless_process import HIGHWAY, TOWN
from support.sensor_bench import CAR, Bench

from ros2_cosim.world.headless.contact import OrientedBox
from ros2_cosim.world.headless.labels import BUILDINGS, GUARD_RAILS, POLES, VEGETATION
from ros2_cosim.world.headless.sensing.scene import SceneBuilder
from ros2_cosim.world.headless.standing_boxes import StandingBox
from ros2_cosim.world.headless.wire_types import Rotation, Transform, Vector
from ros2_cosim.world.headless.world import World


@cache
def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


@cache
def standing(path: Path) -> list[StandingBox]:
    """All boxes of a map with its scenery."""
    world = World(text_of(path), 0.05, has_scenery=True)
    SceneBuilder().complete(world)
    return [box for cell in world.standing.cells() for box in cell]


def first(path: Path, label: int, test: Callable[[OrientedBox], bool]) -> OrientedBox:
    return next(b.hull for b in standing(path) if b.thing.label == label and test(b.hull))


@pytest.mark.parametrize(
    ("path", "label", "name"),
    [
        (TOWN, BUILDINGS, "static.building"),
        (TOWN, POLES, "static.pole"),
        (TOWN, VEGETATION, "static.vegetation"),
        (HIGHWAY, GUARD_RAILS, "static.guardrail"),
    ],
)
def test_a_car_stops_at_what_it_hits_and_the_sensor_names_it(
    path: Path, label: int, name: str
) -> None:
    hull = first(path, label, lambda box: box.half_height > 0.3)
    bench = Bench(0.05, path=path, has_scenery=True)
    world = bench.simulation.world
    # Towards the middle of the longer side, from eight metres away.
    out_x, out_y = 0.0 - hull.sin, hull.cos
    away = hull.half_width + 8.0
    place = Vector(hull.x + away * out_x, 0.0 - (hull.y + away * out_y), hull.z)
    yaw = Rotation(yaw=_yaw(0.0 - out_x, out_y))
    car = world.spawn_anywhere(CAR, Transform(place, yaw), {}).id
    sensor = bench.sensor("sensor.other.collision", Transform(), car)
    world.set_target_velocity(car, Vector(0.0 - 9.0 * out_x, 9.0 * out_y, 0.0))
    bench.run(40)
    payloads = bench.payloads(sensor)
    assert payloads, "nothing was hit"
    own, other, impulse = payloads[0]
    assert (own[0], other[0], other[2][1]) == (car, 0, name)
    assert other[4] in (bytes((label,)), chr(label))
    # It is pushed back along the way it came, by about what it had.
    back = impulse[0] * out_x - impulse[1] * out_y
    assert back > 0.5 * 6.0 * world.require_vehicle(car).body.mass
    state = world.require(car).state
    assert _gap(hull, state.transform) > -0.3
    assert abs(state.velocity.x) + abs(state.velocity.y) < 3.0


def _yaw(x: float, y: float) -> float:
    return math.degrees(math.atan2(y, x))


def _gap(hull: OrientedBox, pose: Transform) -> float:
    """How far a car's nose is before the middle line of a box's longer side [m]."""
    dx, dy = pose.location.x - hull.x, 0.0 - pose.location.y - hull.y
    across = abs(dy * hull.cos - dx * hull.sin)
    return across - hull.half_width - 2.4


def test_without_scenery_only_what_the_map_names_is_hit() -> None:
    world = World(text_of(TOWN), 0.05)
    assert {box.thing.label for cell in world.standing.cells() for box in cell} <= {POLES, 5, 20}
    whole = World(text_of(TOWN), 0.05, has_scenery=True)
    # Until a vehicle leaves its road nothing is made.
    car = whole.spawn(CAR, whole.spawn_points()[0])
    whole.set_target_velocity(car.id, Vector(5.0, 0.0, 0.0))
    before = len(whole.standing.cells())
    whole.tick()
    assert len(whole.standing.cells()) == before and not whole.things.parts()


def test_what_a_client_hides_is_not_hit() -> None:
    world = World(text_of(TOWN), 0.05, has_scenery=True)
    SceneBuilder().complete(world)
    hull = first(TOWN, BUILDINGS, lambda box: box.half_height > 3.0)
    inside = Transform(Vector(hull.x, 0.0 - hull.y, hull.z - hull.half_height + 1.0))
    car = world.require_vehicle(world.spawn_anywhere(CAR, inside, {}).id)
    world.set_target_velocity(car.id, Vector(0.5, 0.0, 0.0))
    assert any(box.thing.label == BUILDINGS for box in world.standing.near(car))
    world.things.show([thing.id for thing in world.things.labelled(BUILDINGS)], shown=False)
    assert not any(box.thing.label == BUILDINGS for box in world.standing.near(car))
