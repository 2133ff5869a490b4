# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The key ``ros_bridge`` of a scenario file: the topics of CARLA's ROS bridge in one line.

It stands for the participants ``ros_bridge``, which publishes, and ``ros_bridge_control``, which
obeys what other participants publish on the bridge's command topics, and for the outputs of the
world with the bridge's names. Whatever the file says of them itself holds before that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final

from pydantic import Field
from typing_extensions import Self

from ros2_cosim.core.documents.settings import Name, read_section
from ros2_cosim.core.scenario.templates import Template
from ros2_cosim.core.scene.sensors import SensorForm, SensorSettings
from ros2_cosim.core.scene.world_outputs import world_outputs
from ros2_cosim.driving.ros_bridge.ros_bridge_ports import (
    BRIDGE_MODEL,
    COMMANDS,
    CONTROL_MODEL,
    LIGHT_OUTPUTS,
    OUTPUTS,
    REFUSED_TOPICS,
    SENSOR_TOPICS,
    bridge_frame,
    sensor_topic,
)
from ros2_cosim.driving.seams.scenario_parts import ScenarioParts

#: The participants that the key makes.
BRIDGE: Final = "ros_bridge"
CONTROL: Final = "ros_bridge_control"

#: What a kind of sensor gives -> outputs of the world, with their message types.
_SENSOR_OUTPUTS: Final = {
    SensorForm.FIX: {"fix": "sensor_msgs/msg/NavSatFix"},
    SensorForm.INERTIA: {"imu": "sensor_msgs/msg/Imu"},
    SensorForm.CLOUD: {"points": "sensor_msgs/msg/PointCloud2"},
    SensorForm.IMAGE: {
        "image": "sensor_msgs/msg/Image",
        "camera_info": "sensor_msgs/msg/CameraInfo",
    },
}
_Mapping = dict[str, Any]


class RosBridgeTemplate(Template):
    """Topics of CARLA's ROS bridge; ``true`` is all defaults, a name or a list is ``vehicles``."""

    short_forms: ClassVar[tuple[Mapping[str, Any], ...]] = (
        {"type": ["boolean", "string", "null"]},
        {"type": "array", "items": {"type": "string"}},
    )

    vehicles: tuple[Name, ...] | None = Field(
        default=None, description="those that have their own topics; default: all of the scene"
    )
    outside: bool = Field(
        default=False,
        strict=True,
        description="whether commands of programs that are not participants are obeyed, from the "
        "step on that reads them; a run in which one comes is not repeatable",
    )

    @classmethod
    def read_given(cls, given: Any, origin: str, place: str) -> Self | None:
        """The section, also of a short form; None and ``false`` stand for nothing."""
        if given is None or given is False:
            return None
        return super().read_given(_whole(given), origin, place)

    def stands_for(self, rest: _Mapping, origin: str) -> _Mapping:
        """Participants and outputs of the bridge."""
        return _Bridge(rest, self, origin).data()


def _whole(given: Any) -> Any:
    """The section that a short form stands for."""
    if given is True:
        return {}
    return {"vehicles": [given] if isinstance(given, str) else given} if _is_short(given) else given


def _is_short(given: Any) -> bool:
    return isinstance(given, str | list)


