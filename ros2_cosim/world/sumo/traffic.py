# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""SUMO beside another simulator: its vehicles drive around those of the scene.

The vehicles of the scene stay where the world of the scenario has them. In SUMO each has a double
that is put at its place in every step, so that SUMO's vehicles keep their distance from it; SUMO's
vehicles in turn are an output, which object sensors read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from ros2_cosim.core.documents.files import read_bounded
from ros2_cosim.core.documents.xml_reader import MAX_BYTES
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.exactmath import cos, radians, sin
from ros2_cosim.core.kernel.model import FullModel, Port, Repeatability, Report, Traits
from ros2_cosim.core.kernel.participant import ModelContext, Step
from ros2_cosim.core.kernel.time import SECOND, format_ns, to_seconds
from ros2_cosim.core.messages.message_types import ODOMETRY, ROAD_USERS
from ros2_cosim.core.messages.records import CLASS_CAR, CLASS_TRUCK, Odometry, RoadUser, RoadUsers
from ros2_cosim.core.scene.named_simulator import SimulatorContext
from ros2_cosim.core.scene.scene import scene_settings
from ros2_cosim.core.scene.simulator import MapChoice, Stranger
from ros2_cosim.world.map.frames import yaw_from_quaternion
from ros2_cosim.world.map.scene import scene_road, scene_vehicles
from ros2_cosim.world.map.vehicle_info import VehicleInfo
from ros2_cosim.world.sumo.installation import check_installation
from ros2_cosim.world.sumo.settings import SumoOptions, SumoTrafficOptions
from ros2_cosim.world.sumo.world import SumoWorld

#: Identities of SUMO's vehicles; those of the scene and of other traffic are smaller.
FIRST_SUMO_ID: Final = 1_500_000
#: Longer vehicles are trucks [m].
_TRUCK: Final = 6.0
#: A vehicle of the scene has no height; SUMO sees it from above [m].
_HEIGHT: Final = 1.5


class SumoTraffic(FullModel):
    """SUMO's vehicles around those of the scene, a periodic model; its period is SUMO's step.

    Inputs, latched: ``odometry/<vehicle>`` for each vehicle of the scene. Output ``traffic``
    (RoadUsers) at every activation, empty until all vehicles are known.

    :raises ConfigurationError: SUMO is not installed, a file is not there, or the period is wrong
    """

    Parameters = SumoTrafficOptions
    traits = Traits(repeatable=Repeatability.SAME_MACHINE, cost_ns=500_000)
    input_ports = (Port("odometry/{vehicle}", ODOMETRY, description="of each vehicle"),)
    output_ports = (Port("traffic", ROAD_USERS, description="SUMO's vehicles"),)
    other_ports = False

    @classmethod
    def port_names(
        cls, context: ModelContext, parameters: SumoTrafficOptions
    ) -> Mapping[str, Sequence[str]]:
        """All vehicles of the scene."""
        return {"vehicle": tuple(scene_settings(context).vehicles)}

    @classmethod
    def check_settings(cls, context: ModelContext, parameters: SumoTrafficOptions) -> None:
        """Check whether SUMO, its files, a road and a period are there."""
        check_installation()
        period = context.period_ns
        if period is None or period > SECOND:
            found = "none" if period is None else format_ns(period)
            raise ConfigurationError(
                f"participants.{context.name}.period: found {found}; allowed is up to 1s"
            )
        scene_vehicles(context)
        scene_road(context)
        network = [parameters.network] if parameters.network else []
        for name in (*parameters.routes, *network):
            if not (context.base_directory / name).is_file():
                raise ConfigurationError(
                    f"{context.where}: there is no file {context.base_directory / name}"
                )

    def __init__(self, context: ModelContext, parameters: SumoTrafficOptions) -> None:
        self.check_settings(context, parameters)
        self._vehicles = scene_vehicles(context)
        self._map = context.base_directory / scene_settings(context).map
        assert context.period_ns is not None
        self._step_s = to_seconds(context.period_ns)
        self._world = SumoWorld(
            SimulatorContext(context.base_directory, context.run_seed),
            SumoOptions(**parameters.model_dump()),
        )
        self._doubles: dict[str, int] = {}
        self._most = 0

    def activate(self, step: Step) -> Mapping[str, Any]:
        """Move SUMO on by a step; the first one puts everything in its place."""
        places: dict[str, Odometry] = {}
        for name in self._vehicles:
            sample = step.latest[f"odometry/{name}"]
            if sample is None:
                return {"traffic": RoadUsers(())}
            places[name] = sample.value
        if not self._doubles:
            self._begin(places)
        for name, double in self._doubles.items():
            place = places[name]
            self._world.follow(double, place.x, place.y, _yaw(place), place.vx)
        self._world.tick()
        users = tuple(_user(found) for found in self._world.strangers())
        self._most = max(self._most, len(users))
        return {"traffic": RoadUsers(users)}

    def report(self) -> Report:
        """The largest number of SUMO's vehicles at a time."""
        return Report(figures={"vehicles": self._most})

    def close(self) -> None:
        """End SUMO."""
        self._world.close()

    def _begin(self, places: Mapping[str, Odometry]) -> None:
        text = read_bounded(self._map, MAX_BYTES).decode("utf-8")
        self._world.prepare(MapChoice(opendrive=text), "ClearNoon", self._step_s)
        for name, place in places.items():
            info: VehicleInfo = self._vehicles[name]
            size = (info.length, info.width, _HEIGHT)
            self._doubles[name] = self._world.mirror(size, place.x, place.y, _yaw(place))


def _yaw(place: Odometry) -> float:
    return yaw_from_quaternion(place.qx, place.qy, place.qz, place.qw)


def _user(found: Stranger) -> RoadUser:
    """A vehicle of SUMO in the map's frame: y to the left, angles to the left."""
    pose, velocity = found.motion.pose, found.motion.velocity
    yaw = 0.0 - radians(pose.yaw)
    c, s = cos(yaw), sin(yaw)
    length, width, height = (2.0 * half for half in found.body.extent)
    return RoadUser(
        FIRST_SUMO_ID + found.actor,
        CLASS_TRUCK if length > _TRUCK else CLASS_CAR,
        pose.x,
        0.0 - pose.y,
        pose.z,
        yaw,
        velocity[0] * c - velocity[1] * s,
        0.0,
        length,
        width,
        height,
    )
