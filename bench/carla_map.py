# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Compares the project's road network with the map code of CARLA's client, on any maps.

Waypoints that the client generates are placed by the project (distance, direction), and random
points in lanes are located by both (same road, lane and station). Where several lanes hold a
point, both choices are right if they are equally near.

Run ``python bench/carla_map.py FILE.xodr ...``.
"""

from __future__ import annotations

import math
import random
import sys
import time
from pathlib import Path
from typing import NamedTuple

import carla

from ros2_cosim.world.map import RoadNetwork

_SPACING = 5.0
_POINTS = 1000


class Agreement(NamedTuple):
    """Figures of one map; distances in m, angles in rad, times in s."""

    waypoints: int
    worst_distance: float
    worst_angle: float
    points: int
    same_road: int
    same_lane_elsewhere: int
    worst_station: float
    load_time: float
    projection_time: float


def compare(text: str, points: int = _POINTS, seed: int = 1) -> Agreement:
    """Compare the two on one map."""
    begun = time.process_time()
    network = RoadNetwork.from_xodr(text)
    load_time = time.process_time() - begun
    theirs = carla.Map("map", text)
    waypoints = theirs.generate_waypoints(_SPACING)
    worst_distance = worst_angle = 0.0
    for waypoint in waypoints:
        s = min(waypoint.s, network.length(waypoint.road_id))
        x, y, z, heading = network.lane_pose(waypoint.road_id, waypoint.lane_id, s)
        place = waypoint.transform.location
        gap = math.dist((x, -y, z), (place.x, place.y, place.z))
        turn = abs(
            math.remainder(-heading - math.radians(waypoint.transform.rotation.yaw), math.tau)
        )
        worst_distance, worst_angle = max(worst_distance, gap), max(worst_angle, turn)
    draw = random.Random(seed)
    same_road = elsewhere = 0
    worst_station = spent = 0.0
    for _ in range(points):
        waypoint = draw.choice(waypoints)
        off = draw.uniform(-0.45, 0.45) * waypoint.lane_width
        place = waypoint.transform.location + off * waypoint.transform.get_right_vector()
        begun = time.process_time()
        ours = network.project(place.x, -place.y, z=place.z)
        spent += time.process_time() - begun
        found = theirs.get_waypoint(place)
        if (ours.road_id, ours.lane_id) == (found.road_id, found.lane_id):
            same_road += 1
            worst_station = max(worst_station, abs(ours.s - found.s))
        else:
            # Lanes of a junction overlap: the other one must be as near.
            x, y, _, _ = network.lane_pose(ours.road_id, ours.lane_id or -1, ours.s)
            here = math.dist((x, -y), (place.x, place.y))
            there = math.dist(
                (found.transform.location.x, found.transform.location.y), (place.x, place.y)
            )
            elsewhere += abs(here - there) < 0.05
    return Agreement(
        len(waypoints), worst_distance, worst_angle, points, same_road, elsewhere, worst_station,
        load_time, spent / points,
    )  # fmt: skip


def main() -> None:
    """Print a line for each map."""
    for path in sys.argv[1:]:
        found = compare(Path(path).read_text(encoding="utf-8"))
        print(
            f"{Path(path).stem}: {found.waypoints} waypoints within {found.worst_distance:.4f} m "
            f"and {found.worst_angle:.5f} rad; of {found.points} points {found.same_road} on the "
            f"same lane (s within {found.worst_station:.4f} m), {found.same_lane_elsewhere} on one "
            f"as near; loaded in {found.load_time:.2f} s, {found.projection_time * 1e6:.0f} us a "
            "projection"
        )


if __name__ == "__main__":
    main()
