# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What pedals do to a vehicle of any world, measured: the lower controller of ``cacc_controller``.

The vehicle drives alone, by :mod:`~ros2_cosim.world.drivers.pedal_programme`, in the world of a
scenario. While a pedal is held the acceleration belongs to pedal and speed; the area between a step
and its answer gives the lag.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from statistics import fmean
from typing import Any, Final, NamedTuple

import numpy as np
import yaml

from ros2_cosim.core.documents.files import write_atomically
from ros2_cosim.core.documents.settings import read_section
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.participant import Sample
from ros2_cosim.core.scenario.schema import Scenario, load_scenario, make_scenario
from ros2_cosim.lab.study.watched import Watched, run_watched
from ros2_cosim.world.vehicle.pedal_table import PedalTable

_PROBE: Final = "pedals"
#: The programme is over by then [s].
_DURATION_S: Final = 170
_PERIOD: Final = "20ms"
#: Grid of the map [m/s], and the slowest speed at which an acceleration counts: below, brakes hold.
_GRID: Final = 2.5
_SLOWEST: Final = 1.5
#: After a change of the pedal its answer has settled by then [s].
_SETTLED_S: Final = 0.8
#: Steps of at least this size tell the lag [m/s^2].
_LEAST_STEP: Final = 1.0
#: Points of the map differ by this at least [m/s^2].
_LEAST_GROWTH: Final = 1e-3
_DIGITS: Final = 4


class DrivenPoint(NamedTuple):
    """One instant: time [s], speed [m/s], acceleration [m/s^2], pedal -1..1."""

    time: float
    speed: float
    acceleration: float
    pedal: float


def identify_pedals(
    scenario: Path, vehicle: str, top_speed: float, changes: Sequence[str] = ()
) -> PedalTable:
    """Drive a vehicle of a scenario, and make its pedal map.

    :param vehicle: its name in the scene
    :param top_speed: up to which the map goes [m/s]
    :param changes: of the scenario, ``key=value``
    :raises CosimError: no such vehicle, the world cannot be run alone, or the vehicle did not do
        what a map needs
    """
    base = load_scenario(scenario, changes)
    points = _driven(_alone(base, vehicle, top_speed), vehicle)
    return table_of(points, f"{vehicle} of {base.name}")


def write_pedals(table: PedalTable, path: Path) -> None:
    """Write the file that ``vehicle`` of a controller names."""
    text = yaml.safe_dump(json.loads(table.model_dump_json()), sort_keys=False)
    head = "# Made by `cosim study pedals`; for `vehicle` of cacc_controller.\n"
    write_atomically(path, head + text)


def _alone(base: Scenario, vehicle: str, top_speed: float) -> Scenario:
    """The world of a scenario with one vehicle, driven by the programme."""
    vehicles: Mapping[str, Any] = base.scene.get("vehicles") or {}
    if vehicle not in vehicles:
        raise ConfigurationError(
            f"--vehicle: found {vehicle!r}; allowed are {', '.join(vehicles) or 'none'}"
        )
    port = f"odometry/{vehicle}"
    world = next((n for n, p in base.participants.items() if port in p.outputs), None)
    if world is None:
        raise ConfigurationError(f"--vehicle: no participant of the scenario has an output {port}")
    settings = base.participants[world]
    own = {k: v for k, v in vehicles[vehicle].items() if k not in ("driver", "id")}
    wanted = (port, f"acceleration/{vehicle}", "static_objects", "collision")
    outputs = {
        name: output.model_dump(exclude_unset=True, by_alias=True)
        for name, output in settings.outputs.items()
        if name in wanted
    }
    kept = {k: v for k, v in base.scene.items() if k in ("map", "route", "weather", "extra")}
    data: dict[str, Any] = {
        "name": "pedals",
        "duration": f"{_DURATION_S}s",
        "seed": base.seed,
        "base_directory": str(base.base_directory),
        "scene": {**kept, "vehicles": {vehicle: own}},
        "participants": {
            world: {
                "model": settings.model,
                "period": settings.period,
                "parameters": {
                    k: v for k, v in settings.parameters.items() if not k.startswith("traffic")
                },
                "inputs": {f"control/{vehicle}": {"from": f"{_PROBE}.control", "delayed": True}},
                "outputs": outputs,
            },
            _PROBE: {
                "model": "ros2_cosim.world.drivers.pedal_programme:PedalProgramme",
                "period": _PERIOD,
                "parameters": {"top_speed": top_speed},
                "inputs": {"odometry": f"{world}.{port}"},
                "outputs": {
                    "control": {"type": "ros2_cosim/msg/ControlCommand", "topic": "/pedals"}
                },
            },
        },
    }
    if base.simulator is not None:
        data["simulator"] = base.simulator.model_dump(exclude_unset=True)
    return make_scenario(data, str(base.name))


