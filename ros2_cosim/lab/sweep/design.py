# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Points of a sweep: a value for each parameter."""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import Any

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.lab.sweep.search import Plan, Point
from ros2_cosim.lab.sweep.settings import SweepSettings
from ros2_cosim.lab.sweep.varied import MAX_RUNS, Design, VariedParameter


def plan_of(settings: SweepSettings) -> Plan:
    """The plan of a sweep: that of its search, or all points of its design at once.

    :raises ConfigurationError: (when begun) the design has too many points
    """
    if settings.search is not None:
        return settings.search.plan(settings)
    return _designed(settings)


def _designed(settings: SweepSettings) -> Plan:
    yield points_of(settings.design, settings.parameters)
    return None


def value_at(parameter: VariedParameter, share: float) -> Any:
    """The value of a parameter.

    :param share: where in its range or among its values, 0 to 1
    """
    if parameter.values is not None:
        return parameter.values[min(int(share * len(parameter.values)), len(parameter.values) - 1)]
    low, high = range_of(parameter)
    if parameter.whole:
        # Each number has the same share of the range, the first and the last one, too.
        return min(int(low) + int(share * (high - low + 1)), int(high))
    return between(parameter, share)


def between(parameter: VariedParameter, share: float) -> float:
    """The number of a range at a share of it, 0 to 1; the ends are exact."""
    low, high = range_of(parameter)
    if share in (0.0, 1.0):
        return high if share else low
    if parameter.log:
        return math.exp(math.log(low) + share * (math.log(high) - math.log(low)))
    return low + share * (high - low)


def range_of(parameter: VariedParameter) -> tuple[float, float]:
    """Both ends of the range."""
    assert parameter.low is not None and parameter.high is not None
    return parameter.low, parameter.high


def in_scenario(parameter: VariedParameter, value: Any) -> Any:
    """The value as the scenario has it, with its unit."""
    return f"{value}{parameter.unit}" if parameter.unit else value


def points_of(design: Design, parameters: Mapping[str, VariedParameter]) -> list[Point]:
    """The points of a design, in its order; a single empty one without parameters.

    The same design gives the same points; ``random``, ``latin_hypercube`` and ``sobol`` are SciPy's
    and NumPy's.

    :raises ConfigurationError: there are too many
    """
    names = list(parameters)
    if design.kind in ("grid", "rows"):
        rows = _rows(design.rows or ({},), names)
        left = [name for name in names if not any(name in row for row in rows)]
        axes = [_axis(parameters[name]) for name in left]
        count = len(rows) * math.prod(len(axis) for axis in axes)
        if count > MAX_RUNS:
            raise ConfigurationError(
                f"design: found a grid of {count} points; allowed are {MAX_RUNS}"
            )
        return [
            {**row, **dict(zip(left, values, strict=True))} for row, *values in product(rows, *axes)
        ]
    assert design.samples is not None
    return [
        {
            name: value_at(parameter, share)
            for (name, parameter), share in zip(parameters.items(), shares, strict=True)
        }
        for shares in _cube(design.kind, len(names), design.samples, design.seed)
    ]


def _rows(rows: Iterable[Point], names: Sequence[str]) -> list[Point]:
    """The given rows; where a search chooses a part of them, what is left of them, each once."""
    parts = [{name: row[name] for name in row if name in names} for row in rows]
    if parts == list(rows):
        return [*parts]
    return [*{json.dumps(part): part for part in parts}.values()]


def _axis(parameter: VariedParameter) -> list[Any]:
    if parameter.values is not None:
        return list(parameter.values)
    assert parameter.steps is not None
    shares = [number / (parameter.steps - 1) for number in range(parameter.steps)]
    values = [between(parameter, share) for share in shares]
    return list(dict.fromkeys(round(v) for v in values)) if parameter.whole else values


def _cube(kind: str, dimensions: int, samples: int, seed: int) -> Iterable[list[float]]:
    """Points of the unit cube, each coordinate below 1."""
    if not dimensions:
        return [[] for _ in range(samples)]
    import numpy as np
    from scipy.stats import qmc

    random = np.random.default_rng(seed)
    if kind == "random":
        shares: list[list[float]] = random.random((samples, dimensions)).tolist()
        return shares
    if kind == "latin_hypercube":
        shares = qmc.LatinHypercube(dimensions, rng=random).random(samples).tolist()
        return shares
    with warnings.catch_warnings():
        # A number that is not a power of two is the user's choice; the page says what it costs.
        warnings.simplefilter("ignore", UserWarning)
        shares = qmc.Sobol(dimensions, rng=random).random(samples).tolist()
    return shares
