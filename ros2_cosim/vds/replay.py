# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Scenario replay: commands from a file, as fast as possible, the same result every time.

A file holds one JSON object per line: first the fleet (``{"vds_scenario": 1, "dt": "5ms",
"vehicles": {"v0": {"speed": 20.0}}}``), then commands in the order of time (``{"at": "2s",
"vehicle": "v0", "brake": 0.4}``, omitted values have their defaults), last the end (``{"end":
"10s"}``). A command holds from the first tick that begins at ``at`` or later. A free run can be
recorded in the same form; the end then has the digest of all states, and a replay must reach the
same one.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from io import TextIOWrapper
from math import isfinite, nan
from pathlib import Path
from typing import IO, Any, NamedTuple

from pydantic import ConfigDict

from ros2_cosim.core.documents.files import cause_of, open_ordinary
from ros2_cosim.core.documents.settings import Section, read_section
from ros2_cosim.core.kernel.errors import ConfigurationError, RunError
from ros2_cosim.core.kernel.time import FOREVER, format_ns, parse_duration
from ros2_cosim.vds.fleet import Fleet, VehicleOutput
from ros2_cosim.vds.fleet_settings import FleetSettings, read_settings, road_digest
from ros2_cosim.vds.vehicle_plant import VehicleCommand

FORMAT = 1
#: Of recordings: a simulator takes at most 10000 steps per second.
_SHORTEST_DT_NS = 100_000
_MAX_LINE = 1_000_000


class Replayed(NamedTuple):
    """Result of a replay: simulated time [ns], ticks, digest of all states."""

    time: int
    steps: int
    trace_sha256: str


class VdsRecorder:
    """Writes a run as a file for :func:`replay`; call it with the outputs of every tick.

    :param stream: text file to write to
    :param settings: of the fleet
    """

    def __init__(self, stream: IO[str], settings: FleetSettings) -> None:
        self._stream = stream
        self._dt = settings.dt
        self._last: dict[str, dict[str, Any]] = {}
        self._time = 0
        vehicles = {
            name: vehicle.model_dump(mode="json", exclude_defaults=True)
            for name, vehicle in settings.vehicles.items()
        }
        ground = {}
        if settings.road is not None:
            ground = {
                "road": str(Path(settings.road).resolve()),
                "road_sha256": road_digest(settings.road),
            }
        dt = format_ns(settings.dt)
        self._write({"vds_scenario": FORMAT, "dt": dt, **ground, "vehicles": vehicles})

    def __call__(self, outputs: Mapping[str, VehicleOutput]) -> None:
        """Write the commands that were new in this tick."""
        for vehicle, output in outputs.items():
            self._time = output.time
            command = plain_command(output.command)
            if self._last.get(vehicle) != command:
                self._last[vehicle] = command
                at = format_ns(output.time - self._dt)
                self._write({"at": at, "vehicle": vehicle} | command)

    def end(self, fleet: Fleet) -> None:
        """Write the last line."""
        self._write({"end": format_ns(self._time), "trace_sha256": fleet.trace_sha256})
        self._stream.flush()

    def _write(self, line: Mapping[str, Any]) -> None:
        self._stream.write(json.dumps(line) + "\n")


def plain_command(command: VehicleCommand) -> dict[str, Any]:
    """A command as plain data for JSON, without its NaN values."""
    data = command._asdict()
    return {k: v for k, v in data.items() if k not in ("acceleration", "speed") or isfinite(v)}


def replay(
    path: Path, on_tick: Callable[[Mapping[str, VehicleOutput]], None] = lambda outputs: None
) -> Replayed:
    """Run a file to its end.

    :param on_tick: called with the outputs of every tick
    :raises ConfigurationError: the file cannot be read, naming the line
    :raises RunError: the states differ from those that were recorded
    """
    lines = _lines(path)
    number, header = next(lines, (1, {}))
    # Earlier versions recorded whole nanoseconds; no step that a user means is such a number.
    earlier = type(header.get("dt")) is int and header["dt"] >= _SHORTEST_DT_NS
    fleet = _settings(header, f"{path}, line {number}", by_hand=not earlier).fleet()
    steps = reached = 0
    for number, line in lines:
        where = f"{path}, line {number}"
        last = "end" in line
        key = "end" if last else "at"
        if earlier and type(line.get(key)) is int:
            line = {**line, key: f"{line[key]}ns"}
        at = _time(line, key, where)
        if at < reached:
            raise ConfigurationError(
                f"{where}: found {format_ns(at)} after {format_ns(reached)}; allowed are times "
                "in ascending order"
            )
        reached = at
        while steps * fleet.dt_ns < at:
            on_tick(fleet.tick())
            steps += 1
        if last:
            _meets(line, fleet, where)
            return Replayed(steps * fleet.dt_ns, steps, fleet.trace_sha256)
        vehicle = str(line.get("vehicle"))
        if vehicle not in fleet:
            raise ConfigurationError(
                f"{where}: vehicle: found {vehicle!r}; allowed are {', '.join(fleet)}"
            )
        fleet[vehicle].set_input(_command(line, where))
    raise ConfigurationError(f"{path}: the last line must give the end, as {{'end': '10s'}}")


def _settings(header: Mapping[str, Any], where: str, *, by_hand: bool) -> FleetSettings:
    if header.get("vds_scenario") != FORMAT:
        raise ConfigurationError(
            f"{where}: vds_scenario: found {header.get('vds_scenario')!r}; allowed is {FORMAT}"
        )
    data = {key: value for key, value in header.items() if key != "vds_scenario"}
    return read_settings(data, where, by_hand=by_hand)


def _lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Numbered objects of the file; empty lines are left out."""
    try:
        with TextIOWrapper(open_ordinary(path), encoding="utf-8") as stream:
            number = 0
            while text := stream.readline(_MAX_LINE + 1):
                number += 1
                if len(text) > _MAX_LINE:
                    raise ConfigurationError(f"{path}, line {number}: longer than {_MAX_LINE}")
                if text.strip():
                    yield number, _object(text, f"{path}, line {number}")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{path}: {cause_of(error)}") from None


def _object(text: str, where: str) -> dict[str, Any]:
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ConfigurationError(f"{where}: not JSON: {error}") from None
    if not isinstance(data, dict):
        raise ConfigurationError(f"{where}: found {text.strip()[:60]!r}; allowed is an object")
    return data


def _time(line: Mapping[str, Any], key: str, where: str) -> int:
    time = parse_duration(line.get(key), f"{where}: {key}")
    if time >= FOREVER // 2:
        raise ConfigurationError(f"{where}: {key}: {format_ns(time)} is beyond any run")
    return time


class _CommandLine(Section):
    """A line that gives a vehicle a command."""

    model_config = ConfigDict(strict=True)

    at: Any
    vehicle: str
    steer: float = 0.0
    throttle: float = 0.0
    brake: float = 0.0
    gear: int = 1
    handbrake: bool = False
    acceleration: float = nan
    speed: float = nan


def _command(line: Mapping[str, Any], where: str) -> VehicleCommand:
    found = read_section(_CommandLine, line, origin=where)
    return VehicleCommand(**found.model_dump(exclude={"at", "vehicle"}))


def _meets(line: Mapping[str, Any], fleet: Fleet, where: str) -> None:
    wanted = line.get("trace_sha256")
    if wanted is not None and wanted != fleet.trace_sha256:
        raise RunError(
            f"{where}: the replay differs from what was recorded: states {fleet.trace_sha256}, "
            f"recorded {wanted}"
        )
