# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Generator of the project's own town as OpenDRIVE text.

A grid of streets on a slope, five by four, with round corners. Its second row is an avenue with
two lanes each way and traffic lights; in the third row there are traffic lights and, in its
middle, a roundabout; where a street ends at the outer ring stop signs hold. The avenue goes on
at both ends as a motorway, which runs around the north of the town over a hill and has an exit
and its own entry. No road has a dead end. All numbers come from exact mathematics, so the
text is the same on every machine, to the last byte.

Run ``python -m buildtools.town FILE`` to write the town.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from buildtools.opendrive_writer import (
    LaneText,
    Piece,
    Pose,
    RoadText,
    document,
    elevation,
    plan_view,
    road_lines,
    road_mark,
)
from ros2_cosim.core.kernel.exactmath import PI, atan2, sincos, sqrt, wrap_angle

_LANE = 3.5
_SHOULDER = 0.5
_SIDEWALK = 2.0
_COLUMNS = (0.0, 120.0, 240.0, 360.0, 480.0)
_ROWS = (0.0, -110.0, -220.0, -330.0)
_AVENUE, _ROUNDABOUT = 1, (2, 2)
_REACH = 16.0  # from the middle of a crossing to the ends of its roads [m]
_RING = 16.0  # radius of the roundabout [m]
_RING_REACH = 36.0  # from its middle to the ends of the streets [m]
_RING_SPREAD = 0.50  # half the angle that a junction of the roundabout takes of the ring [rad]
# Movements through a crossing by the change of heading [rad].
_STRAIGHT = PI / 6.0

# Street lamps: height, distance along a side, from ends of roads, size of the pole [m].
_LAMP_HEIGHT, _LAMP_SPACING, _LAMP_MARGIN, _LAMP_POLE = 7.0, 36.0, 9.0, 0.18

# Crosswalks: length along the road, and from the end of a road to the nearer side [m].
_CROSSWALK_LENGTH, _CROSSWALK_SETBACK = 3.0, 1.0

_LIGHT, _STOP, _YIELD, _MAX_SPEED = "1000001", "206", "205", "274"


class Kind(NamedTuple):
    """A kind of road: driving lanes each way (right, left), type, speed limit, sidewalks."""

    right: int
    left: int
    type: str
    speed_kmh: float
    sidewalk: bool
    lane: float = _LANE


_STREET = Kind(1, 1, "town", 40.0, True)
_AVENUE_KIND = Kind(2, 2, "town", 50.0, True)
_MOTORWAY = Kind(2, 2, "motorway", 80.0, False)
_RAMP = Kind(1, 0, "motorway", 40.0, False)
_CIRCLE = Kind(1, 0, "town", 30.0, False)


@dataclass
class _Road:
    """A road outside junctions while the town is drawn."""

    id: int
    name: str
    kind: Kind
    start: Pose
    pieces: Sequence[Piece]
    heights: tuple[float, float]
    hill: float = 0.0
    nodes: list[int] = field(default_factory=lambda: [-1, -1])  # junction at start and end


class _End(NamedTuple):
    """An end of a road at a junction; the pose points away from the junction."""

    road: _Road
    at_end: bool
    pose: Pose
    sign: str = ""  # light, stop or yield, for what comes out of it

    def incoming(self) -> list[int]:
        """Lanes that lead into the junction, from the inside out."""
        kind = self.road.kind
        return [-n for n in _count(kind.right)] if self.at_end else _count(kind.left)

    def outgoing(self) -> list[int]:
        """Lanes that lead out of the junction, from the inside out."""
        kind = self.road.kind
        return _count(kind.left) if self.at_end else [-n for n in _count(kind.right)]


class _Turn(NamedTuple):
    """A way through a junction: a lane of one end to a lane of another."""

    start: _End
    from_lane: int
    end: _End
    to_lane: int


def _count(number: int) -> list[int]:
    return list(range(1, number + 1))


