# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The commands ``cosim vds serve|replay``."""

from __future__ import annotations

import contextlib
import csv
import json
import os
import signal
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any, Final

import typer

from ros2_cosim.cli.console import clear_errors, go_on_without_output, refuse_beside
from ros2_cosim.cli.parameters import TOKEN, Dashboard, Duration
from ros2_cosim.cli.verbs import make_group
from ros2_cosim.core.kernel.address import LOOPBACK, Address
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.time import SECOND, parse_duration
from ros2_cosim.core.realtime.pacing import parse_rate
from ros2_cosim.vds import COMMAND_PORT, STATE_PORT

if TYPE_CHECKING:  # imported by the commands themselves, to keep the other commands fast
    from ros2_cosim.vds.fleet import VehicleOutput
    from ros2_cosim.vds.fleet_settings import FleetSettings
    from ros2_cosim.vds.server import ServerSettings, VdsServer

#: From the centre of a vehicle in a row to the next one [m].
SPACING_M: Final = 30.0

app = make_group(
    "vds", "Vehicle dynamics simulator behind the UDP protocol VDS1 and a JSON data port."
)


@app.command()
def serve(
    context: typer.Context,
    file: Annotated[
        Path | None, typer.Argument(help="YAML file of a fleet, or of a vehicle.")
    ] = None,
    tyre_file: Annotated[
        Path | None, typer.Argument(help="YAML file of the tyres of that vehicle.")
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            help="Change one value, dotted.key=value, of the fleet (dt, road, ...) or of each "
            "vehicle (speed, level, ...); several are allowed.",
        ),
    ] = None,
    vehicles: Annotated[
        int | None, typer.Option(help="Number of vehicles, one behind the other (1).")
    ] = None,
    port: Annotated[
        str,
        typer.Option(
            metavar="[HOST:]PORT",
            help="Port to listen at for commands to the first vehicle, of the loopback address "
            "unless a host is given; vehicle i has this + i; 0: any free ports.",
        ),
    ] = str(COMMAND_PORT),
    to: Annotated[
        list[str] | None,
        typer.Option(
            metavar="HOST[:PORT]",
            help=f"Address to send states to (127.0.0.1:{STATE_PORT}); those of vehicle i go to "
            "PORT + i (may be repeated).",
        ),
    ] = None,
    command_timeout: Annotated[
        str, typer.Option(help="Fail-safe after this wall time without command; 0: never.")
    ] = "100ms",
    factor: Annotated[str, typer.Option(help="Real-time factor of the vehicles, or max.")] = "1",
    lockstep: Annotated[
        bool, typer.Option("--lockstep", help="One command, one step; no clock.")
    ] = False,
    dashboard: Dashboard = "",
    record: Annotated[
        Path | None, typer.Option(help="Write the commands to a file for cosim vds replay.")
    ] = None,
    duration: Duration = "",
    as_json: Annotated[
        bool,
        typer.Option("--json", help="Print the figures as one JSON document; the rest to stderr."),
    ] = False,
) -> None:
    """Serve vehicles until interrupted."""
    from ros2_cosim.vds.free_run import FreeRunSettings
    from ros2_cosim.vds.server import ServerSettings, VdsServer
    from ros2_cosim.vds.sockets import read_address

    go_on_without_output()
    with (
        clear_errors(),
        contextlib.redirect_stdout(sys.stderr) if as_json else contextlib.nullcontext(),
    ):
        if lockstep:
            refuse_beside(context, "--lockstep", "factor command_timeout")
        place = Address.of(port, "--port")
        page = Address.of(dashboard, "--dashboard") if dashboard else None
        server_settings = ServerSettings(
            fleet=_fleet(file, tyre_file, vehicles, settings or ()),
            host=place.host,
            command_port=place.port,
            receivers=tuple(read_address(text, STATE_PORT, "--to") for text in to or ["127.0.0.1"]),
            lockstep=lockstep,
            free_run=FreeRunSettings(
                rate=parse_rate(factor, "--factor"),
                command_timeout_ns=parse_duration(command_timeout, "--command-timeout"),
            ),
            http_host=LOOPBACK if page is None else page.host,
            http_port=None if page is None else page.port,
            token=os.environ.get(TOKEN),
            record=record,
        )
        dt = server_settings.fleet.dt
        steps = -(-parse_duration(duration, "--duration") // dt) if duration else None
        # A computing thread may delay the pacing thread by this time: 5 ms by default.
        sys.setswitchinterval(0.0005)
        server = VdsServer(server_settings)
        try:
            with _stopping(server):
                _tell_places(server, server_settings)
                server.run(steps)
        finally:
            server.close()
    figures = server.figures()
    print(json.dumps(figures, indent=2) if as_json else _sentence(figures))


@app.command()
def replay(
    file: Annotated[
        Path, typer.Argument(help="Scenario file (JSON lines): a recorded run or your own.")
    ],
    out: Annotated[Path | None, typer.Option(help="CSV file of the states.")] = None,
) -> None:
    """Run a file of commands as fast as possible; the same file gives the same states."""
    from ros2_cosim.vds.replay import replay as replay_file

    with clear_errors():
        if out is None:
            done = replay_file(file)
        else:
            with out.open("w", encoding="utf-8", newline="") as stream:
                done = replay_file(file, _table(stream))
        print(f"{done.time / SECOND:g} s in {done.steps} steps; states {done.trace_sha256}")


def _fleet(
    file: Path | None, tyre_file: Path | None, count: int | None, changes: Sequence[str]
) -> FleetSettings:
    """The fleet of a file, or vehicles of one kind in a row, changed."""
    from ros2_cosim.core.documents.plain_data import read_mapping
    from ros2_cosim.vds.fleet_settings import MAX_VEHICLES, read_settings, read_vehicle

    data = {} if file is None else read_mapping(file, "FILE")
    where, is_row = str(file), "vehicles" not in data
    if not is_row:
        if tyre_file is not None or count is not None:
            raise ConfigurationError(
                f"{file}: a fleet; a file of tyres and --vehicles are not allowed with it"
            )
        if data.get("road") is not None and file is not None:
            data["road"] = str(file.parent / str(data["road"]))
    else:
        count, where = 1 if count is None else count, "vds"
        if not 1 <= count <= MAX_VEHICLES:
            raise ConfigurationError(f"--vehicles: found {count}; allowed is 1 to {MAX_VEHICLES}")
        digits = len(str(count - 1))
        kind = read_vehicle("sedan", file, tyre_file)
        data = {"vehicles": {f"v{i:0{digits}d}": dict(kind) for i in range(count)}}
    _change(data, changes)
    if is_row:
        _stand_in_row(data["vehicles"].values())
    return read_settings(data, where)


def _change(data: dict[str, Any], changes: Sequence[str]) -> None:
    """Set values of a fleet, or of each of its vehicles."""
    from ros2_cosim.core.documents.plain_data import parse_value
    from ros2_cosim.vds.fleet_settings import FleetSettings

    for text in changes:
        key, equals, value = text.partition("=")
        *path, last = key.split(".")
        if not (equals and last):
            raise ConfigurationError(f"--set {text}: allowed is key=value")
        is_of_fleet = (*path, last)[0] in FleetSettings.model_fields
        for node in [data] if is_of_fleet else list(data["vehicles"].values()):
            for name in path:
                node = node.setdefault(name, {}) if isinstance(node, dict) else None
            if not isinstance(node, dict):
                raise ConfigurationError(f"--set {text}: '{'.'.join(path)}' has no keys")
            node[last] = parse_value(value, f"--set {text}")


def _stand_in_row(vehicles: Iterable[dict[str, Any]]) -> None:
    """Each behind the one before; lanes of positive number run against the stations."""
    for i, vehicle in enumerate(vehicles):
        start = vehicle.get("start")
        if start is None:
            vehicle["x"] = vehicle.get("x", 0.0) - i * SPACING_M
        elif isinstance(start, dict) and {"lane", "s"} <= start.keys():
            behind = -SPACING_M if start["lane"] < 0 else SPACING_M
            vehicle["start"] = {**start, "s": start["s"] + i * behind}


def _tell_places(server: VdsServer, settings: ServerSettings) -> None:
    for name, port in server.ports.ports.items():
        print(f"{name}: commands at {settings.host}:{port}", flush=True)
    for address, port in settings.receivers:
        print(f"states to {address}:{port}", flush=True)
    if server.data_port is not None:
        print(f"dashboard at {server.data_port.url}", flush=True)


def _sentence(figures: Mapping[str, Any]) -> str:
    text = f"{figures['time_s']:g} s in {figures['steps']} steps"
    timing = figures.get("timing")
    if timing and timing["steps"]:
        text += f", {timing['overruns']} overruns, {timing['slips']} slips"
    taken = sum(counts["accepted"] for counts in figures["commands"].values())
    return f"{text}; {taken} commands; states {figures['trace_sha256']}"


def _table(stream: IO[str]) -> Any:
    """Writes one line per vehicle and tick."""
    from ros2_cosim.vds.vehicle_plant import PlantState

    writer = csv.writer(stream)
    wheels = ("wheel_spin", "wheel_load")
    plain = [name for name in PlantState._fields if name not in wheels]
    corners = [f"{name}_{corner}" for name in wheels for corner in ("fl", "fr", "rl", "rr")]
    forces = [*(f"lateral_force_{corner}" for corner in ("fl", "fr", "rl", "rr")), "rack_force"]
    writer.writerow(["time_s", "vehicle", *plain, *corners, *forces])

    def write(outputs: Mapping[str, VehicleOutput]) -> None:
        for name, output in outputs.items():
            s = output.state
            values = [getattr(s, field) for field in plain]
            wheel_values = [*s.wheel_spin, *s.wheel_load, *output.forces.lateral]
            row = [output.time / SECOND, name, *values, *wheel_values, output.forces.rack]
            writer.writerow(row)

    return write


@contextlib.contextmanager
def _stopping(server: VdsServer) -> Iterator[None]:
    """SIGINT and SIGTERM end the run in order."""
    numbers = (signal.SIGINT, signal.SIGTERM)
    # In its own thread: a handler runs between any two instructions, also inside a lock.
    former = {
        number: signal.signal(number, lambda *_: threading.Thread(target=server.stop).start())
        for number in numbers
    }
    try:
        yield
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)
