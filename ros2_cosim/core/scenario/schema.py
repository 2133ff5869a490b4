# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The scenario file: the one description that every run shape is made from.

Pydantic validates it; this module turns each fault into one line that names the file, the place,
what was found and what is allowed.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, SerializeAsAny, model_validator

from ros2_cosim.core.documents.files import write_atomically
from ros2_cosim.core.documents.former_keys import in_present_words
from ros2_cosim.core.documents.plain_data import plain_copy, read_mapping
from ros2_cosim.core.documents.settings import (
    Duration,
    Host,
    Name,
    Number,
    PositiveDuration,
    RosTime,
    Section,
    Size,
    Whole,
    read_section,
    with_units,
    without_former,
)
from ros2_cosim.core.faults.settings import FaultSettings
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.time import ROS_TIME_END, format_ns, parse_duration
from ros2_cosim.core.kernel.unsynchronised import received_port
from ros2_cosim.core.messages.namespaces import OWN_NODES, OWN_PROCESSES
from ros2_cosim.core.realtime.settings import (
    CouplingSettings,
    InputEstimateSettings,
    OverrunSettings,
)
from ros2_cosim.core.scenario.calls import CallSettings, ServiceSettings, ports_of_calls
from ros2_cosim.core.scenario.composition import compose, with_overrides
from ros2_cosim.core.scenario.host_settings import HostSettings
from ros2_cosim.core.scenario.messages import offer_messages
from ros2_cosim.core.scenario.registry import find_model
from ros2_cosim.core.scenario.shared_topics import shared_topics

#: What the coordination protocol and the middleware use themselves.
_RESERVED_TOPICS = re.compile(r"/?(clock|rosout|parameter_events|cosim(/.*)?)")
_TOPIC = re.compile(r"/?[A-Za-z_][A-Za-z0-9_]*(/[A-Za-z_][A-Za-z0-9_]*)*")


def _topic(name: str) -> str:
    if not _TOPIC.fullmatch(name) or "__" in name:
        raise ValueError(
            f"found {name!r}; allowed is a ROS topic name: letters, digits and single underscores "
            "between slashes, no part beginning with a digit"
        )
    if _RESERVED_TOPICS.fullmatch(name):
        raise ValueError(
            f"found {name!r}, which runs use themselves; allowed is any other name than /clock, "
            "/rosout, /parameter_events and /cosim/..."
        )
    return name


TopicName = Annotated[str, AfterValidator(_topic)]


def _seam(value: object) -> object:
    """A name stands for a seam without parameters."""
    if isinstance(value, str):
        return {value: {}}
    if isinstance(value, dict) and len(value) != 1:
        raise ValueError(f"found {len(value)} names; allowed is one, or one with its parameters")
    if isinstance(value, dict):
        return {name: given or {} for name, given in value.items()}
    return value


#: Name of a seam and its parameters.
SeamChoice = Annotated[dict[str, dict[str, Any]], BeforeValidator(_seam)]


class InputSettings(Section):
    """One input port: ``from`` names one or several ``participant.port``."""

    source: tuple[str, ...] = Field(
        default=(),
        alias="from",
        description="`participant.port`, one or a list; required, except with `unsynchronised`",
    )
    delayed: bool = Field(
        default=False,
        description="whether it reads values stamped before t; not for triggering ports",
    )
    handled: bool = Field(default=False, description="whether each message is an activation")
    service: str | None = Field(
        default=None, description="set by `services`: its messages are requests to this service"
    )
    call: str | None = Field(
        default=None, description="set by `calls`: its messages are answers to this call"
    )
    estimate: InputEstimateSettings | None = Field(
        default=None, description="missing data are estimated"
    )
    seam: SeamChoice | None = Field(
        default=None, alias="as", description="the seam that converts what the writer sends"
    )
    unfed: bool = Field(default=False, description="whether `from` may be empty")
    unsynchronised: str | None = Field(
        default=None,
        pattern=r"^(/[A-Za-z_][A-Za-z0-9_]*)+$",
        description="topic of a node without simulated time, instead of `from`",
    )
    type: str | None = Field(default=None, description="message type of that topic")

    @model_validator(mode="after")
    def _check(self) -> "InputSettings":
        if self.handled and (self.delayed or self.estimate is not None or self.unsynchronised):
            raise ValueError(
                "a handled input takes each message at its stamp; it cannot be delayed, estimated "
                "or unsynchronised"
            )
        if self.seam is not None and self.unsynchronised is not None:
            raise ValueError("'as' goes with 'from': what is unsynchronised has no seam")
        if self.unsynchronised is None:
            if "source" not in self.model_fields_set:
                raise ValueError("'from' is missing (or 'unsynchronised', a topic, with its type)")
            if self.type is not None:
                raise ValueError("the type of an input is that of its writer; leave 'type' out")
        elif self.type is None or self.source:
            raise ValueError("an unsynchronised input needs a 'type' and has no 'from'")
        return self