class _Town:
    """Collects roads, junctions and signals, with ids in order of their making."""

    def __init__(self) -> None:
        self.roads: list[_Road] = []
        self._texts: list[RoadText] = []
        self._junctions: list[str] = []
        self._controllers: list[str] = []
        self._next_road = 0
        self._next_junction = 1000
        self._next_signal = 1
        self._signs: dict[int, list[str]] = {}
        self._next_object = 1
        self._objects: dict[int, list[str]] = {}

    def road(
        self,
        name: str,
        kind: Kind,
        start: Pose,
        pieces: Sequence[Piece],
        heights: tuple[float, float],
        hill: float = 0.0,
    ) -> _Road:
        """A road whose ends lie at two heights, with a hill in its middle."""
        road = _Road(self._next_road, name, kind, start, pieces, heights, hill)
        self._next_road += 1
        self.roads.append(road)
        return road

    def speed_sign(
        self, road: _Road, *, at_end: bool, behind: float = 8.0, speed: float | None = None
    ) -> None:
        """A sign with a speed limit, for traffic that enters the road at an end.

        :param behind: where it stands, from that end [m]
        :param speed: what it says [km/h], the road's own limit if None
        """
        length = plan_view(road.pieces, road.start).length
        s, lane, orientation = (length - behind, 1, "-") if at_end else (behind, -1, "+")
        lanes = road.kind.left if at_end else road.kind.right
        t = lane * (lanes * road.kind.lane + _SHOULDER + 1.25)
        speed = road.kind.speed_kmh if speed is None else speed
        name, valid = f"Speed_{speed:g}", sorted((lane, lane * lanes))
        self._signs.setdefault(road.id, []).extend(
            _signal(self._take_signal(), name, _MAX_SPEED, s, t, orientation, valid, speed)
        )

    def lamps(self, road: _Road) -> None:
        """Street lamps at the outer edges of the sidewalks, on both sides in turn."""
        length = plan_view(road.pieces, road.start).length
        count = int((length - 2.0 * _LAMP_MARGIN) / (0.5 * _LAMP_SPACING)) + 1
        gap = (length - 2.0 * _LAMP_MARGIN) / max(count - 1, 1)
        for number in range(count):
            side = 1 if number % 2 else -1
            lanes = road.kind.left if side > 0 else road.kind.right
            t = side * (lanes * road.kind.lane + _SHOULDER + _SIDEWALK - _LAMP_POLE)
            self._objects.setdefault(road.id, []).append(
                _lamp(self._take_object(), _LAMP_MARGIN + number * gap, t)
            )

    def crosswalks(self, road: _Road) -> None:
        """Crosswalks before the junctions at both ends, over the whole carriageway."""
        length = plan_view(road.pieces, road.start).length
        middle = _CROSSWALK_SETBACK + 0.5 * _CROSSWALK_LENGTH
        left = road.kind.left * road.kind.lane + _SHOULDER
        right = 0.0 - (road.kind.right * road.kind.lane + _SHOULDER)
        for s in (middle, length - middle):
            self._objects.setdefault(road.id, []).extend(
                _crosswalk(self._take_object(), s, left, right)
            )

    def _take_object(self) -> int:
        self._next_object += 1
        return self._next_object - 1

    def _take_signal(self) -> int:
        self._next_signal += 1
        return self._next_signal - 1

    def junction(self, ends: Sequence[_End], turns: Iterable[_Turn] | None = None) -> None:
        """A junction of road ends, with a road for every turn (all that are usual, if None)."""
        number, self._next_junction = self._next_junction, self._next_junction + 1
        for end in ends:
            end.road.nodes[end.at_end] = number
        signals: dict[int, int] = {}  # index of the end -> signal
        connections: list[str] = []
        for turn in turns if turns is not None else _usual_turns(ends):
            road_id, self._next_road = self._next_road, self._next_road + 1
            which = ends.index(turn.start)
            placed = which in signals
            if turn.start.sign and not placed:
                signals[which] = self._take_signal()
            self._texts.append(_connecting_road(road_id, number, turn, signals.get(which), placed))
            connections += [
                f'    <connection id="{len(connections) // 3}" '
                f'incomingRoad="{turn.start.road.id}" connectingRoad="{road_id}" '
                'contactPoint="start">',
                f'      <laneLink from="{turn.from_lane}" to="-1"/>',
                "    </connection>",
            ]
        lights = [signals[i] for i in signals if ends[i].sign == _LIGHT]
        controllers = []
        for sequence, light in enumerate(lights):
            controller = 5000 + light
            controllers.append(f'    <controller id="{controller}" type="0"/>')
            self._controllers += [
                f'  <controller name="ctrl{controller}" id="{controller}" sequence="{sequence}">',
                f'    <control signalId="{light}" type=""/>',
                "  </controller>",
            ]
        self._junctions += [
            f'  <junction id="{number}" name="junction{number}">',
            *connections,
            *controllers,
            "  </junction>",
        ]

    def text(self) -> str:
        """The OpenDRIVE text."""
        roads = [self._road_text(road) for road in self.roads] + self._texts
        body = [line for road in roads for line in road_lines(road)]
        return document("town", [*body, *self._controllers, *self._junctions])

    def _road_text(self, road: _Road) -> RoadText:
        plan = plan_view(road.pieces, road.start)
        links = [
            f'      <{tag} elementType="junction" elementId="{node}"/>'
            for tag, node in zip(("predecessor", "successor"), road.nodes, strict=True)
        ]
        kind = road.kind
        return RoadText(
            id=road.id,
            name=road.name,
            plan=plan,
            lanes=[*_side(kind, +1)[::-1], *_side(kind, -1)],
            centre_mark=road_mark("solid solid" if kind.left else "solid", "none"),
            type=kind.type,
            speed_kmh=kind.speed_kmh,
            links=links,
            elevation=elevation(_profile(plan.length, *road.heights, road.hill)),
            objects=self._objects.get(road.id, ()),
            signals=self._signs.get(road.id, ()),
        )


