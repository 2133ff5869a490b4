# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Estimation of whole sets of records: a rule for each number in them.

The estimator learns: from each error e of an estimate that was made h seconds after the last
calculated value it takes a share (``adapt``) of e / h as a correction of the rate, which later
estimates of the same number get too.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from ros2_cosim.core.kernel.time import SECOND
from ros2_cosim.core.realtime.coupling import Data, Errors
from ros2_cosim.core.realtime.estimators import Extrapolation, Limits, Method, Point
from ros2_cosim.core.realtime.record_fields import difference, numbers_of, with_numbers

#: So many calculated values are kept: as many as a parabola needs.
_KEPT = 3


class Rule(NamedTuple):
    """How some numbers are estimated.

    ``ports`` and ``fields`` are patterns as file names have them (``odometry/*``, ``v?``).
    ``method`` makes the method for one (port, field); ``adapt`` is the share of an error that
    is learned from, 0..1.
    """

    ports: str
    fields: str
    method: Callable[[str, str], Method]
    limits: Limits = Limits()
    adapt: float = 0.0


def order_rule(order: int, *, ports: str = "*", fields: str = "*", adapt: float = 0.0) -> Rule:
    """A rule that extrapolates."""
    return Rule(ports, fields, lambda port, field: Extrapolation(order), Limits(), adapt)


class _Number:
    """One number: its calculated values and what has been learned about it."""

    __slots__ = ("adapt", "correction", "history", "largest", "limits", "method")

    def __init__(self, rule: Rule | None, port: str, field: str) -> None:
        self.history: deque[Point] = deque(maxlen=_KEPT)
        self.method = rule.method(port, field) if rule else Extrapolation(0)
        self.limits = rule.limits if rule else Limits()
        self.adapt = rule.adapt if rule else 0.0
        #: Learned correction of the rate [unit of the number per second].
        self.correction = 0.0
        self.largest = 0.0

    def estimate(self, time: int, state: Mapping[str, float]) -> float | None:
        value = self.method.estimate(self.history, time, state)
        if value is None:
            return None
        last = self.history[0] if self.history else None
        if last is not None:
            value += self.correction * ((time - last.time) / SECOND)
        return self.limits.apply(value, last, time)

    def learn(self, ahead: float, error: float) -> None:
        if self.adapt and ahead > 0.0:
            self.correction += self.adapt * (error / ahead)
            self.largest = max(self.largest, abs(self.correction))


class RecordEstimator:
    """Estimates records number by number.

    Numbers without a rule, and everything in a record that is not a float, keep the last value.
    The rules are looked up in order, the first that fits counts.

    :param rules: how numbers are estimated
    :param ports: output ports that are estimated; others have no value when data are late
    """

    def __init__(self, rules: Sequence[Rule], ports: Sequence[str]) -> None:
        self._rules = tuple(rules)
        self._ports = frozenset(ports)
        self._numbers: dict[tuple[str, str], _Number] = {}
        self._last: dict[str, Any] = {}
        self._observed = 0
        #: Time of an estimate -> time of the last calculated data when it was made.
        self._made: dict[int, int] = {}

    def observe(self, time: int, data: Data) -> None:
        """See :class:`~ros2_cosim.core.realtime.coupling.Estimator`."""
        self._observed = time
        self._made = {made: since for made, since in self._made.items() if made > time}
        for port, record in data.items():
            if port not in self._ports or record is None:
                continue
            self._last[port] = record
            for field, value in numbers_of(record).items():
                self._number(port, field).history.appendleft(Point(time, value))

    def estimate(self, time: int, state: Data) -> Data:
        """See :class:`~ros2_cosim.core.realtime.coupling.Estimator`."""
        known = state_numbers(state)
        self._made[time] = self._observed
        result: dict[str, Any] = {}
        for port, record in self._last.items():
            estimated: dict[str, float] = {}
            for field in numbers_of(record):
                value = self._number(port, field).estimate(time, known)
                if value is not None:
                    estimated[field] = value
            result[port] = with_numbers(record, estimated)
        return result

    def learn(self, time: int, estimated: Data, calculated: Data) -> Errors:
        """See :class:`~ros2_cosim.core.realtime.coupling.Estimator`."""
        errors: dict[tuple[str, str], float] = {}
        ahead = (time - self._made.get(time, time)) / SECOND
        for port, record in estimated.items():
            truth = calculated.get(port)
            if truth is None:
                continue
            for field, error in difference(truth, record).items():
                errors[port, field] = error
                self._number(port, field).learn(ahead, error)
        return errors

    def corrections(self) -> dict[tuple[str, str], tuple[float, float]]:
        """(port, field) -> the correction of its rate [unit / s]: now, and at most."""
        found = self._numbers.items()
        return {key: (n.correction, n.largest) for key, n in found if n.largest != 0.0}

    def _number(self, port: str, field: str) -> _Number:
        number = self._numbers.get((port, field))
        if number is None:
            rule = next(
                (
                    rule
                    for rule in self._rules
                    if fnmatchcase(port, rule.ports) and fnmatchcase(field, rule.fields)
                ),
                None,
            )
            number = self._numbers[port, field] = _Number(rule, port, field)
        return number


def state_numbers(state: Data) -> dict[str, float]:
    """``port.field`` -> number of the fast part's data."""
    return {
        f"{port}.{field}": value
        for port, record in state.items()
        if record is not None
        for field, value in numbers_of(record).items()
    }
