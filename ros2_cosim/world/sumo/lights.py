# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The traffic lights of the map in SUMO, with the phases that they have in the headless world.

``netconvert`` makes its own programmes for SUMO's junctions. Here the lights of the map take
their place: a link of a junction shows what the light at the end of its lane shows.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from ros2_cosim.world.map import RoadError, RoadNetwork
from ros2_cosim.world.map.stop_lines import stop_lines
from ros2_cosim.world.map.traffic_lights import GREEN, RED, YELLOW, Light, network_lights

#: Before the end of a lane the place is looked at that tells which lane of the map it is [m].
_BEFORE_END: Final = 1.0
_LETTERS: Final = {RED: "r", YELLOW: "y"}
#: SUMO's letters: green, and green for those that give way. The latter is that of other links.
_GREEN, _YIELDING = "G", "g"


class _Link(NamedTuple):
    """A link of a junction: its light, if it has one, and SUMO's letter of its green."""

    light: Light | None
    green: str

    def letter(self) -> str:
        if self.light is None:
            return _YIELDING
        return self.green if self.light.state == GREEN else _LETTERS.get(self.light.state, "r")


class SumoLights:
    """Counts the phases of the map's lights, and shows them to SUMO's vehicles.

    :param library: the module ``libsumo``, with a running simulation
    :param roads: of the same map
    """

    def __init__(self, library: Any, roads: RoadNetwork) -> None:
        self._library = library
        self._lights, self._groups = network_lights(roads)
        at_end: dict[tuple[int, int], Light] = {}
        for signal, light in self._lights.items():
            for line in stop_lines(roads, signal):
                at_end.setdefault((line.road_id, line.lane_id), light)
        self._links: dict[str, list[_Link]] = {}
        for junction in library.trafficlight.getIDList():
            programme = library.trafficlight.getAllProgramLogics(junction)[0]
            links = library.trafficlight.getControlledLinks(junction)
            self._links[junction] = [
                _Link(
                    at_end.get(self._lane_of(roads, found[0][0])) if found else None,
                    _GREEN if any(p.state[n] == _GREEN for p in programme.phases) else _YIELDING,
                )
                for n, found in enumerate(links)
            ]
        self._shown: dict[str, str] = {}
        self._show()

    def states(self) -> dict[str, int]:
        """Signal of the map -> what its light shows."""
        return {signal: light.state for signal, light in self._lights.items()}

    def step(self, step_ns: int) -> None:
        """Let time pass."""
        for group in self._groups:
            group.step(step_ns)
        self._show()

    def _show(self) -> None:
        for junction, links in self._links.items():
            letters = "".join(link.letter() for link in links)
            if letters != self._shown.get(junction):
                self._shown[junction] = letters
                self._library.trafficlight.setRedYellowGreenState(junction, letters)

    def _lane_of(self, roads: RoadNetwork, lane: str) -> tuple[int, int]:
        """Road and lane of the map at the end of a lane; (0, 0): there is none."""
        road, _, index = lane.rpartition("_")
        length = self._library.lane.getLength(lane)
        place = max(length - _BEFORE_END, 0.5 * length)
        x, y = self._library.simulation.convert2D(road, place, int(index))
        try:
            found = roads.project(x, y)
        except RoadError:
            return 0, 0
        return found.road_id, found.lane_id
