# SPDX-License-Identifier: Apache-2.0
"""What becomes different during a run: parameters that models let change, faults, and resets.

A change acts from the first activation at its time on. So a run in which a user has made changes is
repeated by a scenario that declares them. A fault that is added is one that the scenario declares
from that time on. A reset lets the model of one participant be as at its start, while the others go
on; values that were changed stay so.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

from ros2_cosim.documents.files import cause_of, read_bounded, write_atomically
from ros2_cosim.documents.plain_data import json_value
from ros2_cosim.documents.settings import Section, read_section
from ros2_cosim.faults.faulty import Faulty
from ros2_cosim.interfaces.protocol import RunChange
from ros2_cosim.kernel.errors import ConfigurationError, LifecycleError
from ros2_cosim.kernel.model import Model, Wrapper, layers
from ros2_cosim.kernel.participant import Past, Step
from ros2_cosim.kernel.runtime import ParticipantRuntime
from ros2_cosim.kernel.time import NEVER, format_ns
from ros2_cosim.realtime.renewal import Renewable, cannot_begin_anew
from ros2_cosim.scenario.declaration import declare
from ros2_cosim.scenario.faults import add_fault, check_fault
from ros2_cosim.scenario.schema import ChangeSettings, Scenario, with_made

CHANGES_FILE: Final = "changes.json"
"""What a user has changed during a run, beside its scenario."""

#: More changes are made by no hand.
MAX_CHANGES: Final = 10_000
#: Each of those by hand travels with each horizon of the rest of the run.
MAX_BY_HAND: Final = 1000
_MAX_BYTES: Final = 10_000_000


NEW_FAULT: Final = "faults.NAME with a new fault"
"""How messages call what may be changed at any port."""


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
        return "it stands for a program of its own, which goes on"
    if declaration.needs.simulator or declaration.needs.companions:
        return "it stands for a simulator or another process, which goes on"
    late = settings.overrun is not None and settings.overrun.policy in ("skip", "estimate")
    if settings.coupling is not None or late:
        return "its results may be late, and be on their way"
    if settings.substitute is not None:
        return "another model takes its place during the run"
    return ""


def changed(scenario: Scenario, path: str, to: Any, where: str = "set", at: int = 0) -> Scenario:
    """The scenario with one other value, or one more fault; by a reset it is the same.

    :param where: how messages call the place that names the path
    :param at: from when on [ns]
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
    known = [each.path for each in changeable(scenario)]
    if path not in known:
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
    declaration = declare(result, name)
    assert declaration.parameters is not None
    declaration.check()
    return result


def target_of(scenario: Scenario, path: str) -> str:
    """The participant that a change is about."""
    section, name, *_ = path.split(".")
    return scenario.faults[name].participant if section == "faults" else name


def apply(scenario: Scenario, path: str, model: Model) -> None:
    """Let a participant's model have a value as the scenario says it.

    :param model: with all that stands around it
    """
    section, name, *_ = path.split(".")
    if section == "faults":
        for layer in layers(model):
            if isinstance(layer, Faulty):
                layer.switch(name, scenario.faults[name].active)
        return
    model.change_parameters(declare(scenario, name).parameters)


class _Due(NamedTuple):
    at: int
    path: str
    scenario: Scenario


def _in_order(changes: Iterable[ChangeSettings]) -> list[ChangeSettings]:
    """Changes in order of time; those of one time as they were made, declared ones before."""
    return sorted(changes, key=lambda change: change.at)


def _due(scenario: Scenario, name: str) -> list[_Due]:
    """What becomes different for a participant, with the scenario as it is by then.

    :raises ConfigurationError: something may not be changed, or not to that
    """
    due, now = [], scenario
    for change in _in_order(scenario.changes):
        if target_of(scenario, change.set) == name and reset_of(change.set) is None:
            now = changed(now, change.set, change.to)
            due.append(_Due(change.at, change.set, now))
    return due