class OutputSettings(Section):
    """One output port: its message type, topic, latency and schedule."""

    type: str = Field(description="any ROS message type")
    topic: TopicName = Field(description="not that of another output")
    frame_id: str | None = Field(
        default=None, description="for the header; default: that of the model, else `map`"
    )
    child_frame_id: str | None = Field(default=None, description="for message types that have one")
    latency: Any = Field(
        default=0,
        description="from activation to stamp, a duration or a distribution; the smallest one is "
        "the lookahead of readers",
    )
    schedule: Literal["every", "sparse", "once"] = Field(
        default="every",
        description="a message at every activation, at some, or only at the first one",
    )
    latched: bool = Field(
        default=False,
        description="whether observers that come later get the last message, as always with `once`",
    )
    shared: bool = Field(
        default=False, description="whether outputs of other participants write the same topic"
    )
    seam: SeamChoice | None = Field(
        default=None, alias="as", description="the seam that makes its messages from those of `of`"
    )
    of: tuple[str, ...] = Field(
        default=(), description="output ports of the model that the seam reads"
    )
    service: str | None = Field(
        default=None, description="set by `services`: its messages are answers of this service"
    )
    call: str | None = Field(
        default=None, description="set by `calls`: its messages are requests of this call"
    )
    # A resolved scenario says all three, so that no process has to load all models.
    whole: bool | None = Field(
        default=None,
        description="whether messages of another program are passed on whole; default: as the "
        "model says",
    )
    header_stamped: bool | None = Field(
        default=None, description="whether they keep the stamp of their header; default: the same"
    )
    record: str | None = Field(
        default=None, description="the module that ties a record class to the type; empty: none"
    )

    @property
    def frame(self) -> str:
        """The frame of its messages, as far as the scenario says it."""
        return "map" if self.frame_id is None else self.frame_id

    @model_validator(mode="after")
    def _check_seam(self) -> "OutputSettings":
        if (self.seam is None) != (not self.of):
            raise ValueError("'as', a seam, and 'of', the outputs that it is made of, go together")
        return self


class SubstituteSettings(Section):
    """Another model that takes over from a point of simulated time on."""

    model: str = Field(description="the other model")
    parameters: dict[str, Any] | None = Field(
        default=None, description="for it; default: those of the participant"
    )
    takes_over: Duration = Field(alias="from", description="when it takes over")


