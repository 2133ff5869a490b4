# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A co-simulation described by a file: slaves, wiring, parameters, steps.

Example::

    mode: nrt
    step: 1/100
    steps: 500
    slaves:
      plant: {description: plant.dcpx, host: 192.168.1.7, port: 8080, transport: udp}
      controller: {model: "my_controllers:Pid", parameters: {kp: 2.0}}
      filter: {fmu: filter.fmu}
    connections:
      - plant.speed -> filter.u
      - filter.y -> controller.speed
      - controller.force -> plant.force
    inputs: {controller.wanted: 20.0}
    signals: wanted.csv
    tune: {200: {controller.kp: 3.0}}
    outputs: [plant.speed, controller.force]

``signals`` is a table of inputs over time (:mod:`ros2_cosim.dcp.master.signals`): a step has their
values at its begin, the initialization those at 0. Slaves with ``model`` or ``fmu`` are served by a
process each, on free ports of the loopback.
``check: [limits, gradient, edges]`` has them watch the properties of their variables. With
``stepping: dependency`` a slave steps after those whose outputs it reads; a loop needs a connection
that is delayed, written as ``{from: a.y, to: b.u, delayed: true}``. Terminals of two FMUs are
connected in the same words.
"""

from __future__ import annotations

import csv
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, Literal, TextIO

from pydantic import BeforeValidator, ConfigDict, Field, model_validator

from ros2_cosim.core.documents.plain_data import read_mapping
from ros2_cosim.core.documents.settings import Number, Section, Whole, read_section
from ros2_cosim.core.sockets.brief_waits import DIALOGUE_NS
from ros2_cosim.dcp.fmi.interface_type import InterfaceType
from ros2_cosim.dcp.master.master import Master
from ros2_cosim.dcp.master.order import Stepping
from ros2_cosim.dcp.master.remote import RemoteSlave, SlaveUse
from ros2_cosim.dcp.master.requests import SlaveEndedError
from ros2_cosim.dcp.master.signals import InputSignals
from ros2_cosim.dcp.master.slave_process import SlaveProcess
from ros2_cosim.dcp.master.terminal_wires import terminal_wires
from ros2_cosim.dcp.slave.interfaces import SlaveOptions
from ros2_cosim.dcp.slave.loading import load_slave, parse_step
from ros2_cosim.dcp.slave.server import SlaveServer
from ros2_cosim.dcp.slave.slave_model import SlaveModel
from ros2_cosim.dcp.standard.data_path import Missing
from ros2_cosim.dcp.standard.enums import OpMode, TransportProtocol
from ros2_cosim.dcp.standard.errors import (
    DcpError,
    DcpPeerLostError,
    DcpTimeoutError,
    DescriptionError,
    WiringError,
)
from ros2_cosim.dcp.standard.property_checks import Check
from ros2_cosim.dcp.standard.read_description import read_description
from ros2_cosim.dcp.standard.slave_description import SlaveDescription
from ros2_cosim.dcp.standard.values import Value

TRANSPORTS = {"tcp": TransportProtocol.TCP_IPv4, "udp": TransportProtocol.UDP_IPv4}


def _fraction(value: Any) -> Fraction:
    try:
        return parse_step(value)
    except DescriptionError as error:
        raise ValueError(str(error).removeprefix("step: ")) from None


Seconds = Annotated[Fraction, BeforeValidator(_fraction)]


class _Section(Section):
    model_config = ConfigDict(arbitrary_types_allowed=True)


class SlaveSettings(_Section):
    """One slave: reached by ``description`` (and address), or made from ``model`` or ``fmu``."""

    whereabouts = frozenset({"host", "port"})

    description: str | None = Field(default=None, description="a .dcpx or .dcp file")
    model: str | None = Field(default=None, description="a Python model, as `module:Class`")
    fmu: str | None = Field(default=None, description="an FMU or C file")
    interface: InterfaceType | None = Field(
        default=None, description="interface type of the FMU (the first that it has)"
    )
    host: str | None = Field(default=None, description="its address")
    port: Whole | None = Field(default=None, ge=1, le=65535, description="its port")
    transport: Literal["tcp", "udp"] | None = Field(default=None, description="its transport")
    step: Seconds | None = Field(default=None, description="its time resolution [s]")
    every: Whole = Field(
        default=1, ge=1, description="steps of the master to one step of the slave"
    )
    steps: Whole | None = Field(default=None, ge=1, description="time resolutions of a step")
    max_pdu_size: Whole | None = Field(
        default=None,
        ge=16,
        description="largest data PDU in bytes, if that is less than its description says",
    )
    exact_types: bool = Field(
        default=False,
        description="the slave drops data that need a conversion, so the master converts them",
    )
    parameters: dict[str, Any] = Field(default_factory=dict, description="values of its parameters")
    process: bool = Field(
        default=False,
        strict=True,
        description="in a scenario: it runs in its own process",
    )
    command: tuple[str, ...] | None = Field(
        default=None, description="in a scenario: the run starts it by this command"
    )

    @property
    def is_made(self) -> bool:
        """Whether the slave can be made here, from a model or an FMU."""
        return self.model is not None or self.fmu is not None

    @property
    def is_local(self) -> bool:
        """Whether this process has to serve the slave: it has no port, so no other process does."""
        return self.is_made and self.port is None

    @model_validator(mode="after")
    def _one_kind(self) -> SlaveSettings:
        if self.model is not None and self.fmu is not None:
            raise ValueError("allowed is either model or fmu")
        if self.interface is not None and self.fmu is None:
            raise ValueError("interface: allowed with fmu")
        if not self.is_made and self.description is None:
            raise ValueError("description, model or fmu is missing")
        return self


class VariableConnection(_Section):
    """A wire from an output to an input; as a text it is ``from -> to``."""

    source: str = Field(alias="from", description="`slave.output`, or a terminal")
    to: str = Field(description="`slave.input`, or a terminal")
    delayed: bool = Field(
        default=False, strict=True, description="the input has the value before the step"
    )


def _connection(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    source, arrow, target = value.partition("->")
    if not arrow:
        raise ValueError(f"found {value!r}; allowed is slave.output -> slave.input")
    return {"from": source.strip(), "to": target.strip()}


Connections = tuple[Annotated[VariableConnection, BeforeValidator(_connection)], ...]
"""Wires as texts ``slave.output -> slave.input``, or as mappings."""


class SlaveCouplingSettings(_Section):
    """How slaves are coupled."""

    connections: Connections = Field(
        default=(),
        description="slave.output -> slave.input, or {from, to, delayed}",
    )
    mode: Literal["nrt", "srt", "hrt"] = Field(
        default="nrt",
        description="operating mode of the slaves; in srt and hrt their clocks make them step",
    )
    data_synchronisation: Annotated[bool, Field(strict=True)] = Field(
        default=False, description="slaves step as soon as their data PDUs have arrived"
    )
    step: Seconds | None = Field(default=None, description="time resolution of the slaves [s]")
    stepping: Stepping = Field(
        default=Stepping.PARALLEL, description="which slaves step at the same time"
    )
    initialise: Whole = Field(default=1, ge=0, description="loops of the initialization")
    timeout_s: Number = Field(default=30.0, gt=0, description="longest time to an answer [s]")
    check: tuple[Check, ...] = Field(
        default=(), description="properties that slaves made here watch"
    )
    missing: Missing = Field(
        default=Missing.HOLD,
        description="what the master does about outputs of slaves lost over UDP",
    )
    acceptable_loss: Number | None = Field(
        default=None,
        ge=0,
        le=1,
        description="share of the outputs of a slave that may be lost over UDP [1]",
    )


class CoSimulation(SlaveCouplingSettings):
    """A whole co-simulation."""

    slaves: dict[str, SlaveSettings] = Field(min_length=1)
    steps: Whole = Field(ge=0)
    inputs: dict[str, Any] = Field(default_factory=dict)
    signals: str | None = None
    tune: dict[int, dict[str, Any]] = Field(default_factory=dict)
    outputs: tuple[str, ...] | None = None
    base_directory: Path = Path(".")


def load_cosimulation(path: Path) -> CoSimulation:
    """Read a file (YAML, so also JSON).

    :raises DescriptionError: it cannot be read or something in it is wrong, with its place
    """
    data = read_mapping(path, "", error=DescriptionError, whole_keys=True)
    data.setdefault("base_directory", path.resolve().parent)
    return read_section(CoSimulation, data, origin=str(path), error=DescriptionError)


def describe_slaves(settings: CoSimulation) -> dict[str, SlaveDescription]:
    """The descriptions of all slaves; starts no slave.

    :raises DescriptionError: a slave cannot be loaded
    """
    return {name: _described(slave, settings) for name, slave in settings.slaves.items()}


def _described(slave: SlaveSettings, settings: CoSimulation) -> SlaveDescription:
    if slave.description is not None:
        return read_description(settings.base_directory / slave.description)
    if slave.fmu is not None:
        from ros2_cosim.dcp.slave.fmu import describe_fmu

        return describe_fmu(
            settings.base_directory / slave.fmu,
            step=slave.step or settings.step,
            modes=_modes(settings),
            interface=slave.interface,
        )
    return _made(slave, settings)[1]


def _made(slave: SlaveSettings, settings: CoSimulation) -> tuple[SlaveModel, SlaveDescription]:
    return load_slave(
        slave.model,
        slave.fmu,
        slave.description,
        directory=settings.base_directory,
        step=slave.step or settings.step,
        modes=_modes(settings),
        interface=slave.interface,
        apart=slave.process,
    )


def _modes(settings: CoSimulation) -> tuple[OpMode, ...]:
    """A slave made here offers hard real time only if the file asks for it."""
    return (OpMode.HRT,) if settings.mode == "hrt" else ()


@contextmanager
def prepared(
    settings: CoSimulation, connect_wait_s: float = 0.0, *, apart: bool = False
) -> Iterator[Master]:
    """A master with all slaves added and wired, local slaves being served; cleans up.

    :param connect_wait_s: how long slaves elsewhere may take to listen
    :param apart: whether its own process serves each model and FMU, else this one
    :raises DescriptionError: a slave cannot be loaded
    :raises WiringError: a connection does not fit
    :raises DcpPeerLostError: a slave in its own process crashed; it is named with the time
    """
    with ExitStack() as stack:
        local = {name: slave for name, slave in settings.slaves.items() if slave.is_local}
        processes = {
            name: stack.enter_context(closing(_process(name, slave, settings)))
            for name, slave in local.items()
            if apart
        }
        served: dict[str, tuple[SlaveDescription, int | None]] = {
            name: (_described(slave, settings), processes[name].port)
            if name in processes
            else _serve(name, slave, settings, stack)
            for name, slave in local.items()
        }
        master = Master(
            op_mode=OpMode[settings.mode.upper()],
            resolution=settings.step,
            stepping=settings.stepping,
            data_synchronisation=settings.data_synchronisation,
            timeout_s=settings.timeout_s,
            connect_wait_s=connect_wait_s,
            missing=settings.missing,
            acceptable_loss=settings.acceptable_loss,
            look_ns=0 if len(processes) < len(local) else DIALOGUE_NS,
        )
        stack.callback(master.close)  # before the slaves receive the request to end
        for name, slave in settings.slaves.items():
            if name in served:
                description, port = served[name]
            else:
                description, port = _described(slave, settings), slave.port
            master.add_slave(
                description,
                slave.host,
                port,
                name=name,
                transport=TRANSPORTS[slave.transport] if slave.transport else None,
                use=SlaveUse(
                    resolution=slave.step,
                    every=slave.every,
                    steps=slave.steps,
                    max_pdu_size=slave.max_pdu_size,
                    exact_types=slave.exact_types,
                ),
            )
        descriptions = {name: slave.description for name, slave in master.slaves.items()}
        fmus = {n: settings.base_directory / s.fmu for n, s in settings.slaves.items() if s.fmu}
        for wire in settings.connections:
            for source, to in terminal_wires(wire.source, wire.to, descriptions, fmus):
                master.connect(source, to, delayed=wire.delayed)
        try:
            yield master
        except DcpError as error:
            guilty = processes.get(error.slave)
            if guilty is None:
                raise
            at_s = float(master.steps_done * master.step_size)
            if isinstance(error, DcpTimeoutError):
                guilty.kill()  # it would not hear that it is to end
            elif isinstance(error, DcpPeerLostError) and (death := guilty.death()):
                raise DcpPeerLostError(
                    f"slave {guilty.name!r} ({guilty.file}) {death} at {at_s:g} s",
                    slave=guilty.name,
                ) from None
            if master.steps_done:
                error.args = (f"{error}, at {at_s:g} s", *error.args[1:])
            raise


def _options(settings: CoSimulation) -> SlaveOptions:
    return SlaveOptions(
        data_synchronisation=settings.data_synchronisation, checks=frozenset(settings.check)
    )


def _process(name: str, slave: SlaveSettings, settings: CoSimulation) -> SlaveProcess:
    file = slave.fmu or slave.model or ""
    return SlaveProcess(name, file, lambda: _made(slave, settings), _options(settings))


def _serve(
    name: str, slave: SlaveSettings, settings: CoSimulation, stack: ExitStack
) -> tuple[SlaveDescription, int]:
    model, description = _made(slave, settings)
    options = _options(settings)
    server = SlaveServer(
        model, description, host="127.0.0.1", port=0, once=False, options=options, look_ns=0
    )
    thread = threading.Thread(target=server.run, name=f"slave-{name}", daemon=True)
    thread.start()
    stack.callback(thread.join, 10.0)
    stack.callback(server.stop)
    return description, server.port


def run_cosimulation(
    settings: CoSimulation,
    out: TextIO,
    progress: Callable[[int], None] = lambda step: None,
    on_ended: Callable[[str], None] = lambda line: None,
) -> int:
    """Run to the end and write one CSV row per step: step, time [s], chosen outputs.

    :param on_ended: called with one line if a slave ends the simulation before the last step
    :returns: number of steps made
    :raises DcpError: a slave refused something or failed
    """
    for name, slave in settings.slaves.items():
        if slave.command is not None:
            raise WiringError(
                f"slaves.{name}.command: only 'cosim run' starts other programs; start it yourself "
                "and give its port"
            )
    with prepared(settings, apart=True) as master:
        columns = _columns(master, settings.outputs)
        starts = _split(master, settings.inputs, "inputs")
        tuned = {at: _split(master, v, f"tune.{at}") for at, v in settings.tune.items()}
        master.configure({n: s.parameters for n, s in settings.slaves.items() if s.parameters})
        signals = _signals(master, settings)

        def give(values_of: Mapping[str, Mapping[str, Value]]) -> None:
            for name, values in values_of.items():
                master.slaves[name].set_inputs(values)

        give(starts)
        if signals is not None:
            give(signals.at(Fraction(0)))
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(["step", "time", *(f"{slave.name}.{name}" for slave, name in columns)])

        def write(step: int) -> None:
            time = float(step * master.step_size)
            writer.writerow([step, repr(time), *(_text(s.output(n)) for s, n in columns)])

        if settings.initialise:
            master.initialise(settings.initialise)
            write(0)
        master.run()
        for step in range(1, settings.steps + 1):
            if step in tuned:
                master.tune(tuned[step])
            if signals is not None:
                give(signals.at((step - 1) * master.step_size))
            try:
                master.do_step()
            except SlaveEndedError as ended:
                if master.steps_done < step:
                    raise
                write(step)
                on_ended(
                    f"slave {ended.slave!r} ended the simulation at "
                    f"{float(step * master.step_size):g} s, in step {step} of {settings.steps}"
                )
                break
            write(step)
            progress(step)
        master.stop()
        return master.steps_done


def _signals(master: Master, settings: CoSimulation) -> InputSignals | None:
    if settings.signals is None:
        return None
    descriptions = {name: slave.description for name, slave in master.slaves.items()}
    return InputSignals(settings.base_directory / settings.signals, descriptions)


def _columns(master: Master, chosen: tuple[str, ...] | None) -> list[tuple[RemoteSlave, str]]:
    if chosen is None:
        return [(slave, name) for slave in master.slaves.values() for name in slave.output_names]
    columns = []
    for text in chosen:
        slave, name = _find(master, text, "outputs")
        if name not in slave.output_names:
            known = ", ".join(slave.output_names) or "none"
            raise WiringError(f"outputs: slave {slave.name!r} has no output {name!r}, only {known}")
        columns.append((slave, name))
    return columns


def _split(master: Master, values: Mapping[str, Any], where: str) -> dict[str, dict[str, Value]]:
    """``slave.variable: value`` as a mapping of mappings; lists become arrays."""
    parts: dict[str, dict[str, Value]] = {}
    for text, value in values.items():
        slave, name = _find(master, text, where)
        slave.description.variable(name)
        parts.setdefault(slave.name, {})[name] = tuple(value) if isinstance(value, list) else value
    return parts


def _find(master: Master, text: str, where: str) -> tuple[RemoteSlave, str]:
    slave, dot, name = text.partition(".")
    if not dot or slave not in master.slaves:
        known = ", ".join(master.slaves)
        raise WiringError(f"{where}: found {text!r}; allowed is slave.variable, slaves are {known}")
    return master.slaves[slave], name


def _text(value: Value) -> str:
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, tuple):
        return " ".join(_text(item) for item in value)
    return value.hex() if isinstance(value, bytes) else str(value)
