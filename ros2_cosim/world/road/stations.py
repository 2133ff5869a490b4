# SPDX-License-Identifier: Apache-2.0
"""Linked roads as one long way: every road gets a place and a direction on its chain.

Distances along several roads are then one subtraction.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ros2_cosim.world.road.elements import RoadError
from ros2_cosim.world.road.opendrive import Road, RoadLink


class _Place(NamedTuple):
    """Where a road lies on its chain; ``along`` is False if it is passed from end to start."""

    chain: int
    along: bool
    station: float
    turn: float


class _Chain(NamedTuple):
    """Length and total turn of a chain; only meaningful for closed ones."""

    closed: bool
    length: float
    turn: float


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
            self._places[current_id] = _Place(chain, along, station, turn)
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
        self,
        roads: Mapping[int, Road],
        a_id: int,
        a_s: float,
        a_t: float,
        b_id: int,
        b_s: float,
        b_t: float,
    ) -> float:
        """Way from a to b at their mean lateral position, positive towards larger s of a."""
        a, b = self._places[a_id], self._places[b_id]
        if a.chain != b.chain:
            raise RoadError(f"roads {a_id} and {b_id} are not linked: no distance between them")
        length = _station(roads[b_id], b, b_s) - _station(roads[a_id], a, a_s)
        turn = _turn(roads[b_id], b, b_s) - _turn(roads[a_id], a, a_s)
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


def _station(road: Road, place: _Place, s: float) -> float:
    return place.station + (s if place.along else road.length - s)


def _turn(road: Road, place: _Place, s: float) -> float:
    line = road.line
    return place.turn + (line.turn(s) if place.along else line.turn(s) - line.turn(line.length))
