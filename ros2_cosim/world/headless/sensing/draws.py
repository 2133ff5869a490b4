# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Random numbers of one sensor, by its ``noise_seed``: the same on every machine."""

from __future__ import annotations

import numpy as np
from numpy.random import Philox
from numpy.typing import NDArray

from ros2_cosim.core.kernel.normal_quantile import normal_quantile
from ros2_cosim.core.kernel.random_streams import stream_key
from ros2_cosim.world.headless.sensing.axes import Floats

_UNIFORM_STEP = 2.0**-53
_OPEN_STEP = 2.0**-52
_WORDS_OF_BLOCK = 4


class Words:
    """The words of a key: any part of one sequence. To go on where the last part ended is quick."""

    def __init__(self, key: int) -> None:
        self._key = key
        self._bits = Philox(key=key)
        self._position = 0

    def part(self, begin: int, count: int) -> NDArray[np.uint64]:
        """Words ``begin`` to ``begin + count``."""
        if begin != self._position:
            # The generator counts blocks.
            block, inside = divmod(begin, _WORDS_OF_BLOCK)
            self._bits = Philox(key=self._key, counter=block)
            self._bits.random_raw(inside)
        self._position = begin + count
        return self._bits.random_raw(count)


class Draws:
    """Numbers that depend on the seed and the kind of sensor only; each takes one word."""

    def __init__(self, seed: int, kind: str) -> None:
        self._words = Words(stream_key(seed, "carla_headless", kind))
        self._drawn = 0

    def _next(self, count: int) -> NDArray[np.uint64]:
        begin = self._drawn
        self._drawn += count
        return self._words.part(begin, count)

    def uniform(self, count: int) -> Floats:
        """Numbers in [0, 1)."""
        words = self._next(count)
        return (words >> np.uint64(11)).astype(np.float64) * _UNIFORM_STEP

    def normal(self, count: int) -> Floats:
        """Standard normal numbers."""
        words = self._next(count)
        levels = ((words >> np.uint64(12)).astype(np.float64) + 0.5) * _OPEN_STEP
        return np.array([normal_quantile(level) for level in levels.tolist()])
