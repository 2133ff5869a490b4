# SPDX-License-Identifier: Apache-2.0
"""The commands ``cosim dcp serve|run|describe|validate|test|sniff``."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from ros2_cosim.cli.console import (
    EXIT_ERROR,
    EXIT_VERDICT,
    clear_errors,
    go_on_apart,
    go_on_without_output,
    refuse_beside,
)
from ros2_cosim.cli.verbs import make_group
from ros2_cosim.core.documents.files import write_atomically
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.time import parse_duration, to_seconds
from ros2_cosim.core.sockets.peers import ADMISSION
from ros2_cosim.dcp.description.properties import Check
from ros2_cosim.dcp.description.slave_description import SlaveDescription
from ros2_cosim.dcp.slave.slave_model import SlaveModel
from ros2_cosim.dcp.wire.data_path import Missing


class Mode(str, Enum):
    """Operating modes on the command line."""

    NRT = "nrt"
    SRT = "srt"
    HRT = "hrt"


Transport = Literal["tcp", "udp"]
ModelText = Annotated[
    str | None, typer.Argument(metavar="MODEL", help="Python model: module:Class or file.py:Class.")
]
Fmu = Annotated[Path | None, typer.Option(help="An FMU (2.0 or 3.0, co-simulation) instead.")]
Step = Annotated[str | None, typer.Option(help="Step size in seconds, e.g. 1/100 or 0.01.")]
Modes = Annotated[
    list[Mode] | None,
    typer.Option("--mode", help="Operating mode that is offered (may be repeated)."),
]
WholeScenario = Annotated[
    Path | None,
    typer.Option("--scenario", help="A scenario: the whole run, stepped by the master."),
]
World = Annotated[
    Path | None, typer.Option("--world", help="A scenario: the slave of its CARLA world.")
]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", help="With --scenario or --world: key=value (may be repeated)."),
]
Host = Annotated[str | None, typer.Option(help="Control address (default: from the description).")]
Port = Annotated[int | None, typer.Option(help="Control port (default: from the description).")]
OpenToAll = Annotated[bool, typer.Option("--open", help="Serve other users of this machine, too.")]


app = make_group("dcp", "Distributed Co-Simulation Protocol: slaves, masters, descriptions, tests.")

#: Parameters of ``serve`` about a model or an FMU, and about how a slave takes its data.
_OF_MODEL = "description step modes directory"
_OF_SLAVE = "data_synchronisation checks missing acceptable_loss input_wait newest_only"


@app.command()
def serve(
    context: typer.Context,
    model: ModelText = None,
    fmu: Fmu = None,
    description: Annotated[
        Path | None, typer.Option(help="Description to use instead of the generated one.")
    ] = None,
    host: Host = None,
    port: Port = None,
    step: Step = None,
    modes: Modes = None,
    keep: Annotated[bool, typer.Option(help="Serve one master after the other.")] = False,
    directory: Annotated[
        Path | None,
        typer.Option(help="Directory of files and modules (default: the working directory)."),
    ] = None,
    data_synchronisation: Annotated[
        bool, typer.Option(help="In RUNNING, step as soon as all data PDUs have arrived.")
    ] = False,
    checks: Annotated[
        list[Check] | None,
        typer.Option("--check", help="Property of the variables to check (may be repeated)."),
    ] = None,
    missing: Annotated[
        Missing, typer.Option(help="UDP: what to do if inputs of a step are missing.")
    ] = Missing.HOLD,
    acceptable_loss: Annotated[
        float | None,
        typer.Option(min=0, max=1, help="Largest share of lost data PDUs that is accepted."),
    ] = None,
    input_wait: Annotated[
        str, typer.Option(help="Longest wait of a step for its inputs, as 20ms.")
    ] = "0",
    newest_only: Annotated[
        bool, typer.Option(help="Drop repeated inputs and inputs older than the newest.")
    ] = False,
    scenario: WholeScenario = None,
    world: World = None,
    settings: Settings = None,
    out: Annotated[
        Path | None,
        typer.Option(help="With --scenario: output directory (default: out/NAME)."),
    ] = None,
    record: Annotated[bool, typer.Option(help="With --scenario: write a bag.")] = True,
    open_to_all: OpenToAll = False,
    allow: Annotated[
        list[str] | None,
        typer.Option(help="Address of a host that is served; no other one is (may be repeated)."),
    ] = None,
) -> None:
    """Serve a model, an FMU, a scenario or its world as a DCP slave, until it is deregistered."""
    from ros2_cosim.dcp.slave.interfaces import SlaveOptions
    from ros2_cosim.dcp.slave.server import SlaveServer
    from ros2_cosim.dcp.slave.server import serve as serve_slave

    def ready(server: SlaveServer) -> None:
        print(f"{server.description.name} listens on {server.host}:{server.port}", flush=True)

    go_on_without_output()
    with clear_errors():
        try:
            admission = ADMISSION.widened(open_to_all, allow or ())
            context.with_resource(admission)
        except ValueError as error:
            raise ConfigurationError(f"--allow: {error}; allowed is an IP address") from None
        _check_choice(model, fmu, scenario, world, settings)
        moment: memoryview | None = None
        if world is not None:
            refuse_beside(context, "--world", f"{_OF_MODEL} {_OF_SLAVE} out record")
        elif scenario is not None:
            refuse_beside(context, "--scenario", _OF_MODEL)
        else:
            refuse_beside(context, "a model", "out record")
        if world is not None:
            from ros2_cosim.world.carla.offered_world import serve_scenario_world

            moment = go_on_apart(f"the world of {world}")
            serve_scenario_world(
                world,
                settings or (),
                host=host,
                port=port,
                keep=keep,
                on_ready=ready,
                moment=moment,
            )
            return
        if scenario is not None:
            go_on_apart()
            slave, found = _scenario(scenario, settings or (), out, record=record)
        else:
            moment = go_on_apart(f"slave {fmu or model}")
            slave, found = _load(model, fmu, description, step, modes, directory)
        named = any(t is not None and t.port for t in (found.tcp, found.udp))
        serve_slave(
            slave,
            found,
            host=host,
            port=port if port is not None or named else 0,
            once=not keep,
            on_ready=ready,
            options=SlaveOptions(
                data_synchronisation=data_synchronisation,
                checks=frozenset(checks or ()),
                missing=missing,
                acceptable_loss=acceptable_loss,
                input_wait_s=to_seconds(parse_duration(input_wait, "--input-wait")),
                newest_only=newest_only,
            ),
            moment=moment,
        )


def _check_choice(
    model: str | None,
    fmu: Path | None,
    scenario: Path | None,
    world: Path | None,
    settings: list[str] | None,
) -> None:
    from ros2_cosim.dcp.wire.errors import DescriptionError

    of_scenario = scenario is not None or world is not None
    if sum(x is not None for x in (scenario, world)) > 1 or (
        of_scenario and (model is not None or fmu is not None)
    ):
        raise DescriptionError("give one of a model, --fmu, --scenario and --world")
    if settings and not of_scenario:
        raise DescriptionError("--set: allowed with --scenario or --world")


def _scenario(
    path: Path, settings: Sequence[str], out: Path | None, *, record: bool
) -> tuple[SlaveModel, SlaveDescription]:
    from ros2_cosim.core.record.summary import Summary
    from ros2_cosim.dcp.export.external import scenario_slave

    def done(summary: Summary) -> None:
        print(f"trace {summary.trace_sha256}: {summary.end_reason}", flush=True)

    return scenario_slave(path, settings, out=out, record=record, done=done)


@app.command()
def run(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(help="Co-simulation file (YAML).")],
    out: Annotated[
        Path | None, typer.Option(help="CSV file of the outputs (default: standard output).")
    ] = None,
    steps: Annotated[
        int | None, typer.Option(min=0, help="Number of steps (default: from the file).")
    ] = None,
    mode: Annotated[
        Mode | None, typer.Option(help="Operating mode (default: from the file).")
    ] = None,
    open_to_all: OpenToAll = False,
) -> None:
    """Run a co-simulation of DCP slaves; the outputs of every step go to CSV."""
    from ros2_cosim.dcp.master.cosimulation import load_cosimulation, run_cosimulation

    context.with_resource(ADMISSION.widened(open_to_all))
    with clear_errors():
        settings = load_cosimulation(file)
        change: dict[str, object] = {}
        if steps is not None:
            change["steps"] = steps
        if mode is not None:
            change["mode"] = mode.value
        settings = settings.model_copy(update=change)
        if out is None:
            run_cosimulation(settings, sys.stdout, on_ended=_say)
            return
        go_on_without_output()
        with out.open("w", encoding="utf-8", newline="") as stream:
            done = run_cosimulation(settings, stream, on_ended=_say)
        print(f"{done} steps of {len(settings.slaves)} slaves; outputs in {out}")


def _say(line: str) -> None:
    print(f"cosim: {line}", file=sys.stderr)


@app.command()
def describe(
    context: typer.Context,
    model: ModelText = None,
    fmu: Fmu = None,
    scenario: Annotated[
        Path | None, typer.Option(help="A scenario: describe the slave of its CARLA world.")
    ] = None,
    external: Annotated[
        Path | None, typer.Option(help="A scenario: describe the whole run as a slave.")
    ] = None,
    step: Step = None,
    modes: Modes = None,
    out: Annotated[
        Path | None,
        typer.Option(help="A .dcpx file or a .dcp package (default: standard output)."),
    ] = None,
    host: Annotated[
        str | None, typer.Option(help="Control address to write into the description.")
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(min=1, max=65535, help="Control port to write into the description."),
    ] = None,
    data_ports: Annotated[
        list[str] | None,
        typer.Option(help="Data ports to write into it, e.g. 9000-9009 (may be repeated)."),
    ] = None,
) -> None:
    """Write the slave description of a Python model, an FMU or a scenario's world."""
    from ros2_cosim.dcp.description.package import write_package
    from ros2_cosim.dcp.description.write import description_bytes
    from ros2_cosim.dcp.slave.declare import SlaveAddress, at_address
    from ros2_cosim.dcp.wire.errors import DescriptionError
    from ros2_cosim.world.carla.offered_world import describe_scenario_world

    with clear_errors():
        chosen = (model, fmu, scenario, external)
        if (scenario or external) and sum(one is not None for one in chosen) > 1:
            raise DescriptionError("give one of a model, --fmu, --scenario and --external")
        if scenario or external:
            refuse_beside(context, "--scenario" if scenario else "--external", "step modes")
        if scenario is not None:
            found = describe_scenario_world(scenario)
        elif external is not None:
            found = _scenario(external, (), None, record=False)[1]
        else:
            found = _load(model, fmu, None, step, modes)[1]
        found = at_address(
            found, SlaveAddress(host, port, tuple(_ports(text) for text in data_ports or ()))
        )
        if out is None:
            sys.stdout.write(description_bytes(found).decode("utf-8"))
        elif out.suffix == ".dcp":
            write_package(found, out)
        elif out.suffix == ".dcpx":
            write_atomically(out, description_bytes(found))
        else:
            raise DescriptionError(f"{out}: allowed are the endings .dcpx and .dcp")


