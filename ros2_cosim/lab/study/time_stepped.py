# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Time-stepped synchronisation: all participants exchange at multiples of one step width.

What a plain co-simulation master does, or a simulator in synchronous mode: at each multiple T of
the step width all messages of the step before are handed over, then all participants run, in
parallel and each for itself, until T + width. No wall clock is in it, so that a run is repeatable.
Whether it is right is another question: a message is seen at the next exchange, one step late at
most, and a chain of n participants without delays takes n steps.

Participants and counts are those of :mod:`ros2_cosim.lab.study.free_running`: stamps and random
draws are those of the synchronised run, and each message is judged where it arrives.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from ros2_cosim.core.kernel.graph import Graph
from ros2_cosim.core.kernel.model import FullModel
from ros2_cosim.core.kernel.participant import Sample
from ros2_cosim.core.kernel.runtime import Output
from ros2_cosim.lab.study.free_running import FreeRunning

#: Called for each message: (participant, output port, sample).
Observer = Callable[[str, str, Sample], None]


class _Waiting(NamedTuple):
    """A message that waits for an exchange.

    ``place`` is (stamp, connection, sequence number), ``there`` when it can be handed over [ns].
    """

    place: tuple[int, int, int]
    there: int
    sample: Sample


class TimeStepped:
    """Runs a graph in process, step by step.

    :param graph: the checked system
    :param models: participant name -> model
    :param step_ns: width of a step
    :param end_ns: activations at or after this time do not run
    :param observer: takes each message sent
    :raises ConfigurationError: a participant cannot run without synchronisation
    """

    def __init__(
        self,
        graph: Graph,
        models: Mapping[str, FullModel],
        step_ns: int,
        *,
        end_ns: int,
        observer: Observer = lambda participant, port, sample: None,
    ) -> None:
        self._step_ns = step_ns
        self._end_ns = end_ns
        self._observer = observer
        self.participants = {
            name: FreeRunning(graph, name, models[name], end_ns=end_ns) for name in graph.order
        }
        #: Output port -> its readers, with the number of the connection there, and how long after
        #: its stamp a message is there: a delayed port does not see one of the very time.
        self._readers: dict[tuple[str, str], list[tuple[str, int, int]]] = {}
        for name, free in self.participants.items():
            for index, connection in enumerate(free.runtime.channels):
                key = connection.source, connection.source_port
                delayed = graph.input(name, connection.target_port).delayed
                self._readers.setdefault(key, []).append((name, index, int(delayed)))
        self._waiting: dict[str, list[_Waiting]] = {name: [] for name in self.participants}

    def run(self, before: Callable[[int], object] = lambda time_ns: None) -> int:
        """Run all steps, then exchange until nothing is under way.

        :param before: called with the time [ns] of each exchange
        :returns: number of exchanges
        :raises ParticipantError: a model failed
        """
        time = exchanges = 0
        while time < self._end_ns or any(self._waiting.values()):
            before(time)
            sent = self._exchange(time)
            exchanges += 1
            time += self._step_ns
            for name, free in self.participants.items():
                while free.next_time is not None and free.next_time < time:
                    sent.append((name, free.activate_time()))
            for name, outputs in sent:
                self._keep(name, outputs)
        for free in self.participants.values():
            free.runtime.model.finish()
        return exchanges

    def _exchange(self, time: int) -> list[tuple[str, list[Output]]]:
        """Hand over what was sent before, in the order (stamp, connection, sequence number).

        :returns: what the activations send that it causes, for the next exchange
        """
        sent = []
        for name, free in self.participants.items():
            waiting = sorted(self._waiting[name], key=lambda entry: entry.place)
            # A latency is part of the stamp: before that time the message is not there.
            self._waiting[name] = [entry for entry in waiting if entry.there > time]
            for entry in waiting:
                if entry.there <= time:
                    sent.append((name, free.receive(entry.place[1], entry.sample)))
        return sent

    def _keep(self, name: str, outputs: list[Output]) -> None:
        ports = self.participants[name].runtime.spec.outputs
        for index, sample, _ in outputs:
            self._observer(name, ports[index].name, sample)
            for reader, channel, later in self._readers.get((name, ports[index].name), ()):
                place = sample.stamp, channel, sample.seq
                self._waiting[reader].append(_Waiting(place, sample.stamp + later, sample))