def _side(kind: Kind, side: int) -> list[LaneText]:
    """The lanes on a side, from the inside out; none where nothing drives."""
    driving = kind.right if side < 0 else kind.left
    if not driving:
        return []
    lanes = [
        LaneText(
            side * n, "driving", kind.lane,
            road_mark("broken", "both") if n < driving else road_mark("solid", "none"),
        )
        for n in _count(driving)
    ]  # fmt: skip
    lanes.append(LaneText(side * (driving + 1), "shoulder", _SHOULDER, road_mark("curb", "none")))
    if kind.sidewalk:
        lanes.append(
            LaneText(side * (driving + 2), "sidewalk", _SIDEWALK, road_mark("none", "none"))
        )
    return lanes


def _profile(
    length: float, start: float, end: float, hill: float
) -> list[tuple[float, float, float, float]]:
    """Level at both ends, smooth in between; a hill rises and falls over half a road each."""
    if hill == 0.0:
        return [_rise(0.0, length, start, end)]
    middle = 0.5 * length
    top = 0.5 * (start + end) + hill
    return [_rise(0.0, middle, start, top), _rise(middle, length - middle, top, end)]


def _rise(s: float, length: float, start: float, end: float) -> tuple[float, float, float, float]:
    """The cubic that is level at its ends: z = a + h (3 u^2 - 2 u^3), u = ds / length."""
    height = end - start
    return s, start, 3.0 * height / (length * length), -2.0 * height / (length**3)


def _usual_turns(ends: Sequence[_End]) -> Iterator[_Turn]:
    """Right turns between the outermost lanes, left turns between the innermost, straight on."""
    for start in ends:
        incoming = start.incoming()
        for end in ends:
            outgoing = end.outgoing()
            if start is end or not incoming or not outgoing:
                continue
            # The way in runs against the direction in which the end points.
            angle = wrap_angle(end.pose.heading - start.pose.heading - PI)
            if angle < -_STRAIGHT:
                yield _Turn(start, incoming[-1], end, outgoing[-1])
            elif angle > _STRAIGHT:
                yield _Turn(start, incoming[0], end, outgoing[0])
            else:
                for number, lane in enumerate(incoming):
                    yield _Turn(start, lane, end, outgoing[min(number, len(outgoing) - 1)])


def _lane_border(end: _End, lane: int, *, leaving: bool) -> Pose:
    """The left border of a lane (as its driver sees it) at an end, in driving direction."""
    offset = (abs(lane) - 1) * end.road.kind.lane
    x, y, heading = end.pose
    if not leaving:
        heading = wrap_angle(heading + PI)
    sin, cos = sincos(heading)
    return Pose(x + offset * sin, y - offset * cos, heading)


def _biarc(start: Pose, end: Pose) -> list[Piece]:
    """Two arcs (or one, or a straight line) from one pose to another."""
    sin0, cos0 = sincos(start.heading)
    sin1, cos1 = sincos(end.heading)
    vx, vy = end.x - start.x, end.y - start.y
    square = vx * vx + vy * vy
    along = vx * (cos0 + cos1) + vy * (sin0 + sin1)
    bend = 2.0 * (1.0 - (cos0 * cos1 + sin0 * sin1))
    if bend < 1e-12:
        reach = square / (2.0 * along)
    else:
        reach = (sqrt(along * along + bend * square) - along) / bend
    mx = 0.5 * (start.x + end.x + reach * (cos0 - cos1))
    my = 0.5 * (start.y + end.y + reach * (sin0 - sin1))
    first, heading = _arc(start, mx, my)
    second, _ = _arc(Pose(mx, my, heading), end.x, end.y)
    if first.start == 0.0 and second.start == 0.0:
        return [Piece(first.length + second.length)]
    return [first, second]


