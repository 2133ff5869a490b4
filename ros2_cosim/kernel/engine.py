# SPDX-License-Identifier: Apache-2.0
"""Conservative time advance of one participant among others that run concurrently.

The engine knows what has arrived on each incoming connection and what the writers have
promised. It decides which activation comes next and whether it may run yet; it has no
socket, no thread and no wall clock. Whoever owns the transport pushes messages and
promises in, calls :meth:`Engine.advance`, and sends on what comes out.

Decision, in words (``lbts`` of a port is the smallest promise of its connections):

1. data: alpha over the queued samples stamped before the smallest lbts of the triggering
   ports gives the data activation ta, if any;
2. time: the next multiple of the period gives tt. It may run only when no data activation
   at or before tt can still appear, that is when the triggering lbts is beyond tt;
3. the earlier one (data first at equal times) is the candidate c. It may run when every
   latched port is settled up to c (lbts > c, or lbts >= c for a delayed port) and c lies
   before the horizon.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from ros2_cosim.kernel.errors import CausalityError
from ros2_cosim.kernel.graph import Graph
from ros2_cosim.kernel.participant import Sample
from ros2_cosim.kernel.runtime import Output, ParticipantRuntime
from ros2_cosim.kernel.time import FOREVER, NEVER, format_ns, saturating_add


class Promise(NamedTuple):
    """After the first ``count`` messages nothing on this port is stamped before ``time``."""

    count: int  # type: ignore[assignment]  # hides tuple.count, which nobody needs here
    time: int


class Blocked(NamedTuple):
    """Why a participant does not advance: ``waits_for`` names promises, or the horizon.

    ``time`` is the activation it wants to run, or None if no activation is known.
    """

    time: int | None
    waits_for: tuple[str, ...]


class CausalityCounts:
    """How often the transport broke an order: by kind, as the summary reports it."""

    __slots__ = ("loss", "order", "timing")

    def __init__(self) -> None:
        self.timing = 0
        self.order = 0
        self.loss = 0


class Channel:
    """The receiving end of one output port: what has arrived and what is promised.

    :param source: the writing participant
    :param port: its output port
    :param receive: takes each message
    :param enter_ns: when the reader enters, if it may connect late: messages stamped before
        that need not all arrive
    """

    __slots__ = (
        "_closed",
        "_enter",
        "_explicit",
        "_explicit_needed",
        "_missed",
        "_receive",
        "_separation",
        "_silent_from",
        "name",
        "promise",
        "received",
    )

    def __init__(
        self,
        graph: Graph,
        source: str,
        port: str,
        receive: Callable[[Sample], None],
        enter_ns: int = NEVER,
    ) -> None:
        self.name = f"{source}.{port}"
        self._receive = receive
        self._separation = graph.separation(source, port)
        self._explicit_needed = graph.needs_promises(source, port)
        if graph.output(source, port).schedule == "once":
            # Its one message is the last: nothing ever follows it.
            self._separation = FOREVER
        self._silent_from = graph.silent_from(source, port)
        self._explicit = Promise(0, NEVER)
        self._closed = False
        self._enter = enter_ns
        #: The first message, if others were sent before it; until it may be judged.
        self._missed: Sample | None = None
        self.promise = graph.first_stamp(source, port)
        self.received = 0

    @property
    def needs_promises(self) -> bool:
        """Whether messages alone do not tell how long the port stays silent."""
        return self._explicit_needed

    def push(self, sample: Sample, reader: str, counts: CausalityCounts) -> None:
        """Take the next message of the writer, in its sending order.

        :param reader: who reads, for the error message
        :param counts: where a violation is counted
        :raises CausalityError: messages were lost, repeated or overtaken on the transport,
            or one is stamped before what its writer had promised
        """
        if sample.seq != self.received or sample.stamp < self.promise:
            if self._closed:
                return
            if not self._begins_late(sample):
                self._violated(sample, reader, counts)
        self._receive(sample)
        self.received += 1
        if self._separation is not None:
            following = saturating_add(sample.stamp, self._separation)
            self._raise(following if following < self._silent_from else FOREVER)
        else:
            self._raise(sample.stamp)
        if self._explicit_needed:
            self._honour()

    def silent_until(self, time: int) -> None:
        """Learn from the owner of the clock that nothing comes before ``time``."""
        self._raise(time)

    def close(self) -> None:
        """The writer is gone, and the run goes on as if nothing more came."""
        self._closed = True
        self._raise(FOREVER)

    def reader_enters(self, time: int, reader: str, counts: CausalityCounts) -> None:
        """Learn when the reader enters, which was not known when it connected.

        :raises CausalityError: a message that it needs was sent before it had connected
        """
        self._enter = time
        if self._missed is not None and self._missed.stamp >= time:
            self.received = 0
            self._violated(self._missed, reader, counts)

    def _begins_late(self, sample: Sample) -> bool:
        """Whether this is the first message that a late reader gets, with the older ones not
        needed: a newer one stamped before the entry replaces them all.
        """
        if self.received or sample.seq == 0 or sample.stamp < self.promise:
            return False
        if sample.stamp >= self._enter:
            return False
        self._missed = sample
        self.received = sample.seq
        return True

    def _violated(self, sample: Sample, reader: str, counts: CausalityCounts) -> None:
        found = f"message number {sample.seq}, stamped {format_ns(sample.stamp)},"
        if sample.seq > self.received:
            counts.loss += sample.seq - self.received
            what = f"{found} arrived where number {self.received} was expected: messages are lost"
        elif sample.seq < self.received:
            counts.order += 1
            what = f"{found} arrived after number {self.received - 1}: repeated or overtaken"
        else:
            counts.timing += 1
            what = f"{found} arrived, but nothing before {format_ns(self.promise)} was promised"
        raise CausalityError(f"participant '{reader}', input from {self.name}: {what}")

    def promised(self, promise: Promise) -> None:
        """Take an explicit promise; it counts once all messages sent before it are here."""
        if promise.time > self._explicit.time:
            self._explicit = promise
            self._honour()

    def _honour(self) -> None:
        if self.received >= self._explicit.count:
            self._raise(self._explicit.time)

    def _raise(self, time: int) -> None:
        if time > self.promise:
            self.promise = time


class Engine:
    """Time advance of one participant.

    :param graph: the checked system
    :param runtime: the participant
    """

    def __init__(self, graph: Graph, runtime: ParticipantRuntime) -> None:
        self.runtime = runtime
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
            if port in runtime.spec.trigger_ports:
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
        return self.runtime.spec.leave_ns < FOREVER and self.bound() == FOREVER

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

    def bound(self) -> int:
        """No further activation happens before this time."""
        runtime = self.runtime
        candidate = runtime.next_time if runtime.next_time is not None else FOREVER
        if runtime.tso is not None:
            lbts = self.trigger_lbts()
            ready = runtime.tso.determine(lbts)
            candidate = min(candidate, lbts if ready is None else ready)
        candidate = max(candidate, self.last_time, runtime.spec.enter_ns)
        return candidate if candidate < runtime.spec.leave_ns else FOREVER

    def promises(self) -> list[tuple[str, Promise]]:
        """What may be promised on each output port now."""
        bound = self.bound()
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
        if runtime.tso is None:
            return time, False
        lbts = self.trigger_lbts()
        ready = runtime.tso.determine(lbts)
        if ready is not None and (time is None or ready <= time):
            return ready, True
        if time is not None and lbts > time:
            return time, False
        return None, False

    def _settled(self, time: int) -> bool:
        return all(c.promise > time for c in self._plain) and all(
            c.promise >= time for c in self._delayed
        )

    @staticmethod
    def _describe(channel: Channel) -> str:
        return f"{channel.name} (promised up to {format_ns(channel.promise)})"
