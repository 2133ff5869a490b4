# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The traffic lights of the map, as CARLA's ROS bridge publishes them.

Nothing but time changes them, so they are not asked of the world: they are counted along with it,
step by step, from the phases that it starts with.
"""

from __future__ import annotations

from typing import Any, Final

from ros2_cosim.core.messages.catalogue import DEFAULT as CATALOGUE
from ros2_cosim.core.scene.simulator import SETTLE_TICKS
from ros2_cosim.driving.ros_bridge.seen import SeenWorld
from ros2_cosim.driving.seams.message_parts import MessageParts
from ros2_cosim.world.map import RoadNetwork, frames
from ros2_cosim.world.map.signal_places import signal_place, trigger_volume
from ros2_cosim.world.map.stop_lines import stop_lines
from ros2_cosim.world.map.traffic_lights import LightPhases

#: Behind vehicles, objects and background traffic, before strangers of the simulator.
_FIRST_ID: Final = 500_001
_PACKAGE: Final = "carla_msgs/msg/"


class SignalLights:
    """Makes ``CarlaTrafficLightStatusList`` and ``CarlaTrafficLightInfoList``.

    :param step_ns: length of a step of the world, which is that between two activations
    """

    def __init__(self, road: RoadNetwork, step_ns: int) -> None:
        self._road = road
        self._phases = LightPhases(road, step_ns)
        #: Of each light, in the order of the map.
        self.numbers = tuple(range(_FIRST_ID, _FIRST_ID + len(self._phases.lights)))
        self._status_list: Any = CATALOGUE.record(f"{_PACKAGE}CarlaTrafficLightStatusList")
        self._status: Any = CATALOGUE.part(f"{_PACKAGE}CarlaTrafficLightStatus")
        self._info_list: Any = CATALOGUE.record(f"{_PACKAGE}CarlaTrafficLightInfoList")
        self._info: Any = CATALOGUE.part(f"{_PACKAGE}CarlaTrafficLightInfo")
        self._box: Any = CATALOGUE.part(f"{_PACKAGE}CarlaBoundingBox")
        self._part = MessageParts(CATALOGUE)

    def states(self, activations: int) -> tuple[int, ...]:
        """The states of all lights after so many activations before this one."""
        return self._phases.states(SETTLE_TICKS + activations)

    def status(self, seen: SeenWorld) -> Any:
        """The states, at the first activation and when one of them has changed."""
        # Whatever was asked before: a run that was restored goes on in the middle.
        before = self.states(seen.before - 1) if seen.before else ()
        states = self.states(seen.before)
        if seen.before and states == before:
            return None
        return self._status_list(tuple(map(self._status, self.numbers, states)))

    def info(self) -> Any:
        """Place and trigger volume of each light."""
        return self._info_list(
            tuple(
                map(
                    self._one,
                    self.numbers,
                    (self._road.signals[name] for name in self._phases.lights),
                )
            )
        )

    def _one(self, number: int, signal: Any) -> Any:
        part = self._part
        place = signal_place(self._road, signal)
        turn = frames.quaternion_from_rpy(signal.roll, signal.pitch, place.heading)
        pose = part.pose_of(part.point(place.x, place.y, place.z), part.quaternion(*turn))
        volume = trigger_volume(self._road, stop_lines(self._road, signal.id), place)
        if volume is None:
            return self._info(number, pose)
        sizes = (2.0 * half for half in volume.half)
        box = self._box(part.vector(*volume.centre), part.vector(*sizes))
        return self._info(number, pose, box)
