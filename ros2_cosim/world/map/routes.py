# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Ways through junctions: what a road's end leads to, and how far it is over several roads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from heapq import heappop, heappush
from itertools import pairwise
from typing import NamedTuple

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.exactmath import hypot
from ros2_cosim.world.map.junctions import Junction, JunctionConnection
from ros2_cosim.world.map.opendrive import Road, RoadLink

# Ways longer than this are not searched for [m].
MAX_WAY = 2000.0


class Turn(NamedTuple):
    """A way from a road's end into a junction: the road there, and lane -> lane."""

    road_id: int
    at_start: bool
    lanes: dict[int, int]
    angle: float


class _Passed(NamedTuple):
    """A road that is passed from end to end, and how far the way turns on it."""

    road_id: int
    along: bool
    length: float
    turn: float


class Routes:
    """The graph of roads and the connections of junctions.

    The turns at a road's end are sorted by how far they turn, the straightest first, then by
    the id of the connecting road.
    """

    __slots__ = ("_passed", "_roads", "_route", "_turns")

    def __init__(self, roads: Mapping[int, Road], junctions: Sequence[Junction]) -> None:
        self._roads = roads
        self._turns: dict[tuple[int, bool], list[Turn]] = {}
        #: What can be passed behind the end of a road, as far as it was requested.
        self._passed: dict[tuple[int, bool], list[_Passed]] = {}
        #: With the turns of a route alone, if there is one.
        self._route: Routes | None = None
        for junction in junctions:
            for connection in junction.connections:
                incoming = roads[connection.incoming_road]
                connecting = roads[connection.connecting_road]
                forward = _leaves_forward(incoming, connecting, connection, junction.id)
                if forward is None:
                    continue
                angle = abs(connecting.line.turn(connecting.length))
                self._turns.setdefault((incoming.id, forward), []).append(
                    Turn(connecting.id, connection.at_start, dict(connection.lanes), angle)
                )
        for turns in self._turns.values():
            turns.sort(key=lambda turn: (turn.angle, turn.road_id))

    def along(self, route: Sequence[int]) -> Routes:
        """The same with the turns of a route before all others.

        :param route: roads one after the other; those inside junctions are left out
        :raises ConfigurationError: one of them does not lead to the next one
        """
        steps = set(pairwise(route))
        found = Routes(self._roads, ())
        found._route = Routes(self._roads, ())
        missing = set(steps)
        for (road_id, forward), turns in self._turns.items():
            wanted = [t for t in turns if (road_id, self._behind(t)) in steps]
            missing -= {(road_id, self._behind(turn)) for turn in wanted}
            others = [turn for turn in turns if turn not in wanted]
            found._turns[road_id, forward] = wanted + others
            found._route._turns[road_id, forward] = wanted
        for here, there in [pair for pair in pairwise(route) if pair in missing]:
            ways = [self._behind(turn) for end in (True, False) for turn in self.turns(here, end)]
            links = [link for end in (True, False) if (link := self._roads[here].link(end))]
            ways += [link.road_id for link in links]
            if there not in ways:
                known = ", ".join(map(str, sorted({way for way in ways if way is not None})))
                raise ConfigurationError(
                    f"scene.route: found road {there} behind road {here}; allowed are "
                    f"{known or 'none'}"
                )
        return found

    def _behind(self, turn: Turn) -> int | None:
        """The road that a turn leads to."""
        link = self._roads[turn.road_id].link(turn.at_start)
        return None if link is None else link.road_id

    def turns(self, road_id: int, forward: bool) -> Sequence[Turn]:
        """The ways into the junction at a road's end, the straightest first."""
        return self._turns.get((road_id, forward), ())

    def lane_onward(self, road: Road, lane_id: int) -> tuple[Road, int, float] | None:
        """Where a lane goes on behind the end of its road: road, lane, station.

        In a junction the straightest way. None: nowhere.
        """
        return next(self.lanes_onward(road, lane_id), None)

    def lanes_onward(self, road: Road, lane_id: int) -> Iterator[tuple[Road, int, float]]:
        """All ways in which a lane goes on behind the end of its road."""
        if road.link(lane_id < 0) is None:
            yield from self._into_junction(road, lane_id)
            return
        linked = self._linked(road, lane_id)
        if linked is not None:
            yield linked

    def _linked(self, road: Road, lane_id: int) -> tuple[Road, int, float] | None:
        forward = lane_id < 0
        link = road.link(forward)
        assert link is not None
        lanes = road.lanes.sections[-1 if forward else 0].lanes
        lane = lanes.get(lane_id)
        linked = None if lane is None else lane.successor if forward else lane.predecessor
        other = self._roads[link.road_id]
        section = other.lanes.sections[0 if link.at_start else -1]
        # A lane must be entered in its driving direction.
        if linked is None or linked not in section.lanes or (linked < 0) != link.at_start:
            return None
        return other, linked, 0.0 if link.at_start else other.length

    def lane_before(self, road: Road, lane_id: int) -> tuple[Road, int, float] | None:
        """The lane that leads onto the beginning of a lane of another road, with its end.

        None: there is no road before, or several come together in a junction.
        """
        forward = lane_id < 0
        link = road.link(not forward)
        lane = road.lanes.sections[0 if forward else -1].lanes.get(lane_id)
        if link is None or lane is None:
            return None
        linked = lane.predecessor if forward else lane.successor
        other = self._roads[link.road_id]
        section = other.lanes.sections[0 if link.at_start else -1]
        if linked is None or linked not in section.lanes or (linked > 0) != link.at_start:
            return None
        return other, linked, 0.0 if link.at_start else other.length

    def _into_junction(self, road: Road, lane_id: int) -> Iterator[tuple[Road, int, float]]:
        for turn in self.turns(road.id, lane_id < 0):
            linked = turn.lanes.get(lane_id)
            if linked is None or (linked < 0) != turn.at_start:
                continue
            other = self._roads[turn.road_id]
            if linked in other.lanes.sections[0 if turn.at_start else -1].lanes:
                yield other, linked, 0.0 if turn.at_start else other.length

    def onward(self, road_id: int, along: bool) -> Iterator[tuple[int, bool]]:
        """The roads behind the end of a road, with the direction in which they are passed."""
        link = self._roads[road_id].link(along)
        if link is not None:
            yield link.road_id, link.at_start
        for turn in self.turns(road_id, along):
            yield turn.road_id, turn.at_start

    def _passable(self, road_id: int, along: bool) -> list[_Passed]:
        """What lies behind the end of a road."""
        found = self._passed.get((road_id, along))
        if found is None:
            found = []
            for following, ahead in self.onward(road_id, along):
                road = self._roads[following]
                total = road.line.turn(road.length)
                found.append(_Passed(following, ahead, road.length, total if ahead else -total))
            self._passed[road_id, along] = found
        return found

    def way(
        self, start: int, start_s: float, along: bool, end: int, end_s: float
    ) -> tuple[float, float, bool] | None:
        """The shortest way from a place to another: length, angle turned, and its direction.

        With a route it is the way along that, if there is one.

        The way leaves the first road in one direction (``along``: towards larger s) and comes
        to the last one in the direction that is returned. None: there is no way of at most
        ``MAX_WAY``.
        """
        if self._route is not None:
            found = self._route.way(start, start_s, along, end, end_s)
            if found is not None:
                return found
        road = self._roads[start]
        if start == end and (end_s >= start_s if along else end_s <= start_s):
            turn = road.line.turn(end_s) - road.line.turn(start_s)
            return abs(end_s - start_s), turn if along else -turn, along
        rest = road.length - start_s if along else start_s
        #: Way and turn up to the end of a road that is passed in a direction.
        queue = [(rest, _turn_to_end(road, start_s, along), start, along)]
        # The first road may be come back to: it is not among the visited ones.
        visited: set[tuple[int, bool]] = set()
        while queue:
            way, turn, road_id, direction = heappop(queue)
            if way > MAX_WAY:
                return None
            if road_id < 0:  # the end, at its distance
                return way, turn, direction
            for following, ahead, length, turned in self._passable(road_id, direction):
                if (following, ahead) in visited:
                    continue
                visited.add((following, ahead))
                if following == end:
                    inside = end_s if ahead else length - end_s
                    part = _turn_from_start(self._roads[end], end_s, ahead)
                    heappush(queue, (way + inside, turn + part, -1, ahead))
                heappush(queue, (way + length, turn + turned, following, ahead))
        return None


def _turn_to_end(road: Road, s: float, along: bool) -> float:
    line = road.line
    return line.turn(line.length) - line.turn(s) if along else 0.0 - line.turn(s)


def _turn_from_start(road: Road, s: float, along: bool) -> float:
    line = road.line
    return line.turn(s) if along else line.turn(s) - line.turn(line.length)


def _leaves_forward(
    incoming: Road, connecting: Road, connection: JunctionConnection, junction: int
) -> bool | None:
    """Whether a connection begins at the end (True) or the start of its incoming road.

    None if the incoming road does not touch the junction.
    """
    back: RoadLink | None = connecting.link(not connection.at_start)
    if back is not None and back.road_id == incoming.id:
        return not back.at_start
    ends = [forward for forward in (True, False) if incoming.junction_at(forward) == junction]
    if not ends:
        return None
    x, y, _, _, _ = connecting.line.frame(0.0 if connection.at_start else connecting.length)

    def gap(forward: bool) -> float:
        px, py, _, _, _ = incoming.line.frame(incoming.length if forward else 0.0)
        return hypot(px - x, py - y)

    return min(ends, key=gap)
