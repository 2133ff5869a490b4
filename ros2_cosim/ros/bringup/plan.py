# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The bring-up plan: which processes a scenario needs in the shapes ``ros`` and ``composed``.

One plan serves ``ros2 launch`` and ``cosim run``: both start exactly these processes.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ros2_cosim.core.documents.installed import PACKAGE
from ros2_cosim.core.documents.run_files import RESOLVED_SCENARIO, RVIZ_VIEW
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.messages.namespaces import ROOT, node_name_of, qualified, shared_node_name
from ros2_cosim.core.record.spans import SPANS_DIRECTORY
from ros2_cosim.core.run.request import RunOptions
from ros2_cosim.core.scenario.declaration import (
    ParticipantDeclaration,
    declare_all,
    repeatability_of,
)
from ros2_cosim.core.scenario.distribution import SIMULATOR, hosts_of
from ros2_cosim.core.scenario.drawing import drawing, road_file, undrawable
from ros2_cosim.core.scenario.executables import find_node
from ros2_cosim.core.scenario.held_ports import LOOPBACK, address_of
from ros2_cosim.core.scenario.hosting import hosted
from ros2_cosim.core.scenario.schema import Scenario
from ros2_cosim.core.scene.named_simulator import headless_options

#: Where the executables of this wing are.
PROGRAMS = "ros2_cosim.ros.programs"


@dataclass(frozen=True)
class Process:
    """One process of a run.

    ``executable`` of ``package`` is what ``ros2 run`` would start; those of this package are
    modules with a function ``main``. Without a package it is the path of a Python script, or the
    name of a program that is not a ROS node. ``parameters`` are ROS parameters of a ROS node,
    ``arguments`` plain ones of any other program. A ``required`` process that ends ends the run,
    unless it ``leaves`` it in order. ``participant`` is the one that the process is, or serves; if
    there are several in it, ``hosts`` names them. A process that ``inherits`` takes over the
    sockets that are held for it. The ``namespace`` is that of its nodes, ``ros_arguments`` are
    theirs besides. A process that stands for another host has the processes ``there``. The module
    of an executable of this package is in ``programs``.
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
    programs: str = PROGRAMS

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
    declared = declare_all(scenario, options.shape)
    processes = _simulator(scenario, declared)
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
        replace(process, namespace=options.namespace, ros_arguments=options.ros_args)
        if process.is_ros
        else process
        for process in processes
    ]
    return _by_host(placed, hosts_of(scenario, declared, options.shape), options)


def _simulator(scenario: Scenario, declared: Mapping[str, ParticipantDeclaration]) -> list[Process]:
    """The headless server, if a participant needs it."""
    settings = scenario.simulator
    if settings.kind != "headless" or not any(d.needs.simulator for d in declared.values()):
        return []
    places = ("--port", f"{settings.host}:{settings.port}")
    scenery = headless_options(settings.model_dump()).scenery
    arguments = (*places, "--map", str(road_file(scenario)), "--scenery", scenery)
    return [Process(SIMULATOR, "carla_headless", arguments=arguments, is_ros=False, inherits=True)]


def _by_host(
    processes: list[Process], hosts: Mapping[str, str], options: RunOptions
) -> list[Process]:
    """The plan with one process for each other host, instead of the first that is there."""
    if hosts:
        for option, given in (
            ("--profile", options.profile),
            ("--arrivals", options.arrivals is not None),
        ):
            if given:
                raise ConfigurationError(
                    f"{option}: found with participants on other hosts ({_listed(hosts)}); it is "
                    "allowed only on one host: their files do not reach the other ones"
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
        if settings is not None and settings.host is not None:
            raise ConfigurationError(
                f"--by-hand {name}: it is on the host '{settings.host}'; allowed is "
                f"hosts.{settings.host}.start: hand, for all that is there"
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
        address = address_of(companion, scenario.participants[name].parameters)
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
