# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Traffic of the real CARLA client's traffic manager, with walkers: what happens, and whose fault.

``python -m bench.carla_traffic [MAP.xodr ...] [--seeds 1 2 3] [--vehicles 100] [--walkers 30]
[--seconds 600] [--safe] [--out FILE]`` drives on each map with each seed, with a separate server,
lists contacts, long stands and red crossings, and prints a table. The file has each bend above
6 m/s^2, too. ``--safe`` takes cars alone, as that option of CARLA's ``generate_traffic.py`` does.
The client crashes or hangs now and then: such a drive begins anew, twice at most.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise
from math import copysign, cos, pi, radians, remainder, sin, tan
from pathlib import Path
from typing import Any, Final

from bench.traffic_events import MANAGER, SERVER, Event, Line, Sample, Watch
from ros2_cosim.world.map import RoadNetwork, frames
from ros2_cosim.world.map.signals import TRAFFIC_LIGHT
from ros2_cosim.world.map.stop_lines import stop_lines
from ros2_cosim.world.map.traffic_lights import network_lights

ROOT: Final = Path(__file__).resolve().parent.parent
# The tests lie beside this directory.
sys.path[:0] = [str(ROOT / "test")]

STEP_S: Final = 0.05
_TRIES: Final = 3
#: The curvature of a lane is measured over this length of it, and over at least the second one [m].
_AROUND, _LEAST = 2.0, 0.5
KINDS: Final = ("contact", "stand", "red crossing")
#: Events of this kind are many: they are written to the file but not printed, except those that
#: the server causes.
FAST: Final = "bend"


def lines_of(network: RoadNetwork, lights: dict[str, int]) -> Iterator[Line]:
    """The stop lines of a map, in CARLA's frame.

    :param lights: actor by signal
    """
    for signal in network.signals.values():
        if signal.type != TRAFFIC_LIGHT:
            continue
        for road_id, lane_id, s in stop_lines(network, signal.id):
            x, y, _, heading = network.lane_pose(road_id, lane_id, s)[:4]
            x, y, _ = frames.vector_to_carla(x, y, 0.0)
            (dx, dy), half = _along(heading), 0.5 * network.lane_width(road_id, lane_id, s)
            yield Line(lights[signal.id], x, y, dx, dy, half)


def _along(heading: float) -> tuple[float, float]:
    return cos(heading), -sin(heading)


class Steering:
    """Which bend a steering command of a vehicle means, as its physics control says."""

    def __init__(self, actor: Any) -> None:
        physics, pose = actor.get_physics_control(), actor.get_transform()
        places = [wheel.position for wheel in physics.wheels]
        along, across = pose.get_forward_vector(), pose.get_right_vector()
        self._base = 0.01 * max(abs((a - b).dot(along)) for a in places for b in places)
        self._half = 0.005 * max(abs((a - b).dot(across)) for a in places for b in places)
        self._most = radians(physics.wheels[0].max_steer_angle)
        self._curve = [(point.x / 3.6, point.y) for point in physics.steering_curve]

    def bend(self, steer: float, speed: float) -> float:
        """Curvature [1/m], to the right, of the middle of the rear axle at a speed [m/s].

        The command is the angle of the wheel on the inner side.
        """
        share = self._curve[-1][1]
        for (x0, y0), (x1, y1) in pairwise(self._curve):
            if speed < x1:
                share = y0 + (y1 - y0) * max(0.0, speed - x0) / (x1 - x0)
                break
        inner = tan(abs(steer) * share * self._most) / self._base
        return copysign(inner / (1.0 + self._half * inner), steer)