def _arc(start: Pose, x: float, y: float) -> tuple[Piece, float]:
    """The arc from a pose to a point, and the heading at its end."""
    sin, cos = sincos(start.heading)
    dx, dy = x - start.x, y - start.y
    u, v = dx * cos + dy * sin, dy * cos - dx * sin
    chord = sqrt(u * u + v * v)
    curvature = 2.0 * v / (chord * chord)
    if -1e-9 < curvature < 1e-9:
        return Piece(chord), start.heading
    turn = 2.0 * atan2(v, u)
    return Piece(turn / curvature, curvature, curvature), start.heading + turn


def _connecting_road(
    road_id: int, junction: int, turn: _Turn, signal: int | None, placed: bool
) -> RoadText:
    start = _lane_border(turn.start, turn.from_lane, leaving=False)
    end = _lane_border(turn.end, turn.to_lane, leaving=True)
    plan = plan_view(_biarc(start, end), start)
    heights = turn.start.road.heights[turn.start.at_end], turn.end.road.heights[turn.end.at_end]
    link = f'<link><predecessor id="{turn.from_lane}"/><successor id="{turn.to_lane}"/></link>'
    contacts = [
        f'      <{tag} elementType="road" elementId="{side.road.id}" '
        f'contactPoint="{"end" if side.at_end else "start"}"/>'
        for tag, side in (("predecessor", turn.start), ("successor", turn.end))
    ]
    signals: list[str] = []
    if signal is not None and placed:
        signals = _reference(signal)
    elif signal is not None:
        kind = turn.start.road.kind
        lanes = kind.right if turn.start.at_end else kind.left
        beside = (lanes - abs(turn.from_lane) + 1) * kind.lane + _SHOULDER + 1.25
        names = {_LIGHT: "Signal_3Light_Post01", _STOP: "Sign_Stop", _YIELD: "Sign_Yield"}
        sign = turn.start.sign
        signals = _signal(signal, names[sign], sign, 0.1, -beside, "+", (-1, -1))
    width = min(turn.start.road.kind.lane, turn.end.road.kind.lane)
    return RoadText(
        id=road_id,
        name=f"turn {road_id}",
        plan=plan,
        lanes=[LaneText(-1, "driving", width, road_mark("none", "none"), link)],
        centre_mark=road_mark("none", "none"),
        type=turn.start.road.kind.type,
        speed_kmh=min(turn.start.road.kind.speed_kmh, turn.end.road.kind.speed_kmh),
        links=contacts,
        elevation=elevation(_profile(plan.length, *heights, 0.0)),
        signals=signals,
        junction=junction,
    )


def _signal(
    number: int,
    name: str,
    kind: str,
    s: float,
    t: float,
    orientation: str,
    lanes: Sequence[int],
    value: float = -1.0,
) -> list[str]:
    dynamic = "yes" if kind == _LIGHT else "no"
    return [
        f'      <signal s="{s!r}" t="{t!r}" id="{number}" name="{name}" dynamic="{dynamic}" '
        f'orientation="{orientation}" zOffset="0.0" country="OpenDRIVE" type="{kind}" '
        f'subtype="-1" value="{value!r}" unit="km/h" height="1.2" width="0.6" text="" '
        'hOffset="0.0" pitch="0.0" roll="0.0">',
        f'        <validity fromLane="{lanes[0]}" toLane="{lanes[1]}"/>',
        "      </signal>",
    ]


def _lamp(number: int, s: float, t: float) -> str:
    return (
        f'      <object id="{number}" name="StreetLight" type="pole" s="{s!r}" t="{t!r}" '
        f'zOffset="0.0" hdg="0.0" orientation="none" length="{_LAMP_POLE}" width="{_LAMP_POLE}" '
        f'height="{_LAMP_HEIGHT}"/>'
    )


