# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Disparity of the two cameras by semi-global matching, against the depth camera."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import cv2
import numpy as np

from bench.perception.rig import BASELINE, FOCAL, Floats, Picture

_MOST: Final = 96  # pixels, of disparity
_BLOCK: Final = 5
_STEPS: Final = 16.0  # of OpenCV's disparity, for each pixel
FARTHEST: Final = 80.0  # m, of what is compared
#: A disparity is wrong if its error is above this number of pixels and above this share of it.
WRONG: Final = (3.0, 0.05)


class Matcher:
    """OpenCV's semi-global block matching."""

    def __init__(self) -> None:
        self._matcher = cv2.StereoSGBM_create(
            minDisparity=0, numDisparities=_MOST, blockSize=_BLOCK,
            P1=8 * 3 * _BLOCK**2, P2=32 * 3 * _BLOCK**2, disp12MaxDiff=1,
            uniquenessRatio=8, speckleWindowSize=100, speckleRange=2,
            mode=cv2.STEREO_SGBM_MODE_SGBM_3WAY,
        )  # fmt: skip

    def disparity(self, left: Picture, right: Picture) -> Floats:
        """Disparity of the left picture [pixels], not a number where there is none."""
        found = self._matcher.compute(left, right).astype(np.float64) / _STEPS
        return np.where(found > 0.0, found, np.nan)


@dataclass
class DisparityFigures:
    """How much was matched, and how right."""

    pixels: int = 0
    matched: int = 0
    wrong: int = 0
    errors: list[Floats] = field(default_factory=list)
    depths: list[Floats] = field(default_factory=list)

    def add(self, disparity: Floats, depth: Floats) -> None:
        """Compare a picture where the truth has something near, and the right camera can see it."""
        counts = depth < FARTHEST
        counts[:, :_MOST] = False
        true = FOCAL * BASELINE / np.maximum(depth[counts], 0.1)
        found = disparity[counts]
        known = ~np.isnan(found)
        self.pixels += len(found)
        found, true = found[known], true[known]
        off = np.abs(found - true)
        self.matched += len(off)
        self.wrong += int(((off > WRONG[0]) & (off > WRONG[1] * true)).sum())
        # Enough for a median; whole pictures would not stay in memory.
        self.errors.append(off[::50])
        self.depths.append(np.abs(true / found - 1.0)[::50])

    def density(self) -> float:
        """Share of pixels with a disparity."""
        return self.matched / max(1, self.pixels)

    def wrong_share(self) -> float:
        """Share of those that are wrong."""
        return self.wrong / max(1, self.matched)

    def median(self) -> float:
        """Median of the error [pixels]."""
        return float(np.median(np.concatenate(self.errors)))

    def rows(self) -> list[tuple[str, str]]:
        """Figures for a table."""
        return [
            ("pixels with a disparity", f"{100 * self.density():.1f} %"),
            ("of those wrong by 3 pixels and 5 %", f"{100 * self.wrong_share():.2f} %"),
            ("median error of disparity", f"{self.median():.2f} pixels"),
            ("median error of depth", f"{100 * np.median(np.concatenate(self.depths)):.2f} %"),
        ]
