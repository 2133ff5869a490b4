# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A participant without synchronisation, and what that does to causality.

The counterpart of :mod:`ros2_cosim.core.kernel.engine`: no reader waits for its inputs. A periodic
activation reads whatever has arrived, a message of a triggering port is delivered as it arrives.
The stamps are those of the synchronised run (t of a periodic activation, the largest stamp
delivered of a data-triggered one), so that each deviation from it shows. No wall clock and no
transport in here: their owner calls :meth:`FreeRunning.receive` when a message has arrived and
:meth:`FreeRunning.activate_time` when an activation is due.

Each message counts at most once per reader, as the first of these that applies:

- **order**: it arrives a second time, or after a later message of the same writer;
- **timing**, late: it arrives after an activation that should have seen it. On a latched
  port: stamp <= t of the last activation (< if delayed). On a triggering port: stamp < t of
  the last activation, or stamp <= t of the last periodic one;
- **order**, on triggering ports: it arrives after a message that comes later in the order
  (stamp, channel, sequence number); *tied* are those of them with an equal stamp, whose order
  is a matter of declaration;
- **timing**, early: an activation at t reads it from a latched port though stamp > t (>= if
  delayed); or it activates a reader that has a periodic activation before that time to run.

**loss** are the messages that are still missing among the sequence numbers. A run in which
nothing was counted has the trace of the synchronised run.

Not each violation is an error: of three late messages an activation would have read the newest.
**wrong** are the activations that have read from a latched port, when all is known, another message
than the synchronised run reads at that time, or were triggered by a message that was counted.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.graph import Graph
from ros2_cosim.core.kernel.latched import LatchedChannel
from ros2_cosim.core.kernel.model import FullModel
from ros2_cosim.core.kernel.participant import Sample
from ros2_cosim.core.kernel.runtime import Output, ParticipantRuntime
from ros2_cosim.core.kernel.time import FOREVER, NEVER
from ros2_cosim.core.kernel.time_advance import QueuedSample

#: A message that is later than this number of activations is only counted, not assigned to one.
_REMEMBERED: Final = 100_000


@dataclass
class FreeRunningCounts:
    """What one reader has met: messages received, violations of causality among them, errors."""

    messages: int = 0
    late: int = 0
    early: int = 0
    order: int = 0
    loss: int = 0
    wrong: int = 0
    tied: int = 0

    @property
    def timing(self) -> int:
        """Messages that arrived too late, and values read too early."""
        return self.late + self.early


class ActivationErrors:
    """Which activations of a reader were wrong; each counts once."""

    __slots__ = ("_counts", "_wrong", "number")

    def __init__(self, counts: FreeRunningCounts) -> None:
        self._counts = counts
        self._wrong: set[int] = set()
        #: That of the activation under way, or the last one.
        self.number = 0

    def mark(self, number: int) -> None:
        """An activation was wrong."""
        if number not in self._wrong:
            self._wrong.add(number)
            self._counts.wrong += 1


class ArrivalChannel(LatchedChannel):
    """A latched connection that shows what arrived last, whatever its stamp."""

    __slots__ = ("_counts", "_early", "_errors", "_reads")

    def __init__(self, delayed: bool, counts: FreeRunningCounts, errors: ActivationErrors) -> None:
        super().__init__(delayed)
        self._counts = counts
        self._errors = errors
        self._early = -1
        #: Time, sequence number that was read (-1: none), and number of the last activations.
        self._reads: deque[tuple[int, int, int]] = deque(maxlen=_REMEMBERED)
        self.push = self._store

    def _store(self, sample: Sample) -> None:
        for time, seq, number in reversed(self._reads):
            if time < sample.stamp or (self.delayed and time == sample.stamp):
                break
            if seq < sample.seq:
                self._errors.mark(number)  # it should have read this one
        if self.newest is None or sample.seq > self.newest.seq:
            self.newest = sample

    def advance(self, time: int) -> int:
        """Go on to the newest sample of all that have arrived; counts one from the future, once."""
        newest = self.newest
        seq = -1
        if newest is not None:
            self.stamp, seq, _ = newest
            self.seq = seq
            future = self.stamp >= time if self.delayed else self.stamp > time
            if future:
                self._errors.mark(self._errors.number)
                if seq != self._early:
                    self._early = seq
                    self._counts.early += 1
        self._reads.append((time, seq, self._errors.number))
        self.changes += 1
        return self.changes


class _FreeRuntime(ParticipantRuntime):
    """A runtime whose inputs are what has arrived."""

    def __init__(
        self,
        graph: Graph,
        name: str,
        model: FullModel,
        timer: Callable[[], int] | None,
        counts: FreeRunningCounts,
        errors: ActivationErrors,
    ) -> None:
        super().__init__(graph, name, model, timer)
        self.arrivals: dict[int, ArrivalChannel] = {}
        for held in self.latched_ports:
            mine = [ArrivalChannel(c.delayed, counts, errors) for c in held.channels]
            self.arrivals.update(zip(held.numbers, mine, strict=True))
            held.channels = [*mine]
            assert held.name not in self.spec.trigger_ports

    def run_at(self, time: int, prefix: list[QueuedSample]) -> list[Output]:
        """Run an activation now."""
        return self._run(time, prefix)


