# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Coupling of a real-time and a non-real-time part: the algorithm, without any clock.

The fast (real-time) part has the simulation time te, which is real time. The slow part has its own
time, tv, which is only linked to te, by time stamps. At the points of exchange

1. the fast part writes its data Se, stamped te, to the input buffer of the slow part;
2. the slow part uses the oldest set of its buffer; when a computation is complete, that set
   leaves the buffer and tv becomes its stamp (or the stamp plus a fixed adjustment). If the
   buffer is not empty then, the next computation begins at once, without idling;
3. the fast part checks whether the data Sn for its next macro step are there. They are if the
   slow part's buffer holds nothing that should have been used by now: tv has caught up. If
   not, an estimator makes data in their place, and the fast part goes on without waiting.

Data that were late are delivered afterwards: the error of the estimate is computed, the
estimator learns from it, and the case is recorded. Source of the method: JP 7130499 B2,
claims 1 to 15, figures 3 and 4.

What arrives when is an *input* here. So the same arrivals give the same results, whatever
decided them: a wall clock, a random stream, or the record of an earlier run.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

from ros2_cosim.core.kernel.errors import ParticipantError
from ros2_cosim.core.kernel.time import NEVER, format_ns

#: What the two parts exchange: port -> record.
Data = Mapping[str, Any]
#: So many late sets are kept one by one; all are counted.
CASES = 5000
#: (port, field) -> calculated minus estimated, in the unit of the field.
Errors = Mapping[tuple[str, str], float]


class Estimator(Protocol):
    """Makes data in place of those that are late, and learns from its errors."""

    def observe(self, time: int, data: Data) -> None:
        """Take calculated data that belong to ``time`` [ns]; times grow."""

    def estimate(self, time: int, state: Data) -> Data:
        """Estimate the data that belong to ``time`` [ns].

        :param state: the newest data of the fast part
        """

    def learn(self, time: int, estimated: Data, calculated: Data) -> Errors:
        """Compare an estimate with the data that came too late; adapt, and return the error."""


class Sent(NamedTuple):
    """One set of data in the slow part's input buffer.

    ``stamp`` is te at which it was written, ``due`` te at which the result is needed.
    """

    stamp: int
    due: int
    data: Any


class Delivery(NamedTuple):
    """The result of one computation of the slow part, as it arrives at the fast one.

    ``tv`` is its time stamp, ``due`` the te at which it was needed; ``errors`` (of an estimate
    made in its place) is None when it came in time. ``buffered`` are the stamps of what is
    still in the slow part's buffer: none means that it has caught up.
    """

    tv: int
    due: int
    data: Data
    late: bool
    errors: Errors | None
    buffered: tuple[int, ...]


class Exchange(NamedTuple):
    """What the fast part uses from ``te`` on, calculated or estimated."""

    te: int
    tv: int
    data: Data
    estimated: bool
    buffered: tuple[int, ...]


class Case(NamedTuple):
    """One set of data that was not there in time; times in nanoseconds.

    ``delivered`` is te of the exchange at which it was there at last (None: never),
    ``errors`` how wrong the estimate was.
    """

    due: int
    delivered: int | None
    errors: Errors


class MacroStepCoupling:
    """The fast part's view of one slow part.

    :param estimator: makes data in place of late ones
    :param adjustment_ns: what is added to the stamp of the data used to give tv; 0, or the
        length of a macro step: then tv equals te whenever the slow part has caught up
    :param buffer_limit: maximum number of queued input sets; a slow part that is not fast
        enough on average would fill any memory
    :param owner: the slow part's name, for messages
    """

    def __init__(
        self,
        estimator: Estimator,
        *,
        adjustment_ns: int = 0,
        buffer_limit: int = 1000,
        owner: str = "slow part",
    ) -> None:
        self._estimator = estimator
        self._adjustment = adjustment_ns
        self._limit = buffer_limit
        self._owner = owner
        self._buffer: deque[Sent] = deque()
        self._estimates: dict[int, Data] = {}
        self._current: Data = {}
        self._used: Data = {}
        self._state: Data = {}
        self.tv = NEVER
        #: The first sets of data that were late, in the order in which they were due.
        self.cases: list[Case] = []
        #: How many sets were late, and how many of them have been delivered.
        self.late = 0
        self.delivered = 0
        self._open: dict[int, int] = {}

    @property
    def pending(self) -> tuple[Sent, ...]:
        """What the slow part has yet to use, oldest first."""
        return tuple(self._buffer)

    @property
    def buffered(self) -> tuple[int, ...]:
        """Stamps of the sets in the slow part's input buffer, oldest first."""
        return tuple(sent.stamp for sent in self._buffer)

    def start(self, te: int, data: Data) -> Exchange:
        """Begin with calculated data of both parts: te and tv coincide."""
        self.tv = te
        self._current = self._used = data
        self._estimator.observe(te, data)
        return Exchange(te, te, data, False, self.buffered)

    def write(self, te: int, due: int, data: Any, state: Data) -> None:
        """Put data of the fast part into the slow part's input buffer.

        :param due: te at which the result is needed
        :param data: what the slow part computes from
        :param state: the fast part's data for the estimator
        :raises ParticipantError: the buffer is full
        """
        if len(self._buffer) >= self._limit:
            raise ParticipantError(
                f"participant '{self._owner}' is behind by {len(self._buffer)} macro steps at "
                f"{format_ns(te)}: its input buffer is full; it has to be fast enough on average "
                "(or coupling.buffer larger)"
            )
        self._state = state
        self._buffer.append(Sent(te, due, data))

    def complete(self, te: int, result: Data) -> Delivery:
        """The slow part has completed the computation with the oldest data of its buffer.

        :param te: the exchange at which this is noticed
        :raises ParticipantError: there was nothing to compute
        """
        if not self._buffer:
            raise ParticipantError(
                f"participant '{self._owner}' delivered a result at {format_ns(te)} for which it "
                "had no data"
            )
        used = self._buffer.popleft()
        self.tv = used.stamp + self._adjustment
        estimate = self._estimates.pop(used.due, None)
        errors: Errors | None = None
        if estimate is not None:
            errors = self._estimator.learn(used.due, estimate, result)
            self.delivered += 1
            number = self._open.pop(used.due)
            if number < CASES:
                self.cases[number] = Case(used.due, te, errors)
        self._estimator.observe(used.due, result)
        self._current = result
        return Delivery(self.tv, used.due, result, estimate is not None, errors, self.buffered)

    def check(self, te: int) -> Exchange:
        """Decide what the fast part uses from ``te`` on: the calculated data, or an estimate."""
        late = [sent for sent in self._buffer if sent.due <= te]
        if not late:
            self._used = self._current
            return Exchange(te, self.tv, self._current, False, self.buffered)
        self._used = data = self._estimator.estimate(te, self._state)
        if late[-1].due == te:
            self._estimates[te] = data
            self._open[te] = self.late
            self.late += 1
            if len(self.cases) < CASES:
                self.cases.append(Case(te, None, {}))
        return Exchange(te, self.tv, data, True, self.buffered)

    def between(self, te: int, *, estimate: bool) -> Data:
        """What the fast part uses between two exchanges: what it has, or an estimate."""
        return self._estimator.estimate(te, self._state) if estimate else self._used
