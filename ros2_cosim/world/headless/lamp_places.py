# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Where the street lamps of made scenery stand: along sidewalks, those of both sides in turn.

Lamps are lights of the protocol, and a client asks for all of them while it connects. So their
places follow from the roads alone, in a small part of the time that the other scenery takes, which
keeps away from them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from ros2_cosim.core.kernel.exactmath import radians, sincos
from ros2_cosim.world.headless.labels import POLES
from ros2_cosim.world.headless.things import MapPart, Thing
from ros2_cosim.world.headless.wire_types import Rotation, Transform, Vector
from ros2_cosim.world.map import RoadNetwork, frames
from ros2_cosim.world.map.lanes import OFF_ROAD
from ros2_cosim.world.map.opendrive import Road

#: Height of a lamp, reach of its arm to the left, half its pole's width [m].
HEIGHT, ARM, THICK = 7.0, 1.8, 0.1
#: Height of its light [m].
LIGHT: Final = 6.78
#: A pole goes so far into the ground [m]: the land differs a little from its road.
ROOT: Final = 1.0
_STEP: Final = 44.0  # m, from one lamp of a side to the next
_AWAY: Final = 1.4  # m, from the outer border of the road
#: So far around a lamp [m] no other road has a lane, and around what the map names there is none.
_ROOM, _ROOM_OF_THINGS = 0.9, 1.0


def lamps_of(network: RoadNetwork, named: Sequence[Thing]) -> Iterator[MapPart]:
    """The lamps along all roads outside junctions, in the order of the roads.

    :param named: what the map itself has beside its roads
    """
    for road in network.roads.values():
        if road.junction is None:
            for side in (-1, 1):
                yield from _along(network, road, side, named)


def _along(
    network: RoadNetwork, road: Road, side: int, named: Sequence[Thing]
) -> Iterator[MapPart]:
    s = _STEP * (0.25 if side < 0 else 0.75)
    while s < road.length:
        if any(lane * side > 0 for lane in network.lane_ids(road.id, s, "sidewalk")):
            right, left = road.lanes.edges(s)
            t = left + _AWAY if side > 0 else right - _AWAY
            x, y, z, heading = network.pose(road.id, s, t)
            if _has_room(network, x, y, z, heading):
                place = Vector(*frames.vector_to_carla(x, y, z))
                # The arm, to the left of the lamp, reaches over the street.
                yaw = frames.yaw_to_carla(heading) + (0.0 if side < 0 else 180.0)
                if not any(_is_near(place, thing) for thing in named):
                    yield _lamp(place, yaw)
        s += _STEP


def _has_room(network: RoadNetwork, x: float, y: float, z: float, heading: float) -> bool:
    """Whether no lane is near a place beside a road."""
    sin, cos = sincos(heading)
    around = ((0.0, 0.0), (_ROOM, 0.0), (-_ROOM, 0.0), (0.0, _ROOM), (0.0, -_ROOM))
    return all(
        network.project(x + (u * cos - v * sin), y + (u * sin + v * cos), z=z).lane_id == OFF_ROAD
        for u, v in around
    )


def _is_near(place: Vector, thing: Thing) -> bool:
    """Whether a place is over a thing, or close to it."""
    (tx, ty, _), rotation = thing.pose
    dx, dy = place.x - tx, place.y - ty
    reach = thing.half.x + thing.half.y + 2.0 * _ROOM_OF_THINGS
    if abs(dx) > reach or abs(dy) > reach:
        return False
    sin, cos = sincos(radians(rotation.yaw))
    along, across = abs(dx * cos + dy * sin), abs(dy * cos - dx * sin)
    return along < thing.half.x + _ROOM_OF_THINGS and across < thing.half.y + _ROOM_OF_THINGS


def _lamp(foot: Vector, yaw: float) -> MapPart:
    """A lamp whose pole comes out of the ground at a place."""
    x, y, z = foot
    sin, cos = sincos(radians(yaw))

    def beside(left: float, height: float) -> Vector:
        return Vector(x + left * sin, y - left * cos, height)

    # From the far side of the pole to the end of the arm.
    middle, half = 0.5 * (ARM - THICK), 0.5 * (ARM + THICK)
    return MapPart(
        "StreetLamp", POLES,
        Transform(beside(middle, z - ROOT), Rotation(0.0, yaw, 0.0)),
        Vector(THICK, half, 0.5 * (HEIGHT + ROOT)),
        beside(ARM, z + LIGHT),
    )  # fmt: skip
