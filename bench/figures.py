# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Measured figures with their intervals, printed as a table and written as JSON.

The file is ``{"rows": [{"quantity": ..., "value": ..., "unit": ..., "interval": [low, high]}]}``.
"""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple


class Figure(NamedTuple):
    """One figure; ``interval`` holds the true value with a probability of 95 %, unless a program
    says otherwise. Of a count it is the count itself.
    """

    quantity: str
    value: float
    unit: str
    interval: tuple[float, float]


def counted(quantity: str, value: float, unit: str = "1") -> Figure:
    """What was counted, not estimated."""
    return Figure(quantity, value, unit, (value, value))


def median_of(quantity: str, values: Iterable[float], unit: str) -> Figure:
    """Median, with the interval of its order statistics (sign test, normal approximation)."""
    return Figure(quantity, *_median(sorted(values), unit))


def _median(values: Sequence[float], unit: str) -> tuple[float, str, tuple[float, float]]:
    count = len(values)
    low = max(0, math.floor((count - 1.96 * math.sqrt(count)) / 2.0) - 1)
    return statistics.median(values), unit, (values[low], values[count - 1 - low])


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that is not exceeded by this share of all."""
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)]


def show(figures: Sequence[Figure], file: Path | None) -> None:
    """Print the figures, and write them to a file if one is given."""
    width = max(len(figure.quantity) for figure in figures)
    for f in figures:
        low, high = f.interval
        between = "" if low == high else f"  ({low:.6g} to {high:.6g})"
        print(f"{f.quantity:{width}s}  {f.value:.6g} {f.unit}{between}")
    if file is not None:
        file.parent.mkdir(parents=True, exist_ok=True)
        rows = [figure._asdict() for figure in figures]
        file.write_text(json.dumps({"rows": rows}, indent=2) + "\n", encoding="utf-8")
