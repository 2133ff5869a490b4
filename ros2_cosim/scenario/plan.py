# SPDX-License-Identifier: Apache-2.0
"""The bring-up plan: which processes a scenario needs in the shapes ``ros`` and ``composed``.

One plan serves ``ros2 launch`` and ``cosim run``: both start exactly these processes.
"""

from __future__ import annotations

import errno
import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from math import degrees
from pathlib import Path
from typing import Any

from ros2_cosim.documents.files import cause_of
from ros2_cosim.documents.installed import PACKAGE
from ros2_cosim.interfaces.namespaces import ROOT, node_name_of, qualified, shared_node_name
from ros2_cosim.interfaces.protocol import HISTORY_DEPTH
from ros2_cosim.interfaces.scene import DEFAULT_SIZE
from ros2_cosim.interfaces.spans import SPANS_DIRECTORY
from ros2_cosim.kernel.errors import ConfigurationError
from ros2_cosim.kernel.time import format_ns
from ros2_cosim.scenario.declaration import ParticipantDeclaration, declare_all, repeatability_of
from ros2_cosim.scenario.distribution import SIMULATOR, hosts_of
from ros2_cosim.scenario.executables import find_node
from ros2_cosim.scenario.hosting import hosted
from ros2_cosim.scenario.schema import Scenario
from ros2_cosim.scenario.server_ports import server_ports
from ros2_cosim.scenario.system import as_declared, declared_outputs
from ros2_cosim.scenario.views import RVIZ_VIEW, viewed_topics
from ros2_cosim.sockets.inherited import HeldSocket, close_all, hold

#: File names below the output directory of a run.
RESOLVED_SCENARIO = "scenario.json"
#: (kind, how far above the port that is named): RPC, streaming and the port that CARLA reserves for
#: secondary servers; control over either transport.
_SIMULATOR_SOCKETS = (("tcp", 0), ("tcp", 1), ("tcp", 2))
_SLAVE_SOCKETS = (("tcp", 0), ("udp", 0))
LOOPBACK = "127.0.0.1"
#: No model needs a shorter period: one that is given is hardly meant [ns].
SHORT_PERIOD_NS = 1_000


@dataclass(frozen=True)
class Process:
    """One process of a run.

    ``executable`` of ``package`` is what ``ros2 run`` would start; those of this package are
    the modules of ``ros2_cosim.nodes``. Without a package it is the path of a Python script, or
    the name of a program that is no ROS node. ``parameters`` are ROS parameters of a ROS node,
    ``arguments`` plain ones of any other program. A ``required`` process that ends ends the run,
    unless it ``leaves`` it in order. ``participant`` is the one that the process is, or serves;
    if there are several in it, ``hosts`` names them. One that ``inherits`` takes over the sockets
    that are held for it. The ``namespace`` is that of its nodes,
    ``ros_arguments`` are theirs besides. One that stands for another host has the processes
    ``there``.
    """

    name: str
    executable: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    arguments: tuple[str, ...] = ()
    is_ros: bool = True
    required: bool = True
    package: str = PACKAGE
    leaves: bool = False
    participant: str = ""
    hosts: tuple[str, ...] = ()
    inherits: bool = False
    namespace: str = ROOT
    ros_arguments: tuple[str, ...] = ()
    there: tuple[Process, ...] = ()

    @property
    def node(self) -> str:
        """The name of its node, if it is one; one of several participants is the project's."""
        return shared_node_name(self.name) if self.hosts else node_name_of(self.name)

    @property
    def participants(self) -> tuple[str, ...]:
        """Those that are lost with the process."""
        return self.hosts or (self.participant,) * bool(self.participant)

    @property
    def note(self) -> str:
        """Behind its name in messages: its participants, if there may be several."""
        return f" ({', '.join(self.hosts)})" if self.hosts else ""