class Changing(Wrapper):
    """A model that is changed, or reset, at given times.

    :param scenario: as it is at the start, with its changes
    :param name: the participant
    :raises ConfigurationError: something may not be changed, or not to that
    """

    def __init__(self, inner: Model, scenario: Scenario, name: str) -> None:
        super().__init__(inner)
        self._scenario = scenario
        self._name = name
        self._due = _due(scenario, name)
        #: How many of those have been made.
        self._done = 0
        #: Times [ns] of resets, and up to which of them all have been made.
        self._resets = self._resets_of(scenario)
        self._reset_until = NEVER
        self._faulty = next((each for each in layers(inner) if isinstance(each, Faulty)), None)
        #: What becomes of a message that the model sends at once; None: what is around it knows.
        self.passing: Callable[[str, Any], Any] | None = None

    def take(self, scenario: Scenario, past: Past) -> None:
        """Take what is changed by hand.

        :param scenario: the run's, with all changes so far; new ones hold from a time on that the
            participant has not reached
        :param past: what it has exchanged so far
        """
        for fault, settings in scenario.faults.items():
            if fault not in self._scenario.faults and settings.participant == self._name:
                if self._faulty is None:
                    self._inner = self._faulty = Faulty(self._inner, {}, {})
                    # The model is attached already, to something that knows of no faults.
                    self.passing = self._faulty.passed_at_once
                add_fault(scenario, fault, self._faulty, past)
        self._scenario = scenario
        self._due = _due(scenario, self._name)
        # One that was asked for by hand comes back: at one time there is one.
        self._resets |= self._resets_of(scenario)

    @property
    def reset_count(self) -> int:
        """How many resets there are."""
        return len(self._resets)

    def reset_at(self, time: int) -> None:
        """Let the model be as at its start from a time [ns] on that it has not reached."""
        self._resets.add(time)

    def activate(self, step: Step) -> Mapping[str, Any]:
        """Activate the model, changed as it is to be by then."""
        self._change(step.time)
        return self._inner.activate(step)

    def handle_message(self, port: str, step: Step) -> Mapping[str, Any]:
        """The same for a single message."""
        self._change(step.time)
        return self._inner.handle_message(port, step)

    def answer_service(self, name: str, request: Any, step: Step) -> Any:
        """The same for a request."""
        self._change(step.time)
        return self._inner.answer_service(name, request, step)

    def save_state(self) -> Any:
        """How many changes and which resets have been made, and the state of the model."""
        return [self._done, self._reset_until, self._inner.save_state()]

    def restore_state(self, state: Any) -> None:
        """Go back to a state that ``save_state`` gave."""
        done, self._reset_until, inner = state
        self._inner.restore_state(inner)
        self._undo()
        while self._done < done:
            self._make_next()

    def release(self) -> Model:
        """Give up the model as it was at the start."""
        self._undo()
        return super().release()

    def _undo(self) -> None:
        self._done = 0
        for path in {due.path: None for due in self._due}:
            apply(self._scenario, path, self._inner)

    def _change(self, time: int) -> None:
        while self._done < len(self._due) and self._due[self._done].at <= time:
            self._make_next()
        if self._resets:
            until = max((at for at in self._resets if at <= time), default=NEVER)
            if until > self._reset_until:
                self._reset_until = until
                self._reset()

    def _reset(self) -> None:
        """Let the model be as at its start, with the values that have been changed."""
        for layer in layers(self._inner):
            if isinstance(layer, Renewable):
                layer.begin_again()
                break
        made = self._due[: self._done]
        for path in dict.fromkeys(due.path for due in made if due.path.startswith("participants.")):
            apply(made[-1].scenario, path, self._inner)

    def _resets_of(self, scenario: Scenario) -> set[int]:
        return {change.at for change in scenario.changes if reset_of(change.set) == self._name}

    def _make_next(self) -> None:
        due = self._due[self._done]
        self._done += 1
        apply(due.scenario, due.path, self._inner)


