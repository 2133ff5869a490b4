# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Draws platoon.png as a page: the markers that RViz shows, seen from above, from a bag."""

from __future__ import annotations

import html
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from ros2_cosim.core.messages.catalogue import DEFAULT as CATALOGUE
from ros2_cosim.core.messages.records import Odometry, StaticObjects
from ros2_cosim.core.record.bag_reader import read_bag
from ros2_cosim.world.map import RoadNetwork
from ros2_cosim.world.pictures import markers
from ros2_cosim.world.pictures.markers import Cone, MarkerBox, MarkerData, Point, body_point
from ros2_cosim.world.pictures.road_markers import road_markers

#: Size of the page [pixels].
SIZE = (1400, 530)
GRASS = "#5d6b52"
#: How far below its place a label stands [pixels].
_LOWER = {"platoon gap labels": 28, "obstacle": 47}
_HIGHER = -30


class Strip(NamedTuple):
    """A part of the map [m] at a moment [s], as wide as the page."""

    moment: float
    left: float
    right: float
    bottom: float
    top: float

    @property
    def scale(self) -> float:
        """Pixels of a metre."""
        return SIZE[0] / (self.right - self.left)

    def at(self, point: Point) -> tuple[float, float]:
        """Where a place of the map is [pixels]."""
        return (point[0] - self.left) * self.scale, (self.top - point[1]) * self.scale


STRIPS = (
    Strip(0.0, 640.0, 1012.0, -21.0, 19.5),
    Strip(11.0, 640.0, 1012.0, -21.0, 19.5),
    Strip(20.7, 927.0, 1017.5, 3.2, 12.69),
)


def top_view(run: Path) -> str:
    """The page (HTML) with a strip for each moment.

    :param run: output directory of a run of ``config/platoon.yaml``
    """
    scenario = json.loads((run / "scenario.json").read_text(encoding="utf-8"))
    network = RoadNetwork.from_file(Path(scenario["base_directory"]) / scenario["scene"]["map"])
    road = road_markers(network)
    parts = [
        '<!doctype html><meta charset="utf-8"><style>body { margin: 0; background: white; '
        "font: 15px DejaVu Sans, Verdana, sans-serif } p { margin: 5px 4px 3px } "
        f"svg {{ display: block; background: {GRASS}; font-size: 12px }}</style>"
    ]
    for strip in STRIPS:
        height = strip.scale * (strip.top - strip.bottom)
        parts.append(f"<p>t = {strip.moment:g} s</p>")
        parts.append(f'<svg width="{SIZE[0]}" height="{height:.0f}">')
        for marker in [*road, *_scene(scenario, run / "bag", int(strip.moment * 1e9))]:
            parts += _drawn(marker, strip)
        parts.append("</svg>")
    return "\n".join(parts)


def _scene(scenario: dict[str, Any], bag: Path, time_ns: int) -> list[MarkerData]:
    """What the visualisation node draws of the newest messages up to a moment, labels on top."""
    newest: dict[str, Any] = {}
    for message in read_bag(bag):
        if message.stamp > time_ns:
            break
        newest[message.topic] = CATALOGUE.codec(message.type_name).decode(message.data)[2]
    vehicles = scenario["scene"]["vehicles"]
    names = scenario["scene"]["platoon"]
    boxes = [MarkerBox(vehicles[name]["length"], vehicles[name]["width"], 1.5) for name in names]
    poses = [newest[f"/{name}/odometry"] for name in names]
    sensor = scenario["participants"]["sensor1"]["parameters"]
    cone = Cone(sensor["field_of_view"], sensor["detection_range"])
    scene = markers.obstacle_markers(newest.get("/static_objects", StaticObjects(())))
    for number, (name, pose, box) in enumerate(zip(names, poses, boxes, strict=True)):
        if f"/{name}/objects" in newest:
            seen = newest[f"/{name}/objects"]
            scene += markers.sensor_markers(number, pose, box, cone, seen)
        scene += markers.vehicle_markers(number, name, pose, box)
    scene += markers.gap_markers(newest["/platoon_status"], poses, boxes)
    # The barriers of a row lie so close that one label is enough.
    labels = [marker for marker in scene if marker.namespace == "obstacle labels"]
    shown = [marker for marker in scene if marker not in labels[1:]]
    return sorted(
        shown, key=lambda marker: (marker.shape == markers.TEXT, marker.shape == markers.CUBE)
    )


def _drawn(marker: MarkerData, strip: Strip) -> Iterator[str]:
    """The elements of a marker."""
    points = [strip.at(point) for point in marker.points]
    red, green, blue, opacity = marker.colour
    colour = f"rgb({255 * red:.0f} {255 * green:.0f} {255 * blue:.0f})"
    if marker.shape == markers.TRIANGLES:
        path = "".join(f"{_path(points[i : i + 3])}z" for i in range(0, len(points), 3))
        yield f'<path d="{path}" fill="{colour}" fill-opacity="{opacity:g}"/>'
    elif marker.shape in (markers.LINE_LIST, markers.LINE_STRIP):
        step = 2 if marker.shape == markers.LINE_LIST else len(points)
        path = "".join(_path(points[i : i + step]) for i in range(0, len(points), step))
        yield f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="1.3"/>'
    elif marker.shape == markers.CUBE:
        corners = [strip.at(point) for point in _outline(marker)]
        yield f'<path d="{_path(corners)}z" fill="{colour}"/>'
    elif marker.shape == markers.TEXT:
        yield from _written(marker, strip)


def _path(points: list[tuple[float, float]]) -> str:
    return "M" + "L".join(f"{x:.1f},{y:.1f}" for x, y in points)


def _outline(marker: MarkerData) -> list[Point]:
    """The corners of a box, seen from above."""
    x, y, z = marker.position
    pose = Odometry(x, y, z, *marker.orientation, *(0.0,) * 6)
    length, width = 0.5 * marker.scale[0], 0.5 * marker.scale[1]
    corners = ((length, width), (length, -width), (-length, -width), (-length, width))
    return [body_point(pose, a, b, 0.0) for a, b in corners]


def _written(marker: MarkerData, strip: Strip) -> Iterator[str]:
    """The lines of a label."""
    x, y = strip.at(marker.position)
    kind = "obstacle" if marker.text.startswith("obstacle") else marker.namespace
    lines = marker.text.split("\n")
    y += _LOWER.get(kind, _HIGHER) - 7 * (len(lines) - 1)
    for number, line in enumerate(lines):
        yield (
            f'<text x="{x:.0f}" y="{y + 14 * number:.0f}" text-anchor="middle" '
            f'fill="white">{html.escape(line)}</text>'
        )
