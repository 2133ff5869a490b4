# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Algorithm 1: the time advance of a data-triggered participant.

The timestamp-ordered (TSO) queue holds received samples; the lower bound timestamp (LBTS)
divides them into safe ones (stamp < LBTS: nothing older can still arrive) and unsafe ones.
The smallest prefix of the safe samples that satisfies the activation function activates
the participant at the largest stamp of that prefix.

Source: Baron, Sippl, Hielscher, German, "Synchronization of Hybrid Models in the Automated
Driving Simulation", Algorithm 1 (DetermineTimeAdvance).
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import NamedTuple

from ros2_cosim.core.kernel.activation import Activation
from ros2_cosim.core.kernel.participant import Sample
from ros2_cosim.core.kernel.time import FOREVER, NEVER


class QueuedSample(NamedTuple):
    """A sample in the queue, ordered by (stamp, channel, seq).

    ``channel`` is the index of the connection in declaration order: it fixes the order of
    samples with equal stamps, whatever their order of arrival.
    """

    stamp: int
    channel: int
    seq: int
    port: str
    sample: Sample


class TimeAdvance:
    """The TSO queue of one participant together with its activation function.

    Evaluation is incremental: a sample that has become safe is fed to alpha once, because
    every sample that becomes safe later is newer.

    :param first: samples stamped before this do not count [ns]
    :param end: samples stamped at or after this do not count either [ns]
    """

    __slots__ = ("_end", "_evaluator", "_prefix", "_queue", "_ready", "first")

    def __init__(self, activation: Activation, first: int = NEVER, end: int = FOREVER) -> None:
        self._evaluator = activation.evaluator()
        self._end = end
        self.first = first
        self._queue: list[QueuedSample] = []
        self._prefix: list[QueuedSample] = []
        self._ready = False

    def push(self, entry: QueuedSample) -> None:
        """Put a received sample into the queue."""
        heappush(self._queue, entry)

    def determine(self, lbts: int) -> int | None:
        """Find the next activation among the safe samples.

        :param lbts: nothing stamped before this can still arrive on any triggering port
        :returns: the activation time, or None if no safe prefix satisfies alpha (blocked)
        """
        if not self._ready:
            queue = self._queue
            while queue:
                stamp, _, _, port, sample = queue[0]
                if stamp >= lbts:
                    break
                entry = heappop(queue)
                if not self.first <= stamp < self._end:
                    continue
                self._prefix.append(entry)
                if self._evaluator.feed(port, sample):
                    self._ready = True
                    break
        # The queue is ordered, so the last sample of the prefix has the largest stamp.
        return self._prefix[-1].stamp if self._ready else None

    def next_stamp(self) -> int | None:
        """Stamp of the oldest sample that alpha has not seen yet."""
        return self._queue[0].stamp if self._queue else None

    def take(self) -> list[QueuedSample]:
        """Deliver the prefix that activated and start looking for the next one."""
        prefix = self._prefix
        self._prefix = []
        self._ready = False
        self._evaluator.reset()
        return prefix

    def __len__(self) -> int:
        """Number of samples received and not yet delivered."""
        return len(self._queue) + len(self._prefix)