class ParticipantSettings(Section):
    """One participant: which model, when it runs, and its ports."""

    model: str = Field(
        description="a built-in model, the name of an entry point, or `module:Class`"
    )
    node: str = Field(
        default="participant",
        description="program that runs it in shape `ros`: `path/to/script.py` or "
        "`package/executable`",
    )
    process: Name | None = Field(
        default=None,
        description="in shape `ros`, the process that it shares with all that name it, or `own`; "
        "default: as planned for the run",
    )
    host: Name | None = Field(
        default=None,
        description="in shape `ros`, its machine, one of `hosts`; default: that of the run",
    )
    parameters: dict[str, Any] = Field(default_factory=dict, description="for the model")
    period: PositiveDuration | None = Field(
        default=None, description="between periodic activations"
    )
    offset: Duration = Field(default=0, description="time of the first periodic activation")
    dynamic_step: bool = Field(
        default=False, description="whether the model decides its next periodic activation"
    )
    activation: Any = Field(default=None, description="activation function")
    inputs: dict[str, InputSettings] = Field(default_factory=dict, description="by ports")
    outputs: dict[str, OutputSettings] = Field(default_factory=dict, description="by ports")
    # A loaded scenario has their ports instead.
    services: dict[Name, ServiceSettings] = Field(
        default_factory=dict, description="what it answers, in simulated time"
    )
    calls: dict[Name, CallSettings] = Field(
        default_factory=dict, description="what it asks others, in simulated time"
    )
    enter: Duration | None = Field(
        default=None,
        description="when it begins to take part; default: 0, autonomous: when it is ready",
    )
    leave: PositiveDuration | None = Field(
        default=None, description="when it no longer takes part; default: never"
    )
    mode: Literal["coordinated", "autonomous"] = Field(
        default="coordinated", description="whether the run waits for it to enter"
    )
    required: bool | None = Field(
        default=None,
        description="whether the run ends if it dies; default: whether it is coordinated",
    )
    overrun: OverrunSettings | None = Field(default=None, description="its deadline in a paced run")
    coupling: CouplingSettings | None = Field(
        default=None, description="it is a slow part, which may be late"
    )
    substitute: SubstituteSettings | None = Field(
        default=None, description="another model that takes over"
    )
    layers: dict[Name, dict[str, Any]] = Field(
        default_factory=dict,
        description="layers of other distributions and their parameters, the nearest to the model "
        "first",
    )

    @property
    def unsynchronised(self) -> dict[str, str]:
        """Unsynchronised input port -> topic."""
        return {p: i.unsynchronised for p, i in self.inputs.items() if i.unsynchronised}

    @property
    def enters_freely(self) -> bool:
        """Whether it enters when it is ready, whenever that is."""
        return self.mode == "autonomous" and self.enter is None

    @property
    def is_required(self) -> bool:
        """Whether the run cannot go on without it."""
        return self.mode == "coordinated" if self.required is None else self.required


class SimulatorSettings(Section):
    """The simulator that drives the world. With port 0 the headless server chooses a port."""

    kind: str = Field(
        default="headless",
        min_length=1,
        max_length=200,
        description="`headless`: our own server; `carla`: a running CARLA 0.9.16; `sumo`, "
        "another installed one, or `module:Class`",
    )
    host: Host = Field(default="127.0.0.1", description="address of the server")
    port: Whole = Field(
        default=0, ge=0, le=65535, description="its RPC port; 0: any free one (headless only)"
    )
    timeout_s: Number = Field(
        default=10.0, gt=0, description="longest wait for its first answer, of wall time [s]"
    )
    options: dict[str, Any] = Field(
        default_factory=dict, description="parameters of a simulator that takes some"
    )

    @model_validator(mode="after")
    def _check(self) -> "SimulatorSettings":
        if self.kind == "carla" and self.port == 0:
            raise ValueError("kind carla needs the port of the server (usually 2000), not 0")
        return self


_Fields = Annotated[
    tuple[str, ...] | None,
    Field(
        min_length=1, description="of its messages; default: all fields that are numbers or texts"
    ),
]


class ExternalPort(Section):
    """What a program that steps the run has to do with a port."""

    fields: _Fields = None


class ExternalOutput(ExternalPort):
    """What it sees of an output port."""

    source: str = Field(alias="from", description="`participant.port`")


class ExternalInput(ExternalPort):
    """What it gives to an unsynchronised input port."""

    to: str = Field(description="`participant.port`")