class _Bridge:
    """What the key stands for in one scenario, as plain data."""

    def __init__(self, rest: _Mapping, template: RosBridgeTemplate, origin: str) -> None:
        parts = self._parts = ScenarioParts(rest, "ros_bridge", origin)
        self._vehicles = list(parts.present if template.vehicles is None else template.vehicles)
        for name in self._vehicles:
            parts.check_vehicle(name, "vehicles")
        self._sensors = {
            name: read_section(SensorSettings, given, origin=origin, place=f"scene.sensors.{name}")
            for name, given in parts.mapping(parts.scene, "sensors").items()
        }
        self._commands = self._writers()
        self._free = self._free_commands() if template.outside else {}

    def data(self) -> _Mapping:
        """Scene and participants, to be completed by what the file says."""
        commanded = list(dict.fromkeys(name for name, _ in (*self._commands, *self._free)))
        # In the order of the file: vehicles are numbered in it.
        participants: _Mapping = {name: {} for name in self._parts.participants}
        participants |= {
            self._parts.world_name: {
                "inputs": {
                    f"control/{name}": {"from": f"{CONTROL}.control/{name}", "delayed": True}
                    for name in commanded
                },
                "outputs": self._world_outputs(),
            },
            BRIDGE: self._publisher(commanded),
        }
        if commanded:
            participants[CONTROL] = self._control(commanded)
        # Nodes for the bridge steer; a vehicle that is kept in its lane would not obey.
        steered = {
            name: {"steering": "command"} if name in commanded else {}
            for name in self._parts.vehicles
        }
        return {"scene": {"vehicles": steered}, "participants": participants}

    def _writers(self) -> dict[tuple[str, str], list[str]]:
        """(Vehicle, port of the command) -> outputs with its topic."""
        known = {
            command.topic.format(vehicle=vehicle): (vehicle, command.port.format(vehicle=vehicle))
            for vehicle in self._vehicles
            for command in COMMANDS
        }
        refused = {
            "/carla/" + topic.format(vehicle=vehicle)
            for vehicle in self._vehicles
            for topic in REFUSED_TOPICS
        }
        names = ", ".join(command.topic.format(vehicle="VEHICLE") for command in COMMANDS)
        allowed = f"the commands {names}"
        found = self._parts.writers(known, refused, "CARLA's ROS bridge", allowed)
        driven = dict.fromkeys(vehicle for vehicle, _ in found)
        self._parts.check_masters(driven, "/carla/{vehicle}/...")
        return found

    def _free_commands(self) -> dict[tuple[str, str], _Mapping]:
        """(Vehicle, port of the command) -> input from outside, of all that nothing else drives."""
        return {
            (name, port): {
                "unsynchronised": command.topic.format(vehicle=name),
                "type": command.type,
            }
            for name in self._vehicles
            if not self._parts.is_driven(name)
            for command in COMMANDS
            for port in (command.port.format(vehicle=name),)
            if (name, port) not in self._commands
        }

    def _world_outputs(self) -> _Mapping:
        """What the bridge needs of the world, and its sensors with the bridge's names."""
        outputs: _Mapping = dict(world_outputs(self._parts.present))
        if self._parts.mapping(self._parts.world, "parameters").get("traffic"):
            outputs["traffic"] = {"type": "ros2_cosim/msg/RoadUsers", "topic": "/traffic"}
        for name, sensor in self._sensors.items():
            topic = sensor_topic(sensor.vehicle, name)
            for kind, message in _SENSOR_OUTPUTS[sensor.form].items():
                outputs[f"{kind}/{name}"] = {
                    "type": message,
                    "topic": topic + SENSOR_TOPICS[kind],
                    "schedule": "sparse",
                    "frame_id": bridge_frame(sensor.vehicle, name),
                }
        return outputs

    def _publisher(self, commanded: Sequence[str]) -> _Mapping:
        world = self._parts.world_name
        there = {**self._world_outputs(), **self._parts.mapping(self._parts.world, "outputs")}
        wanted = [
            f"{kind}/{name}"
            for name in self._parts.present
            for kind in ("odometry", "acceleration")
        ]
        wanted += ["static_objects", "collision", "traffic"]
        inputs: _Mapping = {port: f"{world}.{port}" for port in wanted if there.get(port)}
        for name in self._parts.present:
            source = self._source(name, commanded)
            if source is not None:
                inputs[f"control/{name}"] = source
        taken = {topic for _, topic in self._parts.topics()}
        outputs: _Mapping = {}
        for output in OUTPUTS:
            for name in self._vehicles if "{vehicle}" in output.port else ("",):
                topic = output.topic.format(vehicle=name)
                if topic in taken:
                    continue  # as /tf of a participant of the file
                if output.port in LIGHT_OUTPUTS and not self._parts.has_own_lights:
                    continue
                settings = output.settings(vehicle=name)
                if output.port == "odometry/{vehicle}":
                    settings["child_frame_id"] = bridge_frame(name)
                elif output.schedule == "sparse" and name:  # of a sensor for events
                    settings["frame_id"] = bridge_frame(name, topic.rpartition("/")[2])
                outputs[output.port.format(vehicle=name)] = settings
        return {"model": BRIDGE_MODEL, **self._parts.timing(), "inputs": inputs, "outputs": outputs}

    def _source(self, vehicle: str, commanded: Sequence[str]) -> _Mapping | None:
        """Where the command of a vehicle comes from, for its status; a seam's is not shown."""
        if vehicle in commanded:
            return {"from": f"{CONTROL}.control/{vehicle}", "delayed": True}
        given = self._parts.mapping(self._parts.world, "inputs").get(f"control/{vehicle}")
        if isinstance(given, dict):
            given = None if "as" in given else given.get("from")
        return None if given is None else {"from": given, "delayed": True}

    def _control(self, commanded: Sequence[str]) -> _Mapping:
        inputs: _Mapping = {port: sources for (_, port), sources in self._commands.items()}
        triggers = list(inputs)
        inputs |= {port: outside for (_, port), outside in self._free.items()}
        for name in commanded:
            inputs[f"odometry/{name}"] = f"{self._parts.world_name}.odometry/{name}"
        return {
            "model": CONTROL_MODEL,
            **(self._parts.timing() if self._free else {}),
            **({"activation": {"any": triggers}} if triggers else {}),
            "inputs": inputs,
            "outputs": {
                f"control/{name}": {
                    "type": "ros2_cosim/msg/ControlCommand",
                    "topic": f"/{name}/control",
                    "schedule": "sparse",
                    "frame_id": f"{name}/base_link",
                }
                for name in commanded
            },
        }
