# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Points all over triangles, seen from above."""

from __future__ import annotations

import numpy as np

from ros2_cosim.world.headless.sensing.axes import Floats
from ros2_cosim.world.headless.sensing.mesh import Indices, length, ranges


def samples_of(triangles: Floats, apart: float) -> Floats:
    """Points (n, 2) over triangles (n, 3, 3), at most so far apart [m]."""
    a, b, c = (triangles[:, i] for i in range(3))
    across = _steps(np.maximum(length(b - a), length(c - b)), apart)
    along = _steps(length(c - a), apart)
    counts = across * along
    owners = np.repeat(np.arange(len(counts)), counts)
    number = ranges(np.zeros_like(counts), counts)
    width = along[owners]
    row = number // width
    u = row / (across[owners] - 1.0)
    v = (number - row * width) / (width - 1.0) * (1.0 - u)
    a, b, c = a[owners, :2], b[owners, :2], c[owners, :2]
    points: Floats = a + (u[:, None] * (b - a) + v[:, None] * (c - a))
    return points


def _steps(lengths: Floats, apart: float) -> Indices:
    steps: Indices = np.ceil(lengths / apart).astype(np.int64) + 1
    return np.maximum(steps, 2)