class ExternalSettings(Section):
    """The seam for a program that steps the run (shape ``external``)."""

    step: PositiveDuration = Field(description="the shortest one; the others are multiples")
    outputs: dict[Name, ExternalOutput] = Field(default_factory=dict, description="what it sees")
    inputs: dict[Name, ExternalInput] = Field(default_factory=dict, description="what it gives")

    @model_validator(mode="after")
    def _names_differ(self) -> "ExternalSettings":
        both = self.outputs.keys() & self.inputs.keys()
        taken = {"run"} & (self.outputs.keys() | self.inputs.keys())
        for name in sorted(both | taken):
            raise ValueError(
                f"found '{name}' {'twice' if name in both else ''}; allowed are names that differ "
                "from each other and from 'run'"
            )
        return self


#: Each file of a bag declares all topics and types anew, some 20 to 50 kB: in smaller ones they
#: would outweigh the messages.
MIN_SPLIT_BYTES = 65_536
MIN_SPLIT_NS = 100_000_000
MIN_SCENE_NS = 1_000_000


class SplitSettings(Section):
    """Where a file of a bag ends and the next one begins; with both, where the first of them is."""

    size: Size | None = Field(
        default=None,
        ge=MIN_SPLIT_BYTES,
        description="largest size of the messages in one file, before compression",
    )
    duration: PositiveDuration | None = Field(
        default=None,
        ge=MIN_SPLIT_NS,
        description="a file for each such stretch of simulated time, counted from 0",
    )


class BagSettings(Section):
    """The content of the bag of a run; patterns as in a shell: ``/camera/*``."""

    topics: tuple[str, ...] = Field(default=("*",), description="patterns of those that it has")
    exclude: tuple[str, ...] = Field(default=(), description="patterns of those that it has not")
    scene: PositiveDuration | None = Field(
        default=None,
        ge=MIN_SCENE_NS,
        description="it has /clock, /tf and markers, too, at multiples of this simulated time",
    )
    split: SplitSettings = Field(default=SplitSettings(), description="several files")
    compression: Literal["none", "zstd", "lz4"] = Field(
        default="none", description="of the chunks of its files"
    )
    exports: dict[Name, dict[str, Any]] = Field(
        default_factory=dict,
        description="other forms that it is written in when the run has ended, into a directory "
        "beside it: name: parameters",
    )

    def has(self, topic: str) -> bool:
        """Whether it has a topic."""
        return _matches(topic, self.topics) and not _matches(topic, self.exclude)


def _matches(topic: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(topic, pattern) for pattern in patterns)


class ChangeSettings(Section):
    """What is different from a time on: a parameter, a fault switched or added, or a reset."""

    at: Duration = Field(description="from when on")
    set: str = Field(
        description="`participants.NAME.parameters.KEY` of a parameter that its model lets change, "
        "`participants.NAME.reset`, `faults.NAME.active`, or `faults.NAME` of a new fault"
    )
    to: Any = Field(
        description="the new value; of a new fault its keys, as in `faults`; of a reset `true`"
    )

    @property
    def new_fault(self) -> str | None:
        """The name of the fault that it adds; None: it adds none."""
        section, _, name = self.set.partition(".")
        return name if section == "faults" and "." not in name else None