def _ports(text: str) -> tuple[int, int]:
    """A range of ports, ``9000-9009`` or a single one."""
    from ros2_cosim.dcp.wire.errors import DescriptionError

    low, dash, high = text.partition("-")
    numbers = [int(part) for part in (low, high if dash else low) if part.isdecimal()]
    if len(numbers) != 2 or not 1 <= numbers[0] <= numbers[1] <= 65535:
        raise DescriptionError(
            f"--data-ports: found {text!r}; allowed is a range such as 9000-9009"
        )
    return numbers[0], numbers[1]


@app.command()
def validate(
    files: Annotated[list[Path], typer.Argument(help=".dcpx files and .dcp packages.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Check slave descriptions against the schema and the rules of the standard."""
    from ros2_cosim.dcp.description.read import read_description
    from ros2_cosim.dcp.wire.errors import DescriptionError

    answers: list[dict[str, Any]] = []
    for file in files:
        answer: dict[str, Any] = {"file": str(file), "valid": False}
        answers.append(answer)
        try:
            found = read_description(file)
        except DescriptionError as error:
            answer["fault"] = str(error)
            if not as_json:
                print(f"cosim: {error}", file=sys.stderr)
            continue
        modes = [mode.name for mode in sorted(found.op_modes)]
        both = (("TCP", found.tcp), ("UDP", found.udp))
        transports = [name for name, there in both if there is not None]
        answer.update(
            valid=True, name=found.name, uuid=str(found.uuid), variables=len(found.variables),
            modes=modes, transports=transports,
        )  # fmt: skip
        if not as_json:
            print(
                f"{file}: valid: {found.name} {found.uuid}, {len(found.variables)} variables, "
                f"modes {', '.join(modes)}, "
                f"transports {', '.join(transports) or 'none that can be driven'}"
            )
    if as_json:
        print(json.dumps(answers, indent=1))
    if not all(answer["valid"] for answer in answers):
        raise typer.Exit(EXIT_ERROR)


@app.command()
def test(
    description: Annotated[Path, typer.Argument(help="The slave's .dcpx or .dcp file.")],
    host: Host = None,
    port: Port = None,
    transport: Annotated[Transport | None, typer.Option(help="tcp or udp.")] = None,
    only: Annotated[
        list[str] | None, typer.Option(help="Only this procedure (may be repeated).")
    ] = None,
    hostile: Annotated[
        bool, typer.Option(help="Also run the tests that crash some slaves.")
    ] = False,
    report: Annotated[Path | None, typer.Option(help="Also write the report as JSON.")] = None,
    timeout: Annotated[str, typer.Option(help="Longest wait for an answer.")] = "5s",
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
) -> None:
    """Verify a running slave, protocol step by protocol step (exit code 3: it deviates)."""
    from ros2_cosim.dcp.description.read import read_description
    from ros2_cosim.dcp.master.cosimulation import TRANSPORTS
    from ros2_cosim.dcp.tools.tester import verify_slave

    with clear_errors():
        found = verify_slave(
            read_description(description),
            host,
            port,
            transport=TRANSPORTS[transport] if transport else None,
            only=only or (),
            hostile=hostile,
            timeout_s=to_seconds(parse_duration(timeout, "--timeout", minimum=1)),
        )
        print(found.json() if as_json else found.text())
        if report is not None:
            write_atomically(report, found.json())
        if not found.passed:
            raise typer.Exit(EXIT_VERDICT)


@app.command()
def sniff(
    pcap: Annotated[Path | None, typer.Option(help="Decode the PDUs of a capture file.")] = None,
    proxy: Annotated[
        str | None,
        typer.Option(
            help="LISTEN_PORT=HOST:PORT: forward between a master and a slave's control port."
        ),
    ] = None,
    interface: Annotated[
        str | None, typer.Option(help="Decode the traffic of a network interface (needs root).")
    ] = None,
    ports: Annotated[
        list[int] | None,
        typer.Option("--port", help="Show this port only (may be repeated)."),
    ] = None,
    count: Annotated[int | None, typer.Option(help="Number of PDUs to show.")] = None,
) -> None:
    """Decode DCP traffic: from a file, through a transparent proxy, or from an interface."""
    from ros2_cosim.dcp.tools.sniffer import Printer, sniff_file, sniff_interface, sniff_proxy
    from ros2_cosim.dcp.wire.errors import WiringError

    with clear_errors():
        if sum(choice is not None for choice in (pcap, proxy, interface)) != 1:
            raise WiringError("give one of --pcap, --proxy and --interface")
        printer = Printer(sys.stdout, ports or (), count)
        if pcap is not None:
            sniff_file(pcap, printer)
        elif proxy is not None:
            sniff_proxy(proxy, printer)
        else:
            sniff_interface(str(interface), printer)


def _load(
    model: str | None,
    fmu: Path | None,
    description: Path | None,
    step: str | None,
    modes: list[Mode] | None,
    directory: Path | None = None,
) -> tuple[SlaveModel, SlaveDescription]:
    from ros2_cosim.dcp.slave.loading import load_slave, parse_step
    from ros2_cosim.dcp.wire.enums import OpMode

    chosen = tuple(OpMode[mode.name] for mode in modes or ())
    size = None if step is None else parse_step(step, "--step")
    return load_slave(model, fmu, description, directory=directory, step=size, modes=chosen)
