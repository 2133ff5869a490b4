# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What a recorded drive shows, and the table of such drives."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from math import copysign, cos, isnan, radians, sin, tan
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from bench.traffic_events import (
    LATERAL_LIMIT,
    MANAGER,
    SERVER,
    STANDING,
    Event,
    Line,
    Sample,
    Watch,
)
from bench.traffic_recording import VEHICLE, Recording
from bench.traffic_rule import TurnRule
from ros2_cosim.world.map import RoadNetwork, frames
from ros2_cosim.world.map.signals import TRAFFIC_LIGHT
from ros2_cosim.world.map.stop_lines import stop_lines
from ros2_cosim.world.map.traffic_lights import network_lights

#: The way of a vehicle around a moment: so long before and after it, in such steps [s].
_BEFORE_S, _AFTER_S, _EACH_S = 4.0, 8.0, 0.2
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


class Steering(NamedTuple):
    """Which bend a steering command of a vehicle means, as its physics control says.

    :ivar base: wheelbase [m]; ``half``: half the track [m]; ``most``: largest angle [rad]
    :ivar curve: share of it by speed [m/s]
    """

    base: float
    half: float
    most: float
    curve: list[tuple[float, float]]

    @classmethod
    def of(cls, actor: Any) -> Steering:
        """That of an actor."""
        physics, pose = actor.get_physics_control(), actor.get_transform()
        places = [wheel.position for wheel in physics.wheels]
        along, across = pose.get_forward_vector(), pose.get_right_vector()
        return cls(
            0.01 * max(abs((a - b).dot(along)) for a in places for b in places),
            0.005 * max(abs((a - b).dot(across)) for a in places for b in places),
            radians(physics.wheels[0].max_steer_angle),
            [(point.x / 3.6, point.y) for point in physics.steering_curve],
        )

    def bend(self, steer: float, speed: float) -> float:
        """Curvature [1/m], to the right, of the middle of the rear axle at a speed [m/s].

        The command is the angle of the wheel on the inner side.
        """
        share = self.curve[-1][1]
        for (x0, y0), (x1, y1) in pairwise(self.curve):
            if speed < x1:
                share = y0 + (y1 - y0) * max(0.0, speed - x0) / (x1 - x0)
                break
        inner = tan(abs(steer) * share * self.most) / self.base
        return copysign(inner / (1.0 + self.half * inner), steer)


def longest_cycle(network: RoadNetwork) -> float:
    """The longest cycle of the lights of a map [s]; 60 where it has none."""
    cycles = [
        sum(sum(controller.times.values()) for controller in group.controllers)
        for group in network_lights(network)[1]
    ]
    return max(cycles, default=60.0)


