# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Visual odometry: corners with a depth by stereo, followed into the next picture, and their pose.

Corners of the last left picture are found in the right one (their depth) and in the next left one
by Lucas and Kanade's method, there and back again; the motion is the pose from which most of them
are seen where they are (perspective-n-point with RANSAC).
"""

from __future__ import annotations

from typing import Any, Final

import cv2
import numpy as np

from bench.perception.rig import BASELINE, CAMERA_MATRIX, FOCAL, Floats, Picture

_CORNERS: Final = 900
_APART: Final = 9  # pixels
_BACK: Final = 0.5  # pixels, that the way there and back may miss
_LEVEL: Final = 1.0  # pixel, between the rows of a corner in both pictures
_LEAST: Final = 2.5  # pixels of disparity
_FEWEST: Final = 12
_LUCAS_KANADE: Final = {
    "winSize": (15, 15),
    "maxLevel": 4,
    "criteria": (cv2.TERM_CRITERIA_EPS | cv2.TERM_CRITERIA_COUNT, 30, 0.01),
}

#: Lengths of the parts by which drift is measured [m].
PARTS: Final = (25.0, 50.0, 100.0, 200.0)


class StereoOdometry:
    """Adds up the motion from picture to picture.

    :ivar pose: (4, 4) from the camera's frame into that of the first picture
    :ivar lost: pictures in which too few corners could be followed; their motion is the last one
    """

    def __init__(self) -> None:
        self.pose: Floats = np.eye(4)
        self.lost = 0
        self._motion: Floats = np.eye(4)
        self._before: tuple[Picture, Floats, Floats] | None = None
        cv2.setRNGSeed(1)

    def step(self, left: Picture, right: Picture) -> None:
        """Go on by one pair of pictures (height, width, 3)."""
        grey, other = (cv2.cvtColor(each, cv2.COLOR_BGR2GRAY) for each in (left, right))
        if self._before is not None:
            motion = self._moved(grey)
            if motion is None:
                self.lost += 1
            else:
                self._motion = motion
            self.pose = self.pose @ self._motion
        corners = cv2.goodFeaturesToTrack(grey, _CORNERS, 0.005, _APART)
        if corners is None:
            self._before = None
            return
        corners = corners.reshape(-1, 2)
        matched, good = _followed(grey, other, corners)
        apart = corners[:, 0] - matched[:, 0]
        good &= (np.abs(corners[:, 1] - matched[:, 1]) < _LEVEL) & (apart > _LEAST)
        corners, apart = corners[good].astype(np.float64), apart[good].astype(np.float64)
        ahead = FOCAL * BASELINE / apart
        across = (corners - CAMERA_MATRIX[:2, 2]) * (ahead / FOCAL)[:, None]
        self._before = grey, corners, np.column_stack((across, ahead))

    def _moved(self, grey: Picture) -> Floats | None:
        """Where the camera is now, in its last frame (4, 4)."""
        assert self._before is not None
        last, corners, places = self._before
        if len(corners) < _FEWEST:
            return None
        now, good = _followed(last, grey, corners.astype(np.float32))
        if good.sum() < _FEWEST:
            return None
        seen, there = now[good].astype(np.float64), places[good]
        done, turn, shift, used = cv2.solvePnPRansac(
            there, seen, CAMERA_MATRIX, None, iterationsCount=300, reprojectionError=1.0,
            confidence=0.9999, flags=cv2.SOLVEPNP_EPNP,
        )  # fmt: skip
        if not done or used is None or len(used) < _FEWEST:
            return None
        used = used.reshape(-1)
        there, seen = there[used], seen[used]
        turn, shift = cv2.solvePnPRefineLM(there, seen, CAMERA_MATRIX, None, turn, shift)
        back = np.eye(4)
        back[:3, :3], back[:3, 3] = cv2.Rodrigues(turn)[0], shift.reshape(3)
        return np.linalg.inv(back)


def _followed(one: Picture, two: Picture, corners: Any) -> tuple[Any, Any]:
    """Corners in another picture, and which of them come back to where they were."""
    there, found, _ = cv2.calcOpticalFlowPyrLK(one, two, corners[:, None], None, **_LUCAS_KANADE)
    back, again, _ = cv2.calcOpticalFlowPyrLK(two, one, there, None, **_LUCAS_KANADE)
    off = np.abs(back[:, 0] - corners).max(axis=1)
    return there[:, 0], (found[:, 0] == 1) & (again[:, 0] == 1) & (off < _BACK)


class OdometryFigures:
    """Drift against the true path."""

    def __init__(self) -> None:
        self.estimates: list[Floats] = []
        self.truths: list[Floats] = []

    def add(self, estimate: Floats, truth: Floats) -> None:
        """A pose of the camera as estimated and as it is, each (4, 4) in its own frame."""
        self.estimates.append(estimate)
        self.truths.append(truth)

    def path(self) -> Floats:
        """How far the camera has come until each picture [m]."""
        places = np.array([pose[:3, 3] for pose in self.truths])
        steps = np.linalg.norm(np.diff(places, axis=0), axis=1)
        return np.concatenate(([0.0], np.cumsum(steps)))

    def drift(self) -> tuple[float, float]:
        """Mean drift over all parts of the path: share of the length, and [deg/m].

        Parts begin every half second and have one of the lengths in ``PARTS``; a shorter path is
        one part.
        """
        path = self.path()
        parts = [
            (first, int(last))
            for length in PARTS
            for first in range(0, len(path), 5)
            if (last := np.searchsorted(path, path[first] + length)) < len(path)
        ] or [(0, len(path) - 1)]
        shares, turns = [], []
        for first, last in parts:
            moved, true = (
                np.linalg.inv(poses[first]) @ poses[last] for poses in (self.estimates, self.truths)
            )
            off = np.linalg.inv(true) @ moved
            length = max(0.1, path[last] - path[first])
            shares.append(np.linalg.norm(off[:3, 3]) / length)
            cosine = 0.5 * (np.trace(off[:3, :3]) - 1.0)
            turns.append(np.degrees(np.arccos(np.clip(cosine, -1.0, 1.0))) / length)
        return float(np.mean(shares)), float(np.mean(turns))

    def rows(self) -> list[tuple[str, str]]:
        """Figures for a table."""
        share, turn = self.drift()
        whole = np.linalg.inv(self.truths[0]) @ self.truths[-1]
        end = np.linalg.norm((np.linalg.inv(self.estimates[0]) @ self.estimates[-1] - whole)[:3, 3])
        return [
            ("path", f"{self.path()[-1]:.0f} m"),
            ("drift of place", f"{100 * share:.2f} %"),
            ("drift of direction", f"{turn:.4f} deg/m"),
            ("off at the end", f"{end:.2f} m"),
        ]
