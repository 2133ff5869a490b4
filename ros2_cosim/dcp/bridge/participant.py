# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The model ``dcp_master``: a participant whose plant is any set of DCP slaves.

Example (part of a scenario)::

    plant:
      model: dcp_master
      period: 10ms
      parameters:
        slaves:
          engine: {description: engine.dcpx, host: 192.168.1.7, port: 8080, transport: udp}
          road: {fmu: road.fmu}
        connections: [engine.speed -> road.v]
        inputs:
          command: {engine.pedal: throttle, engine.brake: brake}
        outputs:
          odometry: {fields: {x: road.s, vx: engine.speed, wz: {variable: road.turn,
                     factor: 0.017453292519943295}}}
          collision: {fields: road.collision.*, when: road.collision.count}
      inputs: {command: {from: driver.control, delayed: true}}
      outputs:
        odometry: {type: nav_msgs/msg/Odometry, topic: /odometry}
        collision: {type: ros2_cosim/msg/CollisionEvent, topic: /hits, schedule: sparse}

Slaves are given as for ``cosim dcp run``, with its keys ``check``, ``missing`` and
``acceptable_loss``. One with ``model`` or ``fmu`` and without ``port`` is served by this process;
in shape inproc all slaves are, so there each needs ``model`` or ``fmu``. In the other shapes the
run starts those with ``process: true`` or a ``command`` as their own processes.
The first activation reports the outputs of the initialization; each later one steps all
slaves up to its time. A port with ``when`` is silent unless that variable has changed.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, model_validator

from ros2_cosim.core.documents.installed import module_command
from ros2_cosim.core.documents.settings import Section
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.listening import Listening, PortUse
from ros2_cosim.core.kernel.loading import refuse_code
from ros2_cosim.core.kernel.model import (
    Companion,
    FullModel,
    Needs,
    Port,
    Ports,
    Repeatability,
    Report,
    Schedule,
    Traits,
)
from ros2_cosim.core.kernel.participant import Host, ModelContext, Step
from ros2_cosim.core.messages.catalogue import DEFAULT as CATALOGUE
from ros2_cosim.dcp.bridge.coupled import (
    CoupledSlaves,
    InputWriter,
    MappedOutput,
    PortMapping,
    data_ports,
)
from ros2_cosim.dcp.bridge.mapping import FieldWriter, RecordReader, find_variable
from ros2_cosim.dcp.bridge.whole import WholeWriter, is_whole, whole_output
from ros2_cosim.dcp.master.cosimulation import (
    CoSimulation,
    SlaveCouplingSettings,
    SlaveSettings,
    describe_slaves,
    prepared,
)
from ros2_cosim.dcp.standard.slave_description import Causality

LOOPBACK = "127.0.0.1"
#: All processes of a run are started at once; slaves may take so long to listen.
CONNECT_WAIT_S = 30.0


def _none_is_empty(value: object) -> object:
    return {} if value is None else value


class CoupledSlaveSettings(SlaveSettings):
    """A slave as for ``cosim dcp run``; the run can start it as its own process."""

    start: dict[str, Any] = Field(
        default_factory=dict, description="values of its inputs before the first message"
    )

    @model_validator(mode="after")
    def _one_process(self) -> CoupledSlaveSettings:
        if self.process and self.command is not None:
            raise ValueError("allowed is either process or command")
        if self.process and (self.model is None) == (self.fmu is None):
            raise ValueError("process: allowed with either model or fmu")
        if self.command is not None and not (self.command and all(self.command)):
            raise ValueError(
                f"command: found {list(self.command)!r}; allowed is a list of words, the first a "
                "program"
            )
        if self.command is not None and self.description is None:
            raise ValueError(
                "command: allowed with description, which says what the program is, and without "
                "process"
            )
        return self

    @property
    def is_started(self) -> bool:
        """Whether the run starts it."""
        return self.process or self.command is not None


class DcpOutputSettings(Section):
    """What one output port sends."""

    fields: str | dict[str, Any] = Field(
        description="field: slave.variable, a number or {variable, factor, offset} or {variable, "
        "values}; slave.prefix.* for all fields; slave.variable for whole messages"
    )
    when: str | None = Field(
        default=None, description="slave.variable; the port is silent unless it has changed"
    )
    once: bool = Field(default=False, description="send at the first activation only")

    @property
    def schedule(self) -> Schedule:
        """When the port sends."""
        return "sparse" if self.when else "once" if self.once else "every"


