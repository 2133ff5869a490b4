# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""How fast the headless server's sensors are: ticks per second that the real client receives.

    python bench/carla_sensors.py [--seconds 5] [--vehicles 30] [--scenery none] [--only TEXT]

Starts a server with the town, one sensor or a rig on a car among others, and ticks at 20 Hz of
simulated time as fast as the server goes. Processor times are those of a tick.
"""

from __future__ import annotations

import argparse
import queue
import subprocess
import sys
import time
from typing import Any

import carla
import psutil

STEP = 0.05
Row = tuple[float, float, float]
Sensor = tuple[str, float, dict[str, Any]]  # blueprint, yaw [deg], attributes


def camera(kind: str, width: int, height: int, yaw: float = 0.0) -> Sensor:
    """A camera that looks to a side."""
    return f"sensor.camera.{kind}", yaw, {"image_size_x": width, "image_size_y": height}


def lidar(kind: str, channels: int, rate: int) -> Sensor:
    """A lidar with a turn in each frame."""
    attributes = {"channels": channels, "points_per_second": rate, "range": 100}
    return f"sensor.lidar.{kind}", 0.0, attributes | {"rotation_frequency": 1.0 / STEP}


CASES: dict[str, list[Sensor]] = {
    "no sensor": [],
    "RGB 640 x 480": [camera("rgb", 640, 480)],
    "depth 640 x 480": [camera("depth", 640, 480)],
    "labels 640 x 480": [camera("semantic_segmentation", 640, 480)],
    "optical flow 640 x 480": [camera("optical_flow", 640, 480)],
    "RGB 1920 x 1080": [camera("rgb", 1920, 1080)],
    "lidar, 32 channels, 100,000 points/s, 100 m": [lidar("ray_cast", 32, 100_000)],
    "semantic lidar, 64 channels, 1,000,000 points/s, 100 m": [
        lidar("ray_cast_semantic", 64, 1_000_000)
    ],
    "radar, 1,500 points/s": [("sensor.other.radar", 0.0, {})],
    "6 x RGB 1920 x 1080, lidar, 1,300,000 points/s": [
        *(camera("rgb", 1920, 1080, 60.0 * i) for i in range(6)), lidar("ray_cast", 64, 1_300_000)
    ],
}  # fmt: skip


def measure(world: Any, car: Any, sensors: list[Sensor], server: int, seconds: float) -> Row:
    """Ticks with sensors whose every message is awaited.

    :returns: ticks per second; of a tick the processor time of server and client [ms]
    """
    listened = []
    for kind, yaw, attributes in sensors:
        model = world.get_blueprint_library().find(kind)
        for name, value in attributes.items():
            model.set_attribute(name, str(value))
        roof = carla.Transform(carla.Location(x=1.6, z=1.9), carla.Rotation(yaw=yaw))
        sensor, data = world.spawn_actor(model, roof, attach_to=car), queue.Queue[Any]()
        sensor.listen(data.put)
        listened.append((sensor, data))
    processes = psutil.Process(server), psutil.Process()
    ticks, start, before = -2, 0.0, [0.0, 0.0]
    while ticks < 3 or time.monotonic() - start < seconds:
        if ticks == 0:  # what is built once, in the first ticks, is not counted
            start, before = time.monotonic(), [sum(each.cpu_times()[:2]) for each in processes]
        frame = world.tick()
        for _, data in listened:
            while data.get(timeout=60.0).frame < frame:
                pass
        ticks += 1
    rate = ticks / (time.monotonic() - start)
    after = [sum(each.cpu_times()[:2]) for each in processes]
    for sensor, _ in listened:
        sensor.stop()
        sensor.destroy()
    used = [1e3 * (late - early) / ticks for early, late in zip(before, after, strict=True)]
    return rate, *used


def main() -> int:
    """Measure all cases."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=5.0, help="for each case")
    parser.add_argument("--vehicles", type=int, default=30)
    parser.add_argument("--scenery", choices=("full", "plain", "none"), default="full")
    parser.add_argument("--only", default="", metavar="TEXT", help="in the name of a case")
    options = parser.parse_args()
    server = subprocess.Popen(
        [sys.executable, "-m", "ros2_cosim.world.headless", "--port", "0",
         "--scenery", options.scenery],
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
        rows = {
            name: measure(world, cars[0], sensors, server.pid, options.seconds)
            for name, sensors in CASES.items()
            if options.only in name
        }
    finally:
        server.terminate()
        server.wait(timeout=30)
    for name, (rate, server_ms, client_ms) in rows.items():
        print(
            f"{name:54} {rate:7.1f} /s {rate * STEP:6.2f} x real time,"
            f" server {server_ms:6.1f} ms, client {client_ms:6.1f} ms"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
