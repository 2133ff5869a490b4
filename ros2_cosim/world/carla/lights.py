# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The traffic lights of a scene: the next one of each vehicle, and how many are passed at red."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf
from typing import Final

from ros2_cosim.core.messages.records import TrafficLightAhead
from ros2_cosim.world.map import RoadNetwork, driving_direction
from ros2_cosim.world.map.network import LaneStretch
from ros2_cosim.world.map.signals import TRAFFIC_LIGHT
from ros2_cosim.world.map.stop_lines import stop_lines
from ros2_cosim.world.map.traffic_lights import RED, UNKNOWN

REACH: Final = 100.0
"""Way along the lane within which lights are seen [m]."""

NONE_AHEAD: Final = TrafficLightAhead(0, UNKNOWN, inf)
#: Two places of a lane nearer than this are the same [m].
_SAME: Final = 1e-6
#: A vehicle drives further than its speed says by this at most [m].
_SLACK: Final = 0.05


class LightsAhead:
    """The lights of a map, at their stop lines.

    ``passed`` counts stop lines that were passed at red, by the number of the vehicle.
    """

    def __init__(self, network: RoadNetwork) -> None:
        signals = [s.id for s in network.signals.values() if s.type == TRAFFIC_LIGHT]
        self._numbers = {signal: number for number, signal in enumerate(signals, start=1)}
        self._lines: dict[tuple[int, int], list[tuple[float, int]]] = {}
        for signal, number in self._numbers.items():
            for line in stop_lines(network, signal):
                key = line.road_id, line.lane_id
                self._lines.setdefault(key, []).append((line.s, number))
        self._states: dict[int, int] = {}
        self._before: dict[int, TrafficLightAhead] = {}
        self.passed: dict[int, int] = {}

    def show(self, states: Mapping[str, int]) -> None:
        """Take over what the lights show.

        :param states: signal of the map -> state, as ``traffic_lights`` numbers them
        """
        self._states = {
            number: states.get(signal, UNKNOWN) for signal, number in self._numbers.items()
        }

    def ahead(self, way: Sequence[LaneStretch], half_length: float) -> TrafficLightAhead:
        """The next light on a way.

        :param way: the lane from the centre of the vehicle on
        :param half_length: from there to the front bumper [m]
        """
        best = NONE_AHEAD
        for stretch in way:
            direction = driving_direction(stretch.lane_id)
            for s, number in self._lines.get((stretch.road_id, stretch.lane_id), ()):
                along = direction * (s - stretch.s)
                distance = stretch.way + along - half_length
                if -_SAME <= along <= stretch.length + _SAME and 0.0 <= distance < best.distance:
                    state = self._states.get(number, UNKNOWN)
                    best = TrafficLightAhead(number, state, distance)
            if best.light:
                break
        return best

    def watch(self, vehicle: int, found: TrafficLightAhead, driven: float) -> None:
        """Check whether a vehicle has passed the light that was next, and at red.

        A line that is no longer ahead has been passed if it was within reach; else the vehicle has
        changed its lane.

        :param found: the light that is next now
        :param driven: way since the last call [m]
        """
        before = self._before.get(vehicle, NONE_AHEAD)
        self._before[vehicle] = found
        gone = found.light != before.light or found.distance > before.distance + driven + 1.0
        if gone and before.state == RED and before.distance <= driven + _SLACK:
            self.passed[vehicle] = self.passed.get(vehicle, 0) + 1
