# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The camera for Cosmos Transfer: lines where things are, and nothing else."""

from __future__ import annotations

from typing import Any

import numpy as np
from support.headless_process import TOWN
from support.sensor_bench import HEADER, Bench

from ros2_cosim.world.headless.debug_shapes import Kind
from ros2_cosim.world.headless.sensing.cameras import Camera
from ros2_cosim.world.headless.sensing.control_camera import control_lines
from ros2_cosim.world.headless.wire_types import Transform, Vector
from ros2_cosim.world.headless.world import World

KIND = "sensor.camera.cosmos_visualization"
SIZE = {"image_size_x": 160, "image_size_y": 120, "fov": 90}
FOCAL, CLOSE = 80.0, 3  # pixels
RED = [255, 0, 0]


def _picture(message: bytes) -> Any:
    width, height, pixels = Camera.pixels_of(message[HEADER:])
    return np.frombuffer(pixels, np.uint8).reshape(height, width, 4)[..., 2::-1]


def test_the_edges_of_a_car_ahead_are_red_lines_on_black() -> None:
    bench = Bench(0.05)
    own, ahead = bench.car(100.0), bench.car(115.0)
    camera = bench.sensor(KIND, Transform(Vector(2.5, 0.0, 1.2)), own, **SIZE)
    bench.run(2)
    [picture, again] = [_picture(message) for message in bench.messages[camera]]
    assert (picture == again).all()
    world = bench.simulation.world
    eye = world.pose(world.require(camera)).location
    box = world.bounding_box(ahead)
    place = world.pose(world.require(ahead)).location
    near = place.x + box.location.x - box.extent.x - eye.x
    rows, columns = np.nonzero((picture == RED).all(axis=2))
    across, down = place.y + box.location.y - eye.y, eye.z - place.z - box.location.z
    for values, middle, size, half in (
        (columns, 80.0, across, box.extent.y),
        (rows, 60.0, down, box.extent.z),
    ):
        low, high = (middle + FOCAL * (size + side * half) / near for side in (-1.0, 1.0))
        assert abs(values.min() - low) < CLOSE and abs(values.max() - high) < CLOSE
    # Inside the edges the far side is seen, then nothing: what is drawn hides nothing.
    assert 0 < len(rows) < 0.6 * (np.ptp(rows) + 1) * (np.ptp(columns) + 1)
    assert (picture[:40] == 0).all(), "the sky, the road and the scenery are not drawn"


def test_lights_stop_lines_and_crosswalks_have_carlas_colours() -> None:
    world = World(TOWN.read_text(encoding="utf-8"), 0.05)
    lines = list(control_lines(world))
    lights = [a for a in world.actors.values() if a.blueprint.id == "traffic.traffic_light"]
    count = {
        colour: sum(line.colour == colour for line in lines)
        for colour in ((109, 144, 136), (214, 144, 137), (202, 132, 58), (255, 0, 0))
    }
    assert count[109, 144, 136] == len(lights) > 0 < count[214, 144, 137]
    crosswalks = [
        thing for road in world.network.roads.values() for thing in road.objects
        if thing.type == "crosswalk"
    ]  # fmt: skip
    assert count[202, 132, 58] == sum(len(thing.outline) for thing in crosswalks)
    stops = [line for line in lines if line.colour == (255, 0, 0)]
    assert len(stops) >= len(lights) and all(line.kind is Kind.LINE for line in stops)
    for line in stops:
        length = np.hypot(line.end.x - line.start.x, line.end.y - line.start.y)
        assert 2.0 < length < 5.0, "as long as a lane is wide"
