# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Where vehicles were during a whole run, in bounded memory: what a slider over it needs."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import Final

from ros2_cosim.core.kernel.time import SECOND

#: Rows of one vehicle are as far apart at the begin of a run [ns]; twice as far as they get many.
APART_NS: Final = 100_000_000
#: Largest number of rows of all vehicles: 50 vehicles, ten minutes, every half second.
MOST_ROWS: Final = 60_000
#: Others are not remembered: traffic that comes and goes has no end.
MOST_NAMES: Final = 2_000
_DIGITS: Final = 3

Row = tuple[float | None, ...]


class BoundedPast:
    """Rows of vehicles over simulated time; what is kept depends on the rows alone.

    :param most: rows of all vehicles together
    """

    def __init__(self, most: int = MOST_ROWS) -> None:
        self._most = most
        self._apart = APART_NS
        self._count = 0
        self._rows: dict[str, list[Row]] = {}
        #: The number of the stretch of time of the newest row.
        self._newest: dict[str, int] = {}

    def wants(self, name: str, time_ns: int) -> bool:
        """Whether a row of this time would be kept."""
        if name not in self._rows and len(self._rows) >= MOST_NAMES:
            return False
        return time_ns // self._apart > self._newest.get(name, -1)

    def add(self, name: str, time_ns: int, values: Sequence[float | None]) -> None:
        """Take a row; the first one in each stretch of time is kept, to the millimetre."""
        if not self.wants(name, time_ns):
            return
        self._newest[name] = time_ns // self._apart
        row = [None if v is None or not isfinite(v) else round(v, _DIGITS) for v in values]
        self._rows.setdefault(name, []).append((time_ns / SECOND, *row))
        self._count += 1
        if self._count > self._most:
            self._thin()

    def _thin(self) -> None:
        """Make the stretches of time twice as long."""
        self._apart *= 2
        for name, rows in self._rows.items():
            kept: dict[int, Row] = {}
            for row in rows:
                kept.setdefault(round((row[0] or 0.0) * SECOND) // self._apart, row)
            self._rows[name] = list(kept.values())
            self._newest[name] = max(kept)
        self._count = sum(map(len, self._rows.values()))
        # Rows of more vehicles than there may be rows would be thinned for each new one.
        self._most = max(self._most, 2 * len(self._rows))

    def rows(self) -> dict[str, list[Row]]:
        """Name -> its rows: the time [s], then the values, None for what is not finite."""
        return {name: list(rows) for name, rows in self._rows.items()}
