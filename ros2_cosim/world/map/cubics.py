# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Functions of the station that are piecewise cubic: elevation, lane offset, lane width."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

Piece = tuple[float, float, float, float, float]


def piece_at(starts: list[float], s: float) -> int:
    """The last piece that starts at a station or before; the first one also serves what is before.

    It is ``bisect_right(starts, s, 1) - 1``.
    """
    low, high = 1, len(starts)
    while low < high:
        middle = (low + high) >> 1
        if s < starts[middle]:
            high = middle
        else:
            low = middle + 1
    return low - 1


class Cubics:
    """f(s) = a + b ds + c ds^2 + d ds^3 with ds = s - start of the piece that holds s.

    Before the first piece the function is zero, as OpenDRIVE defines it.
    """

    __slots__ = ("_pieces", "_starts", "constant")

    def __init__(self, pieces: Sequence[Piece]) -> None:
        """Pieces (start, a, b, c, d), starts in increasing order."""
        self._pieces = tuple(pieces)
        self._starts = [piece[0] for piece in pieces]
        self.constant: float | None = None
        if not pieces:
            self.constant = 0.0
        elif len(pieces) == 1 and pieces[0][0] <= 0.0 and pieces[0][2:] == (0.0, 0.0, 0.0):
            self.constant = pieces[0][1]

    @property
    def is_zero(self) -> bool:
        """True if every piece is zero everywhere."""
        return all(piece[1:] == (0.0, 0.0, 0.0, 0.0) for piece in self._pieces)

    def value(self, s: float) -> float:
        """f(s)."""
        constant = self.constant
        return self.value_and_slope(s)[0] if constant is None else constant

    def value_and_slope(self, s: float) -> tuple[float, float]:
        """f(s) and df/ds."""
        if self.constant is not None:
            return self.constant, 0.0
        i = bisect_right(self._starts, s) - 1
        if i < 0:
            return 0.0, 0.0
        start, a, b, c, d = self._pieces[i]
        ds = s - start
        return a + ds * (b + ds * (c + ds * d)), b + ds * (2.0 * c + ds * (3.0 * d))

    def slope(self, s: float) -> float:
        """df/ds."""
        return self.value_and_slope(s)[1]
