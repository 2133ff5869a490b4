# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""At which macro steps the two parts of a coupled simulation exchange data."""

from __future__ import annotations

from collections.abc import Sequence

from ros2_cosim.core.kernel.errors import ConfigurationError

LONGEST = 1000


class CheckPattern:
    """A repeating sequence of distances between two exchanges, in macro steps of the fast part.

    ``1`` is every step, ``n`` every n-th step, ``[2, 1]`` after two steps and after one in
    turns. Point 0, the start, is always an exchange: both parts begin at the same time.

    :param distances: macro steps from one exchange to the next, repeated
    :raises ConfigurationError: no distance, or one that is not an integer above zero
    """

    def __init__(self, distances: int | Sequence[int], where: str = "check") -> None:
        cycle = [distances] if isinstance(distances, int) else list(distances)
        good = [d for d in cycle if isinstance(d, int) and not isinstance(d, bool) and d >= 1]
        if not cycle or good != cycle or sum(cycle) > LONGEST:
            raise ConfigurationError(
                f"{where}: found {distances!r}; allowed is a number of macro steps from 1, or a "
                f"list of such numbers, as [2, 1], that repeats after at most {LONGEST} steps"
            )
        self.cycle = tuple(cycle)
        self._length = sum(cycle)
        # For each step of a cycle: steps back to the newest exchange, steps on to the next one.
        self._next: list[int] = []
        self._since: list[int] = []
        for distance in cycle:
            self._next += [distance - i for i in range(distance)]
            self._since += list(range(distance))

    def is_exchange(self, step: int) -> bool:
        """Whether data are exchanged at the end of macro step ``step`` (0: at the start)."""
        return self._since[step % self._length] == 0

    def to_next(self, step: int) -> int:
        """Macro steps from ``step`` to the next exchange after it."""
        return self._next[step % self._length]
