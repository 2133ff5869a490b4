# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Optional checks of the properties of variables: limits, rates, arrival times.

The standard does not require that a slave detects a violation of min, max, gradient, preEdge
and postEdge (table of error codes, PROTOCOL_ERROR_PROPERTY_VIOLATED). ``min`` and ``max`` bound
a value, ``gradient`` its change per second; ``preEdge`` and ``postEdge`` [s] how early and how late
a data PDU may come.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from enum import Enum
from fractions import Fraction
from typing import Any

from ros2_cosim.dcp.standard.slave_description import SlaveDescription, Variable
from ros2_cosim.dcp.standard.values import Value


class Check(Enum):
    """The checks: values against min and max, changes against gradient, arrival of
    data PDUs against preEdge and postEdge (SRT and HRT only).
    """

    LIMITS = "limits"
    GRADIENT = "gradient"
    EDGES = "edges"


class PropertyChecks:
    """The chosen checks for the variables of one description.

    Each method returns what is violated, as text, or None.
    """

    def __init__(self, description: SlaveDescription, checks: Iterable[Check]) -> None:
        chosen = frozenset(checks)
        self.any = bool(chosen)
        self.edges = Check.EDGES in chosen
        self._limits: dict[int, tuple[Any, Any]] = {}
        self._rates: dict[int, Any] = {}
        for variable in description.variables:
            attributes = description.attributes(variable)
            reference = variable.value_reference
            if Check.LIMITS in chosen:
                self._limits[reference] = (attributes.min, attributes.max)
            if Check.GRADIENT in chosen and attributes.gradient is not None:
                self._rates[reference] = attributes.gradient

    def limits(self, variable: Variable, value: Value) -> str | None:
        """Whether a value, or each element of an array, lies between min and max.

        NaN lies between no limits.
        """
        bounds = self._limits.get(variable.value_reference)
        if bounds is None:
            return None
        low, high = bounds
        for item in _items(value):
            if (low is not None and not item >= low) or (high is not None and not item <= high):
                allowed = f"{'-inf' if low is None else low} to {'inf' if high is None else high}"
                return f"{variable.name}: found {item!r}; allowed is {allowed}"
        return None

    def all_limits(self, variables: Sequence[Variable], values: Sequence[Value]) -> str | None:
        """The first violation of limits among the values of a data PDU."""
        found = (self.limits(v, value) for v, value in zip(variables, values, strict=True))
        return next((text for text in found if text is not None), None)

    def rates(
        self,
        variables: Sequence[Variable],
        former: Sequence[Value],
        values: Sequence[Value],
        seconds: Fraction,
    ) -> str | None:
        """The first violation of a gradient between two sets of values, ``seconds`` apart."""
        if not seconds:
            return None
        for variable, before, now in zip(variables, former, values, strict=True):
            rate = self._rates.get(variable.value_reference)
            if rate is None:
                continue
            allowed = rate * float(seconds)
            for a, b in zip(_items(before), _items(now), strict=False):
                if not abs(b - a) <= allowed:
                    return (
                        f"{variable.name}: went from {a!r} to {b!r} in {float(seconds):g} s; "
                        f"allowed is a gradient of {rate}"
                    )
        return None

    def arrival(self, variables: Sequence[Variable], deviation: float) -> str | None:
        """Check the arrival time of a data PDU.

        :param deviation: from the expected time [s], negative if early
        """
        for variable in variables:
            early, late = variable.pre_edge, variable.post_edge
            if early is not None and -deviation > early:
                return f"{variable.name}: came {-deviation:g} s early; allowed are {early:g} s"
            if late is not None and deviation > late:
                return f"{variable.name}: came {deviation:g} s late; allowed are {late:g} s"
        return None


class DataWatch:
    """The checks during a run: keeps the last values of each data PDU and their time.

    :param variables: of the data PDUs and parameter PDUs that come in or go out, by a key of each
    """

    def __init__(
        self,
        checks: PropertyChecks,
        variables: Mapping[Hashable, Sequence[Variable]],
    ) -> None:
        self._checks = checks
        self._variables = variables
        self._former: dict[Hashable, tuple[int, list[Value]]] = {}

    def arrived(
        self, key: Hashable, values: Sequence[Value], deviation: float | None
    ) -> str | None:
        """Check a data PDU on its arrival, which ``deviation`` compares with the ticks."""
        variables = self._variables[key]
        if deviation is not None and self._checks.edges:
            text = self._checks.arrival(variables, deviation)
            if text is not None:
                return text
        return self._checks.all_limits(variables, values)

    def used(
        self, key: Hashable, values: Sequence[Value], ticks: int, resolution: Fraction
    ) -> str | None:
        """Check how fast values have changed since they were used (or sent) before."""
        former = self._former.get(key)
        self._former[key] = (ticks, list(values))
        if former is None:
            return None
        since = (ticks - former[0]) * resolution
        return self._checks.rates(self._variables[key], former[1], values, since)

    def sent(
        self, key: Hashable, values: Sequence[Value], ticks: int, resolution: Fraction
    ) -> str | None:
        """Check a data PDU before it is sent."""
        text = self._checks.all_limits(self._variables[key], values)
        return text or self.used(key, values, ticks, resolution)


def _items(value: Value) -> Sequence[Any]:
    return value if isinstance(value, tuple) else (value,)