@dataclass(frozen=True)
class RunOptions:
    """How a scenario is brought up.

    ``rate`` is a real-time factor, None: as fast as possible; ``hard`` asks for hard real time;
    ``arrivals`` is the arrival record of a run that is to be repeated.
    """

    output: Path
    shape: str = "ros"
    rate: float | None = None
    hard: bool = False
    arrivals: Path | None = None
    record: bool = True
    visualise: bool = False
    rviz: bool = False
    #: Where Foxglove finds the run, [HOST:]PORT; empty: nowhere.
    foxglove: str = ""
    #: Begin paused, before the activations at time 0.
    paused: bool = False
    #: How often it is run, one after the other, in the same processes.
    repeat: int = 1
    #: What carries messages between processes: a lane where it reaches all, or DDS.
    transport: str = "auto"
    #: Whether the processes note what they spend their time on.
    profile: bool = False
    #: Processes that the user starts: of a participant, or of several.
    by_hand: tuple[str, ...] = ()
    #: Of all nodes, topics and services.
    namespace: str = ROOT
    #: ROS arguments of all nodes.
    ros_arguments: tuple[str, ...] = ()
    #: When checkpoints are written [ns], and the one that the run goes on from.
    checkpoints: tuple[int, ...] = ()
    branch: Path | None = None


def make_plan(scenario: Scenario, options: RunOptions) -> list[Process]:
    """List the processes to start, in order.

    The resolved scenario must have been written to ``options.output``; servers first, the
    clock last.

    :raises ConfigurationError: a participant's node, or RViz, is not there; there is no such
        process to be started by hand; a participant cannot run in the process named for it; or
        other hosts cannot take part as they are wanted to
    """
    _check_by_hand(scenario, options)
    scenario_file = str(options.output / RESOLVED_SCENARIO)
    common: dict[str, Any] = {"scenario_file": scenario_file}
    if options.profile:
        common["profile"] = str(options.output / SPANS_DIRECTORY)
    rate: dict[str, Any] = {"rate": "max" if options.rate is None else options.rate}
    if options.paused:
        rate["paused"] = True
    if options.repeat > 1:
        rate["repeat"] = options.repeat
    realtime = _realtime_parameters(options)
    processes: list[Process] = []
    simulator = scenario.simulator
    declared = declare_all(scenario, options.shape)
    if simulator.kind == "headless" and any(d.needs.simulator for d in declared.values()):
        processes.append(
            Process(
                SIMULATOR,
                "carla_headless",
                arguments=(
                    "--host",
                    simulator.host,
                    "--port",
                    str(simulator.port),
                    "--map",
                    str(Path(scenario.base_directory) / str(scenario.scene.get("map", ""))),
                ),
                is_ros=False,
                inherits=True,
            )
        )
    for declaration in declared.values():
        processes += _companions(scenario, declaration, common, options.shape)
    if options.shape == "ros":
        processes += [
            process
            for process in _participants(scenario, {**common, **realtime})
            if process.name not in options.by_hand
        ]
    record: dict[str, Any] = {
        "output": str(options.output),
        "bag": options.record,
        "repeatable_scope": repeatability_of(declared).value,
    }
    if options.foxglove:
        record["foxglove"] = options.foxglove
    if options.shape == "ros":
        beside = {"reporters": json.dumps(_reporters(declared))}
        processes.append(Process("recorder", "recorder", parameters={**common, **record, **beside}))
    if options.visualise and not undrawable(scenario):
        processes.append(
            Process("visualisation", "visualisation", parameters=drawing(scenario), required=False)
        )
    if options.rviz and not undrawable(scenario):
        processes.append(_rviz(options))
    if options.shape == "ros":
        processes.append(Process("clock", "clock", parameters={**common, **rate, **realtime}))
    else:
        parameters = {**common, **record, **rate, **realtime}
        processes.append(Process("composed", "composed", parameters=parameters))
    placed = [
        replace(process, namespace=options.namespace, ros_arguments=options.ros_arguments)
        if process.is_ros
        else process
        for process in processes
    ]
    return _by_host(placed, hosts_of(scenario, declared, options.shape), options)


def _by_host(
    processes: list[Process], hosts: Mapping[str, str], options: RunOptions
) -> list[Process]:
    """The plan with one process for each other host, in the place of the first that is there."""
    if hosts:
        for option, given in (
            ("--profile", options.profile),
            ("--arrivals", options.arrivals is not None),
        ):
            if given:
                raise ConfigurationError(
                    f"{option}: found with participants on other hosts ({_listed(hosts)}); allowed "
                    "is it on one host: their files do not reach the other ones"
                )
    found: list[Process] = []
    for process in processes:
        host = hosts.get(process.name)
        if host is None:
            found.append(process)
        elif all(other.name != host for other in found):
            there = tuple(each for each in processes if hosts.get(each.name) == host)
            participants = dict.fromkeys(name for each in there for name in each.participants)
            found.append(
                Process(
                    host,
                    "far_host",
                    arguments=(str(options.output), host),
                    is_ros=False,
                    required=any(each.required for each in there),
                    hosts=tuple(participants),
                    there=there,
                )
            )
    return found