def _crosswalk(number: int, s: float, left: float, right: float) -> list[str]:
    """A crosswalk between two edges t [m]; its outline is closed, as those of CARLA's towns."""
    ahead = 0.5 * _CROSSWALK_LENGTH
    ring = ((-ahead, right), (ahead, right), (ahead, left), (-ahead, left), (-ahead, right))
    return [
        f'      <object id="{number}" name="Crosswalk" type="crosswalk" s="{s!r}" t="0.0" '
        f'zOffset="0.0" hdg="0.0" orientation="none" length="{_CROSSWALK_LENGTH}" '
        f'width="{left - right!r}">',
        "        <outline>",
        *(f'          <cornerLocal u="{u!r}" v="{v!r}" z="0.0"/>' for u, v in ring),
        "        </outline>",
        "      </object>",
    ]


def _reference(number: int) -> list[str]:
    return [
        f'      <signalReference s="0.1" t="0.0" id="{number}" orientation="+">',
        '        <validity fromLane="-1" toLane="-1"/>',
        "      </signalReference>",
    ]


def _height(x: float, y: float) -> float:
    """The slope on which the town lies: up to the north and the east [m]."""
    return 0.02 * x + 0.03 * (y - _ROWS[-1])


_EAST, _NORTH, _WEST, _SOUTH = 0.0, PI / 2.0, PI, -PI / 2.0
_STEPS = {_EAST: (1, 0), _NORTH: (0, -1), _WEST: (-1, 0), _SOUTH: (0, 1)}


def _is_corner(column: int, row: int) -> bool:
    return column in (0, len(_COLUMNS) - 1) and row in (0, len(_ROWS) - 1)


def _reach(column: int, row: int) -> float:
    return _RING_REACH if (column, row) == _ROUNDABOUT else _REACH


def make_town() -> str:
    """OpenDRIVE 1.4 text of the town; its north-west corner is the map origin."""
    town = _Town()
    ends: dict[tuple[int, int], dict[float, _End]] = {}
    _streets(town, ends)
    _corners(town, ends)
    _motorway(town, ends)
    for road in town.roads:
        if road.kind.sidewalk:
            town.lamps(road)
    for road in town.roads:
        if road.kind.sidewalk:
            town.crosswalks(road)
    for (column, row), around in sorted(ends.items()):
        if (column, row) == _ROUNDABOUT:
            _roundabout(town, column, row, around)
        else:
            town.junction([_signed(column, row, heading, end) for heading, end in around.items()])
    return town.text()


def _signed(column: int, row: int, heading: float, end: _End) -> _End:
    """Traffic lights in the rows of the middle; stop signs where a street meets the outer ring."""
    inside = 0 < column < len(_COLUMNS) - 1
    if row == _AVENUE or (inside and 0 < row < len(_ROWS) - 1):
        return end._replace(sign=_LIGHT)
    along = (_NORTH, _SOUTH) if not inside else (_EAST, _WEST)
    return end if heading in along else end._replace(sign=_STOP)


def _streets(town: _Town, ends: dict[tuple[int, int], dict[float, _End]]) -> None:
    """The streets between neighbouring crossings, without those that run into a corner."""
    for row, y in enumerate(_ROWS):
        for column, x in enumerate(_COLUMNS):
            for heading in (_EAST, _SOUTH):
                dx, dy = _STEPS[heading]
                there = column + dx, row + dy
                if there[0] == len(_COLUMNS) or there[1] == len(_ROWS):
                    continue
                if _is_corner(column, row) or _is_corner(*there):
                    continue
                here = column, row
                span = abs(_COLUMNS[there[0]] - x) + abs(_ROWS[there[1]] - y)
                length = span - _reach(*here) - _reach(*there)
                start = _beside(x, y, heading, _reach(*here))
                avenue = row == _AVENUE and heading == _EAST
                road = town.road(
                    ("avenue" if avenue else "street") + f" {here} {there}",
                    _AVENUE_KIND if avenue else _STREET,
                    start,
                    [Piece(length)],
                    (_height(x, y), _height(_COLUMNS[there[0]], _ROWS[there[1]])),
                )
                _join(ends, here, heading, road, at_end=False)
                _join(ends, there, wrap_angle(heading + PI), road, at_end=True)
                if avenue:
                    town.speed_sign(road, at_end=False)
                    town.speed_sign(road, at_end=True)


def _beside(x: float, y: float, heading: float, distance: float) -> Pose:
    sin, cos = sincos(heading)
    return Pose(x + distance * cos, y + distance * sin, heading)


