# SPDX-License-Identifier: Apache-2.0
"""The commands ``cosim vds serve|replay``."""

from __future__ import annotations

import contextlib
import csv
import json
import signal
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any, Literal

import typer

from ros2_cosim.cli.console import clear_errors, go_on_without_output, refuse_beside
from ros2_cosim.cli.verbs import make_group
from ros2_cosim.core.documents.files import write_atomically
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.time import SECOND, format_ns, parse_duration
from ros2_cosim.core.realtime.pacing import parse_rate
from ros2_cosim.core.sockets.peers import ADMISSION
from ros2_cosim.vds import COMMAND_PORT, STATE_PORT

if TYPE_CHECKING:  # imported by the commands themselves, to keep the other commands fast
    from ros2_cosim.vds.fleet import VehicleOutput
    from ros2_cosim.vds.fleet_settings import FleetSettings
    from ros2_cosim.vds.serving.server import ServerSettings, VdsServer

app = make_group(
    "vds", "Vehicle dynamics simulator behind the UDP protocol VDS1 and a JSON data port."
)


#: Parameters of the vehicles that the options describe.
_OF_ROW = (
    "vehicle_file tyre_file level rate vx0 vehicle vehicles spacing road start solver_step "
    "actuator_delay sensor_delay"
)


@app.command()
def serve(
    context: typer.Context,
    vehicle_file: Annotated[
        Path | None, typer.Argument(help="YAML file of the vehicle, instead of --vehicle.")
    ] = None,
    tyre_file: Annotated[Path | None, typer.Argument(help="YAML file of its tyres.")] = None,
    level: Annotated[
        Literal["kinematic", "linear", "pacejka", "two_track"],
        typer.Option(help="Level of detail of the vehicles."),
    ] = "linear",
    cmd_port: Annotated[
        int, typer.Option(help="UDP port for commands; 0: any free one.")
    ] = COMMAND_PORT,
    state_ip: Annotated[
        list[str] | None,
        typer.Option(help="Receiver of states: HOST or HOST:PORT (may be repeated)."),
    ] = None,
    state_port: Annotated[int, typer.Option(help="UDP port of the receivers.")] = STATE_PORT,
    rate: Annotated[int, typer.Option(help="Steps per simulated second.")] = 200,
    vx0: Annotated[float, typer.Option(help="Speed at the start [m/s].")] = 0.0,
    cmd_timeout: Annotated[
        str, typer.Option(help="Fail-safe after this wall time without command; 0: never.")
    ] = "100ms",
    http_port: Annotated[
        int | None, typer.Option(help="Port of the JSON data port and dashboard; 0: any free one.")
    ] = None,
    http_host: Annotated[str, typer.Option(help="Address of the data port.")] = "127.0.0.1",
    token: Annotated[
        str | None, typer.Option(help="Token of the data port (generated unless it is loopback).")
    ] = None,
    host: Annotated[str, typer.Option(help="Address to receive commands at.")] = "127.0.0.1",
    vehicle: Annotated[Literal["sedan", "van", "truck"], typer.Option(help="Type.")] = "sedan",
    vehicles: Annotated[int, typer.Option(help="Number of vehicles, in a row.")] = 1,
    spacing: Annotated[float, typer.Option(help="Distance of their centres [m].")] = 30.0,
    road: Annotated[
        Path | None, typer.Option(help="OpenDRIVE file: the ground below each wheel.")
    ] = None,
    start: Annotated[
        str | None, typer.Option(help="Place of the first vehicle on it: ROAD,LANE,S [m].")
    ] = None,
    solver_step: Annotated[
        str, typer.Option(help="Longest step of the integration, at most 10ms.")
    ] = "10ms",
    actuator_delay: Annotated[
        str, typer.Option(help="From a command to the actuators, as 20ms.")
    ] = "0s",
    sensor_delay: Annotated[
        str, typer.Option(help="Age of the states that are sent, as 20ms.")
    ] = "0s",
    fleet: Annotated[
        Path | None, typer.Option(help="YAML file with step and vehicles, used instead.")
    ] = None,
    factor: Annotated[str, typer.Option(help="Real-time factor, or max.")] = "1",
    lockstep: Annotated[
        bool, typer.Option("--lockstep", help="One command, one step; no clock.")
    ] = False,
    record: Annotated[
        Path | None, typer.Option(help="Write the commands to a file for cosim vds replay.")
    ] = None,
    duration: Annotated[
        str | None, typer.Option(help="End after this simulated time, as 20s.")
    ] = None,
    report: Annotated[
        Path | None, typer.Option(help="Write the figures of the run as JSON.")
    ] = None,
    open_to_all: Annotated[
        bool, typer.Option("--open", help="Serve other users of this machine, too.")
    ] = False,
) -> None:
    """Serve vehicles until interrupted."""
    from ros2_cosim.vds.fleet_settings import read_vehicle
    from ros2_cosim.vds.free_run import FreeRunSettings
    from ros2_cosim.vds.serving.server import ServerSettings, VdsServer
    from ros2_cosim.vds.sockets import read_address

    go_on_without_output()
    context.with_resource(ADMISSION.widened(open_to_all))
    with clear_errors():
        if fleet is not None:
            refuse_beside(context, "--fleet", _OF_ROW)
        if lockstep:
            refuse_beside(context, "--lockstep", "factor cmd_timeout")
        if http_port is None:
            refuse_beside(context, "no --http-port", "http_host token")
        settings = ServerSettings(
            fleet=(
                _read_fleet(fleet)
                if fleet
                else _row(
                    {
                        **read_vehicle(vehicle, vehicle_file, tyre_file),
                        "level": level,
                        "speed": vx0,
                        "solver_step": solver_step,
                        "actuator_delay": actuator_delay,
                        "sensor_delay": sensor_delay,
                    },
                    _places(vehicles, spacing, start),
                    rate,
                    road,
                )
            ),
            host=host,
            command_port=_port(cmd_port, "--cmd-port"),
            receivers=tuple(
                read_address(text, state_port, "--state-ip") for text in state_ip or ["127.0.0.1"]
            ),
            lockstep=lockstep,
            free_run=FreeRunSettings(
                rate=parse_rate(factor),
                command_timeout_ns=parse_duration(cmd_timeout, "--cmd-timeout"),
            ),
            http_host=http_host,
            http_port=None if http_port is None else _port(http_port, "--http-port"),
            token=token,
            record=record,
        )
        dt = settings.fleet.dt
        steps = None if duration is None else -(-parse_duration(duration, "--duration") // dt)
        # A computing thread may delay the pacing thread by this time: 5 ms by default.
        sys.setswitchinterval(0.0005)
        server = VdsServer(settings)
        try:
            with _stopping(server):
                _tell_places(server, settings)
                server.run(steps)
        finally:
            server.close()
        figures = server.figures()
        if report is not None:
            write_atomically(report, json.dumps(figures, indent=2) + "\n")
        print(_sentence(figures))


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


def _read_fleet(path: Path) -> FleetSettings:
    from ros2_cosim.core.documents.plain_data import read_mapping
    from ros2_cosim.vds.fleet_settings import read_settings

    settings = read_settings(read_mapping(path, "--fleet"), str(path))
    if settings.road is None:
        return settings
    return settings.model_copy(update={"road": str(path.parent / settings.road)})


def _places(count: int, spacing: float, start: str | None) -> list[dict[str, Any]]:
    """Where vehicles in a row begin, the first one in front."""
    from ros2_cosim.vds.fleet_settings import MAX_VEHICLES

    if not 1 <= count <= MAX_VEHICLES:
        raise ConfigurationError(f"--vehicles: found {count}; allowed is 1 to {MAX_VEHICLES}")
    if start is None:
        return [{"x": 0.0 - i * spacing} for i in range(count)]
    try:
        road, lane, s = start.split(",")
        place = {"road": int(road), "lane": int(lane)}
        station = float(s)
    except ValueError:
        raise ConfigurationError(
            f"--start: found {start!r}; allowed is ROAD,LANE,S as 1,-2,100"
        ) from None
    # Lanes of positive number run against the stations.
    step = -spacing if place["lane"] < 0 else spacing
    return [{"start": {**place, "s": station + i * step}} for i in range(count)]


def _row(
    kind: Mapping[str, Any], places: Sequence[Mapping[str, Any]], rate: int, road: Path | None
) -> FleetSettings:
    """Vehicles of one kind at some places."""
    from ros2_cosim.vds.fleet_settings import read_settings

    if not 1 <= rate <= 10_000 or SECOND % rate:
        raise ConfigurationError(f"--rate: found {rate}; allowed is 1 to 10000, a divisor of 1e9")
    digits = len(str(len(places) - 1))
    row = {f"v{i:0{digits}d}": {**kind, **place} for i, place in enumerate(places)}
    ground = {} if road is None else {"road": str(road)}
    return read_settings({"dt": format_ns(SECOND // rate), **ground, "vehicles": row}, "--vehicles")


def _port(value: int, option: str) -> int:
    if not 0 <= value <= 65535:
        raise ConfigurationError(f"{option}: found {value}; allowed is 0 to 65535")
    return value


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