class Scenario(Section):
    """A whole scenario."""

    version: Literal[1] = Field(default=1, description="of the format of scenario files")
    name: Name = Field(description="lower-case letters, digits and underscores")
    description: str = Field(default="", description="for readers")
    seed: Whole = Field(default=1, ge=0, lt=2**63, description="of all random streams")
    start_time: RosTime = Field(
        default=0,
        description="what `/clock`, stamps and the bag show at the start: a duration since 1970, "
        "a date as `2026-01-01T00:00:00Z`, or `{sec: 0, nanosec: 0}`; other times count from there",
    )
    duration: PositiveDuration = Field(description="latest end of the run")
    stop_latency: PositiveDuration = Field(
        default=500_000_000, description="a stop requested at t ends the run at t + this"
    )
    run_ahead: Duration = Field(
        default=500_000_000,
        description="how far a participant may be ahead of `/clock`, at most `stop_latency`; 0 is "
        "lockstep: no participant begins a step before all have finished the one before",
    )
    clock_step: PositiveDuration = Field(
        default=50_000_000,
        description="largest step of `/clock`, at most half of `run_ahead` unless that is 0",
    )
    startup_s: Number = Field(
        default=120.0,
        gt=0,
        description="stop the run if participants are not ready after this wall time [s]",
    )
    watchdog_warn_s: Number = Field(
        default=10.0,
        gt=0,
        description="warn if there is no sign of life for this wall time [s]",
    )
    watchdog_s: Number = Field(
        default=30.0,
        gt=0,
        description="stop the run if there is no progress for this wall time [s]",
    )
    messages: tuple[str, ...] = Field(
        default=(), description="directories of message packages that are not installed"
    )
    simulator: SimulatorSettings = Field(
        default=SimulatorSettings(), description="what drives the world"
    )
    scene: dict[str, Any] = Field(default_factory=dict, description="what all models share")
    participants: dict[Name, ParticipantSettings] = Field(description="by names")
    hosts: dict[Name, HostSettings] = Field(
        default_factory=dict, description="other machines that participants are on"
    )
    faults: dict[Name, SerializeAsAny[FaultSettings]] = Field(
        default_factory=dict, description="what is done to messages, in this order"
    )
    bag: BagSettings = Field(default=BagSettings(), description="what is recorded")
    changes: tuple[ChangeSettings, ...] = Field(
        default=(), description="what becomes different during the run, in order of time"
    )
    external: ExternalSettings | None = Field(
        default=None, description="for a program that steps the run: what it sees and gives"
    )
    base_directory: str = Field(
        default=".",
        description="directory of relative file names; default: that of the scenario file",
    )

    def outputs_of(self, name: str) -> dict[str, OutputSettings]:
        """The outputs of a participant, and a port for what each unsynchronised input has read."""
        participant = self.participants[name]
        return {
            **participant.outputs,
            **{
                received_port(port): OutputSettings.model_construct(
                    type=str(settings.type),
                    topic=f"/cosim/received/{name}/{port}",
                    schedule="sparse",
                    whole=True,
                    header_stamped=False,
                )
                for port, settings in participant.inputs.items()
                if settings.unsynchronised
            },
        }


#: As a process: one that is shared with no other.
OWN_PROCESS = "own"
#: Names that processes of a run, and their nodes, have beside the participants.
RESERVED_NAMES = OWN_PROCESSES | OWN_NODES | {"rviz", "simulator"}


def _check(scenario: Scenario, origin: str) -> None:
    for name in scenario.participants:
        slave = name.removesuffix("_slave")
        if name in RESERVED_NAMES or (name != slave and slave in scenario.participants):
            raise ConfigurationError(
                f"scenario {origin}: participants.{name}: another process of a run has this name; "
                f"reserved are {', '.join(sorted(RESERVED_NAMES))} and PARTICIPANT_slave"
            )
        process = scenario.participants[name].process
        if process is not None and _is_taken(process, scenario):
            raise ConfigurationError(
                f"scenario {origin}: participants.{name}.process: found '{process}'; another "
                f"process or node of a run has this name; reserved are those of participants, "
                f"{', '.join(sorted(RESERVED_NAMES))} and PARTICIPANT_slave"
            )
    _check_hosts(scenario, origin)
    if scenario.start_time and scenario.start_time + scenario.duration >= ROS_TIME_END:
        raise ConfigurationError(
            f"scenario {origin}: start_time: found {format_ns(scenario.start_time)}; the run must "
            f"end before {format_ns(ROS_TIME_END)}, where the stamps of ROS end"
        )
    if scenario.run_ahead > scenario.stop_latency:
        raise ConfigurationError(
            f"scenario {origin}: run_ahead: found {format_ns(scenario.run_ahead)}; it must be at "
            f"most stop_latency ({format_ns(scenario.stop_latency)})"
        )
    if 0 < scenario.run_ahead < 2 * scenario.clock_step:
        raise ConfigurationError(
            f"scenario {origin}: clock_step: found {format_ns(scenario.clock_step)}; it must be "
            f"at most half of run_ahead ({format_ns(scenario.run_ahead)})"
        )