def _join(
    ends: dict[tuple[int, int], dict[float, _End]],
    node: tuple[int, int],
    heading: float,
    road: _Road,
    *,
    at_end: bool,
) -> None:
    """Note the end of a road at a crossing, seen from there under a heading."""
    compass = min(_STEPS, key=lambda known: abs(wrap_angle(known - heading)))
    end = plan_view(road.pieces, road.start).end if at_end else road.start
    pose = Pose(end.x, end.y, wrap_angle(end.heading + PI) if at_end else end.heading)
    ends.setdefault(node, {})[compass] = _End(road, at_end, pose)


def _corners(town: _Town, ends: dict[tuple[int, int], dict[float, _End]]) -> None:
    """Streets around the corners of the grid, each from one neighbour to the other."""
    last_column, last_row = len(_COLUMNS) - 1, len(_ROWS) - 1
    radius = 30.0
    # The crossing where it begins, the heading there, and the sign of the turn.
    for column, row, heading, turn, to in (
        (1, 0, _WEST, 1.0, (0, 1)),
        (0, last_row - 1, _SOUTH, 1.0, (1, last_row)),
        (last_column - 1, last_row, _EAST, 1.0, (last_column, last_row - 1)),
        (last_column, 1, _NORTH, 1.0, (last_column - 1, 0)),
    ):
        x, y = _COLUMNS[column], _ROWS[row]
        u, v = _COLUMNS[to[0]], _ROWS[to[1]]
        across = heading in (_EAST, _WEST)
        first = (abs(u - x) if across else abs(v - y)) - _REACH - radius
        second = (abs(v - y) if across else abs(u - x)) - _REACH - radius
        curvature = turn / radius
        road = town.road(
            f"corner {column, row} {to}",
            _STREET,
            _beside(x, y, heading, _REACH),
            [Piece(first), Piece(0.5 * PI * radius, curvature, curvature), Piece(second)],
            (_height(x, y), _height(u, v)),
        )
        _join(ends, (column, row), heading, road, at_end=False)
        _join(ends, to, wrap_angle(heading + turn * PI / 2.0 + PI), road, at_end=True)


def _motorway(town: _Town, ends: dict[tuple[int, int], dict[float, _End]]) -> None:
    """Around the north, from the west end of the avenue to its east end, driven clockwise.

    From the carriageway on the side of the town a ramp leads to the second crossing of the
    first row, and another one back from its fourth.
    """
    y, height = _ROWS[_AVENUE], 12.0
    west, east = _COLUMNS[0], _COLUMNS[-1]
    radius, out = 150.0, 80.0
    north = 260.0  # of the motorway's long straight
    quarter = Piece(0.5 * PI * radius, -1.0 / radius, -1.0 / radius)
    rise = Piece(north - y - 2.0 * radius)
    hairpin = Piece(0.5 * PI * radius, -1.0 / radius, -1.0 / radius)
    # West of the avenue outwards, then to the north: a right turn, seen in driving direction.
    first = [Piece(out), quarter, rise, hairpin, Piece(60.0)]
    a = town.road("motorway west", _MOTORWAY, _beside(west, y, _WEST, _REACH), first,
                  (_height(west, y), height))  # fmt: skip
    split = plan_view(first, a.start).end
    gap = 40.0
    middle = [Piece(360.0)]
    b = town.road("motorway north", _MOTORWAY, _beside(*split, gap), middle,
                  (height, height), hill=8.0)  # fmt: skip
    merge = plan_view(middle, b.start).end
    end = _beside(east, y, _EAST, _REACH)
    straight = end.x + out + radius - radius - (merge.x + gap)
    last = [Piece(straight), quarter, rise, hairpin, Piece(out)]
    c = town.road("motorway east", _MOTORWAY, _beside(*merge, gap), last,
                  (height, _height(east, y)))  # fmt: skip
    _join(ends, (0, _AVENUE), _WEST, a, at_end=False)
    _join(ends, (len(_COLUMNS) - 1, _AVENUE), _EAST, c, at_end=True)
    _ramps(town, ends, (a, b, c), height)
    for road in (a, b, c):
        town.speed_sign(road, at_end=False)
        town.speed_sign(road, at_end=True)
    # Slower before the traffic lights of the avenue.
    for road, at_end in ((a, True), (c, False)):
        length = plan_view(road.pieces, road.start).length
        town.speed_sign(road, at_end=at_end, behind=length - 150.0, speed=_AVENUE_KIND.speed_kmh)


