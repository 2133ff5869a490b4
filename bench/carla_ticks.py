# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""How fast ``world.tick()`` is with the real client, as a share of the rate of an empty call.

    python bench/carla_ticks.py [--vehicles 4 50 200 500] [--seconds 0.25] [--rounds 20] [--json]

Starts a server with the highway, puts vehicles on its straight lanes that drive at 2 m/s, and
measures ticks and empty calls (``get_server_version``) in turn, so that both see the same machine,
and how long server and client work for a tick. Each round is short and begins where the first
began, so that no vehicle leaves its road. The client reads the state of no vehicle: that is its
user's own time.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import carla

from ros2_cosim.core.process.processes import end_with_parent

STEP_S = 0.05
GAP_M = 14.0
SPEED = 2.0  # m/s
STRAIGHT_M = 200.0  # ahead of every vehicle
#: The targets of the server: vehicles -> share.
WANTED = {4: 0.65, 50: 0.35, 200: 0.15, 500: 0.06}


class Result(NamedTuple):
    """Medians of the rounds: per second, their ratio round by round, and work for a tick [us]."""

    vehicles: int
    ticks: float
    calls: float
    share: float
    wanted: float | None
    server_us: float
    client_us: float


def rate(call: Callable[[], Any], seconds: float, server: int) -> tuple[float, float, float]:
    """Calls per second; processor time of the server and of this process for a call [us].

    :param server: the clock of its processor time
    """
    count, start = 0, time.monotonic()
    theirs, own = time.clock_gettime(server), time.process_time()
    while time.monotonic() - start < seconds:
        for _ in range(10):
            call()
        count += 10
    theirs, own = time.clock_gettime(server) - theirs, time.process_time() - own
    return count / (time.monotonic() - start), 1e6 * theirs / count, 1e6 * own / count


def is_straight(place: Any) -> bool:
    """Whether the lane goes straight on for long enough."""
    ahead = place.next(STRAIGHT_M)
    if not ahead:
        return False
    (x, y), there = (place.transform.location.x, place.transform.location.y), ahead[0].transform
    way = ((there.location.x - x) ** 2 + (there.location.y - y) ** 2) ** 0.5
    turned = abs(place.transform.rotation.yaw - there.rotation.yaw) % 360.0
    return bool(way > STRAIGHT_M - 0.01 and min(turned, 360.0 - turned) < 0.01)


def populate(world: Any, count: int) -> list[Any]:
    """So many vehicles of all kinds with four wheels, one behind the other."""
    kinds = [
        kind
        for kind in world.get_blueprint_library().filter("vehicle.*")
        if kind.get_attribute("number_of_wheels").as_int() == 4
    ]
    places = [p for p in world.get_map().generate_waypoints(GAP_M) if is_straight(p)]
    cars: list[Any] = []
    for place in places:
        if len(cars) == count:
            break
        pose = place.transform
        pose.location.z += 0.2
        car = world.try_spawn_actor(kinds[len(cars) % len(kinds)], pose)
        if car is not None:
            cars.append(car)
    if len(cars) < count:
        raise SystemExit(f"there is room for {len(cars)} vehicles only, {count} are wanted")
    return cars


def measure(client: Any, count: int, seconds: float, rounds: int, server: int) -> Result:
    """One number of vehicles."""
    world = client.get_world()
    cars = populate(world, count)
    world.tick()
    places = [car.get_transform() for car in cars]
    for car in cars:
        car.enable_constant_velocity(carla.Vector3D(SPEED, 0.0, 0.0))
    ticks, calls = [], []
    for _ in range(rounds):
        for car, place in zip(cars, places, strict=True):
            car.set_transform(place)
        for _ in range(20):
            world.tick()
        calls.append(rate(client.get_server_version, seconds / 2.0, server)[0])
        ticks.append(rate(world.tick, seconds, server))
    shares = [tick[0] / call for tick, call in zip(ticks, calls, strict=True)]
    for car in cars:
        car.destroy()
    world.tick()
    middle = statistics.median
    rates, theirs, own = (middle(values) for values in zip(*ticks, strict=True))
    return Result(count, rates, middle(calls), middle(shares), WANTED.get(count), theirs, own)


def main() -> int:
    """Measure all numbers of vehicles."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--vehicles", type=int, nargs="+", default=list(WANTED))
    parser.add_argument("--seconds", type=float, default=0.25)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    command = [sys.executable, "-m", "ros2_cosim.world.headless", "--port", "0"]
    highway = "config/highway.xodr"
    server = subprocess.Popen(
        [*command, "--map", highway],
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=end_with_parent,
    )
    assert server.stdout is not None
    client = carla.Client("127.0.0.1", int(server.stdout.readline().rsplit(":", 1)[1]))
    client.set_timeout(60.0)
    settings = client.get_world().get_settings()
    settings.synchronous_mode, settings.fixed_delta_seconds = True, STEP_S
    client.get_world().apply_settings(settings)
    clock = (~server.pid << 3) | 2  # as clock_getcpuclockid(3) makes it
    results = [
        measure(client, count, options.seconds, options.rounds, clock) for count in options.vehicles
    ]
    server.terminate()
    server.wait()
    if options.json:
        print(json.dumps([result._asdict() for result in results], indent=2))
    else:
        heads = "vehicles", "ticks/s", "empty calls/s", "share", "wanted", "server us", "client us"
        print(f"| {' | '.join(heads)} |\n|{'---|' * len(heads)}")
        for r in results:
            wanted = "" if r.wanted is None else f"{r.wanted:g}"
            line = f"| {r.vehicles} | {r.ticks:.0f} | {r.calls:.0f} | {r.share:.3f} | {wanted} |"
            print(f"{line} {r.server_us:.0f} | {r.client_us:.0f} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