def _check_hosts(scenario: Scenario, origin: str) -> None:
    processes = {settings.process for settings in scenario.participants.values()}
    for machine in scenario.hosts:
        if _is_taken(machine, scenario) or machine in processes:
            raise ConfigurationError(
                f"scenario {origin}: hosts.{machine}: a participant or a process of a run has this "
                "name; allowed is another one"
            )
    places: dict[str, str | None] = {}
    for name, settings in scenario.participants.items():
        where = f"scenario {origin}: participants.{name}.host"
        if settings.host is not None and settings.host not in scenario.hosts:
            allowed = ", ".join(scenario.hosts) or "none without a section 'hosts'"
            raise ConfigurationError(f"{where}: found '{settings.host}'; allowed is {allowed}")
        if settings.process not in (None, OWN_PROCESS):
            host = places.setdefault(str(settings.process), settings.host)
            if host != settings.host:
                raise ConfigurationError(
                    f"{where}: found {settings.host or 'none'}; allowed is {host or 'none'}, that "
                    f"of others with process '{settings.process}'"
                )


def _is_taken(process: str, scenario: Scenario) -> bool:
    names = RESERVED_NAMES | scenario.participants.keys()
    return process in names or process.removesuffix("_slave") in scenario.participants


def load_scenario(path: Path, overrides: Sequence[str] = ()) -> Scenario:
    """Read a scenario file, with what it includes.

    :param path: YAML or JSON
    :param overrides: ``dotted.key=value`` texts, applied in order; the value is YAML. Those of
        ``parameters`` and of templates come before these are resolved, all others after
    :raises ConfigurationError: the file cannot be read, or something in it is wrong; the
        message names file and place
    """
    try:
        return make_scenario(compose(path, overrides), str(path), by_hand=True)
    except ConfigurationError:
        data = read_mapping(path, "scenario") if path.suffix == ".json" else {}
        if "base_directory" not in data:
            raise
    return changed_by_hand(data, overrides, str(path))


def changed_by_hand(data: Mapping[str, Any], overrides: Sequence[str], origin: str) -> Scenario:
    """A scenario that this project wrote, with changes by a user.

    Earlier versions wrote times as whole nanoseconds.

    :param overrides: ``dotted.key=value`` texts, applied in order
    :raises ConfigurationError: a change is wrong
    """
    try:
        present = without_former(Scenario, data)
        in_present_words(present["participants"])
        read = make_scenario(present, origin)
    except ConfigurationError as error:
        raise ConfigurationError(
            f"{error}; if another version of ros2_cosim has written it, it is too old for this one"
        ) from None
    written = json.loads(read.model_dump_json(by_alias=True))
    for name, participant in written["participants"].items():
        for output in participant["outputs"].values():
            output["latency"] = _with_unit(output["latency"])
        try:
            kind = find_model(participant["model"], f"participants.{name}.model").kind.Parameters
        except ConfigurationError:
            continue  # what reads a recording alone needs no models
        if kind is not None:
            participant["parameters"] = with_units(kind, participant["parameters"])
    return make_scenario(with_overrides(written, overrides, origin), origin, by_hand=True)


def _with_unit(latency: Any) -> Any:
    if isinstance(latency, dict):
        return {key: _with_unit(part) for key, part in latency.items()}
    if isinstance(latency, list):
        return [_with_unit(part) for part in latency]
    return f"{latency}ns" if type(latency) is int and latency else latency


def make_scenario(data: Mapping[str, Any], origin: str, *, by_hand: bool = False) -> Scenario:
    """Check a scenario given as plain data.

    :param origin: what messages call it
    :param by_hand: whether a user wrote it: a time needs a unit then
    :raises ConfigurationError: something in it is wrong
    """
    data = plain_copy(data, f"scenario {origin}")
    participants = data.get("participants")
    if isinstance(participants, dict):
        data["participants"] = {name: _expand(settings) for name, settings in participants.items()}
    scenario = read_section(Scenario, data, origin=f"scenario {origin}", by_hand=by_hand)
    try:
        offer_messages(scenario.messages, Path(scenario.base_directory))
        scenario = _with_shared_topics(_with_call_ports(scenario))
        declared = scenario.model_copy(update={"changes": ()})
        scenario = with_made(declared, scenario.changes, "changes.{}.to")
    except ConfigurationError as error:
        raise ConfigurationError(f"scenario {origin}: {error}") from None
    _check(scenario, origin)
    return scenario