def with_changes(scenario: Scenario, name: str, model: Model) -> Model:
    """Put what changes a participant around its model; the model itself where nothing does.

    :raises ConfigurationError: something may not be changed, or not to that
    """
    changes = check_changes(scenario)
    changing = any(target_of(scenario, change.set) == name for change in changes)
    if is_reset(scenario, name) and (obstacle := cannot_begin_anew(model)):
        raise ConfigurationError(
            f"changes: participants.{name}.reset: '{name}' cannot be reset: {obstacle}"
        )
    return Changing(model, scenario, name) if changing else model


class ChangesTaken:
    """Lets one participant take what is changed by hand.

    Nothing stands around its model before the first change that is about it.

    :param scenario: the run's, as it is at the start
    :param name: the participant
    :param models: participant -> model, with all that stands around it; kept up to date
    """

    def __init__(self, scenario: Scenario, name: str, models: dict[str, Model]) -> None:
        self._scenario = scenario
        self._name = name
        self._models = models

    def take(self, runtime: ParticipantRuntime, changes: Sequence[ChangeSettings]) -> None:
        """Take changes that hold from a time on that the participant has not reached.

        :param changes: those that have been made since the last call, in order
        """
        before = self._scenario
        self._scenario = scenario = with_made(before, changes, "change {}")
        if all(target_of(scenario, change.set) != self._name for change in changes):
            return
        # A model that waits in a step may learn of them in the middle of it.
        runtime.between(partial(self._surround, runtime, before, scenario))

    def check_reset(self, runtime: ParticipantRuntime) -> None:
        """See whether the model may be reset by hand now.

        :raises LifecycleError: it cannot
        """
        model = runtime.model
        obstacle = cannot_be_reset(self._scenario, self._name) or cannot_begin_anew(model)
        if isinstance(model, Changing) and model.reset_count >= MAX_BY_HAND:
            obstacle = f"it has been, {MAX_BY_HAND} times"
        if obstacle:
            raise LifecycleError(f"participant '{self._name}' cannot be reset: {obstacle}")

    def reset(self, runtime: ParticipantRuntime) -> int:
        """Reset the model before the first activation that is later than the last one.

        :returns: the time [ns] from which on it is as at its start
        :raises LifecycleError: it cannot be reset
        """
        self.check_reset(runtime)
        at = max(runtime.last_time + 1, 0)
        runtime.between(partial(self._reset, runtime, at))
        return at

    def _surround(self, runtime: ParticipantRuntime, before: Scenario, scenario: Scenario) -> None:
        changing = self._changing(runtime, before)
        changing.take(scenario, runtime.past())
        runtime.surround(changing, changing.passing)

    def _reset(self, runtime: ParticipantRuntime, at: int) -> None:
        self._changing(runtime, self._scenario).reset_at(at)

    def _changing(self, runtime: ParticipantRuntime, scenario: Scenario) -> Changing:
        model = runtime.model
        if isinstance(model, Changing):
            return model
        self._models[self._name] = changing = Changing(model, scenario, self._name)
        runtime.surround(changing, None)
        return changing


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


