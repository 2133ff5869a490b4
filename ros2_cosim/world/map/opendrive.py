# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Reads ASAM OpenDRIVE 1.4 to 1.8, as far as roads and CARLA's towns need it.

Read: header with geoReference; roads with planView (line, arc, spiral, poly3, paramPoly3),
elevation, superelevation, lane offset, lane sections with widths, road marks and links; links
between roads; junctions with connections; signals, signal references, controllers, objects;
speed limits. Refused with a RoadError, because roads would be wrong: lane borders instead of
widths, left-hand traffic. Passed over with a note: crossfall, shapes of the cross-section.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

from ros2_cosim.core.kernel.exactmath import hypot, tan
from ros2_cosim.world.map.cubics import Cubics, Piece
from ros2_cosim.world.map.elements import Notes, RoadElement, RoadError, parse
from ros2_cosim.world.map.junctions import Junction, read_junction
from ros2_cosim.world.map.lanes import Lane, Lanes, LaneSection, RoadMark
from ros2_cosim.world.map.objects import RoadObject, read_objects
from ros2_cosim.world.map.plan_view import (
    Arc,
    ParamPoly3,
    PlanElement,
    Poly3,
    ReferenceLine,
    Spiral,
    StraightLine,
)
from ros2_cosim.world.map.signals import (
    Controller,
    Signal,
    SignalReference,
    read_controller,
    read_signals,
)

MAX_TOTAL_LENGTH = 1.0e6
# A shorter line has no direction that differs from rounding [m].
MIN_GEOMETRY_LENGTH = 1.0e-6
# Converters write joints of up to this curvature [1/m]; more is a mistake.
_MAX_CURVATURE = 4.0
_GAP_TOLERANCE = 0.1
_STATION_TOLERANCE = 0.01
#: Metres per second of the units in which speeds are given.
SPEED_UNITS = {"m/s": 1.0, "km/h": 1.0 / 3.6, "mph": 0.44704}


class RoadLink(NamedTuple):
    """The road met at one end; ``at_start``: its start touches, otherwise its end."""

    road_id: int
    at_start: bool


@dataclass(frozen=True, eq=False)
class Road:
    """One road of a network.

    ``speed_limits`` holds pairs (start station, m/s) in order. ``junction`` is the one that the
    road lies in, None outside of junctions. At either end lies a road or a junction, or
    neither. ``superelevation`` [rad] turns the surface about the reference line, positive
    where it falls to the right.
    """

    id: int
    name: str
    line: ReferenceLine
    elevation: Cubics
    lanes: Lanes
    predecessor: RoadLink | None
    successor: RoadLink | None
    speed_limits: tuple[tuple[float, float], ...]
    superelevation: Cubics = Cubics(())
    junction: int | None = None
    predecessor_junction: int | None = None
    successor_junction: int | None = None
    objects: tuple[RoadObject, ...] = ()

    @property
    def length(self) -> float:
        """Length of the reference line [m]."""
        return self.line.length

    def surface(self, s: float, t: float) -> tuple[float, float, float]:
        """Height z [m] of the surface at (s, t), dz/ds and dz/dt."""
        z, slope = self.elevation.value_and_slope(s)
        if self.superelevation.constant == 0.0:
            return z, slope, 0.0
        angle, rate = self.superelevation.value_and_slope(s)
        cross = tan(angle)
        return z + t * cross, slope + t * rate * (1.0 + cross * cross), cross

    def link(self, forward: bool) -> RoadLink | None:
        """The road that follows at the end (forward) or lies before the start."""
        return self.successor if forward else self.predecessor

    def junction_at(self, forward: bool) -> int | None:
        """The junction that lies at the end (forward) or at the start."""
        return self.successor_junction if forward else self.predecessor_junction


class RoadMap(NamedTuple):
    """Everything read from a file; ``notes`` name what of it was passed over."""

    roads: tuple[Road, ...]
    geo_reference: str = ""
    junctions: tuple[Junction, ...] = ()
    signals: tuple[Signal, ...] = ()
    signal_references: tuple[SignalReference, ...] = ()
    controllers: tuple[Controller, ...] = ()
    notes: tuple[str, ...] = ()
    vendor: str = ""


