# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A participant that may be late: a layer between its model and its ports.

The kernel sees a participant that is always in time. Inside, the model's computations are
macro steps of a :class:`~ros2_cosim.core.realtime.coupling.MacroStepCoupling`, and where one is
late the ports carry estimates. Any model can stand behind it: CARLA, a DCP slave, a Python class.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from ros2_cosim.core.kernel.layers import Activation, Layer, LayeredModel
from ros2_cosim.core.kernel.model import Report
from ros2_cosim.core.kernel.participant import Host, Step
from ros2_cosim.core.realtime.arrivals import ArrivalLog, Arrivals
from ros2_cosim.core.realtime.check_pattern import CheckPattern
from ros2_cosim.core.realtime.computation import Computation, Result
from ros2_cosim.core.realtime.coupling import Data, Delivery, Exchange, MacroStepCoupling
from ros2_cosim.core.realtime.coupling_record import CouplingRecord
from ros2_cosim.core.realtime.record_fields import numbers_of, with_numbers


class LatePorts(NamedTuple):
    """Where late results go. Both map a port to a sparse output port of the same type."""

    late: Mapping[str, str]
    correction: Mapping[str, str]


class Below:
    """The slow part of a coupling: what is below it."""

    whole: LayeredModel
    activate: Activation

    @property
    def stop_reason(self) -> str | None:
        """Why its model wants the run to end."""
        return self.whole.model.stop_reason