def longest_cycle(network: RoadNetwork) -> float:
    """The longest cycle of the lights of a map [s]; 60 where it has none."""
    cycles = [
        sum(sum(controller.times.values()) for controller in group.controllers)
        for group in network_lights(network)[1]
    ]
    return max(cycles, default=60.0)


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
        self.lengths = {actor.id: actor.bounding_box.extent.x for actor in self.vehicles}
        self.steering = {actor.id: Steering(actor) for actor in self.vehicles}
        self.touches: list[tuple[int, int]] = []
        self.sensors = [self._sensor(actor) for actor in self.vehicles]
        self.world.set_pedestrians_seed(seed)
        self.guides = [guide for _ in range(walkers) if (guide := self._walker()) is not None]

    def _sensor(self, actor: Any) -> Any:
        kind = self.library.find("sensor.other.collision")
        sensor = self.world.spawn_actor(kind, self._carla.Transform(), actor)
        sensor.listen(lambda event: self.touches.append((event.actor.id, event.other_actor.id)))
        return sensor

    def _walker(self) -> Any:
        place = self.world.get_random_location_from_navigation()
        kinds = sorted(self.library.filter("walker.pedestrian.*"), key=lambda kind: str(kind.id))
        kind = self.chance.choice(kinds)
        pose = self._carla.Transform(place or self._carla.Location())
        walker = self.world.try_spawn_actor(kind, pose) if place else None
        guide = self.library.find("controller.ai.walker")
        return walker and self.world.spawn_actor(guide, self._carla.Transform(), walker)

    def walk(self) -> None:
        """Send the walkers on their ways."""
        for guide in self.guides:
            guide.start()
            guide.go_to_location(self.world.get_random_location_from_navigation())
            guide.set_max_speed(1.0 + self.chance.random())

    def bend(self, sample: Sample) -> float:
        """Curvature of the lane that a vehicle is on, within the next two metres [1/m]."""
        here = self.map.get_waypoint(self._carla.Location(sample.x, sample.y, sample.z))
        ahead = here.next(_AROUND) if here else []
        if not ahead:
            return 0.0
        one, other = here.transform, ahead[0].transform
        turn = remainder(radians(other.rotation.yaw - one.rotation.yaw), 2.0 * pi)
        # The steps of the client are along the middle of the road.
        return turn / max(one.location.distance(other.location), _LEAST)

    def lights(self) -> dict[str, Any]:
        """Traffic lights by their signals."""
        found = self.world.get_actors().filter("traffic.traffic_light")
        return {light.get_opendrive_id(): light for light in found}

    def sample(self) -> Iterator[Sample]:
        """All vehicles that there are."""
        snapshot = self.world.get_snapshot()
        for actor in self.vehicles:
            seen = snapshot.find(actor.id)
            if seen is None or not actor.is_alive:
                continue
            pose, v, a = seen.get_transform(), seen.get_velocity(), seen.get_acceleration()
            control = actor.get_control()
            bend = self.steering[actor.id].bend(control.steer, v.length())
            yield Sample(
                actor.id, self.lengths[actor.id], pose.location.x, pose.location.y,
                radians(pose.rotation.yaw), v.x, v.y, a.x, a.y, control.throttle, control.brake,
                bend, actor.is_at_traffic_light(),
                int(actor.get_traffic_light_state()), pose.location.z,
            )  # fmt: skip


def drive(
    port: int, seed: int, vehicles: int, walkers: int, seconds: float, safe: bool
) -> dict[str, Any]:
    """One drive; what the table needs of it."""
    import carla
    from support.client_traffic import synchronous_traffic

    client = carla.Client("127.0.0.1", port)
    client.set_timeout(120.0)
    town = Town(client, seed, vehicles, walkers, safe)
    network = RoadNetwork.from_xodr(town.map.to_opendrive())
    lights = town.lights()
    actors = {signal: light.id for signal, light in lights.items()}
    longest = 2.0 * longest_cycle(network)
    watch = Watch(lines_of(network, actors), STEP_S, longest, town.bend)
    kinds = {actor.id: actor.type_id for actor in town.vehicles}
    wheels = {actor.id: actor.attributes["number_of_wheels"] for actor in town.vehicles}
    way = 0.0
    with synchronous_traffic(client, port + 3) as (manager, tick):
        manager.set_random_device_seed(seed)
        manager.set_global_distance_to_leading_vehicle(2.5)
        tick()
        town.walk()
        for actor in town.vehicles:
            actor.set_autopilot(True, port + 3)
        for step in range(round(seconds / STEP_S)):
            tick()
            samples = list(town.sample())
            states = {light.id: int(light.get_state()) for light in lights.values()}
            watch.step(step * STEP_S, states, samples)
            touches, town.touches[:] = list(town.touches), []
            for who, other in touches:
                watch.touched(step * STEP_S, who, other)
            way += STEP_S * sum(sample.speed() for sample in samples)
        watch.end(seconds)
        for sensor in town.sensors:
            sensor.stop()
        for guide in town.guides:
            guide.stop()
        left = {sample.id for sample in town.sample()}
        for actor in town.vehicles:
            if actor.id in left:
                actor.set_autopilot(False, port + 3)
    return {
        "map": town.map.name.rpartition("/")[2],
        "seed": seed,
        "safe": safe,
        "points": len(town.map.get_spawn_points()),
        "vehicles": len(town.vehicles),
        "walkers": len(town.guides),
        "seconds": seconds,
        "km": way / 1000.0,
        "events": watch.events,
        "wrong": watch.wrong,
        "told": watch.steps,
        "lateral": [
            max(
                (most for who, most in watch.lateral.items() if (wheels[who] == "2") == two),
                default=0,
            )
            for two in (False, True)
        ],
        "too_lateral": watch.too_lateral,
        "worst": watch.worst,
        "odd": watch.odd,
        "kinds": kinds,
    }


