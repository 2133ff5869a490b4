# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The record of a coupling: when data were late, for how long, how often, how wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ros2_cosim.core.realtime.coupling import Case, Delivery, Exchange, MacroStepCoupling
from ros2_cosim.core.realtime.estimators_of_records import RecordEstimator
from ros2_cosim.core.realtime.record_fields import numbers_of


class CouplingRecord:
    """Watches one coupling.

    :param estimator: asked at the end for what it has learned
    :param computing: tells for how long [ns] the slow part has computed, None: not measured
    :param keep_values: keep every calculated number, for estimates of later runs
    """

    def __init__(
        self,
        estimator: RecordEstimator,
        *,
        computing: Callable[[], int] | None = None,
        keep_values: bool = False,
    ) -> None:
        self._estimator = estimator
        self._computing = computing
        self._keep = keep_values
        self._exchanges = 0
        self._estimates = 0
        self._first = 0
        self._last = 0
        self._since: int | None = None
        self._lateness = 0
        self._longest = 0
        # (port, field) -> number, sum and largest of the absolute errors.
        self._errors: dict[tuple[str, str], tuple[int, float, float]] = {}
        #: ``port.field`` -> times [ns] and calculated values.
        self.values: dict[str, tuple[list[int], list[float]]] = {}

    def exchanged(self, exchange: Exchange) -> None:
        """Count an exchange."""
        if self._exchanges == 0:
            self._first = exchange.te
            self._keep_values(exchange.te, exchange.data)
        self._last = exchange.te
        self._exchanges += 1
        if exchange.estimated:
            self._estimates += 1
            if self._since is None:
                self._since = exchange.te

    def delivered(self, te: int, delivery: Delivery) -> None:
        """Note calculated values, and how late and how wrong they were."""
        self._keep_values(delivery.due, delivery.data)
        if delivery.errors is None:
            return
        self._lateness += te - delivery.due
        self._longest = max(self._longest, te - delivery.due)
        for key, error in delivery.errors.items():
            number, total, largest = self._errors.get(key, (0, 0.0, 0.0))
            self._errors[key] = (number + 1, total + abs(error), max(largest, abs(error)))

    def summary(self, coupling: MacroStepCoupling) -> dict[str, Any]:
        """Plain data for ``summary.json``; times in seconds of simulated time."""
        elapsed = self._last - self._first
        found: dict[str, Any] = {
            "exchanges": self._exchanges,
            "estimates": self._estimates,
            "late": coupling.late,
            "since_s": None if self._since is None else self._since / 1e9,
            "never_delivered": coupling.late - coupling.delivered,
            "mean_lateness_s": self._lateness / max(1, coupling.delivered) / 1e9,
            "longest_lateness_s": self._longest / 1e9,
            "errors": self._worst(),
            "learned": [[*key, *c] for key, c in sorted(self._estimator.corrections().items())],
            "cases": [_case(case) for case in coupling.cases],
        }
        if self._computing is not None and elapsed > 0:
            # At most 1: it is fast enough on average, and can catch up.
            found["load"] = self._computing() / elapsed
        return found

    def _worst(self) -> list[list[Any]]:
        """[port, field, mean and largest absolute error] of each number, largest error first."""
        rows = [[p, f, total / n, largest] for (p, f), (n, total, largest) in self._errors.items()]
        return sorted(rows, key=lambda row: (-row[3], row[0], row[1]))

    def _keep_values(self, time: int, data: Any) -> None:
        if not self._keep:
            return
        for port, record in data.items():
            for field, value in numbers_of(record).items():
                times, values = self.values.setdefault(f"{port}.{field}", ([], []))
                times.append(time)
                values.append(value)


def _case(case: Case) -> list[Any]:
    """[due in s, lateness in s or None, largest absolute error, of which number]."""
    lateness = None if case.delivered is None else (case.delivered - case.due) / 1e9
    worst = max(case.errors.items(), key=lambda item: (abs(item[1]), item[0]), default=None)
    if worst is None:
        return [case.due / 1e9, lateness, None, ""]
    (port, field), error = worst
    return [case.due / 1e9, lateness, abs(error), f"{port}.{field}"]