def _with_call_ports(scenario: Scenario) -> Scenario:
    """The scenario with the ports of its calls instead of ``services`` and ``calls``."""
    participants = {
        name: settings.model_copy(
            update={
                "inputs": dict(settings.inputs),
                "outputs": dict(settings.outputs),
                "services": {},
                "calls": {},
            }
        )
        for name, settings in scenario.participants.items()
    }
    for name, port, given, sent in ports_of_calls(scenario.participants):
        participants[name].inputs[port] = InputSettings.model_validate(given)
        participants[name].outputs[port] = OutputSettings.model_validate(sent)
    return scenario.model_copy(update={"participants": participants})


def _with_shared_topics(scenario: Scenario) -> Scenario:
    """The scenario with a participant for each topic that several outputs share."""
    participants = dict(scenario.participants)
    for name, settings, writers in shared_topics(scenario.participants):
        for (writer, port), topic in writers.items():
            found = participants[writer]
            own = found.outputs[port].model_copy(update={"topic": topic, "shared": False})
            outputs = {**found.outputs, port: own}
            participants[writer] = found.model_copy(update={"outputs": outputs})
        participants[name] = ParticipantSettings.model_validate(settings)
    return scenario.model_copy(update={"participants": participants})


def with_made(scenario: Scenario, changes: Sequence[ChangeSettings], where: str) -> Scenario:
    """The scenario with more changes.

    A fault that a change adds is one of the scenario that acts from that time on. So no other code
    needs to distinguish the two.

    :param changes: in the order in which they are made
    :param where: how messages call a change, ``{}`` is its number from 0
    :raises ConfigurationError: a fault that is added is wrong, or exists already
    """
    faults = dict(scenario.faults)
    for number, change in enumerate(changes):
        if (name := change.new_fault) is not None:
            place = where.format(number)
            if name in faults:
                raise ConfigurationError(
                    f"{place}: found a new fault '{name}', which is there already; allowed is "
                    f"another name, or faults.{name}.active"
                )
            new = {**change.to, "from": _begin(change)} if type(change.to) is dict else change.to
            faults |= read_section(_NewFaults, {"faults": {name: new}}, origin=place).faults
    others = (change for change in changes if change.new_fault is None)
    return scenario.model_copy(update={"faults": faults, "changes": (*scenario.changes, *others)})


class _NewFaults(Section):
    faults: dict[Name, FaultSettings]


def _begin(change: ChangeSettings) -> Any:
    """When an added fault begins: not before it is there."""
    wanted = change.to.get("from", 0)
    try:
        return format_ns(max(change.at, parse_duration(wanted)))
    except ConfigurationError:
        return wanted  # what is wrong with it is said with its place


def save_scenario(scenario: Scenario, path: Path) -> None:
    """Write the resolved scenario as JSON, for the processes of a run and for later replay."""
    text = scenario.model_dump_json(by_alias=True, indent=1)
    write_atomically(path, text + "\n")


def _expand(settings: Any) -> Any:
    """Allow ``port: participant.port`` as short form of an input."""
    if not isinstance(settings, dict) or not isinstance(settings.get("inputs"), dict):
        return settings
    inputs = {}
    for port, value in settings["inputs"].items():
        if isinstance(value, str):
            value = {"from": [value]}
        elif isinstance(value, list):
            value = {"from": value}
        elif isinstance(value, dict) and isinstance(value.get("from"), str):
            value = {**value, "from": [value["from"]]}
        inputs[port] = value
    return {**settings, "inputs": inputs}
