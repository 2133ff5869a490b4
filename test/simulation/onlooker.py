# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Sees every message at the moment at which it is published, and judges it by the rules.

The numbers in the messages are those of the guarantees in ``docs/clock.md``.
"""

from __future__ import annotations

import struct
from bisect import bisect_left
from typing import TYPE_CHECKING, Any

from ros2_cosim.core.kernel.model import Model
from ros2_cosim.core.kernel.time import FOREVER, NEVER
from ros2_cosim.core.messages.catalogue import DEFAULT as CATALOGUE
from ros2_cosim.ros.node import topics

if TYPE_CHECKING:
    from simulation.simulated_run import Repetition, SimulatedRun

_TIME = struct.Struct("<4xiI")
_HORIZON = CATALOGUE.codec(topics.HORIZON_TYPE).decode
_COMPLETION = CATALOGUE.codec(topics.COMPLETION_TYPE).decode
_COMPLETIONS = topics.completion("")


class Onlooker:
    """Judges one run.

    :param run: the run
    """

    def __init__(self, run: SimulatedRun) -> None:
        #: Rules that were broken, one line each.
        self.violations: list[str] = []
        #: From the end of the run on nothing counts.
        self.is_closed = False
        self._world = run.world
        scenario = run.system.scenario
        specs = run.system.graph().participants
        self._disturbances = run.disturbances
        self._window = max(scenario.run_ahead, 1)
        # Each activation of each participant may need one, and each step of the clock.
        steps = sum(scenario.duration // (s.period_ns or 5_000_000) + 2 for s in specs.values())
        self._most_horizons = 50 + 10 * steps + 3 * scenario.duration // scenario.clock_step
        free = any(spec.free_entry for spec in specs.values())
        #: What has to happen, where that is known beforehand.
        self._reference = None if free else run.system.reference()
        self._topics = {
            output.topic: (name, port)
            for name in scenario.participants
            for port, output in scenario.outputs_of(name).items()
        }
        self._stamps = {
            key: [stamp for stamp, _, _ in messages]
            for key, messages in (self._reference.messages if self._reference else {}).items()
        }
        self._repetition = 0
        #: Participant -> how many runs it has begun.
        self._begun: dict[str, int] = {}
        self._begin()

    def _begin(self) -> None:
        self._models: dict[str, Model] = {}
        self._record: dict[str, Any] = {}
        self._sent = dict.fromkeys(self._topics.values(), 0)
        self._shown = NEVER
        self._horizon = NEVER
        self._horizons = 0
        self._end = FOREVER

    def begins(self, name: str, model: Model) -> None:
        """A participant begins a run: its first one, or the next."""
        repetition = self._begun.get(name, 0)
        self._begun[name] = repetition + 1
        self._goes_on_to(repetition)
        self._models[name] = model

    def records(self, repetition: int, left: Repetition) -> None:
        """The recorder begins a run."""
        self._goes_on_to(repetition)
        self._record = left.messages

    def _goes_on_to(self, repetition: int) -> None:
        if repetition > self._repetition:
            self._begin()
            self._repetition = repetition

    def activated(self, participant: str, time: int) -> None:
        """Judge an activation."""
        if self.is_closed:
            return
        self._world.note("run", participant, time)
        if time >= max(self._shown, 0) + self._window:
            self._found(f"16: {participant} runs {time}, /clock shows {self._shown}")
        if time >= self._end:
            self._found(f"17: {participant} runs {time}, the end is {self._end}")

    def published(self, process: str, topic: str, data: Any) -> None:
        """Judge a message."""
        if self.is_closed:
            return
        self._world.note("send", process, topic, len(data) if isinstance(data, bytes) else 0)
        if topic in self._topics:
            self._sent[self._topics[topic]] += 1
        elif topic == topics.CLOCK:
            seconds, nanoseconds = _TIME.unpack(data)
            self._clock(seconds * 1_000_000_000 + nanoseconds)
        elif topic == topics.HORIZON:
            self._on_horizon(_HORIZON(data)[2])
        elif topic.startswith(_COMPLETIONS) and process in self._models:
            self._on_completion(_COMPLETION(data)[2])

    def _on_horizon(self, horizon: Any) -> None:
        if horizon.time_ns < self._horizon:
            self._found(f"the horizon goes back from {self._horizon} to {horizon.time_ns}")
        # A request may end the run before what was the end so far, where none has got to yet.
        sooner = self._disturbances.may_stop and horizon.end_ns < self._end
        if self._end not in (FOREVER, horizon.end_ns) and not sooner:
            self._found(f"the end moves from {self._end} to {horizon.end_ns}")
        self._horizons += 1
        if self._horizons == self._most_horizons:
            self._found(f"the run creeps: horizon number {self._horizons} is {horizon.time_ns}")
        self._horizon, self._end = horizon.time_ns, horizon.end_ns
        if horizon.presences:
            self._reference = None  # membership is not as declared from now on

    def _clock(self, time: int) -> None:
        # While it stands it is repeated: onlookers that come then learn it.
        if time < self._shown:
            self._found(f"15: /clock goes from {self._shown} to {time}")
        self._shown = time
        reference = self._reference
        if reference is None:
            return
        for name, model in self._models.items():
            done = len(model.times)  # type: ignore[attr-defined]
            if done < reference.activated_before(name, time):
                self._found(f"14: /clock shows {time}, {name} has completed {done}")
        for topic, key in self._topics.items():
            there = len(self._record.get(topic, ()))
            if there < bisect_left(self._stamps[key], time):
                self._found(f"14: /clock shows {time}, {there} of {topic} are recorded")

    def _on_completion(self, completion: Any) -> None:
        reference, name = self._reference, completion.participant
        if reference is None:
            return
        for (writer, port), sent in self._sent.items():
            if writer == name and sent < reference.sent_before(
                name, port, min(completion.bound_ns, self._end)
            ):
                self._found(f"{name} reports {completion.bound_ns}, {port} has sent {sent} only")

    def _found(self, violation: str) -> None:
        self._world.note("violation", violation)
        self.violations.append(violation)
