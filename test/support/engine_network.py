# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The engines of one graph and what travels between them: the one driver of engines in tests."""

from __future__ import annotations

import random
from collections.abc import Mapping

from ros2_cosim.core.kernel.channel import Promise
from ros2_cosim.core.kernel.engine import Engine
from ros2_cosim.core.kernel.graph import Graph
from ros2_cosim.core.kernel.model import Model
from ros2_cosim.core.kernel.participant import Sample
from ros2_cosim.core.kernel.runtime import ParticipantRuntime


def digests(runtimes: Mapping[str, ParticipantRuntime]) -> dict[str, str]:
    """Trace digests by participant."""
    return {name: runtime.trace.hexdigest() for name, runtime in runtimes.items()}


class EngineNetwork:
    """Engines that exchange messages and promises; each is delivered as soon as it is sent.

    Subclasses delay the delivery (:meth:`send`) or look on (the methods ``on_...``).

    :param until: horizon of all engines [ns]
    :param seed: of the order in which the participants have their turns
    """

    def __init__(
        self, graph: Graph, behaviours: Mapping[str, Model], until: int, seed: int = 0
    ) -> None:
        self.graph = graph
        self.until = until
        self._random = random.Random(seed)
        self.runtimes = {n: ParticipantRuntime(graph, n, behaviours[n]) for n in graph.order}
        self.engines = {n: Engine(graph, r) for n, r in self.runtimes.items()}
        for engine in self.engines.values():
            engine.horizon = until
        self._readers: dict[tuple[str, str], list[tuple[str, int]]] = {}
        for name, runtime in self.runtimes.items():
            for index, c in enumerate(runtime.channels):
                self._readers.setdefault((c.source, c.source_port), []).append((name, index))
        #: What a channel has been promised, delivered or not: (reader, channel) -> time [ns].
        self._promised: dict[tuple[str, int], int] = {}

    def turn(self, name: str) -> bool:
        """Let one participant run what it may run; whether it did or promised anything."""
        engine = self.engines[name]
        ports = self.runtimes[name].spec.outputs
        busy = False
        for outputs in engine.advance():
            busy = True
            self.on_activation(name, engine.last_time)
            for number, sample, _ in outputs:
                port = ports[number].name
                self.on_output(name, port, sample)
                for reader, index in self._readers.get((name, port), []):
                    self.send(reader, index, sample)
        for port, promise in engine.promises():
            self.on_promise(name, port, promise)
            for reader, index in self._readers.get((name, port), []):
                busy |= self._promise(reader, index, promise)
        return busy

    def run(self) -> dict[str, str]:
        """Let all run to the end, in a random order; trace digests."""
        order = list(self.engines)
        busy = True
        while busy:
            self._random.shuffle(order)
            busy = any([self.turn(name) for name in order])
        return self.result()

    def result(self) -> dict[str, str]:
        """Trace digests of a run to the end; fails if an engine has not reached it."""
        for name, engine in self.engines.items():
            assert engine.lower_bound() >= self.until, f"{name} is stuck: {engine.blocked()}"
        return digests(self.runtimes)

    def send(self, reader: str, index: int, content: Sample | Promise) -> None:
        """Bring a message or a promise to a channel of a reader."""
        self.deliver(reader, index, content)

    def deliver(self, reader: str, index: int, content: Sample | Promise) -> None:
        """Hand a message or a promise to a channel of a reader."""
        engine = self.engines[reader]
        if isinstance(content, Promise):
            engine.channels[index].promised(content)
        else:
            engine.receive(index, content)

    def on_activation(self, name: str, time: int) -> None:
        """Called at each activation."""

    def on_output(self, name: str, port: str, sample: Sample) -> None:
        """Called for each message sent."""

    def on_promise(self, name: str, port: str, promise: Promise) -> None:
        """Called for each promise that an engine makes."""

    def _promise(self, reader: str, index: int, promise: Promise) -> bool:
        """Send a promise if it says more than the reader knows."""
        channel = self.engines[reader].channels[index]
        last = self._promised.get((reader, index), channel.promise)
        # A promise beyond the horizon adds nothing.
        if not channel.needs_promises or promise.time <= last or last >= self.until:
            return False
        self._promised[reader, index] = promise.time
        self.send(reader, index, promise)
        return True
