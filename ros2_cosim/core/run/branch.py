# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A run that goes on from a checkpoint of another one.

Up to the time of the checkpoint the kernel runs with what the participants had sent then, instead
of what their models would compute: so queues, activations, trace and bag are those of that run, and
no model is activated. Then the models get their states and go on. When a participant changes its
model from then on, the new model sees all messages that it would have received, and is not heard
before its time: what ``cosim replay --substitute`` does, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from ros2_cosim.core.kernel.errors import ConfigurationError, CosimError, RunError
from ros2_cosim.core.kernel.graph import Graph
from ros2_cosim.core.kernel.layers import Activation, Layer, LayeredModel
from ros2_cosim.core.kernel.participant import Step
from ros2_cosim.core.kernel.runtime import ParticipantRuntime
from ros2_cosim.core.kernel.time import format_ns
from ros2_cosim.core.messages.wiring import wire_codec
from ros2_cosim.core.record.checkpoint import NEXT_TIME, Checkpoint, Entry, Stop, read_checkpoint
from ros2_cosim.core.record.summary import BranchChange, BranchOrigin
from ros2_cosim.core.run.checkpoints import plain_scenario
from ros2_cosim.core.scenario.schema import Scenario, changed_by_hand

_NS = 1e9
#: What may be changed of a participant; its ports and times belong to the run before.
_OWN = ("model", "parameters")
#: Keys that mean nothing to a run in one process.
_UNUSED = ("base_directory", "description")
_UNUSED_OF_PARTICIPANTS = ("node", "process")


def scenario_of(path: Path, overrides: Sequence[str]) -> Scenario:
    """The scenario of a checkpoint, changed.

    :param overrides: ``dotted.key=value`` texts
    :raises ConfigurationError: it is not a checkpoint, or a change is wrong
    """
    return changed_by_hand(read_checkpoint(path).header.scenario, overrides, f"of {path}")


def check_branch(path: Path, scenario: Scenario) -> int:
    """Make sure that a scenario can go on from a checkpoint.

    :returns: the time of the checkpoint [ns]
    :raises ConfigurationError: it cannot
    """
    checkpoint = read_checkpoint(path)
    _compared(checkpoint, scenario)
    return checkpoint.header.time_ns


class _Comparison(NamedTuple):
    """Differences from the run of the checkpoint, and the participants with new models."""

    changes: list[BranchChange]
    participants: frozenset[str]


def _compared(checkpoint: Checkpoint, scenario: Scenario) -> _Comparison:
    recorded = changed_by_hand(checkpoint.header.scenario, (), f"of {checkpoint.path}")
    before, after = plain_scenario(recorded), plain_scenario(scenario)
    time_ns = checkpoint.header.time_ns
    if scenario.duration <= time_ns:
        raise ConfigurationError(
            f"--branch {checkpoint.path}: duration: found {format_ns(scenario.duration)}; allowed "
            f"is more than {format_ns(time_ns)}, the time of the checkpoint"
        )
    changes, participants = [], set()
    for place, old, new in _differences(before, after, ()):
        if place[0] in _UNUSED:
            continue
        if place[0] == "participants" and len(place) > 2:
            if place[2] in _UNUSED_OF_PARTICIPANTS:
                continue
            if place[2] in _OWN:
                participants.add(place[1])
            else:
                raise _refused(checkpoint, place)
        elif place[0] == "faults" and len(place) > 1:
            for faults in (before["faults"], after["faults"]):
                if place[1] in faults:
                    participants.add(str(faults[place[1]]["port"]).partition(".")[0])
        elif place[0] != "duration":
            raise _refused(checkpoint, place)
        changes.append(BranchChange(place=".".join(place), before=old, after=new))
    return _Comparison(changes, frozenset(participants))


def _refused(checkpoint: Checkpoint, place: tuple[str, ...]) -> ConfigurationError:
    return ConfigurationError(
        f"--branch {checkpoint.path}: {'.'.join(place)}: found another value than in the run of "
        "the checkpoint; allowed are changes to model and parameters of participants, faults and "
        "duration"
    )


def _differences(
    before: Any, after: Any, place: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], Any, Any]]:
    """Places of plain data at which they differ, with both values."""
    if isinstance(before, dict) and isinstance(after, dict):
        for key in dict.fromkeys((*before, *after)):
            yield from _differences(before.get(key), after.get(key), (*place, str(key)))
    elif before != after or type(before) is not type(after):
        yield place, before, after


class Playback:
    """What the participants had done until the checkpoint, handed out in its order."""

    def __init__(self, checkpoint: Checkpoint, graph: Graph, names: Sequence[str]) -> None:
        self._path = checkpoint.path
        self._entries = checkpoint.entries()
        self._numbers = {name: number for number, name in enumerate(names)}
        self._ports = {
            name: [(port.name, wire_codec(port)) for port in graph.participants[name].outputs]
            for name in names
        }
        self._next = next(self._entries, None)

    def of(self, participant: str, activation: int) -> Iterator[tuple[str | None, Any]]:
        """What one activation did: (port, record), or (None, its next time)."""
        number, ports = self._numbers[participant], self._ports[participant]
        entry = self._next
        while entry is not None and entry.participant == number and entry.activation == activation:
            yield self._read(entry, ports)
            entry = self._next = next(self._entries, None)

    def _read(self, entry: Entry, ports: Sequence[tuple[str, Any]]) -> tuple[str | None, Any]:
        if entry.port == NEXT_TIME and not isinstance(entry.data, bytes):
            return None, entry.data
        if not 0 <= entry.port < len(ports) or not isinstance(entry.data, bytes):
            raise ConfigurationError(f"{self._path}: found an entry of a port that is not there")
        name, codec = ports[entry.port]
        return name, codec.decode(entry.data)[2]

    @property
    def is_over(self) -> bool:
        """Whether everything was handed out."""
        return self._next is None


