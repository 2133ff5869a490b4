# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""OpenDRIVE 1.4 text from parts: what the generators of the project's maps have in common.

All functions return lines. Numbers are written with ``repr``, so they are read back bit by bit,
and the text depends on the arguments alone, to the last byte.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple
from xml.sax.saxutils import quoteattr

from ros2_cosim.world.map.plan_view import Arc, PlanElement, Spiral, StraightLine

GEO_REFERENCE = (
    "+proj=tmerc +lat_0=49.0 +lon_0=8.0 +k=1 +x_0=0 +y_0=0 +datum=WGS84 +units=m +no_defs"
)


class Piece(NamedTuple):
    """A piece of a reference line: length [m], curvature at its start and its end [1/m]."""

    length: float
    start: float = 0.0
    end: float = 0.0


class Pose(NamedTuple):
    """A point and a direction: x, y [m], heading [rad]."""

    x: float = 0.0
    y: float = 0.0
    heading: float = 0.0


class Plan(NamedTuple):
    """A reference line: the lines of its geometries, its length [m], where it ends."""

    lines: list[str]
    length: float
    end: Pose


class LaneText(NamedTuple):
    """A lane: number, type, width [m], the lines of its link, the mark on its outer border."""

    id: int
    type: str
    width: float
    mark: str
    link: str = "<link/>"


class RoadText(NamedTuple):
    """A road; ``links``, ``elevation``, ``objects`` and ``signals`` are finished lines.

    ``lanes`` are those of its only section, from left to right without lane 0.
    """

    id: int
    name: str
    plan: Plan
    lanes: Sequence[LaneText]
    centre_mark: str
    type: str
    speed_kmh: float
    links: Sequence[str] = ()
    elevation: Sequence[str] = ('      <elevation s="0.0" a="0.0" b="0" c="0.0" d="0.0"/>',)
    objects: Sequence[str] = ()
    signals: Sequence[str] = ()
    junction: int = -1


def document(name: str, body: Iterable[str]) -> str:
    """The whole text around the lines of roads, controllers and junctions."""
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        "<OpenDRIVE>",
        f'  <header revMajor="1" revMinor="4" name={quoteattr(name)} version="1">',
        f"    <geoReference><![CDATA[{GEO_REFERENCE}]]></geoReference>",
        "  </header>",
        *body,
        "</OpenDRIVE>",
        "",
    ]
    return "\n".join(lines)


def plan_view(pieces: Iterable[Sequence[float]], start: Pose = Pose()) -> Plan:  # noqa: B008
    """Pieces one behind the other.

    :param pieces: length [m], curvature at the start and at the end [1/m] of each
    """
    lines: list[str] = []
    s = 0.0
    x, y, heading = start
    for length, begin, end in pieces:
        element: PlanElement
        if begin != end:
            element = Spiral(x, y, heading, length, begin, end)
            shape = f'<spiral curvStart="{begin!r}" curvEnd="{end!r}"/>'
        elif begin != 0.0:
            element = Arc(x, y, heading, length, begin)
            shape = f'<arc curvature="{begin!r}"/>'
        else:
            element = StraightLine(x, y, heading, length)
            shape = "<line/>"
        lines += [
            f'      <geometry s="{s!r}" x="{x!r}" y="{y!r}" hdg="{heading!r}" length="{length!r}">',
            f"        {shape}",
            "      </geometry>",
        ]
        point = element.at(length)
        x, y = point.x, point.y
        heading += element.turn(length)
        s += length
    return Plan(lines, s, Pose(x, y, heading))


def elevation(pieces: Iterable[tuple[float, float, float, float]]) -> list[str]:
    """Pieces that begin level: start s, height, coefficients of s^2 and s^3."""
    return [
        f'      <elevation s="{s!r}" a="{a!r}" b="0" c="{c!r}" d="{d!r}"/>' for s, a, c, d in pieces
    ]


def road_mark(kind: str, lane_change: str) -> str:
    """A road mark for the whole length of the section."""
    return (
        f'            <roadMark sOffset="0" type="{kind}" weight="standard" color="standard" '
        f'width="0.15" laneChange="{lane_change}"/>'
    )


def road_lines(road: RoadText) -> list[str]:
    """A road with one lane section."""
    left = [lane for lane in road.lanes if lane.id > 0]
    right = [lane for lane in road.lanes if lane.id < 0]
    return [
        f'  <road name={quoteattr(road.name)} length="{road.plan.length!r}" id="{road.id}" '
        f'junction="{road.junction}">',
        *_group("    ", "link", road.links),
        f'    <type s="0" type="{road.type}">',
        f'      <speed max="{road.speed_kmh!r}" unit="km/h"/>',
        "    </type>",
        *_group("    ", "planView", road.plan.lines),
        *_group("    ", "elevationProfile", road.elevation),
        "    <lateralProfile/>",
        "    <lanes>",
        '      <laneOffset s="0" a="0" b="0" c="0" d="0"/>',
        '      <laneSection s="0">',
        *(_group("        ", "left", _lane_lines(left)) if left else ()),
        "        <center>",
        '          <lane id="0" type="none" level="false">',
        road.centre_mark,
        "          </lane>",
        "        </center>",
        *(_group("        ", "right", _lane_lines(right)) if right else ()),
        "      </laneSection>",
        "    </lanes>",
        *_group("    ", "objects", road.objects),
        *_group("    ", "signals", road.signals),
        "  </road>",
    ]


def _lane_lines(lanes: Iterable[LaneText]) -> list[str]:
    lines: list[str] = []
    for lane in lanes:
        lines += [
            f'          <lane id="{lane.id}" type="{lane.type}" level="false">',
            f"            {lane.link}",
            f'            <width sOffset="0" a="{lane.width!r}" b="0" c="0" d="0"/>',
            lane.mark,
            "          </lane>",
        ]
    return lines


def _group(indent: str, tag: str, lines: Sequence[str]) -> list[str]:
    return [f"{indent}<{tag}>", *lines, f"{indent}</{tag}>"] if lines else [f"{indent}<{tag}/>"]


def carriageway(
    side: int, driving: int, width: float, shoulder: float, link: str = "<link/>"
) -> list[LaneText]:
    """Driving lanes and a shoulder on one side (+1 left, -1 right), from left to right.

    In ``link`` the number of the lane is filled in.
    """
    lanes = []
    for number in range(1, driving + 2):
        kind, wide = ("driving", width) if number <= driving else ("shoulder", shoulder)
        mark = road_mark("broken", "both") if number < driving else road_mark("solid", "none")
        lanes.append(LaneText(side * number, kind, wide, mark, link.format(id=side * number)))
    return lanes if side < 0 else lanes[::-1]