def _ramps(
    town: _Town,
    ends: dict[tuple[int, int], dict[float, _End]],
    motorway: tuple[_Road, _Road, _Road],
    height: float,
) -> None:
    """The exit into the first row and the entry from it, with their junctions."""
    a, b, c = motorway
    a_end = plan_view(a.pieces, a.start).end
    b_end = plan_view(b.pieces, b.start).end
    ways_a = _End(a, True, Pose(a_end.x, a_end.y, wrap_angle(a_end.heading + PI)))
    ways_b0 = _End(b, False, b.start)
    ways_b1 = _End(b, True, Pose(b_end.x, b_end.y, wrap_angle(b_end.heading + PI)))
    ways_c = _End(c, False, c.start)
    lean = 0.15  # by which a ramp leaves the carriageway [rad]
    beside = 2.0 * _LANE + 4.0
    # The ramps run down to the first row, under the compass direction of its crossings.
    exit_start = Pose(b.start.x, b.start.y - beside, -lean)
    exit_end = _beside(_COLUMNS[1], _ROWS[0], _NORTH, _REACH)
    off = town.road(
        "exit", _RAMP, exit_start,
        _biarc(exit_start, Pose(exit_end.x, exit_end.y, _SOUTH)),
        (height, _height(_COLUMNS[1], _ROWS[0])),
    )  # fmt: skip
    entry_start = _beside(_COLUMNS[-2], _ROWS[0], _NORTH, _REACH)
    entry_end = Pose(b_end.x, b_end.y - beside, lean)
    on = town.road(
        "entry", _RAMP, entry_start, _biarc(entry_start, entry_end),
        (_height(_COLUMNS[-2], _ROWS[0]), height),
    )  # fmt: skip
    town.speed_sign(off, at_end=False)
    town.speed_sign(on, at_end=False)
    _join(ends, (1, 0), _NORTH, off, at_end=True)
    _join(ends, (len(_COLUMNS) - 2, 0), _NORTH, on, at_end=False)
    off_end = _End(off, False, exit_start)
    on_end = _End(on, True, Pose(entry_end.x, entry_end.y, wrap_angle(lean + PI)), _YIELD)
    through = [(ways_a, ways_b0), (ways_b1, ways_c)]
    for (left, right), ramp in zip(through, (off_end, on_end), strict=True):
        turns = [_Turn(left, -n, right, -n) for n in (1, 2)]
        turns += [_Turn(right, n, left, n) for n in (1, 2)]
        if ramp is off_end:
            turns.append(_Turn(left, -2, off_end, -1))
        else:
            turns.append(_Turn(on_end, -1, right, -2))
        town.junction([left, right, ramp], turns)


def _roundabout(town: _Town, column: int, row: int, around: dict[float, _End]) -> None:
    """A circle of one lane, driven anticlockwise, with a junction for each street."""
    x, y = _COLUMNS[column], _ROWS[row]
    height = _height(x, y)
    curvature = 1.0 / _RING
    headings = sorted(around)
    arcs = []
    for number, heading in enumerate(headings):
        begin = heading + _RING_SPREAD
        following = headings[(number + 1) % len(headings)]
        span = wrap_angle(following - heading)
        span = (span if span > 0.0 else span + 2.0 * PI) - 2.0 * _RING_SPREAD
        sin, cos = sincos(begin)
        start = Pose(x + _RING * cos, y + _RING * sin, wrap_angle(begin + PI / 2.0))
        arcs.append(
            town.road(
                f"circle {number}", _CIRCLE, start,
                [Piece(span * _RING, curvature, curvature)], (height, height),
            )
        )  # fmt: skip
    for number, heading in enumerate(headings):
        before, behind = arcs[number - 1], arcs[number]
        end = plan_view(before.pieces, before.start).end
        inflow = _End(before, True, Pose(end.x, end.y, wrap_angle(end.heading + PI)))
        outflow = _End(behind, False, behind.start)
        street = around[heading]._replace(sign=_YIELD)
        town.junction(
            [inflow, outflow, street],
            [
                _Turn(inflow, -1, outflow, -1),
                _Turn(inflow, -1, street, street.outgoing()[0]),
                _Turn(street, street.incoming()[0], outflow, -1),
            ],
        )


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(make_town(), encoding="utf-8")
