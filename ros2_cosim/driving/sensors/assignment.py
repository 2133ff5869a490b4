# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Which measurement belongs to which track: assignment of least total cost.

The Hungarian method as shortest augmenting paths (R. Jonker, A. Volgenant, Computing 38 (1987)
325-340), in additions and comparisons only: equal costs give the same answer on every machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf


def assign(costs: Sequence[Sequence[float]], limit: float) -> list[int | None]:
    """The column of each row so that the sum of the costs is least; None: it has none.

    A row without a column counts as ``limit``: no pair that costs more is made.

    :param costs: a row for each track, all of the same length; finite or infinite, not negative
    """
    rows = len(costs)
    if not rows:
        return []
    columns = len(costs[0])
    # A separate column for each row that stays without one makes every row assignable.
    size = columns + rows
    square = [
        [min(cost, 2.0 * limit) for cost in row]
        + [limit if own == number else 2.0 * limit for own in range(rows)]
        for number, row in enumerate(costs)
    ]
    of_column: list[int] = [-1] * (size + 1)  # the last one stands for the row to be placed
    row_price, column_price = [0.0] * rows, [0.0] * (size + 1)
    for row in range(rows):
        of_column[size] = row
        column = size
        least, before, done = [inf] * size, [size] * size, [False] * (size + 1)
        while of_column[column] >= 0:
            done[column] = True
            at = of_column[column]
            step, following = inf, -1
            for j in range(size):
                if done[j]:
                    continue
                cost = square[at][j] - row_price[at] - column_price[j]
                if cost < least[j]:
                    least[j], before[j] = cost, column
                if least[j] < step:
                    step, following = least[j], j
            for j in range(size + 1):
                if done[j]:
                    row_price[of_column[j]] += step
                    column_price[j] -= step
                elif j < size:
                    least[j] -= step
            column = following
        while column != size:
            of_column[column] = of_column[before[column]]
            column = before[column]
    found: list[int | None] = [None] * rows
    for column in range(columns):
        row = of_column[column]
        if row >= 0 and costs[row][column] <= limit:
            found[row] = column
    return found
