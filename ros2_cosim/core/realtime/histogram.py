# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Counts of wall-clock delays in fixed classes, one after another twice as wide."""

from __future__ import annotations

from bisect import bisect_left
from typing import Any

#: Upper bounds [ns] of the classes: 10 us, 20 us, ... 10.24 ms, ...; the last class is open.
BOUNDS_NS = tuple(10_000 << i for i in range(16))


class Histogram:
    """How often a delay fell into which class."""

    def __init__(self) -> None:
        self.counts = [0] * (len(BOUNDS_NS) + 1)
        self.largest_ns = 0
        self.total_ns = 0
        self.number = 0

    def add(self, delay_ns: int) -> None:
        """Count one delay [ns]; one below zero counts as zero."""
        delay = max(0, delay_ns)
        self.number += 1
        self.total_ns += delay
        self.largest_ns = max(self.largest_ns, delay)
        self.counts[bisect_left(BOUNDS_NS, delay)] += 1

    def plain(self) -> dict[str, Any]:
        """Classes that were hit, as [upper bound in s or None, count], and the extremes [s]."""
        bounds: list[float | None] = [bound / 1e9 for bound in BOUNDS_NS]
        bounds.append(None)
        return {
            "classes": [
                [bound, count] for bound, count in zip(bounds, self.counts, strict=True) if count
            ],
            "number": self.number,
            "mean_s": self.total_ns / self.number / 1e9 if self.number else 0.0,
            "largest_s": self.largest_ns / 1e9,
        }
