# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Pictures of a moment: boxes, disparity and the lane drawn into what the left camera sees."""

from __future__ import annotations

from typing import Final

import cv2
import numpy as np

from bench.perception.lane_marks import Lane
from bench.perception.lidar_boxes import Box
from bench.perception.rig import CAMERA, CAMERA_MATRIX, Floats, Picture, Sight

_GREEN, _RED, _YELLOW = (60, 220, 60), (50, 50, 235), (40, 220, 240)
_METRES: Final = 45.0  # shown from above, to each side
_SCALE: Final = 8.0  # pixels for a metre


def overview(
    sight: Sight, boxes: list[Box], truth: list[Box], lane: Lane | None, disparity: Floats
) -> Picture:
    """What was found in red, the truth in green: camera, disparity, lidar from above."""
    picture = sight.left.copy()
    for colour, some in ((_GREEN, truth), (_RED, boxes)):
        for box in some:
            _draw(picture, box, sight, colour)
    if lane is not None:
        for side in (lane.left, lane.right):
            ahead = np.arange(5.0, 24.0, 0.5)
            right = side + lane.slope * ahead + lane.bend * ahead**2
            down = np.full_like(ahead, CAMERA[1])
            cv2.polylines(picture, [_seen(np.stack((right, down, ahead), 1))], False, _YELLOW, 2)
    shown = np.nan_to_num(disparity) * (255.0 / 64.0)
    coloured = cv2.applyColorMap(np.clip(shown, 0, 255).astype(np.uint8), cv2.COLORMAP_TURBO)
    coloured[np.isnan(disparity)] = 0
    whole = np.concatenate((picture, coloured))
    side = cv2.resize(_above(sight, boxes, truth), (whole.shape[0], whole.shape[0]))
    return np.concatenate((whole, side), axis=1)


def _above(sight: Sight, boxes: list[Box], truth: list[Box]) -> Picture:
    size = int(2 * _METRES * _SCALE)
    picture = np.full((size, size, 3), 24, dtype=np.uint8)
    places = _flat(sight.points[:, :2])
    inside = ((places >= 0) & (places < size)).all(axis=1)
    picture[places[inside, 1], places[inside, 0]] = 190
    for colour, some in ((_GREEN, truth), (_RED, boxes)):
        for box in some:
            cv2.polylines(picture, [_flat(box.corners())], True, colour, 2)
    return picture


def _flat(places: Floats) -> Floats:
    """Places (n, 2) as pixels, ahead upwards."""
    return np.stack(
        ((places[:, 1] + _METRES) * _SCALE, (_METRES - places[:, 0]) * _SCALE), axis=1
    ).astype(np.int32)


def _seen(places: Floats) -> Floats:
    """Places (n, 3) of the camera's frame as pixels."""
    pixels = places @ CAMERA_MATRIX.T
    return (pixels[:, :2] / pixels[:, 2:]).astype(np.int32)


def _draw(picture: Picture, box: Box, sight: Sight, colour: tuple[int, int, int]) -> None:
    corners = np.concatenate([np.c_[box.corners(), np.full(4, z)] for z in (box.bottom, box.top)])
    world = np.c_[corners, np.ones(8)] @ sight.roof.T
    ahead, right, up = (world @ np.linalg.inv(sight.view).T)[:, :3].T
    if ahead.min() < 0.5:
        return
    ends = _seen(np.stack((right, -up, ahead), axis=1))
    for i in range(4):
        for one, two in ((i, (i + 1) % 4), (i + 4, (i + 1) % 4 + 4), (i, i + 4)):
            cv2.line(picture, ends[one].tolist(), ends[two].tolist(), colour, 1)
