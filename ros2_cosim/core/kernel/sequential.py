# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The sequential reference: all participants in one thread, one activation after another.

Activations run in the order (time, rank, name), so every sample stamped up to a
participant's activation has been sent before it: no promises are needed. This order *is*
the definition of the result; the conservative engine must give the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from heapq import heappop, heappush

from ros2_cosim.core.kernel.graph import Graph
from ros2_cosim.core.kernel.latched import LatchedChannel, SharedInputs
from ros2_cosim.core.kernel.model import FullModel
from ros2_cosim.core.kernel.participant import Sample
from ros2_cosim.core.kernel.runtime import Output, ParticipantRuntime
from ros2_cosim.core.kernel.time import FOREVER, NEVER, saturating_add

#: Called for each message: (participant, index of the output port, sample, encoded bytes).
MessageObserver = Callable[[str, int, Sample, bytes], None]


class _Route:
    """The readers of an output port.

    :ivar held: what holds its newest message, once for all readers that share it
    :ivar receivers: of the others
    :ivar triggered: places of the participants that it triggers
    """

    __slots__ = ("held", "receivers", "triggered")

    def __init__(self) -> None:
        self.held: list[LatchedChannel] = []
        self.receivers: list[Callable[[Sample], None]] = []
        self.triggered: list[int] = []


