# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What programs may ask of CARLA's ROS bridge to spawn, and what a run answers.

The vehicles and sensors of a run are those of its scenario: results do not depend on when a program
asks. So what it asks for is found if it is there, and refused with the reason if it is not.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from fnmatch import fnmatchcase
from typing import Final, NamedTuple

from ros2_cosim.core.scene.scene import DEFAULT_CAR, SceneSettings
from ros2_cosim.driving.ros_bridge.ros_bridge_ports import sensor_topic

#: What the bridge calls a refusal.
NO_OBJECT: Final = -1
#: Sensors have numbers behind those of all vehicles, objects and traffic lights.
_FIRST_SENSOR: Final = 600_001
_TF, _CONTROL = "sensor.pseudo.tf", "actor.pseudo.control"
#: Made of what the world says, without a sensor in it.
_DERIVED: Final = (
    _CONTROL,
    "sensor.other.collision",
    "sensor.other.lane_invasion",
    "sensor.pseudo.actor_list",
    "sensor.pseudo.markers",
    "sensor.pseudo.objects",
    "sensor.pseudo.odom",
    "sensor.pseudo.opendrive_map",
    "sensor.pseudo.speedometer",
    _TF,
    "sensor.pseudo.traffic_lights",
)


class Found(NamedTuple):
    """The number of an object, or ``NO_OBJECT`` and why."""

    number: int
    reason: str = ""


class BridgeObjects:
    """Vehicles and sensors of a run.

    :param vehicles: those that have topics of the bridge
    :param topics: all that the run publishes on
    """

    def __init__(
        self, scene: SceneSettings, vehicles: Collection[str], topics: Iterable[str]
    ) -> None:
        self._scene = scene
        self._numbers = {scene.identity(name): name for name in vehicles}
        self._topics = frozenset(topics)
        #: (Vehicle, name) of sensors that were requested, in this order.
        self._sensors: list[tuple[str, str]] = []

    def spawn(self, kind: str, name: str, attach_to: int) -> Found:
        """Look for an object that a program wants to be there.

        :param kind: CARLA's blueprint, or a pseudo sensor of the bridge
        :param name: role name of a vehicle, or the name of a sensor
        :param attach_to: number of the vehicle that carries a sensor, or of another sensor on
            it; 0: none
        """
        if kind.startswith("vehicle."):
            return self._vehicle(kind, name)
        if kind.startswith(("sensor.", "actor.pseudo.")):
            return self._sensor(kind, name, attach_to)
        return _refused(f"{kind!r}: a run has vehicles and sensors only, those of its scenario")

    def blueprints(self, pattern: str) -> list[str]:
        """What can be requested, sorted: kinds of the scene that fit, and what is derived."""
        kinds = {self._blueprint(name) for name in self._numbers.values()}
        kinds |= {sensor.blueprint for sensor in self._scene.sensors.values()}
        fitting = {kind for kind in kinds if fnmatchcase(kind, pattern or "*")}
        return sorted({*fitting, *_DERIVED})

    def _vehicle(self, kind: str, name: str) -> Found:
        for number, known in self._numbers.items():
            if known == name:
                blueprint = self._blueprint(name)
                if fnmatchcase(blueprint, kind):
                    return Found(number)
                return _refused(f"vehicle '{name}' of the scenario is a {blueprint}, no {kind}")
        return _refused(
            f"found vehicle '{name}'; allowed are those of the scenario, "
            f"{', '.join(self._numbers.values()) or 'none'}"
        )

    def _blueprint(self, vehicle: str) -> str:
        return self._scene.vehicles[vehicle].blueprint or DEFAULT_CAR

    def _sensor(self, kind: str, name: str, attach_to: int) -> Found:
        vehicle = self._carrier(attach_to)
        if attach_to and not vehicle:
            return _refused(f"attach_to: found {attach_to}, which is not a vehicle of the scenario")
        if kind in _DERIVED:
            there = kind == _CONTROL or self._is_published(kind, vehicle, name)
        else:
            mounted = self._scene.sensors.get(name)
            there = mounted is not None and (mounted.vehicle, mounted.blueprint) == (vehicle, kind)
        if not there:
            carrier = f"on '{vehicle}'" if vehicle else "that stands alone"
            return _refused(
                f"found {kind} '{name}' {carrier}, which nothing in the scenario publishes; "
                "allowed are sensors of its section scene.sensors, and the topics of its section "
                "ros_bridge"
            )
        key = vehicle, name
        if key not in self._sensors:
            self._sensors.append(key)
        return Found(_FIRST_SENSOR + self._sensors.index(key))

    def _carrier(self, number: int) -> str:
        """The vehicle of that number, or that of a sensor of that number; empty: there is none."""
        place = number - _FIRST_SENSOR
        if 0 <= place < len(self._sensors):
            return self._sensors[place][0]
        return self._numbers.get(number, "")

    def _is_published(self, kind: str, vehicle: str, name: str) -> bool:
        topic = sensor_topic(vehicle, name) if vehicle else f"/carla/{name}"
        if kind == _TF:
            topic = "/tf"
        return any(one == topic or one.startswith(f"{topic}/") for one in self._topics)


def _refused(reason: str) -> Found:
    return Found(NO_OBJECT, reason)