def read_opendrive(text: str, source: str) -> RoadMap:
    """The content of an OpenDRIVE text (geoReference is empty if there is none).

    :param source: name of the file for messages
    :raises RoadError: names the line and element, what was found and what is allowed
    """
    root = parse(text, source)
    if root.name != "OpenDRIVE":
        raise root.error("the root element must be <OpenDRIVE>")
    geo = root.one("header").only("geoReference")
    notes = Notes()
    roads: dict[int, Road] = {}
    signals: dict[str, Signal] = {}
    references: list[SignalReference] = []
    total = 0.0
    for element in root.each("road"):
        road = _road(element, notes)
        if road.id in roads:
            raise element.error(f"road id {road.id} is used twice")
        roads[road.id] = road
        total += road.length
        if total > MAX_TOTAL_LENGTH:
            raise element.error(f"all roads together may be {MAX_TOTAL_LENGTH:g} m long")
        here, referred = read_signals(element, road.id, notes)
        signals.update((signal.id, signal) for signal in here)
        references += referred
    if not roads:
        raise root.error("at least one <road> is needed")
    junctions: dict[int, Junction] = {}
    for element in root.each("junction"):
        junction = _junction(element, roads)
        junctions[junction.id] = junction
    for element, road in zip(root.each("road"), tuple(roads.values()), strict=True):
        roads[road.id] = _without_lost_junctions(element, road, junctions, notes)
        for link in (road.predecessor, road.successor):
            if link is not None and link.road_id not in roads:
                raise element.error(f"is linked to road {link.road_id}, which does not exist")
    return RoadMap(
        tuple(roads.values()),
        (geo.text or "").strip() if geo is not None else "",
        tuple(junctions.values()),
        tuple(signals.values()),
        tuple(references),
        tuple(read_controller(element) for element in root.each("controller")),
        notes.texts(),
        root.one("header").get("vendor", ""),
    )


def _junction(element: RoadElement, roads: dict[int, Road]) -> Junction:
    junction = read_junction(element)
    for connection in junction.connections:
        for road_id in (connection.incoming_road, connection.connecting_road):
            if road_id not in roads:
                raise element.error(f"connects road {road_id}, which does not exist")
    return junction


def _without_lost_junctions(
    element: RoadElement, road: Road, junctions: dict[int, Junction], notes: Notes
) -> Road:
    """The road, with an end where the file names a junction that it does not have."""

    def known(junction: int | None) -> int | None:
        if junction is not None and junction not in junctions:
            notes.add(element, "a road refers to a junction that does not exist: it ends there")
            return None
        return junction

    return replace(
        road,
        predecessor_junction=known(road.predecessor_junction),
        successor_junction=known(road.successor_junction),
    )


def _road(element: RoadElement, notes: Notes) -> Road:
    road_id = element.integer("id")
    if element.get("rule", "RHT") != "RHT":
        raise element.error("only right-hand traffic (rule='RHT') is supported")
    line = ReferenceLine(_plan_view(element.one("planView"), notes))
    stated = element.number("length", line.length)
    if abs(stated - line.length) > _STATION_TOLERANCE + 1e-6 * line.length:
        raise element.error(f"length is {stated:g}, but its geometries add up to {line.length:g}")
    profile = element.only("elevationProfile")
    lateral = element.only("lateralProfile")
    link = element.only("link")
    before = link.only("predecessor") if link is not None else None
    after = link.only("successor") if link is not None else None
    junction = element.integer("junction") if "junction" in element.attrib else -1
    return Road(
        id=road_id,
        name=element.get("name", ""),
        line=line,
        elevation=_cubics(profile, "elevation", "s") if profile is not None else Cubics(()),
        lanes=_lanes(element.one("lanes"), line.length, notes),
        predecessor=_link(before),
        successor=_link(after),
        speed_limits=_speed_limits(element),
        superelevation=_superelevation(lateral, notes),
        junction=junction if junction >= 0 else None,
        predecessor_junction=_linked_junction(before),
        successor_junction=_linked_junction(after),
        objects=tuple(read_objects(element, road_id, notes)),
    )


