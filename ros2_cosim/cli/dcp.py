# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The commands ``cosim dcp serve|run|test|sniff``."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from ros2_cosim.cli.console import (
    EXIT_VERDICT,
    clear_errors,
    go_on_apart,
    go_on_without_output,
    refuse_beside,
)
from ros2_cosim.cli.options import with_options
from ros2_cosim.cli.parameters import AsJson, ScenarioChanges
from ros2_cosim.cli.verbs import make_group
from ros2_cosim.core.documents.files import write_atomically
from ros2_cosim.core.kernel.time import parse_duration, to_seconds
from ros2_cosim.dcp.fmi.interface_type import InterfaceType
from ros2_cosim.dcp.slave.declare import SlaveAddress
from ros2_cosim.dcp.slave.interfaces import SlaveOptions
from ros2_cosim.dcp.slave.slave_model import SlaveModel
from ros2_cosim.dcp.standard.data_path import Missing
from ros2_cosim.dcp.standard.errors import DescriptionError
from ros2_cosim.dcp.standard.property_checks import Check
from ros2_cosim.dcp.standard.slave_description import SlaveDescription


class Mode(str, Enum):
    """Operating modes on the command line."""

    NRT = "nrt"
    SRT = "srt"
    HRT = "hrt"


Transport = Literal["tcp", "udp"]

app = make_group("dcp", "Distributed Co-Simulation Protocol: slaves, masters, tests.")


@dataclass(frozen=True)
class Served:
    """What is served: a model or an FMU, a scenario, or its world."""

    model: Annotated[
        str | None,
        typer.Argument(
            help="Python model: module:Class, directory/module:Class or file.py:Class. Or an FMU "
            "(2.0, 3.0)."
        ),
    ] = None
    scenario: Annotated[
        Path | None, typer.Option(help="A scenario: the whole run, stepped by the master.")
    ] = None
    world: Annotated[
        Path | None, typer.Option(help="A scenario: the slave of its CARLA world.")
    ] = None
    settings: ScenarioChanges = None
    out: Annotated[
        Path | None, typer.Option(help="With --scenario: output directory (out/NAME).")
    ] = None
    description: Annotated[
        Path | None, typer.Option(help="Description to use instead of the generated one.")
    ] = None
    step: Annotated[str | None, typer.Option(help="Step size in seconds, e.g. 1/100 or 0.01.")] = (
        None
    )
    interface: Annotated[
        InterfaceType | None,
        typer.Option(help="Interface type of an FMU (the first that it has)."),
    ] = None
    modes: Annotated[
        list[Mode] | None,
        typer.Option("--mode", help="Operating mode to offer (may be repeated)."),
    ] = None


@dataclass(frozen=True)
class DataRules:
    """How a slave takes its data."""

    data_synchronisation: Annotated[
        bool,
        typer.Option(
            "--data-synchronisation",
            help="In RUNNING, step as soon as all data PDUs have arrived.",
        ),
    ] = False
    checks: Annotated[
        list[Check] | None,
        typer.Option("--check", help="Property of the variables to check (may be repeated)."),
    ] = None
    missing: Annotated[
        Missing, typer.Option(help="UDP: what to do if inputs of a step are missing.")
    ] = Missing.HOLD
    acceptable_loss: Annotated[
        float | None,
        typer.Option(min=0, max=1, help="Largest share of lost data PDUs that is accepted."),
    ] = None
    input_wait: Annotated[
        str, typer.Option(help="Longest wait of a step for its inputs, as 20ms.")
    ] = "0"
    newest_only: Annotated[
        bool,
        typer.Option(
            "--newest-only", help="Drop repeated inputs and inputs older than the newest."
        ),
    ] = False


#: Parameters of ``serve`` about a model or an FMU, and about how a slave takes its data.
_OF_MODEL = "description step interface modes"
_OF_SLAVE = "data_synchronisation checks missing acceptable_loss input_wait newest_only"


