# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Boxes of cars from a lidar: off the ground, in clusters, in rectangles; and how right they are.

The ground is what a morphological opening leaves of the lowest points of the cells of a grid.
Clusters are DBSCAN's. A rectangle lies where most points are near its sides (the closeness of
L-shape fitting); where a side was hidden it is made as long as a usual car, away from the sensor.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import cos, degrees, hypot, pi, sin
from typing import Any, Final, NamedTuple

import cv2
import numpy as np
from sklearn.cluster import DBSCAN

from bench.perception.rig import LIDAR_RANGE, ROOF, Floats

_CELL: Final = 0.5  # m
_OPENING: Final = 17  # cells: wider than cars, narrower than houses
_CLEARANCE, _HIGHEST = 0.35, 5.0  # m above the ground
_TALLEST, _LOWEST = 2.9, 1.1  # m, of a car's top
_NEAREST, _FEWEST = 0.7, 10  # m, points
_OWN: Final = (2.8, 1.2)  # m, half of the own car with a margin
_USUAL: Final = (4.4, 1.8)  # m
_LONGEST, _WIDEST = 7.0, 2.9  # m, of what was seen
_FACE: Final = (1.2, 2.2)  # m, the width of a front or back
_FLAT: Final = 0.35  # m; what is longer than a face and flatter is a wall or a fence
_LOW, _OF_A_VAN = 2.2, 3.0  # m; what is higher than a car is as long as a van, or a tree

REACH: Final = 40.0  # m, of what counts
SEEN: Final = 20  # points that a car has to have to count
MATCH: Final = 0.5  # least overlap seen from above, intersection over union


class Box(NamedTuple):
    """A box on the ground, in the frame of the lidar [m], with its yaw [rad]."""

    x: float
    y: float
    length: float
    width: float
    yaw: float
    bottom: float
    top: float

    def corners(self) -> Floats:
        """The four corners (4, 2), seen from above."""
        ends = np.array([(1, 1), (1, -1), (-1, -1), (-1, 1)]) * (self.length / 2, self.width / 2)
        c, s = cos(self.yaw), sin(self.yaw)
        return ends @ np.array([[c, s], [-s, c]]) + (self.x, self.y)


def find_boxes(points: Floats) -> list[Box]:
    """Boxes of what is as large as a car."""
    away = np.hypot(points[:, 0], points[:, 1])
    own = (np.abs(points[:, 0]) < _OWN[0]) & (np.abs(points[:, 1]) < _OWN[1])
    points = points[~own & (away < REACH + 5.0)]
    height = points[:, 2] - _ground(points)
    chosen = (height > _CLEARANCE) & (height < _HIGHEST)
    points, height = points[chosen], height[chosen]
    if not len(points):
        return []
    labels = DBSCAN(eps=_NEAREST, min_samples=5).fit(points * (1.0, 1.0, 0.5)).labels_
    found = []
    for label in range(labels.max() + 1):
        own = labels == label
        if own.sum() < _FEWEST or not _LOWEST < height[own].max() < _TALLEST:
            continue
        box = _fit(points[own], float(height[own].max()))
        if box is not None:
            floor = float((points[own, 2] - height[own]).min())
            found.append(box._replace(bottom=floor, top=float(points[own, 2].max())))
    return found


def _ground(points: Floats) -> Floats:
    """The height of the ground below each point [m]."""
    count = int(2.0 * LIDAR_RANGE / _CELL)
    cells = np.clip(((points[:, :2] + LIDAR_RANGE) / _CELL).astype(int), 0, count - 1)
    lowest = np.full((count, count), np.inf, dtype=np.float32)
    np.minimum.at(lowest, (cells[:, 0], cells[:, 1]), points[:, 2].astype(np.float32))
    lowest = np.minimum(lowest, 50.0)  # where nothing was met nothing is known
    kernel = np.ones((_OPENING, _OPENING), dtype=np.uint8)
    eroded = cv2.erode(lowest, kernel)
    eroded[eroded > 40.0] = -ROOF[1]
    ground = cv2.dilate(eroded, kernel)
    return np.asarray(ground[cells[:, 0], cells[:, 1]], dtype=np.float64)


