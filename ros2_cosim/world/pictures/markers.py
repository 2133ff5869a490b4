# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What the visualisation draws, as plain data: no ROS in here.

Everything is given in the frame ``map``, so that a picture never waits for a transform.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ros2_cosim.core.messages.records import (
    CLASS_OBSTACLE,
    ObjectList,
    Odometry,
    PlatoonStatus,
    RoadUsers,
    StaticObjects,
)

Point = tuple[float, float, float]
Colour = tuple[float, float, float, float]

CUBE = "cube"
LINE_STRIP = "line_strip"
LINE_LIST = "line_list"
TRIANGLES = "triangles"
TEXT = "text"

WHITE: Colour = (0.95, 0.95, 0.95, 1.0)
YELLOW: Colour = (1.0, 0.85, 0.2, 1.0)
RED: Colour = (0.9, 0.2, 0.15, 1.0)
GREY: Colour = (0.55, 0.55, 0.58, 1.0)
CONE: Colour = (0.3, 0.8, 1.0, 0.18)
VEHICLE_COLOURS: tuple[Colour, ...] = (
    (0.18, 0.42, 0.85, 1.0),
    (0.92, 0.48, 0.12, 1.0),
    (0.16, 0.62, 0.38, 1.0),
    (0.72, 0.26, 0.62, 1.0),
)
_CONE_STEPS = 16
_TEXT_HEIGHT = 1.2


class MarkerData(NamedTuple):
    """One marker.

    ``namespace`` and ``id`` name it for replacement. ``position`` and ``orientation`` (x, y,
    z, w) hold for cubes and texts; lines and triangles are given by ``points`` in ``map``.
    ``scale`` is the size of a cube, (width, 0, 0) of a line, (0, 0, height) of a text.
    """

    namespace: str
    id: int
    shape: str
    colour: Colour
    scale: Point
    position: Point = (0.0, 0.0, 0.0)
    orientation: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 1.0)
    points: tuple[Point, ...] = ()
    text: str = ""


class MarkerBox(NamedTuple):
    """Size of a vehicle [m]."""

    length: float
    width: float
    height: float


class Cone(NamedTuple):
    """Field of view of an object sensor: full opening angle [rad] and range [m]."""

    fov: float
    range: float


def rotate(pose: Odometry, x: float, y: float, z: float) -> Point:
    """Turn a vector of the body frame into ``map``."""
    qx, qy, qz, qw = pose.qx, pose.qy, pose.qz, pose.qw
    # v + 2 q x (q x v + w v)
    ux = qy * z - qz * y + qw * x
    uy = qz * x - qx * z + qw * y
    uz = qx * y - qy * x + qw * z
    return (
        x + 2.0 * (qy * uz - qz * uy),
        y + 2.0 * (qz * ux - qx * uz),
        z + 2.0 * (qx * uy - qy * ux),
    )


def body_point(pose: Odometry, x: float, y: float, z: float) -> Point:
    """A point of the body frame in ``map``."""
    dx, dy, dz = rotate(pose, x, y, z)
    return pose.x + dx, pose.y + dy, pose.z + dz


def vehicle_markers(number: int, name: str, pose: Odometry, box: MarkerBox) -> list[MarkerData]:
    """Body and label (name and speed) of one vehicle."""
    colour = VEHICLE_COLOURS[number % len(VEHICLE_COLOURS)]
    return [
        MarkerData(
            "vehicles",
            number,
            CUBE,
            colour,
            (box.length, box.width, box.height),
            body_point(pose, 0.0, 0.0, 0.5 * box.height),
            (pose.qx, pose.qy, pose.qz, pose.qw),
        ),
        _label(
            "labels",
            number,
            body_point(pose, 0.0, 0.0, box.height + 1.0),
            f"{name}\n{3.6 * pose.vx:.0f} km/h",
        ),
    ]