@app.command()
@with_options
def serve(
    context: typer.Context,
    *,
    what: Served,
    port: Annotated[
        str | None,
        typer.Option(
            metavar="[HOST:]PORT", help="Port to listen at, and host (those of the description)."
        ),
    ] = None,
    keep: Annotated[bool, typer.Option("--keep", help="Serve one master after the other.")] = False,
    rules: DataRules,
    describe: Annotated[
        Path | None,
        typer.Option(
            help="Write the slave description instead of serving: a .dcpx file, a .dcp package, "
            "or - "
            "for the standard output."
        ),
    ] = None,
    data_ports: Annotated[
        list[str] | None,
        typer.Option(help="With --describe: its data ports, as 9000-9009 (may be repeated)."),
    ] = None,
) -> None:
    """Serve a model, an FMU, a scenario or its world as a DCP slave, until it is deregistered."""
    from ros2_cosim.dcp.slave.server import SlaveServer
    from ros2_cosim.dcp.slave.server import serve as serve_slave

    def ready(server: SlaveServer) -> None:
        print(f"{server.description.name} listens on {server.host}:{server.port}", flush=True)

    go_on_without_output()
    with clear_errors():
        if sum(x is not None for x in (what.model, what.scenario, what.world)) > 1:
            raise DescriptionError("give one of a model, --scenario and --world")
        if describe is None:
            refuse_beside(context, "no --describe", "data_ports")
        else:
            refuse_beside(context, "--describe", f"description keep out {_OF_SLAVE}")
        if what.world is not None:
            refuse_beside(context, "--world", f"{_OF_MODEL} {_OF_SLAVE} out")
        elif what.scenario is not None:
            refuse_beside(context, "--scenario", _OF_MODEL)
        else:
            refuse_beside(context, "a model", "settings out")
        host, number = _place(port, "--port")
        if describe is not None:
            ports = tuple(map(_ports, data_ports or ()))
            _describe(what, describe, SlaveAddress(host, number, ports))
            return
        if what.world is not None:
            from ros2_cosim.world.carla.offered_world import serve_scenario_world

            serve_scenario_world(
                what.world,
                what.settings or (),
                host=host,
                port=number,
                keep=keep,
                on_ready=ready,
                moment=go_on_apart(f"the world of {what.world}"),
            )
            return
        if what.scenario is not None:
            go_on_apart()
            slave, found = _scenario(what)
            moment = None
        else:
            moment = go_on_apart(f"slave {what.model}")
            slave, found = _load(what)
        named = any(t is not None and t.port for t in (found.tcp, found.udp))
        serve_slave(
            slave,
            found,
            host=host,
            port=number if number is not None or named else 0,
            once=not keep,
            on_ready=ready,
            options=_slave_options(rules),
            moment=moment,
        )


def _slave_options(rules: DataRules) -> SlaveOptions:
    return SlaveOptions(
        data_synchronisation=rules.data_synchronisation,
        checks=frozenset(rules.checks or ()),
        missing=rules.missing,
        acceptable_loss=rules.acceptable_loss,
        input_wait_s=to_seconds(parse_duration(rules.input_wait, "--input-wait")),
        newest_only=rules.newest_only,
    )


def _scenario(what: Served) -> tuple[SlaveModel, SlaveDescription]:
    from ros2_cosim.core.record.summary import Summary
    from ros2_cosim.dcp.export.external import scenario_slave

    def done(summary: Summary) -> None:
        print(f"trace {summary.trace_sha256}: {summary.end_reason}", flush=True)

    assert what.scenario is not None
    return scenario_slave(what.scenario, what.settings or (), out=what.out, done=done)


def _load(what: Served) -> tuple[SlaveModel, SlaveDescription]:
    from ros2_cosim.dcp.slave.loading import load_slave, parse_step
    from ros2_cosim.dcp.standard.enums import OpMode

    model = what.model or ""
    is_fmu = model.endswith(".fmu")
    return load_slave(
        None if is_fmu or not model else model,
        model if is_fmu else None,
        what.description,
        step=None if what.step is None else parse_step(what.step, "--step"),
        modes=tuple(OpMode[mode.name] for mode in what.modes or ()),
        interface=what.interface,
    )


def _describe(what: Served, out: Path, address: SlaveAddress) -> None:
    """Write the description of what would be served."""
    from ros2_cosim.dcp.slave.declare import at_address
    from ros2_cosim.dcp.standard.slave_package import write_package
    from ros2_cosim.dcp.standard.write_description import description_bytes
    from ros2_cosim.world.carla.offered_world import describe_scenario_world

    if what.world is not None:
        found = describe_scenario_world(what.world, what.settings or ())
    else:
        found = (_load(what) if what.scenario is None else _scenario(what))[1]
    found = at_address(found, address)
    if str(out) == "-":
        sys.stdout.write(description_bytes(found).decode("utf-8"))
    elif out.suffix == ".dcp":
        write_package(found, out)
    elif out.suffix == ".dcpx":
        write_atomically(out, description_bytes(found))
    else:
        raise DescriptionError(f"{out}: allowed are the endings .dcpx and .dcp")


