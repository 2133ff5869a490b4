# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Checkpoints of a run: what is noted while it runs, and what is written when it stands."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import ros2_cosim
from ros2_cosim.core.kernel.errors import ConfigurationError, CosimError, RunError
from ros2_cosim.core.kernel.graph import Graph
from ros2_cosim.core.kernel.layers import Layer, LayeredModel
from ros2_cosim.core.kernel.runtime import ParticipantRuntime
from ros2_cosim.core.kernel.time import SECOND, format_ns
from ros2_cosim.core.record.checkpoint import (
    NEXT_TIME,
    Entry,
    Header,
    History,
    Stop,
    checkpoint_name,
)
from ros2_cosim.core.scenario.schema import Scenario
from ros2_cosim.core.scenario.system import build_model


def plain_scenario(scenario: Scenario) -> dict[str, Any]:
    """A scenario as plain data, with everything that it leaves to defaults."""
    found: dict[str, Any] = json.loads(scenario.model_dump_json(by_alias=True))
    return found


def check_savable(scenario: Scenario) -> None:
    """Make sure that all participants can save their states; models are made for that.

    :raises ConfigurationError: one cannot; it is named
    """
    for name, settings in scenario.participants.items():
        for port, given in settings.inputs.items():
            why = ""
            if given.unsynchronised is not None:
                why = "takes messages from outside of the simulated time"
            elif given.service is not None:
                why = "answers requests to a service"
            if why:
                raise ConfigurationError(
                    f"--checkpoint: participants.{name}.inputs.{port}: found an input that {why}; "
                    "allowed are others: a checkpoint does not hold those"
                )
    with ExitStack() as stack:
        for name, settings in scenario.participants.items():
            model = build_model(scenario, name, "inproc")
            stack.callback(model.close)
            unsaved = model.unsaved
            if unsaved is not None:
                raise ConfigurationError(
                    f"--checkpoint: participants.{name}: found the model '{settings.model}', which "
                    f"cannot save its state in this scenario{unsaved and f' ({unsaved})'}; allowed "
                    "are models (and control laws) with save_state and restore_state, without "
                    "coupling, overrun and estimates"
                )


class CheckpointRecorder:
    """Notes what a run does, and writes its checkpoints.

    :param output: directory of the run
    """

    def __init__(self, scenario: Scenario, graph: Graph, output: Path) -> None:
        self._scenario = scenario
        self._output = output
        self._graph = graph
        self._history = History(output)
        self._numbers = {name: number for number, name in enumerate(scenario.participants)}

    def observe(self, models: Mapping[str, LayeredModel]) -> None:
        """Look at those that choose when they are activated."""
        for name, model in models.items():
            if self._graph.participants[name].dynamic_step:
                model.insert(Noted(self._noting(name)))

    def _noting(self, name: str) -> Callable[[int, int | None], None]:
        number = self._numbers[name]

        def note(activation: int, time: int | None) -> None:
            self._history.add(Entry(number, NEXT_TIME, activation, time))

        return note

    def sent(self, participant: str, port: int, activation: int, data: bytes) -> None:
        """Note a message."""
        self._history.add(Entry(self._numbers[participant], port, activation, data))

    def write(
        self,
        time_ns: int,
        models: Mapping[str, LayeredModel],
        runtimes: Mapping[str, ParticipantRuntime],
    ) -> Path:
        """Write a checkpoint; every activation before this time is complete, and no other.

        :raises CosimError: a model failed, or there is no room
        """
        states = {}
        for name in self._scenario.participants:
            try:
                states[name] = models[name].save_state()
            except CosimError:
                raise
            except Exception as error:
                raise RunError(
                    f"participant '{name}' failed to save its state at {format_ns(time_ns)}: "
                    f"{type(error).__name__}: {error}"
                ) from error
        header = Header(
            time_ns=time_ns,
            version=ros2_cosim.__version__,
            traces={name: runtimes[name].trace.hexdigest() for name in self._scenario.participants},
            stops={
                name: Stop(time_ns=runtime.stop_time, reason=runtime.stop_reason)
                for name, runtime in runtimes.items()
                if runtime.stop_reason is not None
            },
            scenario=plain_scenario(self._scenario),
        )
        path = self._output / checkpoint_name(time_ns)
        self._history.write(path, header, states)
        return path

    def close(self) -> None:
        """Forget what was noted."""
        self._history.close()


class Noted(Layer):
    """Notes when a model wants to be activated next, whenever that changes.

    :param note: takes the number of the activation, and the time [ns]
    """

    keeps_records = True

    def __init__(self, note: Callable[[int, int | None], None]) -> None:
        self._note = note
        self._count = 0
        self._last: int | None = None
        self._whole: LayeredModel

    def placed(self, model: LayeredModel) -> None:
        """Get to know the model that chooses."""
        self._whole = model

    def at_once(self, port: str, record: Any) -> Any:
        """Look before each message: a branch that sends it again notes both in one order."""
        self._look()
        return record

    def begin(self, time: int) -> bool:
        """Count."""
        self._count += 1
        return True

    def sent(self, time: int, values: Mapping[str, Any]) -> Mapping[str, Any]:
        """Look."""
        self._look()
        return values

    def _look(self) -> None:
        chosen = self._whole.next_time
        if chosen != self._last:
            self._last = chosen
            self._note(self._count, chosen)


def check_times(times: Sequence[int], after_ns: int, duration_ns: int) -> tuple[int, ...]:
    """The times of checkpoints in their order, each once.

    :param after_ns: from when on the run computes
    :raises ConfigurationError: one is not within the run
    """
    for time in times:
        if not after_ns < time < duration_ns:
            raise ConfigurationError(
                f"--checkpoint: found {time / SECOND:g} s; allowed is more than "
                f"{after_ns / SECOND:g} s and less than {duration_ns / SECOND:g} s"
            )
    return tuple(sorted(set(times)))