def _listed(hosts: Mapping[str, str]) -> str:
    return ", ".join(dict.fromkeys(hosts.values()))


def _participants(scenario: Scenario, common: Mapping[str, str]) -> list[Process]:
    """The processes of the participants in shape ``ros``; one of several where its first is."""
    groups = hosted(scenario)
    processes = []
    for name, participant in scenario.participants.items():
        group = groups.get(participant.process or "", [])
        if not group:
            package, executable = find_node(
                participant.node, Path(scenario.base_directory), f"participants.{name}.node"
            )
            parameters = {**common, "participant": name}
            part = _part_in_run(scenario, name, "ros")
            processes.append(
                Process(name, executable, parameters=parameters, package=package, **part)
            )
        elif participant.process and name == group[0]:
            parameters = {**common, "process": participant.process}
            processes.append(
                Process(
                    participant.process,
                    "participants",
                    parameters=parameters,
                    **_part_of_group(scenario, group),
                )
            )
    return processes


def _part_of_group(scenario: Scenario, group: list[str]) -> dict[str, Any]:
    """What the end of a process of several participants means: all of them have ended."""
    needed = [s for s in map(scenario.participants.__getitem__, group) if s.is_required]
    return {
        "hosts": tuple(group),
        "required": bool(needed),
        "leaves": all(settings.leave is not None for settings in needed),
    }


def _check_by_hand(scenario: Scenario, options: RunOptions) -> None:
    for name in options.by_hand:
        settings = scenario.participants.get(name)
        if settings is not None and settings.host is not None and options.shape == "ros":
            raise ConfigurationError(
                f"--by-hand {name}: it is on the host '{settings.host}'; allowed is "
                f"hosts.{settings.host}.start: hand, for all that is there"
            )
        if options.shape != "ros":
            raise ConfigurationError(
                f"--by-hand {name}: in shape {options.shape} participants have no processes of "
                "their own; allowed is --shape ros"
            )
        groups = hosted(scenario)
        if name in groups:
            continue
        if name not in scenario.participants:
            raise ConfigurationError(
                f"--by-hand {name}: the scenario '{scenario.name}' has no such participant; it has "
                f"{', '.join([*scenario.participants, *groups])}"
            )
        process = scenario.participants[name].process
        if process in groups:
            raise ConfigurationError(
                f"--by-hand {name}: it shares the process '{process}' with others "
                f"({', '.join(groups[process])}); allowed is --by-hand {process}"
            )


def _part_in_run(scenario: Scenario, name: str, shape: str) -> dict[str, Any]:
    """What the end of a participant's process means for the run."""
    settings = scenario.participants[name]
    if shape != "ros":
        return {"participant": name}
    return {
        "participant": name,
        "required": settings.is_required,
        "leaves": settings.leave is not None,
    }


def _realtime_parameters(options: RunOptions) -> dict[str, Any]:
    """What participants have to know of the wall clock: nothing, in an ordinary run."""
    found: dict[str, Any] = {}
    if options.rate is not None:
        found["rate"] = options.rate
        if options.hard:
            found["hard"] = True
    if options.arrivals is not None:
        found["arrivals"] = str(options.arrivals)
    return found


def _rviz(options: RunOptions) -> Process:
    if shutil.which("rviz2") is None:
        raise ConfigurationError(
            "rviz: the program rviz2 is not on the PATH; source a ROS installation that has it, "
            "or look at the bag and the report instead"
        )
    arguments: tuple[str, ...] = ("-d", str(options.output / RVIZ_VIEW))
    if options.namespace != ROOT:
        # The listener of tf2 takes these names whatever the namespace of its node is.
        tied = [
            f"{topic}:={qualified(options.namespace, topic)}" for topic in ("/tf", "/tf_static")
        ]
        arguments += ("--ros-args", "-r", tied[0], "-r", tied[1])
    return Process("rviz", "rviz2", arguments=arguments, is_ros=False, required=False, package="")


