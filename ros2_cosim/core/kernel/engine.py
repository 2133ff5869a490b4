# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Conservative time advance of one participant among others that run concurrently.

The engine knows what has arrived on each incoming connection and what the writers have
promised. It decides which activation comes next and whether it may run yet; it has no
socket, no thread and no wall clock. The owner of the transport pushes messages and
promises in, calls :meth:`Engine.advance`, and sends on what comes out.

Decision, in words (``lbts`` of a port is the smallest promise of its connections):

1. data: alpha over the queued samples stamped before the smallest lbts of the triggering
   ports gives the data activation ta, if any; so does the oldest message to be handled;
2. time: the next multiple of the period gives tt. It may run only when no data activation
   at or before tt can still appear, that is when the triggering lbts is beyond tt;
3. the earlier one (data first at equal times) is the candidate c. It may run when every
   latched port is settled up to c (lbts > c, or lbts >= c for a delayed port) and c lies
   before the horizon.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ros2_cosim.core.kernel.channel import CausalityCounts, Channel, Promise
from ros2_cosim.core.kernel.graph import Graph
from ros2_cosim.core.kernel.runtime import Output, ParticipantRuntime
from ros2_cosim.core.kernel.sample import Sample
from ros2_cosim.core.kernel.time import FOREVER, NEVER, format_ns, saturating_add


class Blocked(NamedTuple):
    """Why a participant does not advance: ``waits_for`` names promises, or the horizon.

    ``time`` is the activation it wants to run, or None if no activation is known.
    """

    time: int | None
    waits_for: tuple[str, ...]


class Engine:
    """Time advance of one participant.

    :param graph: the checked system
    :param runtime: the participant
    """

    def __init__(self, graph: Graph, runtime: ParticipantRuntime) -> None:
        self.runtime = runtime
        runtime.is_settled = self._is_settled
        self.counts = CausalityCounts()
        #: Activations at or beyond this time may not run yet (exclusive bound, ns).
        self.horizon = NEVER
        self.last_time = NEVER
        self.channels = [
            Channel(graph, c.source, c.source_port, runtime.receiver(index), self._judged_from())
            for index, c in enumerate(runtime.channels)
        ]
        self._trigger: list[Channel] = []
        self._plain: list[Channel] = []
        self._delayed: list[Channel] = []
        for connection, channel in zip(runtime.channels, self.channels, strict=True):
            port = connection.target_port
            if port in runtime.spec.event_ports:
                self._trigger.append(channel)
            elif graph.input(runtime.name, port).delayed:
                self._delayed.append(channel)
            else:
                self._plain.append(channel)
        self._outputs = [(port.name, port.latency.minimum_ns, port.schedule)
                         for port in runtime.spec.outputs]  # fmt: skip

    def _judged_from(self) -> int:
        """From which stamp on a message that is missing at the start is a loss."""
        spec = self.runtime.spec
        if not spec.is_late:
            return NEVER
        return FOREVER if spec.free_entry else spec.enter_ns

    def enter(self, time: int) -> None:
        """Take part from ``time`` on; for a participant with free entry, once.

        :raises CausalityError: a message that it needs was sent before it had connected
        """
        self.runtime.enter(time)
        for channel in self.channels:
            channel.reader_enters(time, self.runtime.name, self.counts)

    @property
    def has_left(self) -> bool:
        """Whether the time has come after which the participant is no longer activated."""
        return self.runtime.spec.leave_ns < FOREVER and self.lower_bound() == FOREVER

    def receive(self, channel: int, sample: Sample) -> None:
        """Take a message from the transport.

        Messages carry the sequence number of their writing port, so whatever the transport
        did to them is seen here.

        :raises CausalityError: see :meth:`Channel.push`
        """
        self.channels[channel].push(sample, self.runtime.name, self.counts)

    def trigger_lbts(self) -> int:
        """LBTS of the triggering ports; FOREVER without any."""
        return min((channel.promise for channel in self._trigger), default=FOREVER)

    def advance(self) -> Iterator[list[Output]]:
        """Run every activation that may run now, yielding the outputs of each."""
        while True:
            candidate, data = self._candidate()
            if candidate is None or candidate >= self.horizon or not self._settled(candidate):
                return
            self.last_time = candidate
            yield self.runtime.activate_data() if data else self.runtime.activate_time()

    def lower_bound(self) -> int:
        """No further activation happens before this time."""
        runtime = self.runtime
        candidate = runtime.next_time if runtime.next_time is not None else FOREVER
        if runtime.has_events:
            lbts = self.trigger_lbts()
            ready = runtime.determine(lbts)
            candidate = min(candidate, lbts if ready is None else ready)
        candidate = max(candidate, self.last_time, runtime.spec.enter_ns)
        return candidate if candidate < runtime.spec.leave_ns else FOREVER

    def promises(self) -> list[tuple[str, Promise]]:
        """What may be promised on each output port now."""
        bound = self.lower_bound()
        result = []
        for name, latency, schedule in self._outputs:
            count, stamp = self.runtime.sent(name)
            time = max(saturating_add(bound, latency), stamp)
            if schedule == "once" and count:
                time = FOREVER
            result.append((name, Promise(count, time)))
        return result

    def blocked(self) -> Blocked:
        """Explain what the participant waits for."""
        candidate, waiting = self._waiting()
        if candidate is not None and candidate >= self.horizon:
            return Blocked(candidate, (f"the horizon (now {format_ns(self.horizon)})",))
        return Blocked(candidate, tuple(self._describe(c) for c in waiting))

    def needs(self) -> list[tuple[str, int]] | None:
        """(connection, promised so far) of what the participant waits for; None: the horizon."""
        candidate, waiting = self._waiting()
        if candidate is not None and candidate >= self.horizon:
            return None
        return [(c.name, c.promise) for c in waiting]

    def awaited(self) -> Channel | None:
        """A connection that has to promise more before anything can be done.

        None: there is none, or no other that could disturb the wait for it.
        """
        if len(self.channels) < 2:
            return None
        candidate, waiting = self._waiting()
        if not waiting or (candidate is not None and candidate >= self.horizon):
            return None
        return waiting[-1]

    def _waiting(self) -> tuple[int | None, list[Channel]]:
        """The next activation, if known, and the connections whose promise it lacks."""
        candidate, _ = self._candidate()
        if candidate is None:
            lbts = self.trigger_lbts()
            return None, [c for c in self._trigger if c.promise == lbts]
        waiting = [c for c in self._plain if c.promise <= candidate]
        return candidate, waiting + [c for c in self._delayed if c.promise < candidate]

    def _candidate(self) -> tuple[int | None, bool]:
        """(time of the next activation, whether it is data-triggered), None if unknown."""
        runtime = self.runtime
        time = runtime.next_time
        if not runtime.has_events:
            return time, False
        lbts = self.trigger_lbts()
        ready = runtime.determine(lbts)
        if ready is not None and (time is None or ready <= time):
            return ready, True
        if time is not None and lbts > time:
            return time, False
        return None, False

    def _settled(self, time: int) -> bool:
        return all(c.promise > time for c in self._plain) and all(
            c.promise >= time for c in self._delayed
        )

    def _is_settled(self, time: int) -> bool:
        """Whether the next activation, at that time, may run already."""
        return time < self.horizon and self._settled(time)

    @staticmethod
    def _describe(channel: Channel) -> str:
        return f"{channel.name} (promised up to {format_ns(channel.promise)})"