def gap_markers(
    status: PlatoonStatus, poses: Sequence[Odometry | None], boxes: Sequence[MarkerBox]
) -> list[MarkerData]:
    """A line and the distance in each gap of the platoon, and from its front to the obstacle.

    Others that drive in between have no part in them, which the names of the markers say.
    """
    markers: list[MarkerData] = []
    pairs = zip(poses, poses[1:], boxes, boxes[1:], status.gaps, strict=False)
    for number, (front, rear, front_box, rear_box, gap) in enumerate(pairs):
        if front is None or rear is None:
            continue
        start = body_point(front, -0.5 * front_box.length, 0.0, 0.4)
        end = body_point(rear, 0.5 * rear_box.length, 0.0, 0.4)
        markers.append(
            MarkerData(
                "platoon gaps", number, LINE_LIST, WHITE, (0.15, 0.0, 0.0), points=(start, end)
            )
        )
        middle = tuple(0.5 * (a + b) for a, b in zip(start, end, strict=True))
        place = (middle[0], middle[1], middle[2] + 0.8)
        markers.append(_label("platoon gap labels", number, place, f"{gap:.1f} m"))
    first = poses[0] if poses else None
    if first is not None and math.isfinite(status.obstacle_gap):
        place = body_point(first, 0.5 * boxes[0].length + 4.0, 0.0, 1.2)
        markers.append(
            _label("platoon gap labels", len(poses), place, f"obstacle {status.obstacle_gap:.0f} m")
        )
    return markers


def sensor_markers(
    number: int, pose: Odometry, box: MarkerBox, cone: Cone, seen: ObjectList | None
) -> list[MarkerData]:
    """The field of view of a sensor at the front bumper and its measured distances.

    Distances are drawn straight ahead, at the measured lateral offset.
    """
    front = 0.5 * box.length
    rim = []
    for step in range(_CONE_STEPS + 1):
        angle = cone.fov * (step / _CONE_STEPS - 0.5)
        x, y = front + cone.range * math.cos(angle), cone.range * math.sin(angle)
        rim.append(body_point(pose, x, y, 0.15))
    apex = body_point(pose, front, 0.0, 0.15)
    fan = tuple(p for a, b in zip(rim, rim[1:], strict=False) for p in (apex, a, b))
    markers = [MarkerData("sensor cones", number, TRIANGLES, CONE, (1.0, 1.0, 1.0), points=fan)]
    rays: list[Point] = []
    for found in seen.objects if seen is not None else ():
        rays.append(body_point(pose, front, 0.0, 0.6))
        rays.append(body_point(pose, front + found.distance, found.lateral_offset, 0.6))
    if rays:
        markers.append(
            MarkerData(
                "detections", number, LINE_LIST, YELLOW, (0.12, 0.0, 0.0), points=tuple(rays)
            )
        )
    return markers


def obstacle_markers(objects: StaticObjects) -> list[MarkerData]:
    """Boxes of the fixed objects; obstacles in the way are red and labelled."""
    markers: list[MarkerData] = []
    for found in objects.objects:
        in_the_way = found.classification == CLASS_OBSTACLE
        turn = (0.0, 0.0, math.sin(0.5 * found.yaw), math.cos(0.5 * found.yaw))
        size = (found.length, found.width, found.height)
        place = (found.x, found.y, found.z)
        colour = RED if in_the_way else GREY
        markers.append(MarkerData("obstacles", found.id, CUBE, colour, size, place, turn))
        if in_the_way:
            above = (found.x, found.y, found.z + 0.5 * found.height + 1.5)
            markers.append(_label("obstacle labels", found.id, above, "roadblock"))
    return markers


def traffic_markers(traffic: RoadUsers) -> list[MarkerData]:
    """Boxes of the vehicles that are not participants'."""
    return [
        MarkerData(
            "traffic",
            user.id,
            CUBE,
            GREY,
            (user.length, user.width, user.height),
            (user.x, user.y, user.z + 0.5 * user.height),
            (0.0, 0.0, math.sin(0.5 * user.yaw), math.cos(0.5 * user.yaw)),
        )
        for user in traffic.users
    ]


def vanished(
    shown: Mapping[tuple[str, int], str], now: Sequence[MarkerData]
) -> list[tuple[str, int]]:
    """Names of markers that were shown and are not among those to show now, sorted."""
    return sorted(set(shown) - {(marker.namespace, marker.id) for marker in now})


def _label(namespace: str, number: int, place: Point, text: str) -> MarkerData:
    return MarkerData(namespace, number, TEXT, WHITE, (0.0, 0.0, _TEXT_HEIGHT), place, text=text)
