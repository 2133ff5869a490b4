# SPDX-License-Identifier: Apache-2.0
"""How fast the headless server's sensors are: messages per second that the real client receives.

    python bench/carla_sensors.py [--seconds 5] [--vehicles 30] [--json]

Starts a server with the town, one sensor at a time on a car among others, and ticks at 20 Hz of
simulated time as fast as the server goes.
"""

from __future__ import annotations

import argparse
import json
import queue
import subprocess
import sys
import time
from typing import Any

import carla

STEP = 0.05
ROOF = carla.Transform(carla.Location(x=1.6, z=1.9))
CASES: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("no sensor", "", {}),
    ("RGB 640 x 480", "sensor.camera.rgb", {"image_size_x": 640, "image_size_y": 480}),
    ("depth 640 x 480", "sensor.camera.depth", {"image_size_x": 640, "image_size_y": 480}),
    (
        "labels 640 x 480",
        "sensor.camera.semantic_segmentation",
        {"image_size_x": 640, "image_size_y": 480},
    ),
    (
        "optical flow 640 x 480",
        "sensor.camera.optical_flow",
        {"image_size_x": 640, "image_size_y": 480},
    ),
    ("RGB 1920 x 1080", "sensor.camera.rgb", {"image_size_x": 1920, "image_size_y": 1080}),
    (
        "lidar, 32 channels, 100,000 points/s, 100 m",
        "sensor.lidar.ray_cast",
        {"channels": 32, "points_per_second": 100_000, "range": 100, "rotation_frequency": 20},
    ),
    (
        "semantic lidar, 64 channels, 1,000,000 points/s, 100 m",
        "sensor.lidar.ray_cast_semantic",
        {"channels": 64, "points_per_second": 1_000_000, "range": 100, "rotation_frequency": 20},
    ),
    ("radar, 1,500 points/s", "sensor.other.radar", {}),
)


def measure(world: Any, car: Any, kind: str, attributes: dict[str, Any], seconds: float) -> float:
    """Ticks per second with one sensor whose every message is awaited."""
    data: queue.Queue[Any] = queue.Queue()
    sensor = None
    if kind:
        model = world.get_blueprint_library().find(kind)
        for name, value in attributes.items():
            model.set_attribute(name, str(value))
        sensor = world.spawn_actor(model, ROOF, attach_to=car)
        sensor.listen(data.put)
    ticks, start = -2, 0.0
    while ticks < 3 or time.monotonic() - start < seconds:
        if ticks == 0:
            start = time.monotonic()  # what is built once, in the first ticks, is not counted
        frame = world.tick()
        while sensor is not None and data.get(timeout=60.0).frame < frame:
            pass
        ticks += 1
    rate = ticks / (time.monotonic() - start)
    if sensor is not None:
        sensor.stop()
        sensor.destroy()
    return rate


def main() -> int:
    """Measure all cases."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=5.0, help="for each case")
    parser.add_argument("--vehicles", type=int, default=30)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    server = subprocess.Popen(
        [sys.executable, "-m", "ros2_cosim.world.headless", "--port", "0"],
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert server.stdout is not None
        port = int(server.stdout.readline().rsplit(":", 1)[1])
        client = carla.Client("127.0.0.1", port)
        client.set_timeout(60.0)
        world = client.get_world()
        settings = world.get_settings()
        settings.synchronous_mode, settings.fixed_delta_seconds = True, STEP
        world.apply_settings(settings)
        model = world.get_blueprint_library().find("vehicle.tesla.model3")
        points = world.get_map().get_spawn_points()
        cars = [world.try_spawn_actor(model, point) for point in points[: options.vehicles]]
        # Nothing that was rendered for one frame serves the next.
        cars[0].enable_constant_velocity(carla.Vector3D(2.0, 0.0, 0.0))
        rates = {
            name: measure(world, cars[0], kind, attributes, options.seconds)
            for name, kind, attributes in CASES
        }
    finally:
        server.terminate()
        server.wait(timeout=30)
    if options.json:
        print(json.dumps(rates, indent=1))
    else:
        for name, rate in rates.items():
            print(f"{name:58} {rate:8.1f} /s   {rate * STEP:6.2f} x real time")
    return 0


if __name__ == "__main__":
    sys.exit(main())