def _fit(points: Floats, top: float) -> Box | None:
    """The rectangle around points, seen from above, or None: no car is like that.

    :param top: how high the points reach above the ground [m]
    """
    flat = points[:, :2]
    angles = np.arange(0.0, pi / 2, pi / 180)
    axes = np.stack((np.cos(angles), np.sin(angles)), axis=1)
    along = flat @ axes.T
    across = flat @ (np.stack((-axes[:, 1], axes[:, 0]), axis=1)).T
    to_sides = [
        np.minimum(part.max(axis=0) - part, part - part.min(axis=0)) for part in (along, across)
    ]
    nearness = (1.0 / np.maximum(np.minimum(*to_sides), 0.05)).sum(axis=0)
    best = int(nearness.argmax())
    yaw = float(angles[best])
    ends = [(part[:, best].min(), part[:, best].max()) for part in (along, across)]
    if ends[0][1] - ends[0][0] < ends[1][1] - ends[1][0]:
        # Its length is along x.
        yaw, ends = yaw + pi / 2, [ends[1], (-ends[0][1], -ends[0][0])]
    sizes = [high - low for low, high in ends]
    if not _FACE[0] < sizes[0] < _LONGEST or sizes[1] > _WIDEST:
        return None
    if top > _LOW and sizes[0] < _OF_A_VAN:
        return None
    aside = -sin(yaw) * flat[:, 0].mean() + cos(yaw) * flat[:, 1].mean()
    if sizes[0] < _FACE[1] and 2.0 * aside * aside > float((flat.mean(axis=0) ** 2).sum()):
        # It lies across the sight: a front or back, of which the width was seen.
        yaw, ends = yaw + pi / 2, [ends[1], (-ends[0][1], -ends[0][0])]
    elif sizes[1] < _FLAT:
        return None
    # The sensor is at 0, 0: what is hidden lies on the other side of what is seen.
    full = []
    for (low, high), usual in zip(ends, _USUAL, strict=True):
        lacks = max(0.0, usual - (high - low))
        full.append((low, high + lacks) if abs(low) < abs(high) else (low - lacks, high))
    (x0, x1), (y0, y1) = full
    x, y = 0.5 * (x0 + x1), 0.5 * (y0 + y1)
    c, s = cos(yaw), sin(yaw)
    return Box(c * x - s * y, s * x + c * y, x1 - x0, y1 - y0, yaw, 0.0, 0.0)


def true_boxes(cars: Floats, roof: Floats) -> list[Box]:
    """Boxes of vehicles near the lidar.

    :param cars: as the truth has them, in the world
    :param roof: (4, 4) from the lidar into the world
    """
    inverse = np.linalg.inv(roof)
    turn = np.arctan2(roof[1, 0], roof[0, 0])
    boxes = []
    for x, y, z, half_x, half_y, half_z, yaw in cars:
        px, py, pz = (inverse @ (x, y, z, 1.0))[:3]
        if hypot(px, py) < REACH + 5.0:
            size = 2.0 * half_x, 2.0 * half_y
            boxes.append(Box(px, py, *size, yaw - turn, pz - half_z, pz + half_z))
    return boxes


def inside(points: Floats, box: Box) -> int:
    """How many points are in a box, or 0.1 m around it, and above its lowest 0.2 m."""
    c, s = cos(box.yaw), sin(box.yaw)
    x, y = points[:, 0] - box.x, points[:, 1] - box.y
    own = np.abs(c * x + s * y) < box.length / 2 + 0.1
    own &= np.abs(c * y - s * x) < box.width / 2 + 0.1
    own &= (points[:, 2] > box.bottom + 0.2) & (points[:, 2] < box.top + 0.1)
    return int(own.sum())


def overlap(one: Box, two: Box) -> float:
    """Intersection over union, seen from above."""
    _, shape = cv2.rotatedRectangleIntersection(_rectangle(one), _rectangle(two))
    both = 0.0 if shape is None else cv2.contourArea(cv2.convexHull(shape))
    return float(both / (one.length * one.width + two.length * two.width - both))


def _rectangle(box: Box) -> Any:
    return (box.x, box.y), (box.length, box.width), degrees(box.yaw)


@dataclass
class BoxFigures:
    """How many cars were found, and how well."""

    found: int = 0
    wrong: int = 0
    missed: int = 0
    overlaps: list[float] = field(default_factory=list)
    near: int = 0

    def add(self, boxes: list[Box], truth: list[Box], points: Floats) -> None:
        """Compare the boxes of one turn: the pairs that overlap most belong together.

        Cars with too few points, or too far away, count neither when they are found nor when not.
        """
        counts = [inside(points, box) >= SEEN and hypot(box.x, box.y) <= REACH for box in truth]
        pairs = [
            (overlap(box, true), i, j)
            for i, box in enumerate(boxes)
            for j, true in enumerate(truth)
        ]
        pairs.sort(reverse=True)
        own: dict[int, int] = {}
        for share, i, j in pairs:
            if share < MATCH:
                break
            if i in own or j in own.values():
                continue
            own[i] = j
            if counts[j]:
                self.found += 1
                self.overlaps.append(share)
        matched = set(own.values())
        self.missed += sum(count and j not in matched for j, count in enumerate(counts))
        for box, count in zip(truth, counts, strict=True):
            self.near += count and any(hypot(b.x - box.x, b.y - box.y) < 2.0 for b in boxes)
        for i, box in enumerate(boxes):
            if i in own or hypot(box.x, box.y) > REACH:
                continue
            # A box at a car that does not count is not wrong.
            if not any(
                not count and overlap(box, true) > 0.1
                for true, count in zip(truth, counts, strict=True)
            ):
                self.wrong += 1

    def rows(self) -> list[tuple[str, str]]:
        """Figures for a table."""
        cars = self.found + self.missed
        return [
            ("cars with at least 20 points within 40 m", str(cars)),
            ("precision, boxes that overlap by half", f"{100 * self.precision():.1f} %"),
            ("recall", f"{100 * self.recall():.1f} %"),
            ("recall, by a middle within 2 m", f"{100 * self.near / max(1, cars):.1f} %"),
            ("mean overlap of those found, from above", f"{np.mean(self.overlaps or [0]):.2f}"),
        ]

    def precision(self) -> float:
        """Share of boxes that are right."""
        return self.found / max(1, self.found + self.wrong)

    def recall(self) -> float:
        """Share of cars that were found."""
        return self.found / max(1, self.found + self.missed)
