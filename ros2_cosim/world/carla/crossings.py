# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Which vehicle goes first in a junction: ways that cross are driven one after the other.

A lane inside a junction is a *way*. Two ways of a junction are in conflict where their centre lines
come near each other. A background vehicle asks for its way before it has to brake for the junction,
holds it until its rear has left it, and stops before the junction while it does not have it. Ways
are given in the order in which they were requested. Vehicles of the scene ask for nothing: their
ways are kept free for them in time, and what is ahead of them is for the scenario to say.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from ros2_cosim.world.map import RoadNetwork

Way = tuple[int, int]
"""Road and lane inside a junction."""

CLEARANCE: Final = 3.2
"""Ways whose centre lines come nearer are in conflict [m]: the width of a vehicle, and room."""

_SAMPLE: Final = 1.0  # m, between two points of a centre line


class WayRequest(NamedTuple):
    """A background vehicle that is about to enter a junction by ``way``."""

    vehicle: int
    way: Way
    junction: int


class Crossings:
    """The ways through the junctions of a road network that are in conflict; found when asked."""

    def __init__(self, network: RoadNetwork) -> None:
        self._network = network
        self._conflicts: dict[tuple[Way, Way], bool] = {}
        self._lines: dict[Way, list[tuple[float, float]]] = {}

    def junction(self, road_id: int) -> int | None:
        """The junction that a road lies in."""
        return self._network.roads[road_id].junction

    def conflict(self, one: Way, other: Way) -> bool:
        """Whether two ways of a junction must not be driven at once; a way never with itself."""
        if one == other:
            return False
        key = (one, other) if one < other else (other, one)
        found = self._conflicts.get(key)
        if found is None:
            found = self._conflicts[key] = self._meet(*key)
        return found

    def _meet(self, one: Way, other: Way) -> bool:
        least = CLEARANCE * CLEARANCE
        return any(
            (x - u) * (x - u) + (y - v) * (y - v) < least
            for x, y in self._line(one)
            for u, v in self._line(other)
        )

    def _line(self, way: Way) -> list[tuple[float, float]]:
        line = self._lines.get(way)
        if line is None:
            points = self._network.centre_line(*way, step=_SAMPLE)
            line = self._lines[way] = [(point.x, point.y) for point in points]
        return line


class Reservations:
    """The ways that background vehicles hold, and those that they have asked for."""

    def __init__(self, crossings: Crossings) -> None:
        self._crossings = crossings
        self._held: dict[int, list[WayRequest]] = {}
        self._asked: list[WayRequest] = []

    def holds(self, vehicle: int, way: Way) -> bool:
        """Whether a vehicle may drive a way."""
        return any(request.way == way for request in self._held.get(vehicle, ()))

    def release(self, vehicle: int, kept: Iterable[Way]) -> None:
        """Give back the ways of a vehicle but those that it is on, or before."""
        held = self._held.get(vehicle)
        if held:
            ways = set(kept)
            self._held[vehicle] = [request for request in held if request.way in ways]

    def enter(self, request: WayRequest) -> None:
        """Give a way to a vehicle that is on it already, if it does not have it."""
        if not self.holds(request.vehicle, request.way):
            self._held.setdefault(request.vehicle, []).append(request)

    def yield_way(self, request: WayRequest, priority: Mapping[Way, int]) -> None:
        """Take a way away from a vehicle that can still stop, if one of the scene needs it."""
        if self._is_needed(request, priority):
            held = self._held.get(request.vehicle, [])
            self._held[request.vehicle] = [other for other in held if other != request]

    def decide(self, requests: Sequence[WayRequest], priority: Mapping[Way, int]) -> None:
        """Give ways to those that ask for them, in the order in which they first did.

        :param requests: all requests now; a request that is no longer there loses its place
        :param priority: ways that vehicles of the scene need, with their junctions
        """
        asking = set(requests)
        waiting = [request for request in self._asked if request in asking]
        known = set(waiting)
        waiting += [request for request in requests if request not in known]
        refused: list[WayRequest] = []
        for request in waiting:
            if self._is_free(request, refused, priority):
                self._held.setdefault(request.vehicle, []).append(request)
            else:
                refused.append(request)
        self._asked = refused

    def _is_free(
        self, request: WayRequest, earlier: Sequence[WayRequest], priority: Mapping[Way, int]
    ) -> bool:
        if self._is_needed(request, priority):
            return False
        for held in self._held.values():
            for other in held:
                if (
                    other.junction == request.junction
                    and other.vehicle != request.vehicle
                    and self._crossings.conflict(other.way, request.way)
                ):
                    return False
        return not any(
            other.junction == request.junction and self._crossings.conflict(other.way, request.way)
            for other in earlier
        )

    def _is_needed(self, request: WayRequest, priority: Mapping[Way, int]) -> bool:
        """Whether a vehicle of the scene needs a way that is in conflict."""
        return any(
            junction == request.junction and self._crossings.conflict(way, request.way)
            for way, junction in priority.items()
        )