def unit_hint(period: int) -> str:
    """What to say behind a period [ns] that is hardly meant."""
    return "; a number without a unit is in nanoseconds" if period < SHORT_PERIOD_NS else ""


def check_history(scenario: Scenario) -> None:
    """See whether a reader can be as far behind as ``run_ahead`` allows without losing messages.

    :raises ConfigurationError: too many messages of a participant could be under way
    """
    for name, participant in scenario.participants.items():
        period = participant.period
        if period is not None and scenario.run_ahead // period > HISTORY_DEPTH // 2:
            raise ConfigurationError(
                f"participants.{name}.period: found {format_ns(period)}; with run_ahead "
                f"{format_ns(scenario.run_ahead)} more than {HISTORY_DEPTH // 2} of its messages "
                f"could be under way; lower run_ahead{unit_hint(period)}"
            )


def _companions(
    scenario: Scenario, declaration: ParticipantDeclaration, common: Mapping[str, str], shape: str
) -> Iterator[Process]:
    """The processes that run beside a participant."""
    name = declaration.name
    part = _part_in_run(scenario, name, shape)
    for companion in declaration.needs.companions:
        if companion.node:
            parameters = {**common, "participant": name}
            yield Process(
                companion.name, companion.node, parameters=parameters, inherits=True, **part
            )
            continue
        address = _at(scenario.participants[name].parameters, companion.address)
        host, port = str(address.get("host") or LOOPBACK), str(address.get("port") or 0)
        program, *words = (
            w.replace("{host}", host).replace("{port}", port) for w in companion.command
        )
        if "/" in program:  # relative to the scenario, as all its files
            program = str((Path(scenario.base_directory) / program).absolute())
        yield Process(
            companion.name,
            program,
            arguments=tuple(words),
            is_ros=False,
            package="",
            inherits=companion.inherits,
            **part,
        )


def _reporters(declared: Mapping[str, ParticipantDeclaration]) -> dict[str, str]:
    """Participant -> its companion that reports of the run, where it has one."""
    return {
        name: companion.name
        for name, declaration in declared.items()
        for companion in declaration.needs.companions
        if companion.node
    }


def undrawable(scenario: Scenario) -> str:
    """Why the visualisation has nothing to draw; empty if it has."""
    if drawn_vehicles(scenario):
        return ""
    return f"nothing is drawn: scenario '{scenario.name}' has no scene.vehicles"


def drawn_vehicles(scenario: Scenario) -> list[str]:
    """The vehicles that the visualisation shows, in driving order."""
    return [str(name) for name in scenario.scene.get("platoon", scenario.scene.get("vehicles", {}))]


def drawing(scenario: Scenario) -> dict[str, Any]:
    """What is drawn, and cannot be learnt from topics: parameters of the visualisation node."""
    vehicles = scenario.scene.get("vehicles", {})
    names = drawn_vehicles(scenario)
    tracks = viewed_topics(scenario, names).tracks
    sectors = [s for d in declare_all(scenario).values() for s in d.sectors]
    parameters: dict[str, Any] = {
        "road_file": str(Path(scenario.base_directory) / str(scenario.scene.get("map", ""))),
        "vehicles": names,
        "odometries": [tracks.get(name, f"/{name}/odometry") for name in names],
        # A size that the scene leaves to the simulator is drawn as that of the usual car.
        "lengths": [float(vehicles[name].get("length") or DEFAULT_SIZE[0]) for name in names],
        "widths": [float(vehicles[name].get("width") or DEFAULT_SIZE[1]) for name in names],
    }
    if sectors:
        parameters["sensors"] = [sector.vehicle for sector in sectors]
        parameters["sensor_fov_deg"] = degrees(sectors[0].angle)
        parameters["sensor_range_m"] = sectors[0].range
    return parameters


class HeldPorts:
    """The ports of the servers of a run, bound until their processes take them over.

    :ivar scenario: the scenario with their numbers
    :ivar of: the sockets, by the name of the process
    """

    def __init__(self, scenario: Scenario, of: dict[str, list[HeldSocket]]) -> None:
        self.scenario = scenario
        self.of = of

    def take(self, process: str) -> list[HeldSocket]:
        """The sockets of a process, which the caller closes."""
        return self.of.pop(process, [])

    def close(self) -> None:
        """Give up those that no process has taken."""
        close_all(held for sockets in self.of.values() for held in sockets)
        self.of.clear()


