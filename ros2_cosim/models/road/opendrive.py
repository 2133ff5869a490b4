# SPDX-License-Identifier: Apache-2.0
"""Reads the part of ASAM OpenDRIVE 1.4 to 1.8 that highways need.

Read: header with geoReference; roads with planView (line, arc, spiral, paramPoly3),
elevationProfile, laneOffset, lane sections with widths and links, links between roads, speed
limits. Refused with a RoadError: junctions, poly3, superelevation, lane borders instead of
widths, left-hand traffic. Passed over: road marks, objects, signals, user data.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ros2_cosim.kernel.exactmath import hypot
from ros2_cosim.models.road.cubics import Cubics, Piece
from ros2_cosim.models.road.elements import Element, RoadError, parse
from ros2_cosim.models.road.lanes import Lane, Lanes, LaneSection
from ros2_cosim.models.road.plan_view import (
    Arc,
    Line,
    ParamPoly3,
    PlanElement,
    ReferenceLine,
    Spiral,
)

MAX_TOTAL_LENGTH = 1.0e6
_GAP_TOLERANCE = 0.1
_STATION_TOLERANCE = 0.01
_SPEED_UNITS = {"m/s": 1.0, "km/h": 1.0 / 3.6, "mph": 0.44704}


class RoadLink(NamedTuple):
    """The road met at one end; ``at_start``: its start touches, otherwise its end."""

    road_id: int
    at_start: bool


class Road(NamedTuple):
    """One road of a network.

    ``speed_limits`` holds pairs (start station, m/s) in order.
    """

    id: int
    name: str
    line: ReferenceLine
    elevation: Cubics
    lanes: Lanes
    predecessor: RoadLink | None
    successor: RoadLink | None
    speed_limits: tuple[tuple[float, float], ...]

    @property
    def length(self) -> float:
        """Length of the reference line [m]."""
        return self.line.length

    def link(self, forward: bool) -> RoadLink | None:
        """What follows at the end (forward) or lies before the start."""
        return self.successor if forward else self.predecessor


def read_opendrive(text: str, source: str) -> tuple[list[Road], str]:
    """The roads of an OpenDRIVE text and its geoReference (empty if there is none).

    :param source: name of the file for messages
    :raises RoadError: names the line and element, what was found and what is allowed
    """
    root = parse(text, source)
    if root.name != "OpenDRIVE":
        raise root.error("the root element must be <OpenDRIVE>")
    header = root.one("header")
    geo = header.only("geoReference")
    for junction in root.each("junction"):
        raise junction.error("junctions are not supported: link the roads directly")
    roads: dict[int, Road] = {}
    total = 0.0
    for element in root.each("road"):
        road = _road(element)
        if road.id in roads:
            raise element.error(f"road id {road.id} is used twice")
        roads[road.id] = road
        total += road.length
        if total > MAX_TOTAL_LENGTH:
            raise element.error(f"all roads together may be {MAX_TOTAL_LENGTH:g} m long")
    if not roads:
        raise root.error("at least one <road> is needed")
    for element, road in zip(root.each("road"), roads.values(), strict=True):
        for link in (road.predecessor, road.successor):
            if link is not None and link.road_id not in roads:
                raise element.error(f"is linked to road {link.road_id}, which does not exist")
    return list(roads.values()), (geo.text or "").strip() if geo is not None else ""


def _road(element: Element) -> Road:
    road_id = element.integer("id")
    if element.get("junction", "-1") != "-1":
        raise element.error("roads inside junctions are not supported: junction must be -1")
    if element.get("rule", "RHT") != "RHT":
        raise element.error("only right-hand traffic (rule='RHT') is supported")
    line = ReferenceLine(_plan_view(element.one("planView")))
    stated = element.number("length", line.length)
    if abs(stated - line.length) > _STATION_TOLERANCE + 1e-6 * line.length:
        raise element.error(f"length is {stated:g}, but its geometries add up to {line.length:g}")
    profile = element.only("elevationProfile")
    elevation = _cubics(profile, "elevation", "s") if profile is not None else Cubics(())
    lateral = element.only("lateralProfile")
    if lateral is not None:
        for child in lateral:
            if any(child.number(name, 0.0) != 0.0 for name in "abcd"):
                raise child.error("superelevation and cross slopes are not supported")
    link = element.only("link")
    return Road(
        id=road_id,
        name=element.get("name", ""),
        line=line,
        elevation=elevation,
        lanes=_lanes(element.one("lanes"), line.length),
        predecessor=_link(link.only("predecessor")) if link is not None else None,
        successor=_link(link.only("successor")) if link is not None else None,
        speed_limits=_speed_limits(element),
    )


def _link(element: Element | None) -> RoadLink | None:
    if element is None:
        return None
    if element.attribute("elementType") != "road":
        raise element.error("junctions are not supported: elementType must be 'road'")
    contact = element.attribute("contactPoint")
    if contact not in ("start", "end"):
        raise element.error(f"contactPoint={contact!r} must be 'start' or 'end'")
    return RoadLink(element.integer("elementId"), contact == "start")


def _speed_limits(element: Element) -> tuple[tuple[float, float], ...]:
    limits = []
    for kind in element.each("type"):
        speed = kind.only("speed")
        if speed is None or speed.attribute("max") in ("no limit", "undefined"):
            continue
        unit = speed.get("unit", "m/s")
        if unit not in _SPEED_UNITS:
            raise speed.error(f"unit={unit!r} must be one of {sorted(_SPEED_UNITS)}")
        limits.append((kind.number("s"), speed.number("max") * _SPEED_UNITS[unit]))
    return tuple(sorted(limits))


def _plan_view(plan: Element) -> list[PlanElement]:
    elements: list[PlanElement] = []
    station = 0.0
    for geometry in plan.each("geometry"):
        s = geometry.number("s")
        if abs(s - station) > _STATION_TOLERANCE:
            raise geometry.error(f"starts at s={s:g}, but the one before ends at {station:g}")
        item = _geometry(geometry)
        if elements:
            end = elements[-1].at(elements[-1].length)
            gap = hypot(end.x - item.x, end.y - item.y)
            if gap > _GAP_TOLERANCE:
                raise geometry.error(
                    f"starts {gap:.3f} m from the end of the one before; "
                    f"at most {_GAP_TOLERANCE:g} m is allowed"
                )
        elements.append(item)
        station = s + item.length
    if not elements:
        raise plan.error("at least one <geometry> is needed")
    return elements


def _geometry(geometry: Element) -> PlanElement:
    x, y = geometry.number("x"), geometry.number("y")
    heading, length = geometry.number("hdg"), geometry.number("length")
    if not 1e-6 <= length <= MAX_TOTAL_LENGTH:
        raise geometry.error(f"length={length:g} must be from 1e-6 to {MAX_TOTAL_LENGTH:g} m")
    kinds = [child for child in geometry if child.name in _SHAPES]
    if len(kinds) != 1:
        found = ", ".join(f"<{child.name}>" for child in geometry) or "nothing"
        raise geometry.error(f"must hold one of {sorted(_SHAPES)}, found {found}")
    try:
        return _SHAPES[kinds[0].name](kinds[0], x, y, heading, length)
    except RoadError as error:
        if error.args and str(error).startswith(geometry.source):
            raise
        raise kinds[0].error(str(error)) from None


def _line(_shape: Element, x: float, y: float, heading: float, length: float) -> PlanElement:
    return Line(x, y, heading, length)


def _arc(shape: Element, x: float, y: float, heading: float, length: float) -> PlanElement:
    curvature = _curvature(shape, "curvature")
    if curvature == 0.0:
        return Line(x, y, heading, length)
    return Arc(x, y, heading, length, curvature)


def _spiral(shape: Element, x: float, y: float, heading: float, length: float) -> PlanElement:
    return Spiral(
        x, y, heading, length, _curvature(shape, "curvStart"), _curvature(shape, "curvEnd")
    )


def _curvature(shape: Element, name: str) -> float:
    curvature = shape.number(name)
    if not -1.0 <= curvature <= 1.0:
        raise shape.error(f"{name}={curvature:g} must be from -1 to 1 per metre")
    return curvature


def _param_poly3(shape: Element, x: float, y: float, heading: float, length: float) -> PlanElement:
    span = shape.get("pRange", "normalized")
    if span not in ("arcLength", "normalized"):
        raise shape.error(f"pRange={span!r} must be 'arcLength' or 'normalized'")
    u = tuple(shape.number(name) for name in ("aU", "bU", "cU", "dU"))
    v = tuple(shape.number(name) for name in ("aV", "bV", "cV", "dV"))
    return ParamPoly3(
        x,
        y,
        heading,
        length,
        (u[0], u[1], u[2], u[3]),
        (v[0], v[1], v[2], v[3]),
        span == "normalized",
    )


_SHAPES: dict[str, Callable[[Element, float, float, float, float], PlanElement]] = {
    "line": _line,
    "arc": _arc,
    "spiral": _spiral,
    "paramPoly3": _param_poly3,
}


def _cubics(parent: Element, tag: str, station: str) -> Cubics:
    pieces: list[Piece] = []
    for child in parent.each(tag):
        start = child.number(station)
        if pieces and start < pieces[-1][0]:
            raise child.error(f"{station}={start:g} must not be below {pieces[-1][0]:g}")
        a, b, c, d = (child.number(name) for name in "abcd")
        pieces.append((start, a, b, c, d))
    return Cubics(pieces)


def _lanes(element: Element, length: float) -> Lanes:
    parts = list(element.each("laneSection"))
    if not parts:
        raise element.error("at least one <laneSection> is needed")
    starts = [part.number("s") for part in parts]
    if abs(starts[0]) > 1e-9:
        raise parts[0].error(f"the first lane section must start at s=0, found {starts[0]:g}")
    sections = []
    for i, part in enumerate(parts):
        end = starts[i + 1] if i + 1 < len(parts) else length
        if end <= starts[i]:
            raise part.error(f"runs from s={starts[i]:g} to {end:g}: must have a length")
        sections.append(LaneSection(starts[i], end, _section(part)))
    return Lanes(sections, _cubics(element, "laneOffset", "s"))


def _section(part: Element) -> dict[int, Lane]:
    lanes: dict[int, Lane] = {}
    for side, sign in (("left", 1), ("right", -1)):
        group = part.only(side)
        if group is None:
            continue
        found = sorted(
            (_lane(child, sign) for child in group.each("lane")), key=lambda x: abs(x.id)
        )
        if [abs(lane.id) for lane in found] != list(range(1, len(found) + 1)):
            raise group.error(f"lane ids must be {sign}, {2 * sign}, ... without gaps or repeats")
        lanes.update((lane.id, lane) for lane in found)
    if not lanes:
        raise part.error("at least one lane to the left or right is needed")
    return lanes


def _lane(element: Element, sign: int) -> Lane:
    lane_id = element.integer("id")
    if lane_id * sign <= 0:
        raise element.error(f"id={lane_id} is on the wrong side")
    if element.only("border") is not None or next(element.each("width"), None) is None:
        raise element.error("widths are needed; borders are not supported")
    link = element.only("link")
    predecessor = link.only("predecessor") if link is not None else None
    successor = link.only("successor") if link is not None else None
    return Lane(
        lane_id,
        element.get("type", "none"),
        _cubics(element, "width", "sOffset"),
        predecessor.integer("id") if predecessor is not None else None,
        successor.integer("id") if successor is not None else None,
    )