def _driven(scenario: Scenario, vehicle: str) -> list[DrivenPoint]:
    """What the vehicle did, sample by sample."""
    world = next(n for n in scenario.participants if n != _PROBE)
    speeds: dict[int, float] = {}
    accelerations: dict[int, float] = {}
    pedals: list[tuple[int, float]] = []

    def speed(sample: Sample) -> None:
        speeds[sample.stamp] = sample.value.vx

    def acceleration(sample: Sample) -> None:
        accelerations[sample.stamp] = sample.value.ax

    def control(sample: Sample) -> None:
        pedals.append((sample.stamp, sample.value.throttle - sample.value.brake))

    watch: Watched = {
        (world, f"odometry/{vehicle}"): speed,
        (world, f"acceleration/{vehicle}"): acceleration,
        (_PROBE, "control"): control,
    }
    run_watched(scenario, watch)
    points, held = [], 0
    for stamp in sorted(set(speeds) & set(accelerations)):
        while held + 1 < len(pedals) and pedals[held + 1][0] < stamp:
            held += 1
        points.append(
            DrivenPoint(stamp * 1e-9, speeds[stamp], accelerations[stamp], pedals[held][1])
        )
    return points


def table_of(points: Sequence[DrivenPoint], vehicle: str) -> PedalTable:
    """The pedal map of a drive.

    :raises ConfigurationError: the vehicle did not reach what a map needs
    """
    bins: dict[float, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    changed = points[0].time if points else 0.0
    for before, now in pairwise(points):
        if now.pedal != before.pedal:
            changed = now.time
        if now.speed >= _SLOWEST and now.time - changed >= _SETTLED_S:
            bins[now.pedal][max(1, round(now.speed / _GRID))].append(now.acceleration)
    pedals = sorted(bins)
    if not (pedals and pedals[0] < 0.0 < pedals[-1] and 0.0 in bins):
        raise ConfigurationError(
            f"{vehicle}: throttle, coasting and brake were not all seen above {_SLOWEST:g} m/s; "
            "the vehicle must obey pedals"
        )
    numbers = sorted({number for found in bins.values() for number in found})
    rows = [[_at(bins[pedal], number) for pedal in pedals] for number in numbers]
    for row in rows:
        for i in range(1, len(row)):
            row[i] = max(row[i], row[i - 1] + _LEAST_GROWTH)
    throttle, brake = _lags(points)
    return read_section(
        PedalTable,
        {
            "pedal_map": 1,
            "vehicle": vehicle,
            "lag": round(0.5 * (throttle + brake), _DIGITS),
            "throttle_lag": round(throttle, _DIGITS),
            "brake_lag": round(brake, _DIGITS),
            "speeds": [number * _GRID for number in numbers],
            "pedals": pedals,
            "accelerations": [[round(a, _DIGITS) for a in row] for row in rows],
        },
        origin=vehicle,
    )


def _at(found: Mapping[int, Sequence[float]], number: int) -> float:
    """The mean at a speed of the grid, between those that were reached linear, beyond constant."""
    known = sorted(found)
    return float(np.interp(number, known, [fmean(found[each]) for each in known]))


def _lags(points: Sequence[DrivenPoint]) -> tuple[float, float]:
    """The lags of throttle and brake [s]: the mean of all steps that are large enough.

    :raises ConfigurationError: there is none
    """
    found: dict[bool, list[float]] = {True: [], False: []}
    for i, (before, now) in enumerate(pairwise(points), start=1):
        # From one pedal to the other both have a part in the answer.
        if now.pedal == before.pedal or now.pedal * before.pedal < 0.0:
            continue
        answer = [p for p in points[i : i + 400] if p.time < now.time + 1.2]
        if any(p.pedal != now.pedal or p.speed < 0.2 for p in answer) or len(answer) < 10:
            continue
        tail = [p.acceleration for p in answer if p.time >= now.time + _SETTLED_S]
        end = sum(tail) / len(tail) if tail else before.acceleration
        size = end - before.acceleration
        if abs(size) >= _LEAST_STEP:
            area = sum(
                (end - 0.5 * (p.acceleration + q.acceleration)) * (q.time - p.time)
                for p, q in pairwise([before, *answer])
            )
            found[now.pedal + before.pedal > 0.0].append(area / size)
    if not (found[True] and found[False]):
        raise ConfigurationError(
            f"the vehicle has answered no step of throttle and brake by {_LEAST_STEP:g} m/s^2"
        )
    throttle, brake = (max(1e-3, sum(v) / len(v)) for v in (found[True], found[False]))
    return throttle, brake
