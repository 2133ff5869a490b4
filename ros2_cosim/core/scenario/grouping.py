# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Grouping by default: which participants share a process in shape ``ros`` without being told.

A message between two processes costs two wake-ups, some tenths of a millisecond; between two
participants of one thread it is a call. So all that can share a thread share one process on each
host, except for long activations, which are worth their own core. The plan is a pure function
of the scenario, of what the models declare, and of the number of cores. It is written into the
resolved scenario: a run that is repeated from there has the same processes. The results are the
same with any plan.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.messages.namespaces import shared_node_name
from ros2_cosim.core.scenario.declaration import ParticipantDeclaration, declare_all
from ros2_cosim.core.scenario.hosting import needs_thread
from ros2_cosim.core.scenario.schema import OWN_PROCESS, RESERVED_NAMES, Scenario

#: How participants share processes: by the cores of this machine, or not at all.
AUTO = "auto"
#: An activation that takes so long [ns] is worth the wake-ups that another process costs.
LONG_NS = 1_000_000
#: Name of a process of several, without its number.
_GROUP = "group"


def cores_for(text: str) -> int:
    """The number of cores that a plan is made for; 0: none share a process.

    :param text: ``auto``, ``own``, or a number
    :raises ConfigurationError: it is anything else
    """
    if text == AUTO:
        return len(os.sched_getaffinity(0))
    if text == OWN_PROCESS:
        return 0
    if text.isascii() and text.isdigit() and int(text) > 0:
        return int(text)
    raise ConfigurationError(
        f"processes: found '{text}'; allowed are {AUTO}, {OWN_PROCESS}, and the number of cores "
        "to plan for"
    )


def grouped(scenario: Scenario, cores: int, by_hand: Collection[str] = ()) -> Scenario:
    """The scenario with a process for each participant that shares one.

    What the scenario says of processes stays.

    :param cores: to plan for; 0: the scenario stays unchanged
    :param by_hand: participants that the user starts
    """
    if not cores:
        return scenario
    declared = declare_all(scenario)
    able = {
        name: declaration
        for name, declaration in declared.items()
        if declaration.settings.process is None
        and name not in by_hand
        and not needs_thread(declaration)
    }
    places = dict(scenario.participants)
    names = _names(scenario)
    for host in (None, *scenario.hosts):
        there = {name: d for name, d in able.items() if d.settings.host == host}
        for group in _groups(scenario, there, cores):
            if len(group) > 1:
                process = next(names)
                for name in group:
                    places[name] = places[name].model_copy(update={"process": process})
    return scenario.model_copy(update={"participants": places})


def _groups(
    scenario: Scenario, able: Mapping[str, ParticipantDeclaration], cores: int
) -> list[list[str]]:
    """The groups, each in the order of the scenario: short activations together, long ones apart.

    Long ones go, the largest load first, to where there is the least so far.
    """
    long = [name for name in able if _cost(able[name]) >= LONG_NS]
    load = {name: _cost(able[name]) * 1_000_000_000 // _period(scenario, name) for name in able}
    short = [name for name in able if name not in long]
    groups = [short, *([] for _ in range(min(cores, len(long)) - 1))]
    loads = [sum(load[name] for name in group) for group in groups]
    for name in sorted(long, key=lambda name: -load[name]):
        place = loads.index(min(loads))
        groups[place].append(name)
        loads[place] += load[name]
    order = list(able)
    return [sorted(group, key=order.index) for group in groups]


def _cost(declaration: ParticipantDeclaration) -> int:
    """Typical wall time of one activation [ns]."""
    return declaration.traits.cost_ns or 0


def _period(scenario: Scenario, name: str) -> int:
    """How often a participant is activated, about [ns]: by its period, or that of its writers."""
    seen: set[str] = set()
    ask = [name]
    found: list[int] = []
    while ask:
        settings = scenario.participants[ask.pop()]
        if settings.period is not None:
            found.append(settings.period)
            continue
        writers = {s.partition(".")[0] for port in settings.inputs.values() for s in port.source}
        new = sorted((writers & scenario.participants.keys()) - seen)
        seen.update(new)
        ask += new
    return min(found, default=scenario.duration)


def _names(scenario: Scenario) -> Iterator[str]:
    """Names that no process has yet."""
    taken = {*scenario.participants, *RESERVED_NAMES}
    nodes = scenario.participants.keys()
    taken |= {str(settings.process) for settings in scenario.participants.values()}
    taken |= scenario.hosts.keys()
    number = 1
    while True:
        name = f"{_GROUP}{number}"
        number += 1
        if name not in taken and shared_node_name(name) not in nodes:
            yield name
