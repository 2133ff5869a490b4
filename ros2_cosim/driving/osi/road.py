# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What of a road map is part of OSI's ground truth: lanes and their boundaries, signs and lights.

Points of lines are along the road's stations, so near each other that straight lines between them
stay within 2 cm of the road (OSI allows 5 cm). All lanes inside a junction are one lane of type
intersection, as the standard has it. Numbers follow from the order of the map alone.

Needs the package ``osi-python`` (extra ``osi``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from osi3.osi_groundtruth_pb2 import GroundTruth
from osi3.osi_lane_pb2 import Lane as OsiLane
from osi3.osi_lane_pb2 import LaneBoundary
from osi3.osi_object_pb2 import StationaryObject
from osi3.osi_trafficlight_pb2 import TrafficLight
from osi3.osi_trafficsign_pb2 import TrafficSign, TrafficSignValue

from ros2_cosim.core.kernel.exactmath import PI, hypot, wrap_angle
from ros2_cosim.world.map import OFF_ROAD, RoadNetwork, RoadPosition
from ros2_cosim.world.map.lanes import Lane, LaneSection, RoadMark
from ros2_cosim.world.map.opendrive import Road
from ros2_cosim.world.map.signals import SPEED_LIMIT, STOP, TRAFFIC_LIGHT, YIELD, Signal
from ros2_cosim.world.map.stop_lines import stop_lines
from ros2_cosim.world.map.traffic_lights import GREEN, RED, YELLOW

#: Numbers of what has none of its own begin here, kind by kind: those of vehicles and objects are
#: smaller.
_FIRST: Final = 1 << 32
_LANES, _BOUNDARIES, _LIGHTS, _SIGNS, _OBJECTS = (_FIRST * kind for kind in range(1, 6))
#: How far a straight line may be from the road [m], and the longest and the shortest one.
_TOLERANCE: Final = 0.02
_LONGEST, _SHORTEST = 50.0, 0.5

_SUBTYPES: Final = {
    "driving": "NORMAL",
    "biking": "BIKING",
    "sidewalk": "SIDEWALK",
    "parking": "PARKING",
    "stop": "STOP",
    "restricted": "RESTRICTED",
    "border": "BORDER",
    "shoulder": "SHOULDER",
    "exit": "EXIT",
    "entry": "ENTRY",
    "onRamp": "ONRAMP",
    "offRamp": "OFFRAMP",
    "connectingRamp": "CONNECTINGRAMP",
}
#: Types of lanes that vehicles usually drive on.
_DRIVEN: Final = frozenset(
    ("driving", "exit", "entry", "onRamp", "offRamp", "connectingRamp", "bidirectional")
)
_MARKS: Final = {
    "none": "NO_LINE",
    "solid": "SOLID_LINE",
    "broken": "DASHED_LINE",
    "botts dots": "BOTTS_DOTS",
    "grass": "GRASS_EDGE",
    "curb": "CURB",
    "edge": "ROAD_EDGE",
}
_COLOURS: Final = {
    "standard": "WHITE",
    "white": "WHITE",
    "yellow": "YELLOW",
    "red": "RED",
    "blue": "BLUE",
    "green": "GREEN",
    "violet": "VIOLET",
    "orange": "ORANGE",
}
_OBJECT_TYPES: Final = {
    "pole": "POLE",
    "tree": "TREE",
    "vegetation": "VEGETATION",
    "barrier": "BARRIER",
    "building": "BUILDING",
    "railing": "BARRIER",
    "wall": "WALL",
    "gantry": "OVERHEAD_STRUCTURE",
}
_SIGN_TYPES: Final = {
    SPEED_LIMIT: "SPEED_LIMIT_BEGIN",
    YIELD: "GIVE_WAY",
    STOP: "STOP",
}
_BULBS: Final = ((RED, "RED"), (YELLOW, "YELLOW"), (GREEN, "GREEN"))
_UNITS: Final = {
    "km/h": TrafficSignValue.UNIT_KILOMETER_PER_HOUR,
    "mph": TrafficSignValue.UNIT_MILE_PER_HOUR,
}

_Place = tuple[float, float, float]


class _Key(NamedTuple):
    """A lane in one section of a road."""

    road: int
    section: int
    lane: int


class Bulbs(NamedTuple):
    """A traffic light of the map: its signal, and its three bulbs by what it shows."""

    signal: str
    messages: Mapping[int, TrafficLight]


class OsiRoad:
    """The part of ground truth that is a map.

    :ivar lights: the traffic lights, in the order of the map
    :param lit: whether the run has traffic lights
    """

    def __init__(self, network: RoadNetwork, map_name: str, *, lit: bool) -> None:
        self._network = network
        self._map_name = map_name
        self._lanes: dict[_Key, int] = {}
        self._number()
        self._boundaries: list[LaneBoundary] = []
        self._lane_messages = self._made_lanes()
        self.lights = self._made_lights() if lit else ()

    def lane_of(self, place: RoadPosition) -> int | None:
        """The number of the lane at a place; None beside the road."""
        if place.lane_id == OFF_ROAD:
            return None
        section = self._network.road(place.road_id).lanes.index(place.s)
        return self._lanes.get(_Key(place.road_id, section, place.lane_id))

    def describe(self, truth: GroundTruth) -> None:
        """Write lanes, boundaries, signs and the objects of the map."""
        truth.lane_boundary.extend(self._boundaries)
        truth.lane.extend(self._lane_messages)
        self._write_signs(truth)
        self._write_objects(truth)

    def refer(self, truth: GroundTruth) -> None:
        """Write which map it is, and where that lies on the earth."""
        truth.map_reference = self._map_name
        reference = self._network.geo_reference.strip()
        if reference:
            truth.proj_string = reference

    # Numbers

    def _number(self) -> None:
        junctions: dict[int, int] = {}
        count = 0
        for road_id in sorted(self._network.roads):
            road = self._network.roads[road_id]
            for index, section in enumerate(road.lanes.sections):
                for lane_id in sorted(section.lanes, reverse=True):
                    if road.junction is not None:
                        if road.junction not in junctions:
                            junctions[road.junction] = _LANES + count
                            count += 1
                        number = junctions[road.junction]
                    else:
                        number = _LANES + count
                        count += 1
                    self._lanes[_Key(road_id, index, lane_id)] = number
        self._junctions = junctions

    # Lanes

    def _made_lanes(self) -> list[OsiLane]:
        made = {number: OsiLane() for number in dict.fromkeys(self._lanes.values())}
        for number, message in made.items():
            message.id.value = number
        for road_id in sorted(self._network.roads):
            road = self._network.roads[road_id]
            for index, section in enumerate(road.lanes.sections):
                self._write_section(road, index, section, made)
        for junction, number in self._junctions.items():
            self._write_junction(junction, made[number])
        return list(made.values())

    def _write_section(
        self, road: Road, index: int, section: LaneSection, made: Mapping[int, OsiLane]
    ) -> None:
        """The lanes of a section, from left to right, with the borders between them."""
        lane_ids = sorted(section.lanes, reverse=True)
        inside = road.junction is not None
        #: Border -> its boundaries as its left and its right lane have them. A border has the
        #: number of the lane inside it, 0 the one between the sides.
        borders: dict[int, tuple[list[int], list[int]]] = {}
        for border in sorted({*lane_ids, 0}, reverse=True):
            borders[border] = self._write_border(road, section, border)
        for position, lane_id in enumerate(lane_ids):
            left = borders[lane_id if lane_id > 0 else lane_id + 1][1]
            right = borders[lane_id - 1 if lane_id > 0 else lane_id][0]
            lane = made[self._lanes[_Key(road.id, index, lane_id)]].classification
            if inside:
                lane.type = lane.TYPE_INTERSECTION
                outermost = (*left, *right) if len(lane_ids) == 1 else ()
                ends = {0: left, len(lane_ids) - 1: right}
                for number in outermost or ends.get(position, ()):
                    lane.free_lane_boundary_id.add().value = number
                continue
            kind = section.lanes[lane_id].type
            driven = kind in _DRIVEN
            lane.type = lane.TYPE_DRIVING if driven else lane.TYPE_NONDRIVING
            lane.subtype = lane.Subtype.Value(f"SUBTYPE_{_SUBTYPES.get(kind, 'OTHER')}")
            if driven:
                lane.centerline_is_driving_direction = lane_id < 0
                for place in self._line(section, self._centre(road, lane_id), road):
                    _put(lane.centerline.add(), place)
            for number in left:
                lane.left_lane_boundary_id.add().value = number
            for number in right:
                lane.right_lane_boundary_id.add().value = number
            if position:
                neighbour = _Key(road.id, index, lane_ids[position - 1])
                lane.left_adjacent_lane_id.add().value = self._lanes[neighbour]
            if position + 1 < len(lane_ids):
                neighbour = _Key(road.id, index, lane_ids[position + 1])
                lane.right_adjacent_lane_id.add().value = self._lanes[neighbour]
            self._pair(lane, road, index, section.lanes[lane_id])
            source = made[self._lanes[_Key(road.id, index, lane_id)]].source_reference.add()
            source.type = "net.asam.opendrive"
            source.identifier.extend((str(road.id), repr(section.start), str(lane_id)))

    def _pair(self, lane: Any, road: Road, index: int, own: Lane) -> None:
        """Which lanes lie before and behind a lane, in the direction of driving."""
        behind = self._next(road, index, own, True)
        before = self._next(road, index, own, False)
        if own.id > 0:
            before, behind = behind, before
        if before is None and behind is None:
            return
        pairing = lane.lane_pairing.add()
        if before is not None:
            pairing.antecessor_lane_id.value = before
        if behind is not None:
            pairing.successor_lane_id.value = behind

    def _next(self, road: Road, index: int, own: Lane, forward: bool) -> int | None:
        """The lane at the end (forward) or at the start of one."""
        link = own.successor if forward else own.predecessor
        following = index + 1 if forward else index - 1
        if 0 <= following < len(road.lanes.sections):
            return None if link is None else self._lanes.get(_Key(road.id, following, link))
        junction = road.junction_at(forward)
        if junction is not None:
            return self._junctions.get(junction)
        other = road.link(forward)
        if other is None or link is None or other.road_id not in self._network.roads:
            return None
        sections = self._network.roads[other.road_id].lanes.sections
        place = 0 if other.at_start else len(sections) - 1
        return self._lanes.get(_Key(other.road_id, place, link))

    def _write_junction(self, junction: int, message: OsiLane) -> None:
        """Which lanes lead through a junction to which."""
        pairs: dict[tuple[int, int], None] = {}
        for road_id in sorted(self._network.roads):
            road = self._network.roads[road_id]
            if road.junction != junction:
                continue
            sections = road.lanes.sections
            for lane_id in sorted(sections[0].lanes, reverse=True):
                own = sections[0].lanes[lane_id]
                if own.type not in _DRIVEN:
                    continue
                first = self._next(road, 0, own, False)
                last = self._next(road, len(sections) - 1, _at_end(sections, lane_id), True)
                if lane_id > 0:
                    first, last = last, first
                if first is not None and last is not None:
                    pairs[first, last] = None
        for first, last in pairs:
            pairing = message.classification.lane_pairing.add()
            pairing.antecessor_lane_id.value = first
            pairing.successor_lane_id.value = last

    # Lines

    def _write_border(
        self, road: Road, section: LaneSection, border: int
    ) -> tuple[list[int], list[int]]:
        """The boundaries on a border of a lane: as the lane to its left and to its right has them.

        A double line has two: each lane its own side.
        """
        marks: Sequence[RoadMark] = section.lanes[border].marks if border else section.centre_marks
        known = [mark for mark in marks if mark.start < section.end - section.start]
        if not known or known[0].start > 0.0:
            known.insert(0, RoadMark(0.0, "none", "standard", 0.0, "both"))
        left: list[int] = []
        right: list[int] = []
        for mark, following in zip(known, [*known[1:], None], strict=True):
            start = section.start + mark.start
            end = section.end if following is None else section.start + following.start
            if end <= start:
                continue
            points = self._line(section, self._border(road, section, border), road, start, end)
            words = mark.type.split(" ")
            double = len(words) == 2 and all(word in ("solid", "broken") for word in words)
            # Double lines are named from the inside to the outside, in the centre from the left.
            names = words if double else [mark.type]
            if double and border > 0:
                names = names[::-1]
            numbers = [self._boundary(points, name, mark) for name in names]
            left.append(numbers[0])
            right.append(numbers[-1])
        return left, right

    def _border(self, road: Road, section: LaneSection, border: int) -> Callable[[float], float]:
        """Lateral position of a border by the station."""
        if border:
            return lambda s: self._network.lane_borders(road.id, border, s)[1]
        inner = next((i for i in (-1, 1) if i in section.lanes), None)
        if inner is None:
            return lambda s: 0.0
        return lambda s: self._network.lane_borders(road.id, inner, s)[0]

    def _centre(self, road: Road, lane_id: int) -> Callable[[float], float]:
        """Lateral position of a lane's centre by the station."""
        return lambda s: self._network.lane_centre(road.id, lane_id, s)

    def _boundary(self, points: Sequence[_Place], kind: str, mark: RoadMark) -> int:
        message = LaneBoundary()
        number = message.id.value = _BOUNDARIES + len(self._boundaries)
        for place in points:
            _put(message.boundary_line.add().position, place)
        message.boundary_line[0].width = mark.width
        shown = message.classification
        shown.type = shown.Type.Value(f"TYPE_{_MARKS.get(kind, 'OTHER')}")
        colour = "NONE" if kind == "none" else _COLOURS.get(mark.color, "OTHER")
        shown.color = shown.Color.Value(f"COLOR_{colour}")
        self._boundaries.append(message)
        return number

    def _line(
        self,
        section: LaneSection,
        lateral: Callable[[float], float],
        road: Road,
        start: float | None = None,
        end: float | None = None,
    ) -> list[_Place]:
        """Points of a line along a road.

        :param lateral: its lateral position by the station
        """
        # The station of the end belongs to the next section.
        last = (section.end if end is None else end) - 1e-6
        first = section.start if start is None else start

        def place(s: float) -> _Place:
            return self._network.pose(road.id, s, lateral(s))[:3]

        points = [place(first)]
        stretch = [(first, last)]
        while stretch:
            low, high = stretch.pop()
            length = high - low
            a, b = points[-1], place(high)
            inner = [place(low + share * length) for share in (0.25, 0.5, 0.75)]
            if length > _LONGEST or (
                length > _SHORTEST and max(_distance(p, a, b) for p in inner) > _TOLERANCE
            ):
                middle = low + 0.5 * length
                stretch += [(middle, high), (low, middle)]
            else:
                points.append(b)
        return points

    # Signs, lights, objects

    def _write_signs(self, truth: GroundTruth) -> None:
        signals = [s for s in self._network.signals.values() if s.type != TRAFFIC_LIGHT]
        for count, signal in enumerate(signals):
            message: TrafficSign = truth.traffic_sign.add()
            message.id.value = _SIGNS + count
            sign = message.main_sign
            self._stand(sign.base, signal, signal.height, 0.5 * signal.height)
            kind = sign.classification
            kind.type = kind.Type.Value(f"TYPE_{_SIGN_TYPES.get(signal.type, 'OTHER')}")
            if signal.value >= 0.0 and signal.type == SPEED_LIMIT:
                kind.value.value = signal.value
                kind.value.value_unit = _UNITS.get(signal.unit, _UNITS["km/h"])
            self._assign(kind, signal)
            _source(message, signal.id)

    def _made_lights(self) -> tuple[Bulbs, ...]:
        signals = [s for s in self._network.signals.values() if s.type == TRAFFIC_LIGHT]
        found = []
        for count, signal in enumerate(signals):
            bulbs = {}
            height = signal.height / len(_BULBS)
            for place, (state, colour) in enumerate(_BULBS):
                message = TrafficLight()
                message.id.value = _LIGHTS + len(_BULBS) * count + place
                up = (len(_BULBS) - 0.5 - place) * height
                self._stand(message.base, signal, height, up)
                shown = message.classification
                shown.color = shown.Color.Value(f"COLOR_{colour}")
                shown.icon = shown.ICON_NONE
                _source(message, signal.id)
                bulbs[state] = message
            found.append(Bulbs(signal.id, bulbs))
        return tuple(found)

    def write_lights(self, truth: GroundTruth, states: Iterable[int], *, lanes: bool) -> None:
        """Write what the traffic lights show.

        :param states: of each, in the order of the map
        :param lanes: whether their lanes are there to be referred to
        """
        for light, state in zip(self.lights, states, strict=True):
            for shows, bulb in light.messages.items():
                message = truth.traffic_light.add()
                message.CopyFrom(bulb)
                kind = message.classification
                kind.mode = kind.MODE_CONSTANT if shows == state else kind.MODE_OFF
                if lanes:
                    self._assign(kind, self._network.signals[light.signal])

    def _assign(self, kind: Any, signal: Signal) -> None:
        """The lanes that a signal holds for."""
        numbers: dict[int, None] = {}
        for line in stop_lines(self._network, signal.id):
            section = self._network.road(line.road_id).lanes.index(line.s)
            number = self._lanes.get(_Key(line.road_id, section, line.lane_id))
            if number is not None:
                numbers[number] = None
        for number in numbers:
            kind.assigned_lane_id.add().value = number

    def _stand(self, base: Any, signal: Signal, height: float, up: float) -> None:
        """Size and place of a signal, whose file says its lower edge; x is the way it looks."""
        x, y, z, heading = self._network.signal_pose(signal.id)
        # It looks at vehicles that drive towards it.
        if signal.orientation == "+":
            heading = wrap_angle(heading + PI)
        base.dimension.width, base.dimension.height = signal.width, height
        _put(base.position, (x, y, z + up))
        turn = base.orientation
        turn.roll, turn.pitch, turn.yaw = signal.roll, signal.pitch, heading

    def _write_objects(self, truth: GroundTruth) -> None:
        """The objects of the map that stand; painted ones have no height."""
        count = 0
        for road_id in sorted(self._network.roads):
            road = self._network.roads[road_id]
            for item in road.objects:
                if item.height <= 0.0 or item.length <= 0.0 or item.width <= 0.0:
                    continue
                s = min(max(item.s, 0.0), road.length)
                x, y, z, heading = self._network.pose(road_id, s, item.t)
                message: StationaryObject = truth.stationary_object.add()
                message.id.value = _OBJECTS + count
                count += 1
                base = message.base
                size = base.dimension
                size.length, size.width, size.height = item.length, item.width, item.height
                _put(base.position, (x, y, z + item.z_offset + 0.5 * item.height))
                base.orientation.roll = base.orientation.pitch = 0.0
                base.orientation.yaw = wrap_angle(heading + item.heading)
                kind = message.classification
                kind.type = kind.Type.Value(f"TYPE_{_OBJECT_TYPES.get(item.type, 'OTHER')}")
                source = message.source_reference.add()
                source.type = "net.asam.opendrive"
                source.identifier.extend(("object", item.id))


def _at_end(sections: Sequence[LaneSection], lane_id: int) -> Lane:
    """The lane of the last section that a lane of the first one becomes."""
    for section, following in zip(sections, sections[1:], strict=False):
        link = section.lanes[lane_id].successor
        if link is None or link not in following.lanes:
            break
        lane_id = link
    return sections[-1].lanes.get(lane_id) or sections[0].lanes[next(iter(sections[0].lanes))]


def _source(message: Any, identity: str) -> None:
    source = message.source_reference.add()
    source.type = "net.asam.opendrive"
    source.identifier.append(identity)


def _put(message: Any, place: _Place) -> None:
    message.x, message.y, message.z = place


def _distance(p: _Place, a: _Place, b: _Place) -> float:
    """How far a point is from the line between two others [m]."""
    ab = (b[0] - a[0], b[1] - a[1], b[2] - a[2])
    ap = (p[0] - a[0], p[1] - a[1], p[2] - a[2])
    square = ab[0] * ab[0] + ab[1] * ab[1] + ab[2] * ab[2]
    share = 0.0
    if square > 0.0:
        share = (ap[0] * ab[0] + ap[1] * ab[1] + ap[2] * ab[2]) / square
        share = min(max(share, 0.0), 1.0)
    dx, dy, dz = (ap[i] - share * ab[i] for i in range(3))
    return hypot(hypot(dx, dy), dz)
