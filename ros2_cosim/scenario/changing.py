# SPDX-License-Identifier: Apache-2.0
"""What stands around a model that is changed, or reset, while its run goes on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from ros2_cosim.faults.faulty import Faulty
from ros2_cosim.kernel.errors import ConfigurationError, LifecycleError
from ros2_cosim.kernel.model import Model, Wrapper, layers
from ros2_cosim.kernel.participant import Past, Step
from ros2_cosim.kernel.runtime import ParticipantRuntime
from ros2_cosim.kernel.time import NEVER
from ros2_cosim.realtime.renewal import Renewable, cannot_begin_anew
from ros2_cosim.scenario.changes import (
    MAX_BY_HAND,
    cannot_be_reset,
    check_changes,
    due_changes,
    is_reset,
    reset_of,
    target_of,
)
from ros2_cosim.scenario.declaration import declare
from ros2_cosim.scenario.faults import add_fault
from ros2_cosim.scenario.schema import ChangeSettings, Scenario, with_made


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
        self._due = due_changes(scenario, name)
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
        self._due = due_changes(scenario, self._name)
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