@app.command()
def run(
    file: Annotated[Path, typer.Argument(help="Co-simulation file (YAML).")],
    out: Annotated[
        Path | None, typer.Option(help="CSV file of the outputs (the standard output).")
    ] = None,
) -> None:
    """Run a co-simulation of DCP slaves; the outputs of every step go to CSV."""
    from ros2_cosim.dcp.master.cosimulation import load_cosimulation, run_cosimulation

    with clear_errors():
        settings = load_cosimulation(file)
        if out is None:
            run_cosimulation(settings, sys.stdout, on_ended=_say)
            return
        go_on_without_output()
        with out.open("w", encoding="utf-8", newline="") as stream:
            done = run_cosimulation(settings, stream, on_ended=_say)
        print(f"{done} steps of {len(settings.slaves)} slaves; outputs in {out}")


def _say(line: str) -> None:
    print(f"cosim: {line}", file=sys.stderr)


def _place(text: str | None, option: str) -> tuple[str | None, int | None]:
    """Host and port of ``[HOST:]PORT``; None: not given."""
    from ros2_cosim.core.kernel.address import Address

    if text is None:
        return None, None
    place = Address.of(text, option)
    return place.host if ":" in text else None, place.port


def _ports(text: str) -> tuple[int, int]:
    """A range of ports, ``9000-9009`` or a single one."""
    low, dash, high = text.partition("-")
    numbers = [int(part) for part in (low, high if dash else low) if part.isdecimal()]
    if len(numbers) != 2 or not 1 <= numbers[0] <= numbers[1] <= 65535:
        raise DescriptionError(
            f"--data-ports: found {text!r}; allowed is a range such as 9000-9009"
        )
    return numbers[0], numbers[1]


@app.command()
def test(
    description: Annotated[Path, typer.Argument(help="The slave's .dcpx or .dcp file.")],
    address: Annotated[
        str | None,
        typer.Option(
            metavar="[HOST:]PORT", help="Where the slave listens (what the description says)."
        ),
    ] = None,
    transport: Annotated[
        Transport | None, typer.Option(help="Transport of the PDUs: tcp (where offered) or udp.")
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(
            help="Run only this procedure, even one that crashes some slaves (may be repeated)."
        ),
    ] = None,
    wait: Annotated[str, typer.Option(help="Longest wall time to wait for an answer.")] = "5s",
    as_json: AsJson = False,
) -> None:
    """Verify a running slave step by step; exit code 3 if it deviates.

    The procedures register it again and again: start a slave of this package with --keep.
    """
    from ros2_cosim.dcp.master.cosimulation import TRANSPORTS
    from ros2_cosim.dcp.standard.read_description import read_description
    from ros2_cosim.dcp.tools.tester import verify_slave

    with clear_errors():
        found = verify_slave(
            read_description(description),
            *_place(address, "--address"),
            transport=TRANSPORTS[transport] if transport else None,
            only=only or (),
            timeout_s=to_seconds(parse_duration(wait, "--wait", minimum=1)),
        )
        print(found.json() if as_json else found.text())
        if not found.passed:
            raise typer.Exit(EXIT_VERDICT)


def check_descriptions(files: Sequence[Path], *, as_json: bool) -> bool:
    """Check slave descriptions against the schema and the rules of the standard."""
    from ros2_cosim.dcp.standard.read_description import read_description

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
    return all(answer["valid"] for answer in answers)


@app.command()
def sniff(
    source: Annotated[
        str,
        typer.Argument(
            help="A capture file (pcap, pcapng), LISTEN_PORT=HOST:PORT to forward between a master "
            "and a slave's control port, or a network interface (needs root)."
        ),
    ],
) -> None:
    """Decode DCP traffic: from a file, through a transparent proxy, or from an interface."""
    from ros2_cosim.dcp.tools.capture import read_file, read_interface
    from ros2_cosim.dcp.tools.sniffer import Printer, sniff_proxy

    with clear_errors():
        printer = Printer(sys.stdout)
        if "=" in source:
            sniff_proxy(source, printer)
        elif Path(source).is_file() or "." in source:
            printer.show_all(read_file(Path(source)))
        else:
            printer.show_all(read_interface(source))
