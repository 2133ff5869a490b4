# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A classical pipeline of perception on a drive through a town, against the truth.

``python -m bench.perception [--map FILE] [--seed 1] [--length 600] [--weather ClearNoon]
[--pictures DIRECTORY]`` starts a headless server, drives with the real client, and prints figures
of boxes from the lidar, disparity, lane marks and visual odometry. It needs the extra ``sensors``.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

from ros2_cosim.core.documents.extras import need_extra

ROOT: Final = Path(__file__).resolve().parents[2]
_EVERY: Final = 5  # frames, for boxes and disparity


def measure(options: argparse.Namespace, port: int) -> dict[str, Any]:
    """Drive, and compare what is perceived with the truth.

    :returns: figures by what they are of
    """
    import carla
    import cv2

    from bench.perception.disparity import DisparityFigures, Matcher
    from bench.perception.drive import Drive
    from bench.perception.lane_marks import LaneFigures, LaneFinder, true_middles
    from bench.perception.lidar_boxes import BoxFigures, find_boxes, true_boxes
    from bench.perception.odometry import OdometryFigures, StereoOdometry
    from bench.perception.pictures import overview

    client = carla.Client("127.0.0.1", port)
    client.set_timeout(120.0)
    drive = Drive(client, options.seed, options.length, options.vehicles, options.weather)
    boxes, disparity, lanes, odometry = (
        BoxFigures(), DisparityFigures(), LaneFigures(), OdometryFigures()
    )  # fmt: skip
    finder, matcher, path = LaneFinder(), Matcher(), StereoOdometry()
    for number, (sight, truth) in enumerate(drive.moments(options.seconds)):
        path.step(sight.left, sight.right)
        odometry.add(path.pose, sight.camera)
        lane = finder.find(sight.left)
        if len(truth.lane):
            lanes.add(lane, true_middles(truth.lane, sight.view), truth.width)
        if number % _EVERY:
            continue
        found, true = find_boxes(sight.points), true_boxes(truth.cars, sight.roof)
        boxes.add(found, true, sight.points)
        matched = matcher.disparity(sight.left, sight.right)
        disparity.add(matched, sight.depth)
        if options.pictures is not None:
            options.pictures.mkdir(parents=True, exist_ok=True)
            shown = overview(sight, found, true, lane, matched)
            cv2.imwrite(str(options.pictures / f"{number:05}.png"), shown)
    drive.close()
    return {"Boxes": boxes, "Disparity": disparity, "Lane": lanes, "Odometry": odometry}


def served(options: argparse.Namespace) -> dict[str, Any]:
    """The same with its own server."""
    command = [sys.executable, "-m", "ros2_cosim.world.headless", "--port", "0"]
    command += ["--map", str(options.map), "--scenery", options.scenery]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT)
    try:
        assert server.stdout is not None
        return measure(options, int(server.stdout.readline().rsplit(":", 1)[1]))
    finally:
        server.terminate()
        server.wait(timeout=60)


def main(arguments: list[str] | None = None) -> dict[str, Any]:
    """Drive and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--map", type=Path, default=ROOT / "config" / "town.xodr")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--length", type=float, default=600.0, help="of the route [m]")
    parser.add_argument("--seconds", type=float, default=300.0, help="at most")
    parser.add_argument("--vehicles", type=int, default=30)
    parser.add_argument("--weather", default="ClearNoon", help="a name of WeatherParameters")
    parser.add_argument("--scenery", choices=("full", "none"), default="full")
    parser.add_argument("--pictures", type=Path, default=None, help="where to write pictures")
    options = parser.parse_args(arguments)
    need_extra("sensors", ("cv2", "sklearn"), "bench.perception")
    figures = served(options)
    for name, each in figures.items():
        for what, value in each.rows():
            print(f"| {name} | {what} | {value} |")
    return figures


if __name__ == "__main__":
    main()