class ChangesByHand:
    """Takes what is to be changed in a run whose participants are elsewhere, or busy.

    :param scenario: the run's
    :param earliest: gives the simulated time [ns] before which participants may have been activated
    :param make: takes all changes so far, in the order in which they were made, after each one
    """

    def __init__(
        self,
        scenario: Scenario,
        earliest: Callable[[], int],
        make: Callable[[Sequence[ChangeSettings]], None],
    ) -> None:
        #: With all changes so far.
        self._scenario = scenario
        self._earliest = earliest
        self._make = make
        self._made: list[ChangeSettings] = []

    def take(self, path: str, value: str, at_ns: int) -> str:
        """Make a change.

        :param path: ``participants.NAME.parameters.KEY``, ``faults.NAME.active``, or
            ``faults.NAME`` of a new fault
        :param value: the new value, as JSON
        :param at_ns: from when on it holds [ns of simulated time]; 0: as soon as it can
        :returns: what becomes different and when, in one line
        :raises ConfigurationError: it may not be changed, not to that, or not then
        """
        scenario = self._scenario
        if reset_of(path) is not None:
            raise ConfigurationError(
                f"set: found '{path}'; by hand a participant is reset as a managed node: "
                "deactivate, cleanup, configure, activate (ros2 lifecycle set)"
            )
        try:
            to = json_value(value)
        except ValueError as error:
            raise ConfigurationError(
                f"value: found {value[:100]!r}; allowed is JSON: {error}"
            ) from None
        earliest = max(self._earliest(), 0)
        if at_ns and at_ns < earliest:
            raise ConfigurationError(
                f"at: found {format_ns(at_ns)}; participants may have passed that, allowed is a "
                f"time from {format_ns(earliest)} on"
            )
        at = max(at_ns, earliest)
        if at >= scenario.duration:
            raise ConfigurationError(
                f"at: found {format_ns(at)}; the run ends at {format_ns(scenario.duration)}"
            )
        if len(self._made) >= MAX_BY_HAND:
            raise ConfigurationError(f"found more than {MAX_BY_HAND} changes of one run by hand")
        # One that declared changes, or those for later, make impossible is refused as well.
        changed(scenario, path, to, at=at)
        change = ChangeSettings(at=at, set=path, to=to)
        with_it = with_made(scenario, [change], "set")
        _due(with_it, target_of(with_it, path))
        self._scenario = with_it
        self._made.append(change)
        self._make(self._made)
        return f"{path}: {json.dumps(to)} from {format_ns(at)} on"

    def note_resets(self, name: str, times: Iterable[int]) -> None:
        """Take note of resets that a participant has taken on itself.

        :param times: from which on it is as at its start [ns], all of the run so far
        """
        path = f"participants.{name}.reset"
        known = {change.at for change in self._made if change.set == path}
        for at in times:
            if at not in known:
                change = ChangeSettings(at=at, set=path, to=True)
                self._scenario = with_made(self._scenario, [change], "set")
                self._made.append(change)
                self._make(self._made)


def messages_of(changes: Iterable[ChangeSettings]) -> tuple[RunChange, ...]:
    """Changes as they are sent."""
    return tuple(RunChange(each.at, each.set, json.dumps(each.to)) for each in changes)


def settings_of(messages: Iterable[RunChange]) -> list[ChangeSettings]:
    """Changes that have been received."""
    return [
        ChangeSettings(at=each.at_ns, set=each.path, to=json_value(each.value)) for each in messages
    ]


class _Record(Section):
    format: int = 1
    changes: tuple[ChangeSettings, ...]


def write_changes(directory: Path, changes: Sequence[ChangeSettings]) -> None:
    """Write what a user has changed during a run."""
    content = _Record(changes=tuple(changes)).model_dump(mode="json")
    write_atomically(directory / CHANGES_FILE, json.dumps(content, indent=1) + "\n")


def recorded_changes(directory: Path) -> tuple[ChangeSettings, ...]:
    """What a user has changed during a run, in the order in which it was made.

    :raises ConfigurationError: the record cannot be read
    """
    path = directory / CHANGES_FILE
    if not path.exists():
        return ()
    try:
        data = json_value(read_bounded(path, _MAX_BYTES).decode("utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"{path}: cannot be read: {cause_of(error)}") from None
    return read_section(_Record, data, origin=str(path)).changes


def with_recorded_changes(scenario: Scenario, directory: Path) -> Scenario:
    """The scenario with what a user has changed during a run, if anything.

    :raises ConfigurationError: the record cannot be read
    """
    where = f"{directory / CHANGES_FILE}: changes.{{}}.to"
    return with_made(scenario, recorded_changes(directory), where)
