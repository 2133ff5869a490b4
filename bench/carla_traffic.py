# SPDX-License-Identifier: Apache-2.0
"""Traffic of the real CARLA client's traffic manager in the town: collisions by seed.

``python bench/carla_traffic.py [--seeds N] [--vehicles N] [--seconds S]`` starts a server for
each seed, drives, and prints vehicles, kilometres and the pairs that touched.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

# Run as a file: the tests lie beside this directory.
sys.path[:0] = [str(Path(__file__).resolve().parent.parent / "test")]

from support.client_traffic import synchronous_traffic  # noqa: E402

STEP_S = 0.05


def drive(port: int, seed: int, vehicles: int, seconds: float) -> tuple[int, float, list[str]]:
    """Vehicles, kilometres driven together, and what touched what, where."""
    import carla

    client = carla.Client("127.0.0.1", port)
    client.set_timeout(60.0)
    world = client.get_world()
    settings = world.get_settings()
    settings.synchronous_mode, settings.fixed_delta_seconds = True, STEP_S
    world.apply_settings(settings)
    chance = random.Random(seed)
    points = world.get_map().get_spawn_points()
    chance.shuffle(points)
    library = world.get_blueprint_library()
    kinds = sorted(library.filter("vehicle.*"), key=lambda blueprint: str(blueprint.id))
    spawned = (world.try_spawn_actor(chance.choice(kinds), point) for point in points[:vehicles])
    made: list[Any] = [actor for actor in spawned if actor is not None]
    by_id = {actor.id: actor for actor in made}
    touched: dict[tuple[int, int], str] = {}

    def hit(event: Any) -> None:
        pair = (
            min(event.actor.id, event.other_actor.id),
            max(event.actor.id, event.other_actor.id),
        )
        place = event.transform.location
        names = " and ".join(by_id[i].type_id if i in by_id else str(i) for i in pair)
        touched.setdefault(pair, f"{names} at ({place.x:.0f}, {place.y:.0f})")

    sensors = [
        world.spawn_actor(library.find("sensor.other.collision"), carla.Transform(), actor)
        for actor in made
    ]
    for sensor in sensors:
        sensor.listen(hit)
    with synchronous_traffic(client, port + 3) as (manager, tick):
        manager.set_random_device_seed(seed)
        manager.set_global_distance_to_leading_vehicle(2.5)
        tick()
        for actor in made:
            actor.set_autopilot(True, port + 3)
        last = [actor.get_location() for actor in made]
        way = 0.0
        for _ in range(round(seconds / STEP_S)):
            tick()
            here = [actor.get_location() for actor in made]
            way += sum(a.distance(b) for a, b in zip(here, last, strict=True))
            last = here
        for sensor in sensors:
            sensor.stop()
        for actor in made:
            actor.set_autopilot(False, port + 3)
    return len(made), way / 1000.0, sorted(touched.values())


def main() -> None:
    """Drive with every seed; each has its own process, as the traffic manager wants it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--seed", type=int, default=None, help=argparse.SUPPRESS)
    parser.add_argument("--port", type=int, default=30600)
    parser.add_argument("--vehicles", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=60.0)
    options = parser.parse_args()
    if options.seed is not None:
        found = drive(options.port, options.seed, options.vehicles, options.seconds)
        print(f"seed {options.seed}: {found[0]} vehicles, {found[1]:.1f} km, {len(found[2])} pairs")
        for line in found[2]:
            print(f"  {line}")
        return
    for seed in range(1, options.seeds + 1):
        command = [sys.executable, "-m", "ros2_cosim.world.headless", "--port", str(options.port)]
        server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert server.stdout is not None
        server.stdout.readline()
        try:
            subprocess.run(
                [sys.executable, *sys.argv, "--seed", str(seed)],
                check=False,
                timeout=600,
                stdin=subprocess.DEVNULL,
            )
        finally:
            server.terminate()
            server.wait()


if __name__ == "__main__":
    main()
