# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Pictures of towns from drawn places, to be looked at: one sheet for each map.

    python -m bench.town_pictures [MAP.xodr ...] [--out out/pictures] [--count 10] [--seed 1]

A row is a place: a camera by day, at night and in rain; depth, labels; the points of a lidar from
above, by height. The same seed gives the same bytes.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ros2_cosim.lab.web.pictures import png, rgb_of
from ros2_cosim.world.carla.weather import WEATHER
from ros2_cosim.world.headless.maps import MapLibrary, own_maps
from ros2_cosim.world.headless.onlooker import CameraPicture
from ros2_cosim.world.headless.sensing.cameras import Camera
from ros2_cosim.world.headless.sensing.scenery.dice import Dice
from ros2_cosim.world.headless.simulation import Simulation
from ros2_cosim.world.headless.wire_types import (
    ActorDescription,
    AttributeValue,
    EpisodeSettings,
    Rotation,
    Transform,
    Vector,
)
from ros2_cosim.world.headless.world import CallError

Image = NDArray[np.uint8]

TILE = 320, 180
#: Weather of the three colour pictures of a row.
SKIES = "ClearNoon", "ClearNight", "HardRainSunset"
KINDS = "rgb", "depth", "semantic_segmentation"
HEADER, STREAM_OFFSET = 48, 16
CARS = "vehicle.tesla.model3", "vehicle.ford.ambulance", "vehicle.bh.crossbike", "vehicle.audi.tt"
LOW_BEAM = 0x3
CHANNELS, REACH = 32, 60.0


class TownStage:
    """A map with vehicles and people, and sensors of which the last messages are kept."""

    def __init__(self, path: Path) -> None:
        self.messages: dict[int, bytes] = {}
        self.simulation = Simulation(
            MapLibrary([path]), 0, self._take, lambda _stream: True, has_scenery=True
        )
        settings = EpisodeSettings(synchronous_mode=True, fixed_delta_seconds=0.1)
        self.simulation.apply_settings(settings)

    def _take(self, stream: int, message: bytes) -> None:
        self.messages[stream - STREAM_OFFSET] = message

    def people(self, places: Sequence[Transform], dice: Dice) -> None:
        """Vehicles with their lamps on, and people beside them."""
        for number, pose in enumerate(places):
            try:
                kind = ActorDescription(0, dice.pick(CARS))
                car = self.simulation.spawn(kind, pose)
                self.simulation.world.require_vehicle(car.id).lights = LOW_BEAM
                x, y, z = pose.location
                beside = Transform(Vector(x + 3.0, y + 3.0, z + 1.0), Rotation())
                who = f"walker.pedestrian.{1 + number % 20:04d}"
                self.simulation.spawn(ActorDescription(0, who), beside)
            except CallError:  # another one stands there
                continue

    def sensor(self, kind: str, pose: Transform, **attributes: float) -> int:
        """A sensor in a place."""
        chosen = tuple(AttributeValue(k, 4, str(v)) for k, v in attributes.items())
        return self.simulation.spawn(ActorDescription(0, kind, chosen), pose).id


def places_of(simulation: Simulation, count: int, dice: Dice) -> list[Transform]:
    """Drawn places: spawn points, at the height of a car's roof or of a lamp, looking around."""
    points = simulation.world.spawn_points()
    found = []
    for _ in range(count):
        pose = dice.pick(points)
        up, turn = dice.pick((1.6, 2.5, 7.0)), dice.between(-70.0, 70.0)
        place = pose.location._replace(z=pose.location.z + up)
        yaw = pose.rotation.yaw + turn
        found.append(Transform(place, Rotation(-4.0 if up < 5.0 else -18.0, yaw)))
    return found


def from_above(message: bytes) -> Image:
    """The points of a lidar's message, the way ahead to the right, brighter the higher."""
    points = np.frombuffer(message, "<f4", offset=HEADER + 8 + 4 * CHANNELS).reshape(-1, 4)
    width, height = TILE
    scale = 0.5 * height / REACH
    column = (points[:, 0] * scale + 0.5 * width).astype(np.int64)
    row = (points[:, 1] * scale + 0.5 * height).astype(np.int64)
    inside = (column >= 0) & (column < width) & (row >= 0) & (row < height)
    image = np.zeros((height, width, 3), np.uint8)
    level = np.clip((points[inside, 2] + 3.0) / 8.0, 0.0, 1.0)
    colours = np.stack((60.0 + 195.0 * level, 200.0 - 60.0 * level, 255.0 - 200.0 * level), axis=1)
    order = np.argsort(level, kind="stable")
    image[row[inside][order], column[inside][order]] = colours[order].astype(np.uint8)
    return image


def picture(kind: str, message: bytes) -> Image:
    """The picture of a camera's message in colours for the eye."""
    return rgb_of(CameraPicture(kind, *Camera.pixels_of(message[HEADER:])))


def sheet_of(path: Path, count: int, seed: int) -> Image:
    """The sheet of a map (count * height, 6 * width, 3)."""
    stage, dice = TownStage(path), Dice(seed, path.stem)
    simulation = stage.simulation
    points = simulation.world.spawn_points()
    stage.people([points[n] for n in range(0, len(points), 3)], dice)
    rows = []
    for place in places_of(simulation, count, dice):
        size = {"image_size_x": TILE[0], "image_size_y": TILE[1]}
        cameras = [stage.sensor(f"sensor.camera.{kind}", place, **size) for kind in KINDS]
        level = Transform(place.location, Rotation(0.0, place.rotation.yaw))
        lidar = stage.sensor(
            "sensor.lidar.ray_cast", level, channels=CHANNELS, range=REACH, upper_fov=10.0,
            points_per_second=600_000, rotation_frequency=10.0,
        )  # fmt: skip
        seen = []
        for sky in SKIES:
            simulation.set_weather(WEATHER[sky])
            simulation.tick()
            seen.append(picture("rgb", stage.messages[cameras[0]]))
            if sky == SKIES[0]:
                others = [
                    picture(kind, stage.messages[number])
                    for kind, number in list(zip(KINDS, cameras, strict=True))[1:]
                ]
                others.append(from_above(stage.messages[lidar]))
        rows.append(np.concatenate([*seen, *others], axis=1))
        for number in (*cameras, lidar):
            simulation.world.destroy(number)
    return np.concatenate(rows)


def main(arguments: Sequence[str] | None = None) -> int:
    """Make the sheets."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("maps", nargs="*", type=Path, default=own_maps()[:1])
    parser.add_argument("--out", type=Path, default=Path("out/pictures"))
    parser.add_argument("--count", type=int, default=10, help="places of each map")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    for path in options.maps:
        target = options.out / f"{path.stem}.png"
        target.write_bytes(png(sheet_of(path, options.count, options.seed)))
        print(target)
    return 0


if __name__ == "__main__":
    sys.exit(main())
