# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Digits and letters of signs and roads: rectangles on a grid of three by five."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

#: Rows of letters from the top, each an octal digit whose bits are cells from left to right.
_GLYPHS: Final = {
    "0": "75557", "1": "26227", "2": "71747", "3": "71717", "4": "55711", "5": "74717",
    "6": "74757", "7": "71122", "8": "75757", "9": "75717",
    "O": "75557", "P": "75744", "S": "74717", "T": "72222",
}  # fmt: skip
_WIDE, _TALL = 3, 5

#: Low u, high u, low v, high v: u grows as one reads, v upwards.
Rectangle = tuple[float, float, float, float]


def strokes(text: str) -> Iterator[Rectangle]:
    """A text over the square from -1 to 1, one rectangle for each run of cells in a row."""
    cell_u, cell_v = 2.0 / ((_WIDE + 1) * len(text) - 1), 2.0 / _TALL
    for place, letter in enumerate(text):
        first = place * (_WIDE + 1)
        for row, digit in enumerate(_GLYPHS[letter]):
            v = 1.0 - row * cell_v
            for low, high in _runs(int(digit)):
                yield (first + low) * cell_u - 1.0, (first + high) * cell_u - 1.0, v - cell_v, v


def _runs(bits: int) -> Iterator[tuple[int, int]]:
    """First and last + 1 cell of each run."""
    begin = None
    for cell in range(_WIDE + 1):
        is_set = cell < _WIDE and bits >> (_WIDE - 1 - cell) & 1
        if is_set and begin is None:
            begin = cell
        elif not is_set and begin is not None:
            yield begin, cell
            begin = None
