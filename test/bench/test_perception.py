# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The bench of perception: a short drive, and each figure against the truth."""

from __future__ import annotations

from math import pi

import numpy as np
import pytest

pytest.importorskip("carla", reason="needs the client: pip install ros2_cosim[carla]")
for module in ("cv2", "sklearn"):
    pytest.importorskip(module, reason="the extra is missing: make setup EXTRAS=sensors")

from bench.perception.__main__ import main  # noqa: E402
from bench.perception.lidar_boxes import Box, BoxFigures, find_boxes, overlap  # noqa: E402
from bench.perception.odometry import OdometryFigures  # noqa: E402


def test_a_short_drive() -> None:
    figures = main(["--seed", "5", "--length", "100", "--seconds", "1.5", "--vehicles", "6"])
    boxes, disparity = figures["Boxes"], figures["Disparity"]
    lane, odometry = figures["Lane"], figures["Odometry"]
    assert boxes.found >= 5 and boxes.precision() > 0.6 and boxes.recall() > 0.5
    assert disparity.density() > 0.9 and disparity.wrong_share() < 0.03
    assert disparity.median() < 0.3
    assert lane.frames >= 10 and lane.rate() > 0.8 and lane.error(0) < 0.15
    assert odometry.path()[-1] > 6.0 and odometry.drift()[0] < 0.02


def _shell(box: Box, clearance: float = 0.2) -> np.ndarray:
    """Points on the two sides of a box that a lidar at the origin sees."""
    ways = np.linspace(-1.0, 1.0, 30)
    places = [(way, -1.0) for way in ways] + [(-1.0, way) for way in ways]
    c, s = np.cos(box.yaw), np.sin(box.yaw)
    flat = np.array(places) * (box.length / 2, box.width / 2)
    flat = flat @ np.array([[c, s], [-s, c]]) + (box.x, box.y)
    heights = np.arange(box.bottom + clearance, box.top, 0.2)
    return np.concatenate([np.c_[flat, np.full(len(flat), z)] for z in heights])


def _floor(z: float) -> np.ndarray:
    x, y = np.meshgrid(np.arange(-45.0, 45.0, 0.4), np.arange(-45.0, 45.0, 0.4))
    return np.stack((x.ravel(), y.ravel(), np.full(x.size, z)), axis=1)


@pytest.mark.parametrize("yaw", [0.0, 0.3, -0.4])
def test_a_car_of_which_two_sides_are_seen_is_found(yaw: float) -> None:
    car = Box(14.0, 5.0, 4.6, 1.9, yaw, -1.9, -0.4)
    (found,) = find_boxes(np.concatenate((_floor(-1.9), _shell(car))))
    assert overlap(found, car) > 0.85
    assert abs((found.yaw - yaw + pi / 4) % (pi / 2) - pi / 4) < 0.05


def test_a_wall_and_a_pole_are_no_cars() -> None:
    wall = Box(12.0, 8.0, 14.0, 0.5, 0.1, -1.9, 0.3)
    pole = Box(9.0, -4.0, 0.3, 0.3, 0.0, -1.9, 1.2)
    assert not find_boxes(np.concatenate((_floor(-1.9), _shell(wall), _shell(pole))))


def test_what_counts_and_what_not() -> None:
    near = Box(10.0, 0.0, 4.0, 2.0, 0.0, -1.9, -0.4)
    far = Box(20.0, 9.0, 4.0, 2.0, 0.0, -1.9, -0.4)  # without a point in it
    figures = BoxFigures()
    figures.add([near, far, near._replace(y=-9.0)], [near, far], _shell(near))
    assert (figures.found, figures.missed, figures.wrong) == (1, 0, 1)
    figures.add([], [near, far], _shell(near))
    assert (figures.found, figures.missed, figures.wrong) == (1, 1, 1)
    assert figures.overlaps == [pytest.approx(1.0)]


def test_drift_is_a_share_of_the_length() -> None:
    figures = OdometryFigures()
    for step in range(120):
        estimate, truth = np.eye(4), np.eye(4)
        truth[2, 3], estimate[2, 3] = 1.0 * step, 1.02 * step
        figures.add(estimate, truth)
    assert figures.drift() == (pytest.approx(0.02), pytest.approx(0.0))