@dataclass
class _Incoming:
    """The receiving end of one connection."""

    port: str
    triggers: bool
    delayed: bool
    expected: int = 0
    missing: set[int] = field(default_factory=set)


class FreeRunning:
    """One participant that runs on whatever has arrived.

    A model's wish to end the run is not heard: a free run lasts its duration.

    :param graph: the checked system
    :param name: the participant
    :param model: its model
    :param end_ns: activations at or after this time do not run
    :param timer: optional monotonic time source [ns] for compute times
    """

    def __init__(
        self,
        graph: Graph,
        name: str,
        model: FullModel,
        *,
        end_ns: int = FOREVER,
        timer: Callable[[], int] | None = None,
    ) -> None:
        handled = sorted(graph.participants[name].handled_ports)
        if handled:
            raise ConfigurationError(
                f"participant '{name}': input '{handled[0]}' is handled, each message at its "
                "stamp; without synchronisation allowed are triggering and latched inputs"
            )
        self.counts = FreeRunningCounts()
        self._errors = ActivationErrors(self.counts)
        self.runtime = _FreeRuntime(graph, name, model, timer, self.counts, self._errors)
        self.end_ns = end_ns
        self._last = NEVER
        self._last_periodic = NEVER
        triggers = self.runtime.spec.trigger_ports
        ports = [graph.input(name, c.target_port) for c in self.runtime.channels]
        self._incoming = [_Incoming(p.name, p.name in triggers, p.delayed) for p in ports]
        activation = self.runtime.spec.activation
        self._evaluator = activation.evaluator() if activation else None
        self._pending: list[QueuedSample] = []
        self._newest_key = (NEVER, -1, -1)
        # Whether a message that waits for an activation was counted.
        self._tainted = False

    @property
    def next_time(self) -> int | None:
        """Time of the next periodic activation; None after the last one, or without period."""
        time = self.runtime.next_time
        return time if time is not None and time < self.end_ns else None

    def received(self, channel: int) -> int:
        """How many messages must have been sent on a connection, by what has arrived."""
        return self._incoming[channel].expected

    def receive(self, channel: int, sample: Sample) -> list[Output]:
        """Take a message that has arrived.

        :returns: what the activation sends that it causes, if any
        :raises ParticipantError: the model failed
        """
        incoming = self._incoming[channel]
        counts = self.counts
        counts.messages += 1
        counted = True
        if not self._in_sequence(incoming, sample.seq):
            if sample.seq not in incoming.missing:
                return []  # the transport repeated it
            incoming.missing.discard(sample.seq)
        elif self._late(incoming, sample.stamp):
            counts.late += 1
        elif incoming.triggers and (sample.stamp, channel, sample.seq) < self._newest_key:
            counts.order += 1
            counts.tied += sample.stamp == self._newest_key[0]
        else:
            counted = False
        if not incoming.triggers:
            self.runtime.arrivals[channel].push(sample)
            return []
        if not self.runtime.spec.enter_ns <= sample.stamp < self.runtime.spec.leave_ns:
            return []  # outside of its presence nothing triggers
        entry = QueuedSample(sample.stamp, channel, sample.seq, incoming.port, sample)
        self._newest_key = max(self._newest_key, entry[:3])
        self._pending.append(entry)
        self._tainted = self._tainted or counted
        assert self._evaluator is not None
        if not self._evaluator.feed(incoming.port, sample):
            return []
        prefix, self._pending = self._pending, []
        wrong, self._tainted = self._tainted, False
        self._evaluator.reset()
        # Time does not go back, whatever arrives.
        time = max(self._last, *(item.stamp for item in prefix))
        if time >= self.end_ns:
            return []
        overtaken = self.next_time
        if overtaken is not None and overtaken < time and not counted:
            counts.early += 1
            wrong = True
        self._last = time
        self._errors.number += 1
        if wrong:
            self._errors.mark(self._errors.number)
        return self.runtime.run_at(time, prefix)

    def activate_time(self) -> list[Output]:
        """Run the next periodic activation.

        :raises ParticipantError: the model failed
        """
        time = self.runtime.next_time
        assert time is not None
        self._last_periodic = time
        self._last = max(self._last, time)
        self._errors.number += 1
        return self.runtime.activate_time()

    def _in_sequence(self, incoming: _Incoming, seq: int) -> bool:
        """Follow the sequence numbers; False if this message should have come before others."""
        counts = self.counts
        if seq >= incoming.expected:
            incoming.missing.update(range(incoming.expected, seq))
            counts.loss += seq - incoming.expected
            incoming.expected = seq + 1
            return True
        counts.order += 1
        if seq in incoming.missing:
            counts.loss -= 1  # it was under way, not lost
        return False

    def _late(self, incoming: _Incoming, stamp: int) -> bool:
        if incoming.triggers:
            return stamp < self._last or stamp <= self._last_periodic
        return stamp < self._last or (stamp == self._last and not incoming.delayed)