class Coupling(Layer):
    """Lets those below be a slow part behind the ports of a participant.

    At activation k the fast part's data are read. Without ``overlap`` they are computed with at
    once, and the result is due in the same activation (within a budget of wall time); so a run
    in which nothing is late is the same as one without this layer. With ``overlap`` the slow
    part computes while the others go on, and the result is due at the next exchange.

    :param part: the slow part, which this layer tells the computation
    :param computation: runs its macro steps
    :param arrivals: decides which results are there
    :param coupling: the algorithm
    :param pattern: at which activations data are exchanged
    :param period_ns: of the participant
    :param overlap: whether the slow part computes beside the fast one
    :param hold: between two exchanges: hold the last data, or (False) estimate
    :param silent: ports that carry nothing where the data are late
    :param ports: where late results go
    :param record: what the summary says of it
    :param began: called with te when the first result is there
    """

    unsaved = ""

    def __init__(
        self,
        part: Below,
        computation: Computation,
        arrivals: Arrivals,
        coupling: MacroStepCoupling,
        *,
        pattern: CheckPattern,
        period_ns: int,
        overlap: bool,
        hold: bool,
        silent: Sequence[str],
        ports: LatePorts,
        record: CouplingRecord,
        began: Callable[[int], None] = lambda te: None,
    ) -> None:
        self._part = part
        self._computation = computation
        self._arrivals = ArrivalLog(arrivals)
        self._coupling = coupling
        self._pattern = pattern
        self._period = period_ns
        self._overlap = overlap
        self._hold = hold
        self._silent = frozenset(silent)
        self._ports = ports
        self._record = record
        self._began = began
        self._activations = 0
        self._collected: list[Step] = []
        #: Sparse messages that wait for their turn: a port sends one at a time.
        self._events: dict[str, deque[Any]] = {}
        self._drained = False
        #: Set when the result is there that the model ended the run with.
        self._reason: str | None = None

    def placed(self, model: LayeredModel) -> None:
        """Get to know whose part is slow."""
        self._part.whole = model

    def attach(self, host: Host) -> Host:
        """The messages of a macro step are due when the coupling says, not at once."""
        return host._replace(send=None)

    def around(self, below: Activation) -> Activation:
        """Exchange data with what is below; its participant handles no messages."""
        self._part.activate = below
        return self._activate

    def stop_reason(self, reason: str | None) -> str | None:
        """That of the results that have come."""
        return self._reason

    def next_time(self, time: int | None) -> int | None:
        """A macro step is as long as the pattern says, not as the model likes."""
        return None

    def _activate(self, step: Step) -> Mapping[str, Any]:
        """Exchange data, or carry on between two exchanges; never waits beyond its deadline."""
        number = self._activations
        self._activations += 1
        te = step.time
        if number == 0:
            data = self._begin(step)
        elif not self._pattern.is_exchange(number):
            self._collected.append(step)
            data = self._coupling.between(te, estimate=not self._hold)
        elif self._overlap:
            self._receive(te)
            exchange = self._coupling.check(te)
            self._hand_over_ahead(step, number)
            data = self._used(exchange)
        else:
            self._collected.append(step)
            steps, self._collected = tuple(self._collected), []
            self._coupling.write(te, te, steps, _state(step))
            self._computation.submit(steps)
            self._receive(te)
            data = self._used(self._coupling.check(te))
        return {**data, **self._next_events()}

    def over(self) -> None:
        """Let the slow part compute what it still has to."""
        if not self._drained:
            self._drained = True
            for _ in self._coupling.pending:
                self._computation.take()

    def close(self) -> None:
        """End the computation."""
        self._computation.close()

    release = close

    def report(self, report: Report) -> Report:
        """What summary and arrival record say of this coupling."""
        waited = self._computation.waited_ns
        coupling = {
            "coupling": self._record.summary(self._coupling),
            "arrivals": self._arrivals.incomplete,
            "values": self._record.values,
            "depends_on_wall_clock": self._arrivals.depends_on_wall_clock,
        }
        return report._replace(
            realtime={**(report.realtime or {}), **coupling},
            transport_ns=report.transport_ns if waited is None else waited,
        )

    def _begin(self, step: Step) -> Data:
        """The first data are waited for: both parts begin at the same time."""
        self._computation.submit((step,))
        result = self._computation.take()
        self._take_events(result)
        exchange = self._coupling.start(step.time, result.outputs)
        self._record.exchanged(exchange)
        self._began(step.time)
        if self._overlap:
            self._hand_over_ahead(step, 0)
        return exchange.data

    def _hand_over_ahead(self, step: Step, number: int) -> None:
        """Give the slow part what it needs for the macro step up to the next exchange."""
        length = self._pattern.to_next(number)
        steps = tuple(
            step._replace(time=step.time + i * self._period) for i in range(1, length + 1)
        )
        due = step.time + length * self._period
        self._coupling.write(step.time, due, steps, _state(step))
        self._computation.submit(steps)

    def _receive(self, te: int) -> None:
        for _ in range(self._arrivals.complete(te, self._coupling.pending)):
            result = self._computation.take()
            self._take_events(result)
            delivery = self._coupling.complete(te, result.outputs)
            self._record.delivered(te, delivery)
            if delivery.late:
                self._deliver_late(delivery)

    def _deliver_late(self, delivery: Delivery) -> None:
        for port, record in delivery.data.items():
            if port in self._ports.late:
                self._queue(self._ports.late[port], record)
            if port in self._ports.correction and delivery.errors is not None:
                wrong = {f: delivery.errors.get((port, f), 0.0) for f in numbers_of(record)}
                self._queue(self._ports.correction[port], with_numbers(record, wrong, unit=False))

    def _used(self, exchange: Exchange) -> Data:
        self._record.exchanged(exchange)
        if not exchange.estimated:
            return exchange.data
        return {name: v for name, v in exchange.data.items() if name not in self._silent}

    def _take_events(self, result: Result) -> None:
        for port, record in result.events:
            self._queue(port, record)
        if result.stop_reason is not None:
            self._reason = result.stop_reason

    def _queue(self, port: str, record: Any) -> None:
        self._events.setdefault(port, deque()).append(record)

    def _next_events(self) -> dict[str, Any]:
        return {port: waiting.popleft() for port, waiting in self._events.items() if waiting}


def _state(step: Step) -> dict[str, Any]:
    return {port: sample.value for port, sample in step.latest.items() if sample is not None}