def _superelevation(lateral: RoadElement | None, notes: Notes) -> Cubics:
    if lateral is None:
        return Cubics(())
    for child in lateral:
        if child.name != "superelevation" and any(child.number(n, 0.0) != 0.0 for n in "abcd"):
            notes.add(child, f"<{child.name}> of the cross-section is passed over")
    found = _cubics(lateral, "superelevation", "s")
    return Cubics(()) if found.is_zero else found


def _link(element: RoadElement | None) -> RoadLink | None:
    if element is None or element.attribute("elementType") != "road":
        return None
    contact = element.attribute("contactPoint")
    if contact not in ("start", "end"):
        raise element.error(f"contactPoint={contact!r} must be 'start' or 'end'")
    return RoadLink(element.integer("elementId"), contact == "start")


def _linked_junction(element: RoadElement | None) -> int | None:
    if element is None or element.attribute("elementType") == "road":
        return None
    if element.attribute("elementType") != "junction":
        raise element.error("elementType must be 'road' or 'junction'")
    return element.integer("elementId")


def _speed_limits(element: RoadElement) -> tuple[tuple[float, float], ...]:
    limits = []
    for kind in element.each("type"):
        speed = kind.only("speed")
        if speed is None or speed.attribute("max") in ("no limit", "undefined"):
            continue
        unit = speed.get("unit", "m/s")
        if unit not in SPEED_UNITS:
            raise speed.error(f"unit={unit!r} must be one of {sorted(SPEED_UNITS)}")
        limits.append((kind.number("s"), speed.number("max") * SPEED_UNITS[unit]))
    return tuple(sorted(limits))


def _plan_view(plan: RoadElement, notes: Notes) -> list[PlanElement]:
    elements: list[PlanElement] = []
    station = 0.0
    for geometry in plan.each("geometry"):
        if 0.0 <= geometry.number("length", 1.0) < MIN_GEOMETRY_LENGTH:
            notes.add(geometry, f"a geometry shorter than {MIN_GEOMETRY_LENGTH:g} m")
            continue
        s = geometry.number("s")
        if abs(s - station) > _STATION_TOLERANCE:
            raise geometry.error(f"starts at s={s:g}, but the one before ends at {station:g}")
        item = _geometry(geometry)
        if elements:
            end = elements[-1].at(elements[-1].length)
            gap = hypot(end.x - item.x, end.y - item.y)
            if gap > _GAP_TOLERANCE:
                raise geometry.error(
                    f"starts {gap:.6g} m from the end of the one before; "
                    f"at most {_GAP_TOLERANCE:g} m is allowed"
                )
        elements.append(item)
        station = s + item.length
    if not elements:
        raise plan.error("at least one <geometry> is needed")
    return elements


def _geometry(geometry: RoadElement) -> PlanElement:
    x, y = geometry.number("x"), geometry.number("y")
    heading, length = geometry.number("hdg"), geometry.number("length")
    if not 0.0 <= length <= MAX_TOTAL_LENGTH:
        raise geometry.error(f"length={length:g} must be from 0 to {MAX_TOTAL_LENGTH:g} m")
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


def _line(_shape: RoadElement, x: float, y: float, heading: float, length: float) -> PlanElement:
    return StraightLine(x, y, heading, length)


def _arc(shape: RoadElement, x: float, y: float, heading: float, length: float) -> PlanElement:
    curvature = _curvature(shape, "curvature")
    if curvature == 0.0:
        return StraightLine(x, y, heading, length)
    return Arc(x, y, heading, length, curvature)


def _spiral(shape: RoadElement, x: float, y: float, heading: float, length: float) -> PlanElement:
    return Spiral(
        x, y, heading, length, _curvature(shape, "curvStart"), _curvature(shape, "curvEnd")
    )


def _curvature(shape: RoadElement, name: str) -> float:
    curvature = shape.number(name)
    if not -_MAX_CURVATURE <= curvature <= _MAX_CURVATURE:
        raise shape.error(
            f"{name}={curvature:g} must be from {-_MAX_CURVATURE:g} to {_MAX_CURVATURE:g} per metre"
        )
    return curvature


