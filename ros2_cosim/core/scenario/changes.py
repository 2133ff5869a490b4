# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What becomes different during a run: parameters that models let change, faults, and resets.

A change acts from the first activation at its time on. So a run in which a user has made changes is
repeated by a scenario that declares them. A fault that is added is one that the scenario declares
from that time on. A reset lets the model of one participant be as at its start, while the others go
on; values that were changed stay so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, NamedTuple

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.scenario.declaration import declare
from ros2_cosim.core.scenario.faults import check_fault
from ros2_cosim.core.scenario.schema import ChangeSettings, Scenario, with_made

#: More changes are made by no hand.
MAX_CHANGES: Final = 10_000
#: Each of those by hand travels with each horizon of the rest of the run.
MAX_BY_HAND: Final = 1000
#: How messages call what may be changed at any port.
NEW_FAULT: Final = "faults.NAME with a new fault"


class Changeable(NamedTuple):
    """Something that may be changed: its path, and its present value."""

    path: str
    value: Any


def changeable(scenario: Scenario) -> Iterator[Changeable]:
    """All that may be changed during a run."""
    for name in scenario.participants:
        yield from _parameters(scenario, name)
    for fault, settings in scenario.faults.items():
        yield Changeable(f"faults.{fault}.active", settings.active)


def _parameters(scenario: Scenario, name: str) -> Iterator[Changeable]:
    declaration = declare(scenario, name)
    for key in declaration.traits.changeable:
        value = declaration.parameters.model_dump(mode="json")[key]
        yield Changeable(f"participants.{name}.parameters.{key}", value)


def reset_of(path: str) -> str | None:
    """The participant that a change resets; None: it changes something else."""
    section, *rest = path.split(".")
    return rest[0] if section == "participants" and rest[1:] == ["reset"] else None


def is_reset(scenario: Scenario, name: str) -> bool:
    """Whether a scenario declares that a participant is reset."""
    return any(reset_of(change.set) == name for change in scenario.changes)


def cannot_be_reset(scenario: Scenario, name: str) -> str:
    """Why a participant cannot be as at its start while others go on; empty if it can.

    Whether its model can is another question, which only a model answers.
    """
    settings = scenario.participants[name]
    declaration = declare(scenario, name)
    if declaration.traits.foreign:
        return "it stands for its own program, which goes on"
    if declaration.needs.simulator or declaration.needs.companions:
        return "it stands for a simulator or another process, which goes on"
    late = settings.overrun is not None and settings.overrun.policy in ("skip", "estimate")
    if settings.coupling is not None or late:
        return "its results may be late, and be on their way"
    if settings.substitute is not None:
        return "another model takes its place during the run"
    return ""


def changed(
    scenario: Scenario, path: str, to: Any, where: str = "set", at: int = 0, *, check: bool = True
) -> Scenario:
    """The scenario with one other value, or one more fault; by a reset it is the same.

    :param where: how messages call the place that names the path
    :param at: from when on [ns]
    :param check: whether it is checked; each change of a run is, once
    :raises ConfigurationError: it may not be changed during a run, or not to that
    """
    new = ChangeSettings(at=at, set=path, to=to)
    if new.new_fault is not None:
        with_it = with_made(scenario, [new], where)
        check_fault(with_it, new.new_fault)
        return with_it
    name = reset_of(path)
    if name is not None and name in scenario.participants:
        if to is not True:
            raise ConfigurationError(f"{where}: {path}: found {to!r}; allowed is true")
        obstacle = cannot_be_reset(scenario, name)
        if obstacle:
            raise ConfigurationError(f"{where}: {path}: '{name}' cannot be reset: {obstacle}")
        return scenario
    known = [each.path for each in changeable(scenario)] if check else []
    if check and path not in known:
        raise ConfigurationError(
            f"{where}: found '{path}'; allowed during a run are {', '.join((*known, NEW_FAULT))}"
        )
    section, name, *rest = path.split(".")
    if section == "faults":
        if not isinstance(to, bool):
            raise ConfigurationError(f"{where}: {path}: found {to!r}; allowed is true or false")
        fault = scenario.faults[name].model_copy(update={"active": to})
        return scenario.model_copy(update={"faults": {**scenario.faults, name: fault}})
    former = scenario.participants[name]
    parameters = {**former.parameters, rest[-1]: to}
    participant = former.model_copy(update={"parameters": parameters})
    result = scenario.model_copy(
        update={"participants": {**scenario.participants, name: participant}}
    )
    if check:
        declaration = declare(result, name)
        assert declaration.parameters is not None
        declaration.check()
    return result


def target_of(scenario: Scenario, path: str) -> str:
    """The participant that a change is about."""
    section, name, *_ = path.split(".")
    return scenario.faults[name].participant if section == "faults" else name


def _in_order(changes: Iterable[ChangeSettings]) -> list[ChangeSettings]:
    """Changes in order of time; those of one time as they were made, declared ones before."""
    return sorted(changes, key=lambda change: change.at)


class Due(NamedTuple):
    """A change from a time [ns] on: its path, and the scenario as it is by then."""

    at: int
    path: str
    scenario: Scenario


def due_changes(
    scenario: Scenario,
    name: str,
    checks: Callable[[ChangeSettings], bool] = lambda change: True,
) -> list[Due]:
    """What becomes different for a participant, with the scenario as it is by then.

    :param checks: says which have to be checked: to check each one again takes long
    :raises ConfigurationError: something may not be changed, or not to that
    """
    due, now = [], scenario
    for change in _in_order(scenario.changes):
        if target_of(scenario, change.set) == name and reset_of(change.set) is None:
            now = changed(now, change.set, change.to, check=checks(change))
            due.append(Due(change.at, change.set, now))
    return due


def check_changes(scenario: Scenario) -> list[ChangeSettings]:
    """The changes of a scenario in order of time.

    :raises ConfigurationError: something may not be changed, or not to that
    """
    if len(scenario.changes) > MAX_CHANGES:
        raise ConfigurationError(
            f"changes: found {len(scenario.changes)}; allowed are {MAX_CHANGES}"
        )
    for number, change in enumerate(scenario.changes):
        changed(scenario, change.set, change.to, f"changes.{number}.set")
    return _in_order(scenario.changes)
