# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Small convex quadratic programs with bounds: a fixed number of sweeps, the same bits everywhere.

Projected Gauss-Seidel: each variable in turn is set to its best value within its bounds, the others
kept. Source of the method and of its convergence for positive definite matrices: D. P. Bertsekas,
"Nonlinear Programming", 2nd ed. (1999), section 2.7 (block coordinate descent). A general solver
is not used: its results differ between machines by the order of its sums.
"""

from __future__ import annotations

from collections.abc import Sequence


def minimise(
    matrix: Sequence[Sequence[float]],
    vector: Sequence[float],
    low: float,
    high: float,
    start: Sequence[float],
    sweeps: int,
) -> list[float]:
    """Return x that makes ``x' matrix x / 2 + vector' x`` small with low <= x <= high.

    :param matrix: symmetric and positive definite
    :param start: where the first sweep begins
    :param sweeps: how many there are, whatever the result
    """
    x = [min(max(value, low), high) for value in start]
    count = len(x)
    for _ in range(sweeps):
        for i in range(count):
            row = matrix[i]
            slope = vector[i]
            for j in range(count):
                slope += row[j] * x[j]
            x[i] = min(max(x[i] - slope / row[i], low), high)
    return x
