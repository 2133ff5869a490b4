# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""One connection at its receiving end: what has arrived, and what is promised.

Messages on one port come in the order of their sequence numbers. The channel notices and counts
what the transport loses, repeats or lets overtake.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ros2_cosim.core.kernel import lookahead
from ros2_cosim.core.kernel.errors import CausalityError
from ros2_cosim.core.kernel.graph import Graph
from ros2_cosim.core.kernel.sample import Sample
from ros2_cosim.core.kernel.time import FOREVER, NEVER, format_ns, saturating_add


class Promise(NamedTuple):
    """After the first ``count`` messages nothing on this port is stamped before ``time``."""

    count: int  # type: ignore[assignment]  # hides tuple.count, which has no use here
    time: int


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
        self._separation = lookahead.separation(graph, source, port)
        self._explicit_needed = lookahead.needs_promises(graph, source, port)
        if graph.output(source, port).schedule == "once":
            # Its one message is the last: nothing ever follows it.
            self._separation = FOREVER
        self._silent_from = lookahead.silent_from(graph, source, port)
        self._explicit = Promise(0, NEVER)
        self._closed = False
        self._enter = enter_ns
        #: The first message, if others were sent before it; until it may be judged.
        self._missed: Sample | None = None
        self.promise = lookahead.first_stamp(graph, source, port)
        self.received = 0

    @property
    def needs_promises(self) -> bool:
        """Whether messages alone do not tell how long the port stays silent."""
        return self._explicit_needed

    def push(self, sample: Sample, reader: str, counts: CausalityCounts) -> None:
        """Take the next message of the writer, in its sending order.

        :param reader: the reading participant, for the error message
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

    def has_all(self, sent: int) -> bool:
        """Whether everything is here that the writer has sent, or nothing more will come.

        :param sent: how many messages the writer has sent
        """
        return self._closed or self.received >= sent

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
        self.promise = max(self.promise, time)


class SequenceNumbers:
    """Sequence numbers of messages whose type carries none: from the stamps, where they are
    regular.
    """

    def __init__(self, graph: Graph, participant: str, port: str) -> None:
        self._port = (participant, port)
        self._separation = lookahead.separation(graph, participant, port)
        self._first = lookahead.first_stamp(graph, participant, port)

    def entered(self, graph: Graph) -> None:
        """Learn when the writer, whose entry was not known, sends first."""
        self._first = lookahead.first_stamp(graph, *self._port)

    def number(self, stamp: int, received: int) -> int:
        """The number of a message; the count of received ones where stamps are not regular."""
        if self._separation is None:
            return received
        return (stamp - self._first) // self._separation
