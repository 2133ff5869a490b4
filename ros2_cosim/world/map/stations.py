# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Linked roads as one long way: every road gets a place and a direction on its chain.

Distances along several roads are then one subtraction.
"""

from __future__ import annotations

from collections.abc import Mapping

from ros2_cosim.world.map.elements import RoadError
from ros2_cosim.world.map.opendrive import Road, RoadLink
from ros2_cosim.world.map.plan_view import ReferenceLine


class _Place:
    """Where a road lies on its chain; ``along`` is False if it is passed from end to start."""

    __slots__ = ("along", "chain", "line", "station", "turn")

    def __init__(
        self, line: ReferenceLine, chain: int, along: bool, station: float, turn: float
    ) -> None:
        self.line = line
        self.chain = chain
        self.along = along
        self.station = station
        self.turn = turn

    def station_at(self, s: float) -> float:
        """Of a station of the road on the chain."""
        return self.station + (s if self.along else self.line.length - s)

    def turn_at(self, s: float) -> float:
        """From the begin of the chain to a station of the road."""
        line = self.line
        return self.turn + (line.turn(s) if self.along else line.turn(s) - line.turn(line.length))


class _Chain:
    """Length and total turn of a chain; only meaningful for closed ones."""

    __slots__ = ("closed", "length", "turn")

    def __init__(self, closed: bool, length: float, turn: float) -> None:
        self.closed = closed
        self.length = length
        self.turn = turn


class Stations:
    """Assignment of roads to chains."""

    __slots__ = ("_chains", "_places")

    def __init__(self, roads: Mapping[int, Road]) -> None:
        self._places: dict[int, _Place] = {}
        self._chains: list[_Chain] = []
        for road_id in roads:
            if road_id not in self._places:
                self._walk(roads, road_id)

    def _walk(self, roads: Mapping[int, Road], road_id: int) -> None:
        """Place all roads connected with one."""
        start_id, start_along = self._first(roads, road_id)
        chain = len(self._chains)
        current: tuple[int, bool] | None = (start_id, start_along)
        station = turn = 0.0
        closed = False
        while current is not None:
            current_id, along = current
            road = roads[current_id]
            self._places[current_id] = _Place(road.line, chain, along, station, turn)
            station += road.length
            total = road.line.turn(road.length)
            turn += total if along else -total
            current = _follow(road.link(along))
            if current is not None and current[0] in self._places:
                closed = current == (start_id, start_along)
                current = None
        self._chains.append(_Chain(closed, station, turn))

    def _first(self, roads: Mapping[int, Road], road_id: int) -> tuple[int, bool]:
        """Go against the direction of a road as far as possible (once round a closed chain)."""
        current = (road_id, True)
        seen = {road_id}
        while True:
            before = _follow(roads[current[0]].link(not current[1]))
            if before is None or before[0] in seen or before[0] in self._places:
                return current
            # ``before`` is how the road is passed going backwards: turn it round.
            current = (before[0], not before[1])
            seen.add(before[0])

    def distance(
        self, a_id: int, a_s: float, a_t: float, b_id: int, b_s: float, b_t: float
    ) -> float:
        """Way from a to b at their mean lateral position, positive towards larger s of a."""
        a = self._places[a_id]
        b = a if b_id == a_id else self._places[b_id]
        if a.chain != b.chain:
            raise RoadError(f"roads {a_id} and {b_id} are not linked: no distance between them")
        length = b.station_at(b_s) - a.station_at(a_s)
        turn = b.turn_at(b_s) - a.turn_at(a_s)
        chain = self._chains[a.chain]
        if chain.closed:
            if length > 0.5 * chain.length:
                length, turn = length - chain.length, turn - chain.turn
            elif length < -0.5 * chain.length:
                length, turn = length + chain.length, turn + chain.turn
        lateral = 0.5 * ((a_t if a.along else -a_t) + (b_t if b.along else -b_t))
        way = length - lateral * turn
        return way if a.along else -way


def _follow(link: RoadLink | None) -> tuple[int, bool] | None:
    return None if link is None else (link.road_id, link.at_start)
