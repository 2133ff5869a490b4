# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Vehicles of CARLA's clients wander a little, as in CARLA: what is ahead is never at 0 degrees."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import carla
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.headless_process import start_server

from ros2_cosim.core.scene.simulator import CLASS_STEERING, STEERING
from ros2_cosim.world.headless.sway import AMPLITUDE, Sway

STEP_S = 0.05


@given(
    st.integers(0, 300),
    st.lists(st.tuples(st.floats(0.001, 0.1), st.floats(-60.0, 60.0)), max_size=300),
)
def test_it_stays_within_its_amplitude_and_stands_still_with_the_vehicle(
    number: int, steps: list[tuple[float, float]]
) -> None:
    sway, twin = Sway(number), Sway(number)
    offset = sway.step(0.05, 0.0)
    assert offset == twin.step(0.05, 0.0) == pytest.approx(1.0e-4, rel=0.01)
    for dt, speed in steps:
        shift = sway.step(dt, speed)
        assert shift == twin.step(dt, speed)
        assert sway.step(dt, 0.0) == 0.0
        offset += shift
        assert abs(offset) <= AMPLITUDE * (1.0 + 1e-9)


def test_vehicles_do_not_sway_together() -> None:
    sways = [Sway(number) for number in range(20)]
    places = [sum(sway.step(0.05, 10.0) for _ in range(2000)) for sway in sways]
    assert max(abs(place) for place in places) > 0.5 * AMPLITUDE
    assert min(abs(a - b) for i, a in enumerate(places) for b in places[:i]) > 0.0


@pytest.fixture(scope="module")
def world() -> Iterator[Any]:
    process, port = start_server()
    client = carla.Client("127.0.0.1", port)
    client.set_timeout(60.0)
    world = client.get_world()
    settings = world.get_settings()
    settings.synchronous_mode, settings.fixed_delta_seconds = True, STEP_S
    world.apply_settings(settings)
    world.tick()
    yield world
    process.terminate()
    _, messages = process.communicate(timeout=60)
    assert process.returncode == 0, messages


def angle_to(place: carla.Location, pose: carla.Transform) -> float:
    """Angle [deg] of a place from a pose, as CARLA's agents work it out: 0 means ahead, exactly."""
    away = np.array([place.x - pose.location.x, place.y - pose.location.y])
    forward = pose.get_forward_vector()
    cosine = np.dot(np.array([forward.x, forward.y]), away) / np.linalg.norm(away)
    return math.degrees(math.acos(np.clip(cosine, -1.0, 1.0)))


def longest_blindness(world: Any, steering: str) -> int:
    """For how many ticks at a time a follower does not see the vehicle exactly ahead."""
    town = world.get_map()
    blueprint = world.get_blueprint_library().find("vehicle.tesla.model3")
    blueprint.set_attribute(STEERING, steering)
    start = town.get_waypoint(carla.Location(20.0, 5.25, 0.0))
    cars = []
    for waypoint in (start, start.next(15.0)[0]):
        pose = waypoint.transform
        pose.location.z += 0.3
        cars.append(world.spawn_actor(blueprint, pose))
    world.tick()
    longest = blind = 0
    for tick in range(400):
        for car in cars:
            # Steered as an agent does it, at the middle of its lane some metres ahead.
            pose = car.get_transform()
            ahead = town.get_waypoint(pose.location).next(6.0)[0].transform.location
            side = pose.get_right_vector().dot(ahead - pose.location)
            turn = math.copysign(math.radians(angle_to(ahead, pose)), side)
            throttle = 0.5 if car.get_velocity().length() < 8.0 else 0.0
            car.apply_control(carla.VehicleControl(throttle, min(0.8, max(-0.8, 1.95 * turn))))
        world.tick()
        follower, leader = (car.get_transform() for car in cars)
        middle = town.get_waypoint(follower.location).transform.location
        assert middle.distance_2d(follower.location) < 0.05
        if tick >= 100:
            blind = blind + 1 if angle_to(leader.location, follower) == 0.0 else 0
            longest = max(longest, blind)
    for car in cars:
        car.destroy()
    return longest


def test_a_vehicle_does_not_stand_exactly_where_it_is_put(world: Any) -> None:
    # The direction from there to the waypoint that it stands on is asked by agents of ros-bridge.
    start = world.get_map().get_waypoint(carla.Location(60.0, 5.25, 0.0)).transform
    car = world.spawn_actor(world.get_blueprint_library().find("vehicle.tesla.model3"), start)
    world.tick()
    place = car.get_location()
    assert 5e-5 < place.distance_2d(start.location) < 2e-4
    for _ in range(5):
        world.tick()
    assert car.get_location() == place
    car.destroy()


def test_a_follower_sees_what_is_exactly_ahead(world: Any) -> None:
    assert longest_blindness(world, "carla") < 10
    # What scenarios drive keeps exactly to its way.
    assert longest_blindness(world, CLASS_STEERING) > 100
