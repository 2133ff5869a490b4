# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Traffic of the real CARLA client's traffic manager, with walkers: what happens, and whose fault.

``python -m bench.carla_traffic [MAP.xodr ...] [--seeds 1 2 3] [--vehicles 100] [--walkers 30]
[--seconds 600] [--safe] [--record FOLDER] [--out FILE]`` drives on each map with each seed, with a
separate server, lists contacts, long stands and red crossings, and prints a table. The file has
each bend above 6 m/s^2, too, with the speed that the manager's own rule wants there. ``--safe``
takes cars alone, as that option of CARLA's ``generate_traffic.py`` does. The client crashes or
hangs now and then: such a drive begins anew, twice at most.

All of it is judged from a recording, which ``--record`` keeps: ``--judge FOLDER ...`` judges such
drives again.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from math import isnan
from pathlib import Path
from typing import Any, Final

import numpy as np

from bench.traffic_events import MANAGER, Event
from bench.traffic_judge import FAST, Steering, judge, table
from bench.traffic_recording import Numbers, Recorder

ROOT: Final = Path(__file__).resolve().parent.parent
# The tests lie beside this directory.
sys.path[:0] = [str(ROOT / "test")]

STEP_S: Final = 0.05
_TRIES: Final = 3


class Town:
    """A world that a client has filled with traffic."""

    def __init__(self, client: Any, seed: int, vehicles: int, walkers: int, safe: bool) -> None:
        import carla

        self._carla, self.client, self.world = carla, client, client.get_world()
        settings = self.world.get_settings()
        settings.synchronous_mode, settings.fixed_delta_seconds = True, STEP_S
        self.world.apply_settings(settings)
        self.chance = random.Random(seed)
        self.map = self.world.get_map()
        self.library = self.world.get_blueprint_library()
        points = self.map.get_spawn_points()
        self.chance.shuffle(points)
        kinds = sorted(self.library.filter("vehicle.*"), key=lambda kind: str(kind.id))
        if safe:
            kinds = [kind for kind in kinds if kind.get_attribute("base_type") == "car"]
        self.vehicles: list[Any] = []
        for point in points:
            if len(self.vehicles) == vehicles:
                break
            made = self.world.try_spawn_actor(self.chance.choice(kinds), point)
            self.vehicles += [] if made is None else [made]
        self.touches: list[tuple[int, int]] = []
        self.sensors = [self._sensor(actor) for actor in self.vehicles]
        self.world.set_pedestrians_seed(seed)
        self.guides = [guide for _ in range(walkers) if (guide := self._walker()) is not None]
        self.walkers = {guide.id: guide.parent.id for guide in self.guides}

    def _sensor(self, actor: Any) -> Any:
        kind = self.library.find("sensor.other.collision")
        sensor = self.world.spawn_actor(kind, self._carla.Transform(), actor)
        sensor.listen(lambda event: self.touches.append((event.actor.id, event.other_actor.id)))
        return sensor

    def _walker(self) -> Any:
        place = self.world.get_random_location_from_navigation()
        kinds = sorted(self.library.filter("walker.pedestrian.*"), key=lambda kind: str(kind.id))
        kind, pose = self.chance.choice(kinds), place and self._carla.Transform(place)
        walker = pose and self.world.try_spawn_actor(kind, pose)
        guide = self.library.find("controller.ai.walker")
        return walker and self.world.spawn_actor(guide, self._carla.Transform(), walker)

    def walk(self) -> None:
        """Send the walkers on their ways."""
        for guide in self.guides:
            guide.start()
            guide.go_to_location(self.world.get_random_location_from_navigation())
            guide.set_max_speed(1.0 + self.chance.random())

    def lights(self) -> dict[str, Any]:
        """Traffic lights by their signals."""
        found = self.world.get_actors().filter("traffic.traffic_light")
        return {light.get_opendrive_id(): light for light in found}

    def about(self) -> dict[str, Any]:
        """The traffic, for a recording."""
        vehicles = self.vehicles
        return {
            "map": self.map.name.rpartition("/")[2],
            "points": len(self.map.get_spawn_points()),
            "step": STEP_S,
            "vehicles": [actor.id for actor in vehicles],
            "kinds": {actor.id: actor.type_id for actor in vehicles},
            "wheels": {actor.id: actor.attributes["number_of_wheels"] for actor in vehicles},
            # How far its front is ahead of its origin.
            "extent": {a.id: [(b := a.bounding_box).location.x + b.extent.x] for a in vehicles},
            "steering": {actor.id: Steering.of(actor) for actor in vehicles},
            "walkers": list(self.walkers.values()),
            "lights": {signal: light.id for signal, light in self.lights().items()},
        }

    def look(self, vehicles: Numbers, walkers: Numbers) -> None:
        """Fill the rows of a recording with the present state."""
        snapshot = self.world.get_snapshot()
        vehicles[:] = walkers[:] = np.nan
        for row, actor in zip(vehicles, self.vehicles, strict=True):
            seen = snapshot.find(actor.id)
            if seen is None or not actor.is_alive:
                continue
            pose, v, a = seen.get_transform(), seen.get_velocity(), seen.get_acceleration()
            place, control = pose.location, actor.get_control()
            row[:] = (
                place.x, place.y, place.z, pose.rotation.yaw, v.x, v.y, v.z, a.x, a.y, a.z,
                seen.get_angular_velocity().z, control.throttle, control.brake, control.steer,
                actor.is_at_traffic_light(), int(actor.get_traffic_light_state()),
                actor.get_speed_limit(),
            )  # fmt: skip
        for row, guide in zip(walkers, self.guides, strict=True):
            seen = snapshot.find(self.walkers[guide.id])
            if seen is not None:
                pose, v = seen.get_transform(), seen.get_velocity()
                row[:] = (*_xyz(pose.location), pose.rotation.yaw, v.x, v.y)