class MasterParameters(SlaveCouplingSettings):
    """Parameters of a DCP master."""

    slaves: dict[str, CoupledSlaveSettings] = Field(min_length=1, description="name: slave")
    inputs: Annotated[dict[str, Any], BeforeValidator(_none_is_empty)] = Field(
        default_factory=dict,
        description="input port: {slave.variable: field, ...}, slave.prefix.*, or slave.variable "
        "for whole messages",
    )
    outputs: Annotated[dict[str, DcpOutputSettings], BeforeValidator(_none_is_empty)] = Field(
        default_factory=dict, description="output port: what it sends"
    )

    @property
    def depends_on_wall_clock(self) -> bool:
        """Whether the slaves' clocks make them step, and not requests or data."""
        return self.mode != "nrt" and not self.data_synchronisation

    def cosimulation(self, base_directory: Path, *, inproc: bool) -> CoSimulation:
        """The slaves and their wiring.

        :param inproc: whether this process serves all slaves that it can
        """
        given = {name: getattr(self, name) for name in SlaveCouplingSettings.model_fields}
        slaves: dict[str, SlaveSettings] = dict(self.slaves)
        if inproc:
            slaves = {
                name: slave.model_copy(update={"host": None, "port": None})
                if slave.is_made
                else slave
                for name, slave in slaves.items()
            }
        return CoSimulation.model_construct(
            **given, slaves=slaves, steps=0, base_directory=base_directory
        )


class DcpMaster(FullModel):
    """Any DCP slaves, coupled to the ports of a participant by configuration.

    The example of this module shows the parameters.

    :raises ConfigurationError: slaves, wiring or mapping are wrong
    """

    Parameters = MasterParameters
    traits = Traits(repeatable=Repeatability.SAME_MACHINE)
    other_ports = False

    @classmethod
    def declared_ports(cls, context: ModelContext, parameters: MasterParameters) -> Ports:
        """Those that the parameters tie to variables."""
        return Ports(
            tuple(Port(name, description="as mapped") for name in parameters.inputs),
            tuple(
                Port(name, schedule=output.schedule, description="as mapped")
                for name, output in parameters.outputs.items()
            ),
        )

    @classmethod
    def declared_repeatability(
        cls, context: ModelContext, parameters: MasterParameters
    ) -> Repeatability:
        """Foreign slaves and FMUs compute with their own numerics; clocks tick as they do."""
        if parameters.depends_on_wall_clock:
            return Repeatability.NO
        own = all(slave.model is not None for slave in parameters.slaves.values())
        return Repeatability.EVERYWHERE if own else cls.traits.repeatable

    @classmethod
    def needs_beside(cls, context: ModelContext, parameters: MasterParameters) -> Needs:
        """The slaves that are started with the run."""
        companions: tuple[Companion, ...] = ()
        if context.shape != "inproc":
            companions = tuple(
                Companion(
                    f"{context.name}_{name}",
                    command=_command(context, parameters, slave),
                    address=("slaves", name),
                    inherits=slave.command is None,
                )
                for name, slave in parameters.slaves.items()
                if slave.is_started
            )
        return Needs(companions, alone="model 'dcp_master', which has DCP slaves beside it")

    @classmethod
    def listens_at(
        cls, context: ModelContext, parameters: MasterParameters
    ) -> tuple[Listening, ...]:
        """Where data of its slaves arrive, and where those listen that this process serves."""
        inproc = context.shape == "inproc"
        settings = parameters.cosimulation(context.base_directory, inproc=inproc)
        served: list[Listening] = []
        reached = []
        for name, description in describe_slaves(settings).items():
            slave = settings.slaves[name]
            offered = {"tcp": description.tcp, "udp": description.udp}
            kinds = [kind for kind, offer in offered.items() if offer is not None]
            if slave.is_local:
                served += (Listening(PortUse.DCP_CONTROL, kind, LOOPBACK) for kind in kinds)
            offer = offered[slave.transport or kinds[0]]
            host = slave.host or (offer.host if offer is not None else None)
            reached.append((host or LOOPBACK, slave.transport or kinds[0]))
        return (*served, *data_ports(reached))

    @classmethod
    def check_settings(cls, context: ModelContext, parameters: MasterParameters) -> None:
        """Check whether all slaves, variables and fields are there.

        :raises ConfigurationError: one is not
        """
        for name, slave in parameters.slaves.items():
            if slave.is_made or slave.command is not None:
                # A Python model, the binary in an FMU, or a program.
                found = slave.model or slave.fmu or shlex.join(slave.command or ())
                refuse_code(f"{context.where}.slaves.{name}: found '{found}', which")
        _check_shape(context, parameters)
        port_mapping(
            context, parameters, parameters.cosimulation(context.base_directory, inproc=False)
        )

    def __init__(self, context: ModelContext, parameters: MasterParameters) -> None:
        inproc = context.shape == "inproc"
        settings = parameters.cosimulation(context.base_directory, inproc=inproc)
        self._context = context
        self._parameters = parameters
        #: Whether no slave is served by this process.
        self._elsewhere = not any(slave.is_local for slave in settings.slaves.values())
        self._slaves = CoupledSlaves(
            context.name,
            port_mapping(context, parameters, settings),
            lambda: prepared(settings, CONNECT_WAIT_S),
            parameters={n: s.parameters for n, s in settings.slaves.items() if s.parameters},
            start={n: s.start for n, s in parameters.slaves.items() if s.start},
            period_ns=context.period_ns,
            initialise=settings.initialise,
            figure_prefix=f"{context.name}.",
            clocked=parameters.depends_on_wall_clock,
        )
        _check_shape(context, parameters)

    def attach(self, host: Host) -> None:
        """In a run that is profiled, the exchange with slaves is noted."""
        self._slaves.watch(host.watch)

    def activate(self, step: Step) -> Mapping[str, Any]:
        """Bring all slaves to the activation time and report their outputs.

        :raises DcpError: a slave refused something, failed or was lost
        """
        return self._slaves.activate(step)

    def finish(self) -> None:
        """The last activation is done: stop all slaves."""
        self._slaves.finish()

    def report(self) -> Report:
        """What the network did to the data, on UDP."""
        return self._slaves.report()

    def reset(self) -> None:
        """Another run begins: slaves of this process are made anew, others configured again.

        :raises DcpError: a slave refused something, failed or was lost
        """
        self._slaves.reset(connected=self._elsewhere)

    def close(self) -> None:
        """Deregister the slaves as far as they still answer; end those of this process."""
        self._slaves.close()