class SequentialScheduler:
    """Runs a graph in process.

    :param graph: the checked system
    :param models: participant name -> model
    :param stop_latency_ns: a stop requested at t ends the run at t + this
    :param timer: optional monotonic clock [ns] for the compute times of the summary
    :param observer: optional, called for each message sent
    :param on_delivery: optional, called with False before what an activation has sent is handed
        over to its readers and the observer, with True afterwards
    """

    def __init__(
        self,
        graph: Graph,
        models: Mapping[str, FullModel],
        *,
        stop_latency_ns: int = 0,
        timer: Callable[[], int] | None = None,
        observer: MessageObserver | None = None,
        on_delivery: Callable[[bool], None] | None = None,
    ) -> None:
        self.graph = graph
        # Activations run in the order of their times: all readers of a port share what it holds.
        shared = SharedInputs()
        self.runtimes = {
            name: ParticipantRuntime(graph, name, models[name], timer, shared)
            for name in graph.order
        }
        self.stop_reason: str | None = None
        self.now = 0
        #: The participant of the activation that is going on, or was the last.
        self.active: str | None = None
        #: Set, by what happens within an activation, to return before the next one.
        self.suspended = False
        #: An activation before this time [ns] may be begun ahead; the last one that was.
        self.horizon = NEVER
        self.begun_ahead = NEVER
        self._announced = NEVER
        self._stop_latency_ns = stop_latency_ns
        self._stop_end = FOREVER
        self._observer = observer
        self._on_delivery = on_delivery
        self._ordered = [self.runtimes[name] for name in graph.order]
        position = {name: i for i, name in enumerate(graph.order)}
        self._routes: list[list[_Route]] = []
        numbers = {
            runtime.name: {connection: i for i, connection in enumerate(runtime.channels)}
            for runtime in self._ordered
        }
        for runtime in self._ordered:
            routes = {port.name: _Route() for port in runtime.spec.outputs}
            for connection in graph.outgoing(runtime.name):
                reader = self.runtimes[connection.target]
                route, number = routes[connection.source_port], numbers[reader.name][connection]
                held = reader.held(number)
                if held is None:
                    route.receivers.append(reader.receiver(number))
                elif held not in route.held:
                    route.held.append(held)
                if connection.target_port in reader.spec.event_ports:
                    route.triggered.append(position[reader.name])
            self._routes.append(list(routes.values()))
        #: Of each participant those that decide what it reads next; None: it does so itself.
        self._deciding = [self._deciders(runtime.name, position) for runtime in self._ordered]
        for index, runtime in enumerate(self._ordered):
            runtime.leave = partial(self._deliver, index, runtime)
            runtime.is_settled = partial(self._is_settled, index)
        #: Times of activations, each times the number of participants plus the place of the one
        #: that it is of: so they are ordered by (time, rank, name).
        self._agenda: list[int] = []
        self._count = max(len(self._ordered), 1)
        self._scheduled = [FOREVER] * len(self._ordered)
        for index, runtime in enumerate(self._ordered):
            if runtime.next_time is not None:
                self._schedule(index, runtime.next_time)

    def run(
        self, until: int, end: int | None = None, *, before: Callable[[int], object] | None = None
    ) -> int:
        """Run every activation before ``until`` [ns], or before the end that was requested.

        Several calls, each with a later ``until``, give the same as one.

        :param end: the end of the run, where ``until`` is only a part of the way
        :param before: called with each time [ns] at which something runs, before it does
        :returns: the end of the run in ns, as far as it is known
        """
        end = min(until if end is None else end, self._stop_end)
        agenda, count, scheduled = self._agenda, self._count, self._scheduled
        limit = min(until, end) * count
        while agenda and agenda[0] < limit and not self.suspended:
            entry = heappop(agenda)
            index = entry % count
            time = entry // count
            if time != scheduled[index]:
                continue  # an earlier wake-up replaced this entry
            scheduled[index] = FOREVER
            if before is not None and time > self._announced:
                self._announced = time
                before(time)
            self.now = time
            runtime = self._ordered[index]
            self.active = runtime.name
            has_events = runtime.has_events
            if has_events:
                # Everything stamped up to now is here, so LBTS is just after now.
                while runtime.determine(time + 1) is not None:
                    self._deliver(index, runtime, runtime.activate_data())
            following = runtime.next_time
            if following == time:
                self._deliver(index, runtime, runtime.activate_time())
                following = runtime.next_time
            if following is not None:
                self._schedule(index, following)
            if has_events and (stamp := runtime.next_stamp()) is not None:
                self._schedule(index, stamp)
            if runtime.stop_reason is not None and self.stop_reason is None:
                self.stop_reason = f"{runtime.name}: {runtime.stop_reason}"
                self._stop_end = saturating_add(time, self._stop_latency_ns)
            if self._stop_end < end:
                end = self._stop_end
                limit = min(until, end) * count
        return end

    def stop(self, reason: str) -> None:
        """End the run after the activations of the present time; called within one of them."""
        if self.now + 1 < self._stop_end:
            self.stop_reason = reason
            self._stop_end = self.now + 1

    @property
    def next_time(self) -> int:
        """No activation takes place before this time [ns]; FOREVER: none is known."""
        return self._agenda[0] // self._count if self._agenda else FOREVER

    def _deciders(self, name: str, position: Mapping[str, int]) -> list[int] | None:
        """The writers of a participant, and the writers of what triggers these, and so on."""
        graph = self.graph
        found: list[int] = []
        waiting = [connection.source for connection in graph.incoming(name)]
        while waiting:
            writer = waiting.pop()
            if writer == name or graph.participants[writer].free_entry:
                return None
            if position[writer] not in found:
                found.append(position[writer])
                triggers = graph.participants[writer].event_ports
                incoming = graph.incoming(writer)
                waiting += [c.source for c in incoming if c.target_port in triggers]
        return found

    def _is_settled(self, index: int, time: int) -> bool:
        """Whether all that a participant reads at a time has been sent; then it is begun."""
        deciding = self._deciding[index]
        if deciding is None or time >= self.horizon or time >= self._stop_end:
            return False
        place = time * self._count + index
        for writer in deciding:
            if self._scheduled[writer] * self._count + writer < place:
                return False
        self.begun_ahead = time
        return True

    def _schedule(self, index: int, time: int) -> None:
        if time < self._scheduled[index]:
            self._scheduled[index] = time
            heappush(self._agenda, time * self._count + index)

    def _deliver(self, index: int, runtime: ParticipantRuntime, outputs: list[Output]) -> None:
        routes = self._routes[index]
        observer = self._observer
        on_delivery = self._on_delivery
        if on_delivery is not None:
            on_delivery(False)
        for port, sample, data in outputs:
            route = routes[port]
            for held in route.held:
                held.take(sample)
            for receive in route.receivers:
                receive(sample)
            for reader in route.triggered:
                self._schedule(reader, sample.stamp)
            if observer:
                observer(runtime.name, port, sample, data)
        if on_delivery is not None:
            on_delivery(True)
