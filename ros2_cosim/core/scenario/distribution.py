# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Which processes of a run in shape ``ros`` are on which of its hosts.

A participant names it by its key ``host``. The processes beside it run there, too: the slave that
it drives, and the simulator of that. ``hosts.NAME.processes`` puts such a process elsewhere. Clock,
recorder and pictures are where the run is started: there the results are.
"""

from __future__ import annotations

from collections.abc import Mapping

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.scenario.declaration import ParticipantDeclaration
from ros2_cosim.core.scenario.hosting import processes_of
from ros2_cosim.core.scenario.schema import Scenario

#: The name of the simulator's process.
SIMULATOR = "simulator"


def hosts_of(
    scenario: Scenario, declared: Mapping[str, ParticipantDeclaration], shape: str
) -> dict[str, str]:
    """Process -> host, of those that are not where the run is started.

    :raises ConfigurationError: a host is to have a process that there is not, or that stays here;
        or it is not known where the simulator is
    """
    if shape != "ros":
        return {}
    found: dict[str, str | None] = {
        process: scenario.participants[names[0]].host
        for process, names in processes_of(scenario).items()
    }
    movable = _beside(scenario, declared)
    named = _named(scenario, movable)
    found |= movable | named
    if SIMULATOR in movable and SIMULATOR not in named:
        places = {d.settings.host for d in declared.values() if d.needs.simulator}
        if len(places) > 1:
            raise ConfigurationError(
                "hosts: participants on several hosts need the simulator; allowed is to name it "
                f"in the 'processes' of one of {', '.join(scenario.hosts)}"
            )
    return {process: host for process, host in found.items() if host is not None}


def _beside(
    scenario: Scenario, declared: Mapping[str, ParticipantDeclaration]
) -> dict[str, str | None]:
    """The processes beside participants, and where they are if nothing else is said."""
    found = {
        companion.name: declaration.settings.host
        for declaration in declared.values()
        for companion in declaration.needs.companions
    }
    users = [d.settings.host for d in declared.values() if d.needs.simulator]
    if scenario.simulator.kind == "headless" and users:
        found[SIMULATOR] = users[0]
    return found


def _named(scenario: Scenario, movable: Mapping[str, str | None]) -> dict[str, str | None]:
    found: dict[str, str | None] = {}
    for host, settings in scenario.hosts.items():
        for process in settings.processes:
            where = f"hosts.{host}.processes: found '{process}'"
            if process in found:
                raise ConfigurationError(f"{where}, as on '{found[process]}'; allowed is one host")
            if process not in movable:
                allowed = ", ".join(movable) or "none in this scenario"
                raise ConfigurationError(
                    f"{where}; allowed are processes beside participants: {allowed}"
                )
            found[process] = host
    return found