def port_mapping(
    context: ModelContext, parameters: MasterParameters, settings: CoSimulation
) -> PortMapping:
    """How the slaves' variables are tied to the participant's ports; starts no slave.

    :raises DescriptionError: a slave cannot be loaded
    :raises ConfigurationError: a port, a variable or a field is not there, or types do not fit
    """
    slaves = describe_slaves(settings)
    for name, coupled in parameters.slaves.items():
        for start in coupled.start:
            where = f"{context.where}.slaves.{name}.start"
            find_variable(f"{name}.{start}", slaves, where, Causality.INPUT)
    outputs = {}
    for port, output in parameters.outputs.items():
        where = f"{context.where}.outputs.{port}"
        if port not in context.output_types:
            known = ", ".join(context.output_types) or "none"
            raise ConfigurationError(f"{where}: no such output port; there are {known}")
        type_name = context.output_types[port]
        if is_whole(output.fields):
            codec = CATALOGUE.codec(type_name, start_ns=context.start_ns)
            found = whole_output(codec, str(output.fields), slaves, f"{where}.fields")
        else:
            record = CATALOGUE.record(type_name)
            found = MappedOutput(RecordReader(record, output.fields, slaves, f"{where}.fields"))
        when = None
        if output.when is not None:
            slave, variable = find_variable(output.when, slaves, f"{where}.when", Causality.OUTPUT)
            when = (slave, variable.name)
        outputs[port] = found._replace(when=when, once=output.once)
    inputs: dict[str, InputWriter] = {}
    for port, fields in parameters.inputs.items():
        where, read = f"{context.where}.inputs.{port}", context.input_types.get(port)
        if read and is_whole(fields):
            codec = CATALOGUE.codec(read, start_ns=context.start_ns)
            inputs[port] = WholeWriter(codec, fields, slaves, where)
        else:
            inputs[port] = FieldWriter(_record(read), fields, slaves, where)
    return PortMapping(outputs, inputs)


def _record(message_type: str | None) -> type | None:
    """The record class of the messages that come in, None where nothing comes in."""
    return CATALOGUE.record(message_type) if message_type else None


def _check_shape(context: ModelContext, parameters: MasterParameters) -> None:
    if context.shape == "inproc":
        for name, slave in parameters.slaves.items():
            if not slave.is_made:
                raise ConfigurationError(
                    f"{context.where}.slaves.{name}: shape inproc starts and reaches no other "
                    "process; give model or fmu, or use shape ros"
                )


def _command(
    context: ModelContext, parameters: MasterParameters, slave: SlaveSettings
) -> tuple[str, ...]:
    """The command line of a slave's process; host and port are filled in when it is started."""
    if slave.command is not None:
        return slave.command
    words = [*module_command("ros2_cosim.cli.main"), "dcp", "serve"]
    words += ["--port", "{host}:{port}", "--keep", "--newest-only"]
    base = context.base_directory
    for option, value in (
        ("--description", slave.description and base / slave.description),
        ("--interface", slave.interface and slave.interface.value),
        ("--step", slave.step or parameters.step),
    ):
        if value is not None:
            words += [option, str(value)]
    if parameters.data_synchronisation:
        words.append("--data-synchronisation")
    if parameters.mode == "hrt":
        words += ["--mode", "hrt"]
    for check in parameters.check:
        words += ["--check", check.value]
    return (*words, str(base / str(slave.model or slave.fmu)))