def count(row: dict[str, Any], kind: str, fault: str) -> int:
    """How many events of a kind are the fault of one of the two."""
    events = [Event(*event) for event in row["events"]]
    return sum(event.kind == kind and event.fault == fault for event in events)


def table(rows: list[dict[str, Any]]) -> str:
    """The drives as a table: of each kind of events the server's and the manager's."""
    heads = ["Town", "seed", "vehicles, walkers", "kinds", "s", "km"]
    heads += [f"{kind}s" for kind in (*KINDS, FAST)]
    heads += ["light told wrong", "lateral: four wheels, two [m/s²]", "steps above 6 m/s²"]
    lines = [f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}"]
    for row in rows:
        cells = [row["map"], row["seed"], f"{row['vehicles']}, {row['walkers']}"]
        cells += ["cars" if row["safe"] else "all", f"{row['seconds']:g}", f"{row['km']:.0f}"]
        kinds = (*KINDS, FAST)
        cells += [f"{count(row, kind, SERVER)} / {count(row, kind, MANAGER)}" for kind in kinds]
        cells.append(f"{row['wrong']} of {row['told']}")
        cells.append(", ".join(f"{most:.1f}" for most in row["lateral"]))
        cells.append(f"{row['too_lateral'][SERVER]} / {row['too_lateral'][MANAGER]}")
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(lines)


def one(options: argparse.Namespace, file: Path, seed: int) -> dict[str, Any] | None:
    """A drive with its own server; None: the client crashed or hung each time."""
    command = [sys.executable, "-m", "ros2_cosim.world.headless", "--port", str(options.port)]
    command += ["--map", str(file), "--scenery", "none"]
    for _ in range(_TRIES):
        server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT)
        assert server.stdout is not None
        server.stdout.readline()
        inner = [sys.executable, "-m", "bench.carla_traffic", "--inner", str(seed)]
        for name in ("port", "vehicles", "walkers", "seconds"):
            inner += [f"--{name}", str(getattr(options, name))]
        inner += ["--safe"] if options.safe else []
        try:
            done = subprocess.run(
                inner, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True, cwd=ROOT,
                timeout=60.0 + 10.0 * options.seconds, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            continue
        finally:
            server.terminate()
            server.wait()
        if done.returncode == 0:
            row: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
            return row
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
    parser.add_argument("--out", type=Path, default=None, help="rows as JSON, one a line")
    options = parser.parse_args()
    if options.inner is not None:
        given = options.vehicles, options.walkers, options.seconds, options.safe
        print(json.dumps(drive(options.port, options.inner, *given)))
        return
    rows = []
    for file in options.maps:
        for seed in options.seeds:
            row = one(options, file.resolve(), seed)
            if row is None:
                continue
            rows.append(row)
            for event in row["events"]:
                if Event(*event).kind == FAST and Event(*event).fault == MANAGER:
                    continue
                kinds = [row["kinds"][str(who)] for who in event[2] if str(who) in row["kinds"]]
                print(f"  {Event(*event)} ({', '.join(kinds)})")
            print(table([row]).splitlines()[-1], flush=True)
            if options.out is not None:
                with options.out.open("a", encoding="utf-8") as out:
                    out.write(json.dumps(row) + "\n")
    print(table(rows))


if __name__ == "__main__":
    main()
