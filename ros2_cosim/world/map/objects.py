# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Things on and beside a road: crosswalks, painted areas, poles, signs drawn as objects."""

from __future__ import annotations

from typing import NamedTuple

from ros2_cosim.world.map.elements import MalformedElementError, Notes, RoadElement


class RoadObject(NamedTuple):
    """An object at (s, t) of a road, ``z_offset`` [m] above it, turned by ``heading`` [rad].

    Sizes in m, 0 where the file has none. ``outline`` holds corners (u, v, z) in the object's
    own frame, in order.
    """

    id: str
    name: str
    type: str
    road_id: int
    s: float
    t: float
    z_offset: float
    heading: float
    orientation: str
    length: float
    width: float
    height: float
    outline: tuple[tuple[float, float, float], ...]


def read_objects(road: RoadElement, road_id: int, notes: Notes) -> list[RoadObject]:
    """The objects of a road. A malformed one is left out, because no road needs it."""
    group = road.only("objects")
    objects: list[RoadObject] = []
    for element in group.each("object") if group is not None else ():
        try:
            objects.append(_object(element, road_id))
        except MalformedElementError as error:
            notes.add(element, f"an object is passed over: {error.problem}")
    return objects


def _object(element: RoadElement, road_id: int) -> RoadObject:
    return RoadObject(
        id=element.get("id", ""),
        name=element.get("name", ""),
        type=element.get("type", "none"),
        road_id=road_id,
        s=element.number("s"),
        t=element.number("t"),
        z_offset=element.number("zOffset", 0.0),
        heading=element.number("hdg", 0.0),
        orientation=element.get("orientation", "none"),
        length=element.number("length", 0.0),
        width=element.number("width", 0.0),
        height=element.number("height", 0.0),
        outline=_outline(element),
    )


def _outline(element: RoadElement) -> tuple[tuple[float, float, float], ...]:
    outline = element.only("outline")
    if outline is None:
        return ()
    return tuple(
        (corner.number("u"), corner.number("v"), corner.number("z", 0.0))
        for corner in outline.each("cornerLocal")
    )