class _Judge:
    """What a recording shows."""

    def __init__(self, recording: Recording) -> None:
        import carla

        self._seen, about = recording, recording.about
        self._step_s: float = about["step"]
        self._index = {actor: n for n, actor in enumerate(about["vehicles"])}
        self._steering = {int(who): Steering(*of) for who, of in about["steering"].items()}
        self._lengths = {int(who): extent[0] for who, extent in about["extent"].items()}
        self._rule = TurnRule(carla.Map(about["map"], recording.opendrive))
        #: Bends in which the manager's rule alone allows more than the limit.
        self.by_rule = 0

    def samples(self, step: int) -> Iterator[Sample]:
        """The vehicles that there are in a step."""
        for who, numbers in zip(self._index, self._seen.vehicles[step].tolist(), strict=True):
            if isnan(numbers[0]):
                continue
            of = dict(zip(VEHICLE, numbers, strict=True))
            speed = (of["vx"] ** 2 + of["vy"] ** 2 + of["vz"] ** 2) ** 0.5
            yield Sample(
                who, self._lengths[who], of["x"], of["y"], radians(of["yaw"]), of["vx"], of["vy"],
                of["ax"], of["ay"], of["throttle"], of["brake"],
                self._steering[who].bend(of["steer"], speed), of["at"] > 0.0, int(of["state"]),
            )  # fmt: skip

    def explain(self, when: float, sample: Sample) -> str:
        """What the manager's rule wants in a bend."""
        each, step = round(_EACH_S / self._step_s), round(when / self._step_s)
        first = step - min(step, round(_BEFORE_S / self._step_s)) // each * each
        last = min(self._seen.steps, step + round(_AFTER_S / self._step_s))
        way = self._seen.vehicles[first:last:each, self._index[sample.id], :3].tolist()
        way = [place for place in way if not isnan(place[0])]
        wanted = self._rule.wanted(way, (step - first) // each, sample.yaw, sample.speed())
        if wanted is None:
            return ""
        self.by_rule += wanted.across() > LATERAL_LIMIT
        needs = sample.speed() ** 2 * wanted.bend
        return (
            f", where the sharpest lane needs {needs:.1f}; the manager's rule wants "
            f"{wanted.speed:.1f} m/s, which are {wanted.across():.1f} m/s^2 in that lane"
        )


def judge(folder: Path) -> dict[str, Any]:
    """What the table needs of a recorded drive."""
    recording = Recording(folder)
    about, steps = recording.about, recording.steps
    network = RoadNetwork.from_xodr(recording.opendrive)
    judges, step_s = _Judge(recording), about["step"]
    lights = list(about["lights"].values())
    lines = lines_of(network, about["lights"])
    watch = Watch(lines, step_s, 2.0 * longest_cycle(network), judges.explain)
    for step in range(steps):
        states = dict(zip(lights, recording.lights[step].tolist(), strict=True))
        watch.step(step * step_s, states, judges.samples(step))
        for who, other in recording.touches.get(step, ()):
            watch.touched(step * step_s, who, other)
    watch.end(steps * step_s)
    speeds = np.hypot(recording.vehicles[:steps, :, 4], recording.vehicles[:steps, :, 5])
    there = int(np.isfinite(speeds).sum())
    return {
        "map": about["map"],
        "seed": about["seed"],
        "safe": about["safe"],
        "points": about["points"],
        "vehicles": len(about["vehicles"]),
        "walkers": len(about["walkers"]),
        "seconds": steps * step_s,
        "km": float(np.nansum(speeds, dtype=float)) * step_s / 1000.0,
        "mean_speed": float(np.nanmean(speeds, dtype=float)),
        "standing": int((speeds[-1] < STANDING).sum()),
        "left": int(np.isfinite(speeds[-1]).sum()),
        "events": watch.events,
        "by_rule": judges.by_rule,
        "wrong": watch.wrong,
        "told": watch.steps,
        "lateral": [
            max(
                (
                    most
                    for who, most in watch.lateral.items()
                    if (about["wheels"][str(who)] == "2") == two
                ),
                default=0,
            )
            for two in (False, True)
        ],
        "too_lateral": {fault: count / there for fault, count in watch.too_lateral.items()},
        "worst": watch.worst,
        "odd": watch.odd,
        "kinds": about["kinds"],
    }


def count(row: dict[str, Any], kind: str, fault: str) -> int:
    """How many events of a kind are the fault of one of the two."""
    events = [Event(*event) for event in row["events"]]
    return sum(event.kind == kind and event.fault == fault for event in events)


def table(rows: list[dict[str, Any]]) -> str:
    """The drives as a table: of each kind of events the server's and the manager's."""
    heads = ["Town", "seed", "vehicles, walkers", "kinds", "s", "km", "m/s", "stand, left"]
    heads += [f"{kind}s" for kind in (*KINDS, FAST)]
    heads += ["by its rule alone", "light told wrong", "lateral: four wheels, two [m/s²]"]
    heads += ["% of time above 6 m/s²"]
    lines = [f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}"]
    for row in rows:
        cells = [row["map"], row["seed"], f"{row['vehicles']}, {row['walkers']}"]
        cells += ["cars" if row["safe"] else "all", f"{row['seconds']:g}", f"{row['km']:.0f}"]
        cells += [f"{row['mean_speed']:.1f}", f"{row['standing']}, {row['left']}"]
        kinds = (*KINDS, FAST)
        cells += [f"{count(row, kind, SERVER)} / {count(row, kind, MANAGER)}" for kind in kinds]
        cells += [row["by_rule"], f"{row['wrong']} of {row['told']}"]
        cells.append(", ".join(f"{most:.1f}" for most in row["lateral"]))
        shares = (100.0 * row["too_lateral"][fault] for fault in (SERVER, MANAGER))
        cells.append(" / ".join(f"{share:.2f}" for share in shares))
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(lines)