def _poly3(shape: RoadElement, x: float, y: float, heading: float, length: float) -> PlanElement:
    a, b, c, d = (shape.number(name) for name in "abcd")
    return Poly3(x, y, heading, length, (a, b, c, d))


def _param_poly3(
    shape: RoadElement, x: float, y: float, heading: float, length: float
) -> PlanElement:
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


_SHAPES: dict[str, Callable[[RoadElement, float, float, float, float], PlanElement]] = {
    "line": _line,
    "arc": _arc,
    "spiral": _spiral,
    "poly3": _poly3,
    "paramPoly3": _param_poly3,
}


def _cubics(parent: RoadElement, tag: str, station: str) -> Cubics:
    pieces: list[Piece] = []
    for child in parent.each(tag):
        start = child.number(station)
        if pieces and start < pieces[-1][0]:
            if start < pieces[-1][0] - _STATION_TOLERANCE:
                raise child.error(f"{station}={start:g} must not be below {pieces[-1][0]:g}")
            start = pieces[-1][0]
        a, b, c, d = (child.number(name) for name in "abcd")
        pieces.append((start, a, b, c, d))
    return Cubics(pieces)


def _lanes(element: RoadElement, length: float, notes: Notes) -> Lanes:
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
        lanes = _section(part, notes)
        sections.append(LaneSection(starts[i], end, lanes, _centre_marks(part)))
        if i:
            before = sections[i - 1].lanes
            onward = [lane.successor for lane in before.values()]
            back = [lane.predecessor for lane in lanes.values()]
            for linked, there in ((onward, lanes), (back, before)):
                if any(each is not None and each not in there for each in linked):
                    notes.add(part, "a lane that is linked to one that is not there ends here")
    return Lanes(sections, _cubics(element, "laneOffset", "s"))


def _section(part: RoadElement, notes: Notes) -> dict[int, Lane]:
    lanes: dict[int, Lane] = {}
    for side, sign in (("left", 1), ("right", -1)):
        group = part.only(side)
        if group is None:
            continue
        found = sorted(
            (_lane(child, sign, notes) for child in group.each("lane")), key=lambda x: abs(x.id)
        )
        if [abs(lane.id) for lane in found] != list(range(1, len(found) + 1)):
            raise group.error(
                f"found the lane ids {', '.join(str(lane.id) for lane in found)}; allowed are "
                f"{sign}, {2 * sign}, ... without gaps or repeats"
            )
        lanes.update((lane.id, lane) for lane in found)
    if not lanes:
        notes.add(part, "a lane section without lanes")
    return lanes


def _centre_marks(part: RoadElement) -> tuple[RoadMark, ...]:
    centre = part.only("center")
    lane = next(centre.each("lane"), None) if centre is not None else None
    return _marks(lane) if lane is not None else ()


def _lane(element: RoadElement, sign: int, notes: Notes) -> Lane:
    lane_id = element.integer("id")
    if lane_id * sign <= 0:
        raise element.error(f"id={lane_id} is on the wrong side")
    if next(element.each("border"), None) is not None:
        raise element.error("widths are needed; borders are not supported")
    if next(element.each("width"), None) is None:
        notes.add(element, "a lane without a width has the width 0")
    link = element.only("link")
    predecessor = next(link.each("predecessor"), None) if link is not None else None
    successor = next(link.each("successor"), None) if link is not None else None
    if link is not None and any(len(list(link.each(t))) > 1 for t in ("predecessor", "successor")):
        notes.add(element, "of several lanes that a lane is linked to the first one counts")
    return Lane(
        lane_id,
        element.get("type", "none"),
        _cubics(element, "width", "sOffset"),
        predecessor.integer("id") if predecessor is not None else None,
        successor.integer("id") if successor is not None else None,
        _marks(element),
    )


def _marks(lane: RoadElement) -> tuple[RoadMark, ...]:
    return tuple(
        RoadMark(
            mark.number("sOffset", 0.0),
            mark.get("type", "none"),
            mark.get("color", "standard"),
            mark.number("width", 0.0),
            mark.get("laneChange", "both"),
        )
        for mark in lane.each("roadMark")
    )
