# SPDX-License-Identifier: Apache-2.0
"""The record of a coupling: when data were late, for how long, how often, how wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ros2_cosim.realtime.coupling import Case, Delivery, Exchange, MacroStepCoupling
from ros2_cosim.realtime.estimators_of_records import RecordEstimator
from ros2_cosim.realtime.record_fields import numbers_of

#: Cases that the record names one by one; all are counted.
LISTED = 5000


class CouplingRecord:
    """Watches one coupling.

    :param estimator: asked at the end for what it has learned
    :param computing: tells for how long [ns] the slow part has computed, None: nobody measures
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
        """Note calculated values."""
        self._keep_values(delivery.due, delivery.data)

    def summary(self, coupling: MacroStepCoupling) -> dict[str, Any]:
        """Plain data for ``summary.json``; times in seconds of simulated time."""
        delivered = [case for case in coupling.cases if case.delivered is not None]
        lateness = [case.delivered - case.due for case in delivered if case.delivered is not None]
        elapsed = self._last - self._first
        found: dict[str, Any] = {
            "exchanges": self._exchanges,
            "estimates": self._estimates,
            "late": len(coupling.cases),
            "since_s": None if self._since is None else self._since / 1e9,
            "never_delivered": len(coupling.cases) - len(delivered),
            "mean_lateness_s": sum(lateness) / len(lateness) / 1e9 if lateness else 0.0,
            "longest_lateness_s": max(lateness, default=0) / 1e9,
            "errors": _errors(delivered),
            "learned": [[p, f, c] for (p, f), c in sorted(self._estimator.corrections().items())],
            "cases": [_case(case) for case in coupling.cases[:LISTED]],
        }
        if self._computing is not None and elapsed > 0:
            # At most 1: it is fast enough on average, and can catch up.
            found["load"] = self._computing() / elapsed
        return found

    def _keep_values(self, time: int, data: Any) -> None:
        if not self._keep:
            return
        for port, record in data.items():
            for field, value in numbers_of(record).items():
                times, values = self.values.setdefault(f"{port}.{field}", ([], []))
                times.append(time)
                values.append(value)


def _errors(cases: list[Case]) -> list[list[Any]]:
    """[port, field, mean and largest absolute error] of each number, largest error first."""
    found: dict[tuple[str, str], list[float]] = {}
    for case in cases:
        for key, error in case.errors.items():
            found.setdefault(key, []).append(abs(error))
    rows = [[p, f, sum(e) / len(e), max(e)] for (p, f), e in found.items()]
    return sorted(rows, key=lambda row: (-row[3], row[0], row[1]))


def _case(case: Case) -> list[Any]:
    """[due in s, lateness in s or None, largest absolute error, of which number]."""
    lateness = None if case.delivered is None else (case.delivered - case.due) / 1e9
    worst = max(case.errors.items(), key=lambda item: (abs(item[1]), item[0]), default=None)
    if worst is None:
        return [case.due / 1e9, lateness, None, ""]
    (port, field), error = worst
    return [case.due / 1e9, lateness, abs(error), f"{port}.{field}"]
