# SPDX-License-Identifier: Apache-2.0
"""Random numbers of one sensor, by its ``noise_seed``: the same on every machine."""

from __future__ import annotations

import numpy as np
from numpy.random import Philox

from ros2_cosim.carla_headless.sensing.axes import Floats
from ros2_cosim.kernel.normal_quantile import normal_quantile
from ros2_cosim.kernel.random_streams import stream_key

_UNIFORM_STEP = 2.0**-53
_OPEN_STEP = 2.0**-52


class Draws:
    """Numbers that depend on the seed and the kind of sensor only; each takes one word."""

    def __init__(self, seed: int, kind: str) -> None:
        self._bits = Philox(key=stream_key(seed, "carla_headless", kind))

    def uniform(self, count: int) -> Floats:
        """Numbers in [0, 1)."""
        words = self._bits.random_raw(count)
        return (words >> np.uint64(11)).astype(np.float64) * _UNIFORM_STEP

    def normal(self, count: int) -> Floats:
        """Standard normal numbers."""
        words = self._bits.random_raw(count)
        levels = ((words >> np.uint64(12)).astype(np.float64) + 0.5) * _OPEN_STEP
        return np.array([normal_quantile(level) for level in levels.tolist()])
