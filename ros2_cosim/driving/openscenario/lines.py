# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Trajectories of a file as plain data: lines, clothoids and NURBS, with their times."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from ros2_cosim.core.documents.settings import read_section
from ros2_cosim.driving.openscenario.document import Element, declared
from ros2_cosim.driving.openscenario.places import Places
from ros2_cosim.driving.openscenario.story import Trajectory, Where
from ros2_cosim.driving.openscenario.trajectories import Path, PlannedPose, points_of

_Plain = dict[str, Any]

#: The direction of a trajectory is that to the point so far ahead [m].
_AHEAD: Final = 0.01


class Lines:
    """Reads trajectories.

    :param entity: from an element with ``entityRef`` to what it names in the scene
    :param catalogues: from a CatalogReference to the entry
    """

    def __init__(
        self,
        places: Places,
        entity: Callable[[Element], str],
        catalogues: Callable[[Element], Element],
    ) -> None:
        self._places = places
        self._entity = entity
        self._catalogues = catalogues
        places.on_trajectory = self.point_of

    def point_of(self, position: Element) -> tuple[float, float]:
        """(x, y) of a TrajectoryPosition.

        :raises ConfigurationError: its trajectory is wrong, not one of the map, or too short
        """

        def pose(where: Where) -> PlannedPose:
            if where.to is not None:
                raise position.error(
                    "TrajectoryRef: found a trajectory relative to an entity; supported is one "
                    "whose points are places of the map"
                )
            return PlannedPose(where.x, where.y, where.heading)

        trajectory = read_section(Trajectory, self._line(position), origin=position.place)
        path = Path([(x, y) for x, y, _ in points_of(trajectory, "", pose)])
        s, t = position.number("s"), position.number("t", 0.0)
        if not 0.0 <= s <= path.length or path.length <= 0.0:
            raise position.error(f"s: found {s:g}; allowed is 0 to {path.length:g} m, its length")
        (x, y), (u, v) = path.at(s), path.at(s + _AHEAD)
        return x - t * (v - y) / _AHEAD, y + t * (u - x) / _AHEAD

    def follow(self, element: Element) -> _Plain:
        """A FollowTrajectoryAction.

        :raises ConfigurationError: it is not supported, or wrong
        """
        found = self._line(element)
        start = element.amount("initialDistanceOffset", 0.0)
        if start:
            found["start"] = start
        reference = element.find("TimeReference")
        timing = None if reference is None else reference.choice()
        if timing is not None and timing.tag == "Timing":
            domain = timing.one_of("domainAbsoluteRelative", {"absolute": "1", "relative": ""})
            found["timing"] = {
                "absolute": bool(domain),
                "scale": timing.amount("scale", positive=True),
                "offset": timing.number("offset"),
            }
            _require_times(timing, found)
        read_section(Trajectory, found, origin=element.place, place="trajectory")
        return found

    def _line(self, element: Element) -> _Plain:
        """The trajectory that an element has, or refers to."""
        holder = element.find("TrajectoryRef") or element
        trajectory = holder.find("Trajectory")
        if trajectory is not None:
            trajectory = trajectory.within(declared(trajectory, {}))
        else:
            trajectory = self._catalogues(holder.one("CatalogReference"))
        shape = trajectory.one("Shape").choice()
        makers = {
            "Polyline": self._polyline,
            "Clothoid": self._clothoid,
            "ClothoidSpline": self._spline,
            "Nurbs": self._nurbs,
        }
        if shape.tag not in makers:
            raise shape.error(f"not supported; supported are {', '.join(makers)}")
        found = makers[shape.tag](shape)
        if trajectory.flag("closed", False):
            if shape.tag != "Polyline":
                raise trajectory.error("closed: supported is a closed Polyline")
            found["closed"] = True
        return found

    def where(self, position: Element) -> _Plain:
        """A Position as a pose; a relative one is taken when the action begins.

        :raises ConfigurationError: it is of a kind that is not supported, or not on a road
        """
        kind = position.choice()
        if kind.tag == "WorldPosition":
            return _pose(kind.number("x"), kind.number("y"), kind.number("h", 0.0))
        if kind.tag in _RELATIVE:
            frame, ahead, aside = _RELATIVE[kind.tag]
            if kind.tag == "RelativeLanePosition" and not kind.has("ds"):
                ahead = "dsLane"
            turn = kind.find("Orientation")
            heading = 0.0 if turn is None else turn.number("h", 0.0)
            found = _pose(kind.number(ahead, 0.0), kind.number(aside, 0.0), heading)
            if turn is not None and turn.one_of("type", _TYPES, "absolute") == "absolute":
                found["absolute"] = True
            if kind.tag == "RelativeLanePosition":
                found["lanes"] = kind.whole("dLane")
            return {**found, "to": self._entity(kind), "frame": frame}
        spot = self._places.find(position)
        x, y = self._places.point(spot)
        lane_heading = self._places.network.lane_pose(spot.road, spot.lane, spot.s).heading
        return _pose(x, y, lane_heading + self._places.turned(kind, spot))

    def _polyline(self, shape: Element) -> _Plain:
        return {"polyline": [self._vertex(vertex) for vertex in shape.each("Vertex")]}

    def _vertex(self, vertex: Element) -> _Plain:
        found: _Plain = {"at": self.where(vertex.one("Position"))}
        if vertex.has("time"):
            found["time"] = vertex.number("time")
        return found

    def _clothoid(self, shape: Element) -> _Plain:
        begin, length = shape.number("curvature"), shape.amount("length", positive=True)
        growth = shape.number("curvaturePrime" if shape.has("curvaturePrime") else "curvatureDot")
        segment = {
            "at": self.where(shape.one("Position")),
            "curvature": begin,
            "curvature_end": begin + growth * length,
            "length": length,
        }
        found: _Plain = {"spline": [segment]}
        if shape.has("startTime"):
            segment["time"] = shape.number("startTime")
            found["end_time"] = shape.number("stopTime")
        return found

    def _spline(self, shape: Element) -> _Plain:
        segments = []
        for element in shape.each("ClothoidSplineSegment"):
            segment: _Plain = {
                "curvature": element.number("curvatureStart"),
                "curvature_end": element.number("curvatureEnd"),
                "length": element.amount("length", positive=True),
            }
            start = element.find("PositionStart")
            if start is not None:
                segment["at"] = self.where(start)
            for name, key in (("hOffset", "turn"), ("timeStart", "time")):
                if element.has(name):
                    segment[key] = element.number(name)
            segments.append(segment)
        found: _Plain = {"spline": segments}
        if shape.has("timeEnd"):
            found["end_time"] = shape.number("timeEnd")
        return found

    def _nurbs(self, shape: Element) -> _Plain:
        points = []
        for element in shape.each("ControlPoint"):
            weight = element.amount("weight", 1.0, positive=True)
            points.append({**self._vertex(element), "weight": weight})
        knots = [knot.number("value") for knot in shape.each("Knot")]
        return {"nurbs": {"order": shape.whole("order"), "points": points, "knots": knots}}


def _require_times(timing: Element, trajectory: _Plain) -> None:
    """Check whether a trajectory says for each of its points when to be there."""
    if "nurbs" in trajectory:
        times = [point.get("time") for point in trajectory["nurbs"]["points"]]
    elif "spline" in trajectory:
        times = [segment.get("time") for segment in trajectory["spline"]]
        times.append(trajectory.get("end_time"))
    else:
        times = [vertex.get("time") for vertex in trajectory["polyline"]]
    if None in times:
        raise timing.error(
            f"found a trajectory whose point {times.index(None)}, counted from 0, has no time; "
            "allowed are times of all points, or None instead of Timing"
        )


#: What the heading of an Orientation may be.
_TYPES: Final = {word: word for word in ("absolute", "relative")}
#: Positions relative to an entity -> frame, and the attributes ahead and aside in it.
_RELATIVE: Final = {
    "RelativeWorldPosition": ("axes", "dx", "dy"),
    "RelativeObjectPosition": ("vehicle", "dx", "dy"),
    "RelativeRoadPosition": ("road", "ds", "dt"),
    "RelativeLanePosition": ("lane", "ds", "offset"),
}


def _pose(x: float, y: float, heading: float) -> _Plain:
    return {"x": x, "y": y, "heading": heading}