def _xyz(place: Any) -> tuple[float, float, float]:
    return place.x, place.y, place.z


def drive(
    port: int, seed: int, vehicles: int, walkers: int, seconds: float, safe: bool, folder: Path
) -> None:
    """One drive, into a folder."""
    import carla
    from support.client_traffic import synchronous_traffic

    client = carla.Client("127.0.0.1", port)
    client.set_timeout(120.0)
    town = Town(client, seed, vehicles, walkers, safe)
    lights = list(town.lights().values())
    about = town.about() | {"seed": seed, "safe": safe}
    recorder = Recorder(folder, about, town.map.to_opendrive())
    with synchronous_traffic(client, port + 3) as (manager, tick):
        manager.set_random_device_seed(seed)
        manager.set_global_distance_to_leading_vehicle(2.5)
        tick()
        town.walk()
        for actor in town.vehicles:
            actor.set_autopilot(True, port + 3)
        for _ in range(round(seconds / STEP_S)):
            tick()
            town.look(recorder.vehicles, recorder.walkers)
            touches, town.touches[:] = list(town.touches), []
            recorder.step((int(light.get_state()) for light in lights), touches)
        recorder.close()
        for sensor in town.sensors:
            sensor.stop()
        for guide in town.guides:
            guide.stop()
        for actor, row in zip(town.vehicles, recorder.vehicles, strict=True):
            if not isnan(row[0]):
                actor.set_autopilot(False, port + 3)


def one(options: argparse.Namespace, file: Path, seed: int) -> dict[str, Any] | None:
    """A drive with its own server; None: the client crashed or hung each time."""
    if options.record is None:
        with tempfile.TemporaryDirectory() as folder:
            return _one(options, file, seed, Path(folder))
    return _one(options, file, seed, options.record / f"{file.stem}_{seed}")


def _one(options: argparse.Namespace, file: Path, seed: int, folder: Path) -> dict[str, Any] | None:
    command = [sys.executable, "-m", "ros2_cosim.world.headless", "--port", str(options.port)]
    command += ["--map", str(file), "--scenery", "none"]
    for _ in range(_TRIES):
        server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT)
        assert server.stdout is not None
        server.stdout.readline()
        inner = [sys.executable, "-m", "bench.carla_traffic", "--inner", str(seed)]
        for name in ("port", "vehicles", "walkers", "seconds"):
            inner += [f"--{name}", str(getattr(options, name))]
        inner += ["--record", str(folder), *(["--safe"] if options.safe else [])]
        try:
            done = subprocess.run(
                inner, stdin=subprocess.DEVNULL, cwd=ROOT,
                timeout=60.0 + 10.0 * options.seconds, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            continue
        finally:
            server.terminate()
            server.wait()
        if done.returncode == 0:
            return judge(folder)
        print(f"{file.stem}, seed {seed}: the client ended with {done.returncode}", flush=True)
    return None


def main() -> None:
    """Drive on every map with every seed; each has its own process, as the manager wants it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("maps", nargs="*", type=Path, default=[ROOT / "config" / "town.xodr"])
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--inner", type=int, default=None, help=argparse.SUPPRESS)
    parser.add_argument("--port", type=int, default=30600)
    parser.add_argument("--vehicles", type=int, default=100)
    parser.add_argument("--walkers", type=int, default=30)
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--safe", action="store_true", help="cars alone")
    parser.add_argument("--record", type=Path, default=None, help="keep the recordings here")
    parser.add_argument("--judge", type=Path, nargs="+", default=[], help="recordings; no drive")
    parser.add_argument("--out", type=Path, default=None, help="rows as JSON, one a line")
    options = parser.parse_args()
    if options.inner is not None:
        given = options.vehicles, options.walkers, options.seconds, options.safe, options.record
        drive(options.port, options.inner, *given)
        return
    rows = []
    for row in map(judge, options.judge) if options.judge else _driven(options):
        rows.append(row)
        for event in map(Event._make, row["events"]):
            if event.kind == FAST and event.fault == MANAGER:
                continue
            kinds = [row["kinds"][str(who)] for who in event.who if str(who) in row["kinds"]]
            print(f"  {event} ({', '.join(kinds)})")
        print(table([row]).splitlines()[-1], flush=True)
        if options.out is not None:
            with options.out.open("a", encoding="utf-8") as out:
                out.write(json.dumps(row) + "\n")
    print(table(rows))


def _driven(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    for file in options.maps:
        for seed in options.seeds:
            row = one(options, file.resolve(), seed)
            if row is not None:
                yield row


if __name__ == "__main__":
    main()