class Played(Layer):
    """Keeps a model silent at first, while what its participant had sent is sent again.

    :param name: the participant
    :param stop: when and why it had asked for the end of the run
    :param sees: whether the model is activated meanwhile
    """

    def __init__(self, name: str, playback: Playback, stop: Stop | None, *, sees: bool) -> None:
        self._name = name
        self._playback = playback
        self._stop = stop
        self._sees = sees
        self._playing = True
        self._activations = 0
        self._time = 0
        self._chosen: int | None = None
        self._whole: LayeredModel

    def placed(self, model: LayeredModel) -> None:
        """Get to know whose messages are sent again."""
        self._whole = model

    def stop_reason(self, reason: str | None) -> str | None:
        """Why the participant wanted the run to end, or wants now."""
        if not self._playing:
            return reason
        stop = self._stop
        return stop.reason if stop is not None and self._time >= stop.time_ns else None

    def next_time(self, time: int | None) -> int | None:
        """When the participant wanted to be activated next, or wants now."""
        return self._chosen if self._playing else time

    def at_once(self, port: str, record: Any) -> Any:
        """The model is not heard before its time."""
        return None if self._playing else record

    def begin(self, time: int) -> bool:
        """A model that does not see what is played stays unchanged."""
        return self._sees or not self._playing

    def around(self, below: Activation) -> Activation:
        """Send what this activation had sent, or let the model compute."""

        def activate(step: Step) -> Mapping[str, Any]:
            if not self._playing:
                return below(step)
            if self._sees:
                below(step)
            return self._play(step)

        return activate

    def _play(self, step: Step) -> Mapping[str, Any]:
        self._activations += 1
        self._time = step.time
        for port, value in self._playback.of(self._name, self._activations):
            if port is None:
                self._chosen = value
            else:
                self._whole.send_at_once(port, value, above=self)
        return {}

    def take_over(self, state: Any) -> None:
        """From now on the model computes; with a state, unless it has seen everything itself."""
        if not self._sees:
            self._whole.restore_state(state)
        self._playing = False


class Branch:
    """The part of a run that is played, and how the models take over.

    :param path: the checkpoint
    :raises ConfigurationError: the scenario cannot go on from it
    """

    def __init__(self, path: Path, scenario: Scenario, graph: Graph) -> None:
        self._checkpoint = checkpoint = read_checkpoint(path)
        self._names = tuple(checkpoint.header.traces)
        if self._names != tuple(scenario.participants):
            raise ConfigurationError(
                f"--branch {path}: found traces of {', '.join(self._names)}; the scenario has "
                f"{', '.join(scenario.participants)}"
            )
        self._changes, self._changed = _compared(checkpoint, scenario)
        self._playback = Playback(checkpoint, graph, self._names)
        self._played: dict[str, Played] = {}

    @property
    def time_ns(self) -> int:
        """When the models take over."""
        return self._checkpoint.header.time_ns

    def silence(self, models: Mapping[str, LayeredModel]) -> None:
        """Keep the models silent until then."""
        stops = self._checkpoint.header.stops
        for name, model in models.items():
            sees = name in self._changed
            played = Played(name, self._playback, stops.get(name), sees=sees)
            model.insert(played)
            self._played[name] = played

    @contextmanager
    def played(self) -> Iterator[None]:
        """The part of the run that is played; errors in it name the checkpoint.

        :raises RunError: it cannot be played
        """
        try:
            yield
        except CosimError as error:
            path = self._checkpoint.path
            if str(error).startswith(str(path)):
                raise
            raise RunError(f"{path}: its run cannot be played again: {error}") from error

    def take_over(self, runtimes: Mapping[str, ParticipantRuntime]) -> None:
        """All that was recorded has been played: the models go on.

        :raises RunError: it was not the same run, or a model does not take its state
        """
        header, path = self._checkpoint.header, self._checkpoint.path
        for name in self._names:
            if runtimes[name].trace.hexdigest() != header.traces[name]:
                raise RunError(
                    f"{path}: the trace of '{name}' until {format_ns(self.time_ns)} is not what "
                    "the checkpoint says: it is damaged, or of another version of this package "
                    f"(it says {header.version})"
                )
        if not self._playback.is_over:
            raise RunError(f"{path}: found more messages than the run of the checkpoint had sent")
        for name, played in self._played.items():
            try:
                played.take_over(self._checkpoint.states[name])
            except CosimError as error:
                raise RunError(f"{path}: participant '{name}': {error}") from None
            except Exception as error:
                raise RunError(
                    f"{path}: participant '{name}' failed to restore its state: "
                    f"{type(error).__name__}: {error}"
                ) from error

    def origin(self) -> BranchOrigin:
        """What the summary says of it."""
        return BranchOrigin(
            checkpoint=str(self._checkpoint.path),
            time_s=self.time_ns / _NS,
            changes=tuple(self._changes),
        )
