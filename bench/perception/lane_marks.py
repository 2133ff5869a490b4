# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The lane from its marks in the left picture, against the map.

The road is seen from above as if it were flat. Paint is brighter than its surroundings. Two
curves of one direction and one bend go through the paint on the left and on the right.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, NamedTuple

import cv2
import numpy as np

from bench.perception.rig import CAMERA, CAMERA_MATRIX, FOCAL, Floats, Picture

_NEAR, _FAR, _SIDE = 4.5, 24.5, 6.0  # m ahead of the camera, and to each side
_ALONG, _ACROSS = 0.05, 0.04  # m, of a pixel seen from above
_WIDEST_MARK: Final = 0.7  # m, of a double line
_CONTRAST: Final = 28  # grey levels
_SEARCH: Final = (0.3, 4.2)  # m, where a mark is looked for on each side
# The search begins as near as a curve is almost straight, or reaches over the gaps of dashes [m].
_BEGINS: Final = (6.5, 13.0)
# Ways ahead that are looked at one after the other, and windows around the curves there [m].
_TURNS: Final = ((9.0, 0.5), (13.0, 0.45), (18.0, 0.35), (_FAR, 0.25))
_FIRST_WINDOW: Final = 0.6  # m
_FEWEST: Final = 60  # pixels of paint on a side
_WIDTHS: Final = (2.4, 5.0)  # m

#: So far ahead of the camera [m] the middle of the lane is compared.
AHEAD: Final = (6.0, 12.0)


class Lane(NamedTuple):
    """Marks to the left and right at the camera [m to the right], slope, and bend [1/m]."""

    left: float
    right: float
    slope: float
    bend: float

    def middle(self, ahead: float) -> float:
        """The middle of the lane so far ahead [m to the right]."""
        curve = self.slope * ahead + self.bend * ahead * ahead
        return 0.5 * (self.left + self.right) + curve


class LaneFinder:
    """Finds the lane of the camera, each time anew."""

    def __init__(self) -> None:
        ahead = np.arange(_FAR, _NEAR, -_ALONG)
        right = np.arange(-_SIDE, _SIDE, _ACROSS)
        #: Places of the pixels seen from above [m].
        self._ahead, self._right = ahead, right
        columns = FOCAL * right[None] / ahead[:, None] + CAMERA_MATRIX[0, 2]
        rows = np.repeat((FOCAL * CAMERA[1] / ahead + CAMERA_MATRIX[1, 2])[:, None], len(right), 1)
        self._maps = columns.astype(np.float32), rows.astype(np.float32)
        self._kernel = np.ones((1, round(_WIDEST_MARK / _ACROSS)), dtype=np.uint8)

    def paint(self, picture: Picture) -> Floats:
        """Places (n, 2) of paint: ahead, to the right [m]."""
        grey = cv2.cvtColor(picture, cv2.COLOR_BGR2GRAY)
        above = cv2.remap(grey, *self._maps, cv2.INTER_LINEAR)
        above = cv2.GaussianBlur(above, (3, 5), 0)
        rows, columns = np.nonzero(
            cv2.morphologyEx(above, cv2.MORPH_TOPHAT, self._kernel) > _CONTRAST
        )
        return np.stack((self._ahead[rows], self._right[columns]), axis=1)

    def find(self, picture: Picture) -> Lane | None:
        """The lane, or None: there is not enough paint on both sides."""
        ahead, right = self.paint(picture).T
        for begin in _BEGINS:
            near = right[ahead < begin]
            left, other = self._peak(-near), self._peak(near)
            if left is None or other is None:
                continue
            lane: Lane | None = Lane(-left, other, 0.0, 0.0)
            for far, window in ((begin, _FIRST_WINDOW), *_TURNS):
                if lane is not None:
                    lane = _fitted(lane, ahead, right, max(far, begin), window)
            if lane is not None and _WIDTHS[0] < lane.right - lane.left < _WIDTHS[1]:
                return lane
        return None

    def _peak(self, away: Floats) -> float | None:
        """Where on one side most paint is [m], None: there is hardly any."""
        count, edges = np.histogram(away, bins=60, range=(0.0, _SEARCH[1] + 0.3))
        smooth = cv2.GaussianBlur(count.astype(np.float64)[None], (9, 1), 0)[0]
        best = int(smooth.argmax())
        middle = 0.5 * (edges[best] + edges[best + 1])
        fits = smooth[best] > 4.0 and _SEARCH[0] < middle < _SEARCH[1]
        return float(middle) if fits else None


def _fitted(lane: Lane, ahead: Floats, right: Floats, far: float, window: float) -> Lane | None:
    """The curves through paint near those of a lane, None: there is not enough on a side.

    :param far: paint beyond it is left out [m]
    :param window: so far from the curves paint belongs to them [m]
    """
    curve = lane.slope * ahead + lane.bend * ahead * ahead
    rows, goals = [], []
    for number, side in enumerate((lane.left, lane.right)):
        own = (np.abs(right - curve - side) < window) & (ahead < far)
        if own.sum() < _FEWEST:
            return None
        part = np.zeros((int(own.sum()), 4))
        part[:, number], part[:, 2] = 1.0, ahead[own]
        if far > _TURNS[0][0]:  # nearer there is too little to tell a bend
            part[:, 3] = ahead[own] ** 2
        rows.append(part)
        goals.append(right[own])
    found = np.linalg.lstsq(np.concatenate(rows), np.concatenate(goals), rcond=None)[0]
    return Lane(*found.tolist())


def true_middles(lane: Floats, view: Floats) -> list[float]:
    """The middle of the true lane where it is compared, to the right of the camera [m].

    :param lane: (n, 2) places in the world
    :param view: (4, 4) from the camera, by CARLA's axes, into the world
    """
    ahead, right = ((lane - view[:2, 3]) @ view[:2, :2]).T
    return [float(np.interp(far, ahead, right)) for far in AHEAD]


@dataclass
class LaneFigures:
    """How often the lane was found, and how right."""

    frames: int = 0
    found: int = 0
    errors: list[list[float]] = field(default_factory=list)
    widths: list[float] = field(default_factory=list)

    def add(self, lane: Lane | None, middles: list[float], width: float) -> None:
        """Compare a frame in which the map has paint on both sides."""
        self.frames += 1
        if lane is None:
            return
        self.found += 1
        self.errors.append(
            [lane.middle(far) - true for far, true in zip(AHEAD, middles, strict=True)]
        )
        self.widths.append(lane.right - lane.left - width)

    def rate(self) -> float:
        """Share of frames in which it was found."""
        return self.found / max(1, self.frames)

    def error(self, which: int) -> float:
        """Root of the mean square error of the middle [m]."""
        return float(np.sqrt(np.mean(np.square(self.errors), axis=0)[which]))

    def rows(self) -> list[tuple[str, str]]:
        """Figures for a table."""
        if not self.errors:
            return [("lane found", f"0 of {self.frames} pictures")]
        return [
            ("lane found", f"{100 * self.rate():.1f} % of {self.frames} pictures"),
            *(
                (f"error {far:g} m ahead, RMS", f"{self.error(i):.2f} m")
                for i, far in enumerate(AHEAD)
            ),
            ("error of its width, mean", f"{np.mean(self.widths):+.2f} m"),
        ]
