# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The layer that changes or resets a model during a run."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from ros2_cosim.core.faults.faulty import Faults
from ros2_cosim.core.kernel.errors import ConfigurationError, LifecycleError
from ros2_cosim.core.kernel.layers import Layer, LayeredModel
from ros2_cosim.core.kernel.model import FullModel
from ros2_cosim.core.kernel.participant import Past
from ros2_cosim.core.kernel.runtime import ParticipantRuntime
from ros2_cosim.core.kernel.time import NEVER
from ros2_cosim.core.realtime.renewal import Reset, cannot_begin_anew
from ros2_cosim.core.scenario.changes import (
    MAX_BY_HAND,
    cannot_be_reset,
    check_changes,
    due_changes,
    is_reset,
    reset_of,
    target_of,
)
from ros2_cosim.core.scenario.declaration import declare
from ros2_cosim.core.scenario.faults import add_fault
from ros2_cosim.core.scenario.schema import ChangeSettings, Scenario, with_made


def apply(scenario: Scenario, path: str, model: LayeredModel) -> None:
    """Let a participant's model have a value as the scenario says it."""
    section, name, *_ = path.split(".")
    if section == "faults":
        faults = model.find(Faults)
        assert faults is not None
        faults.switch(name, scenario.faults[name].active)
        return
    model.change_parameters(declare(scenario, name).parameters)


class Changes(Layer):
    """Changes the model and its faults, or resets it, at given times.

    :param scenario: as it is at the start, with its changes
    :param name: the participant
    :raises ConfigurationError: something may not be changed, or not to that
    """

    keeps_records = True

    def __init__(self, scenario: Scenario, name: str) -> None:
        self._scenario = scenario
        self._name = name
        self._due = due_changes(scenario, name)
        #: How many of those have been made.
        self._done = 0
        #: Times [ns] of resets, and up to which of them all have been made.
        self._resets = self._resets_of(scenario)
        self._reset_until = NEVER
        self._whole: LayeredModel

    def placed(self, model: LayeredModel) -> None:
        """Get to know what is changed."""
        self._whole = model

    def take(self, scenario: Scenario, past: Past) -> None:
        """Take what is changed by hand.

        :param scenario: the run's, with all changes so far; new ones hold from a time on that the
            participant has not reached
        :param past: what it has exchanged so far
        """
        for fault, settings in scenario.faults.items():
            if fault not in self._scenario.faults and settings.participant == self._name:
                faults = self._whole.find(Faults)
                if faults is None:
                    faults = Faults({}, {})
                    faults.name = "faults"
                    self._whole.insert(faults, below=self)
                add_fault(scenario, fault, faults, past)
        self._scenario = scenario
        self._due = due_changes(scenario, self._name, lambda each: False)
        # A reset that was requested by hand comes back: there is only one at a time.
        self._resets |= self._resets_of(scenario)

    @property
    def reset_count(self) -> int:
        """How many resets there are."""
        return len(self._resets)

    def reset_at(self, time: int) -> None:
        """Let the model be as at its start from a time [ns] on that it has not reached."""
        self._resets.add(time)

    def begin(self, time: int) -> bool:
        """Bring the model into its state at that time."""
        while self._done < len(self._due) and self._due[self._done].at <= time:
            self._make_next()
        if self._resets:
            until = max((at for at in self._resets if at <= time), default=NEVER)
            if until > self._reset_until:
                self._reset_until = until
                self._reset()
        return True

    def save_state(self) -> Any:
        """How many changes and which resets have been made."""
        return [self._done, self._reset_until]

    def restore_state(self, state: Any) -> None:
        """Go back to a state that ``save_state`` gave."""
        done, self._reset_until = state
        self.release()
        while self._done < done:
            self._make_next()

    def release(self) -> None:
        """Leave the model as it was at the start."""
        self._done = 0
        for path in {due.path: None for due in self._due}:
            apply(self._scenario, path, self._whole)

    def _reset(self) -> None:
        """Let the model be as at its start, with the values that have been changed."""
        layer = self._whole.find(Reset)
        if layer is not None:
            layer.begin_again()
        made = self._due[: self._done]
        for path in dict.fromkeys(due.path for due in made if due.path.startswith("participants.")):
            apply(made[-1].scenario, path, self._whole)

    def _resets_of(self, scenario: Scenario) -> set[int]:
        return {change.at for change in scenario.changes if reset_of(change.set) == self._name}

    def _make_next(self) -> None:
        due = self._due[self._done]
        self._done += 1
        apply(due.scenario, due.path, self._whole)


def changes_layer(scenario: Scenario, name: str, model: FullModel) -> Changes | None:
    """What changes a participant; None: nothing does.

    :param model: its model
    :raises ConfigurationError: something may not be changed, or not to that
    """
    changes = check_changes(scenario)
    changing = any(target_of(scenario, change.set) == name for change in changes)
    if is_reset(scenario, name) and (obstacle := cannot_begin_anew(model)):
        raise ConfigurationError(
            f"changes: participants.{name}.reset: '{name}' cannot be reset: {obstacle}"
        )
    return Changes(scenario, name) if changing else None


class ChangesTaken:
    """Lets one participant take what is changed by hand.

    Its model has no layer for changes before the first one that is about it.

    :param scenario: the run's, as it is at the start
    :param name: the participant
    """

    def __init__(self, scenario: Scenario, name: str) -> None:
        self._scenario = scenario
        self._name = name

    def take(self, runtime: ParticipantRuntime, changes: Sequence[ChangeSettings]) -> None:
        """Take changes that hold from a time on that the participant has not reached.

        :param changes: those that have been made since the last call, in order
        """
        before = self._scenario
        self._scenario = scenario = with_made(before, changes, "change {}")
        if all(target_of(scenario, change.set) != self._name for change in changes):
            return
        # A model that waits in a step may learn of them in the middle of it.
        runtime.between(partial(self._take, runtime, before, scenario))

    def check_reset(self, runtime: ParticipantRuntime) -> None:
        """Check whether the model may be reset by hand now.

        :raises LifecycleError: it cannot
        """
        model = runtime.model
        obstacle = cannot_be_reset(self._scenario, self._name) or cannot_begin_anew(model)
        layer = _layered(model).find(Changes)
        if layer is not None and layer.reset_count >= MAX_BY_HAND:
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

    def _take(self, runtime: ParticipantRuntime, before: Scenario, scenario: Scenario) -> None:
        self._layer(runtime, before).take(scenario, runtime.past())

    def _reset(self, runtime: ParticipantRuntime, at: int) -> None:
        self._layer(runtime, self._scenario).reset_at(at)

    def _layer(self, runtime: ParticipantRuntime, scenario: Scenario) -> Changes:
        model = _layered(runtime.model)
        layer = model.find(Changes)
        if layer is None:
            layer = Changes(scenario, self._name)
            model.insert(layer)
        return layer


def _layered(model: FullModel) -> LayeredModel:
    """That of a run in which changes are made by hand."""
    assert isinstance(model, LayeredModel), model
    return model