def hold_ports(scenario: Scenario, shape: str = "ros") -> HeldPorts:
    """Bind the ports of all servers of the plan, a free one where the scenario asks for port 0.

    Processes that are started at once must know each other's ports beforehand, also under
    ``ros2 launch``. For a server on another host the number is drawn only.

    :raises ConfigurationError: a port that the scenario asks for is in use
    """
    data = scenario.model_dump(by_alias=True)
    declared = declare_all(scenario)
    simulator = data["simulator"]
    far = hosts_of(scenario, declared, shape)
    held = HeldPorts(scenario, {})
    try:
        if SIMULATOR in far:
            simulator["port"] = simulator["port"] or next(server_ports())
        elif simulator["kind"] == "headless" and any(d.needs.simulator for d in declared.values()):
            held.of[SIMULATOR] = _reserve(
                simulator["host"], simulator["port"], "simulator", _SIMULATOR_SOCKETS
            )
            simulator["port"] = held.of[SIMULATOR][0].port
        for name, declaration in declared.items():
            parameters = data["participants"][name]["parameters"]
            for companion in declaration.needs.companions:
                if companion.address:
                    entry = _at(parameters, companion.address)
                    place = ".".join((declaration.context.where, *companion.address))
                    entry["host"] = entry.get("host") or LOOPBACK
                    if companion.name in far:
                        entry["port"] = entry.get("port") or next(server_ports())
                        continue
                    sockets = _reserve(entry["host"], entry.get("port") or 0, place, _SLAVE_SOCKETS)
                    held.of[companion.name] = sockets
                    entry["port"] = sockets[0].port
        held.scenario = Scenario.model_validate(data)
    except BaseException:
        held.close()
        raise
    return held


def resolve_ports(scenario: Scenario) -> Scenario:
    """The scenario with the numbers of :func:`hold_ports`, which are given up again; and with what
    models declare.

    :raises ConfigurationError: a port that the scenario asks for is in use
    """
    held = hold_ports(scenario)
    held.close()
    return with_declared_outputs(held.scenario)


def with_declared_outputs(scenario: Scenario) -> Scenario:
    """The scenario with what its models declare of their outputs."""
    data = scenario.model_dump(by_alias=True)
    for name, participant in scenario.participants.items():
        declared = cache(partial(declared_outputs, scenario, name))
        for port, output in participant.outputs.items():
            found = as_declared(scenario, name, port, output, declared)
            data["participants"][name]["outputs"][port] = found.model_dump(by_alias=True)
    return Scenario.model_validate(data)


def _at(parameters: Mapping[str, Any], place: Sequence[str]) -> Any:
    """What stands at a place in parameters; it is there, for a model has named it."""
    found: Any = parameters
    for key in place:
        found = found[key]
    return found


def _reserve(
    host: Any, port: Any, place: str, wanted: Sequence[tuple[str, int]]
) -> list[HeldSocket]:
    """Bind sockets to a port, or to a free one for 0.

    :param wanted: kind of each socket, and how far its port is above the first
    """
    highest = 65535 - max(above for _, above in wanted)
    if not isinstance(port, int) or isinstance(port, bool) or not 0 <= port <= highest:
        raise ConfigurationError(f"{place}.port: found {port!r}; allowed is 0 to {highest}")
    if not isinstance(host, str):
        raise ConfigurationError(f"{place}.host: found {host!r}; allowed is a host name")
    for candidate in (port,) if port else server_ports():
        if candidate > highest:
            continue
        sockets: list[HeldSocket] = []
        for kind, above in wanted:
            try:
                sockets.append(hold(kind, host, candidate + above))
            except OSError as error:
                close_all(sockets)
                if port == 0 and error.errno == errno.EADDRINUSE:
                    break  # try the next candidate
                which = f"port {port + above} on {host}"
                which += f", needed beside {port}," if above else ""
                raise ConfigurationError(
                    f"{place}: {which} cannot be used: {cause_of(error)}"
                    f"{'' if above else ' (port 0 takes a free one)'}"
                ) from None
        else:
            return sockets
    raise ConfigurationError(f"{place}: found no free port on {host}")
