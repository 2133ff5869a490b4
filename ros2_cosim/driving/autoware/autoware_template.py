# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The key ``autoware`` of a scenario file: the vehicle of Autoware's planning simulator.

It stands for the participants ``autoware_control``, which obeys what other participants publish on
Autoware's command topics, and ``autoware``, which publishes the state of the vehicle and its
surroundings, and for the outputs of the world. Whatever the file says itself holds before that.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Final

from pydantic import Field
from typing_extensions import Self

from ros2_cosim.core.documents.settings import Name
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.messages.message_types import BYTES, CONTROL, ROAD_USERS
from ros2_cosim.core.scenario.templates import Template
from ros2_cosim.core.scene.world_outputs import base_link, world_outputs
from ros2_cosim.driving.autoware.autoware_ports import (
    COMMANDS,
    CONTROL_MODEL,
    MODE_PORT,
    MODE_SERVICE,
    OUTPUTS,
    REFUSED_TOPICS,
    REPORTS,
    VEHICLE_MODEL,
)
from ros2_cosim.driving.seams.scenario_parts import ScenarioParts

#: The participants that the key makes.
VEHICLE: Final = "autoware"
CONTROLLER: Final = "autoware_control"
#: From a request of a mode to its reception; without it, a node would wait for itself.
_REQUEST_LATENCY: Final = "1ms"
_Mapping = dict[str, Any]


class AutowareTemplate(Template):
    """Topics of Autoware's planning simulator for one vehicle; a name is ``vehicle``."""

    short_forms: ClassVar[tuple[Mapping[str, Any], ...]] = ({"type": ["string", "null"]},)

    vehicle: Name = Field(description="the vehicle of the scene that Autoware sees as its own")
    outside: bool = Field(
        default=False,
        strict=True,
        description="whether commands of programs that are not participants are obeyed; a run in "
        "which one comes is not repeatable",
    )

    @classmethod
    def read_given(cls, given: Any, origin: str, place: str) -> Self | None:
        """The section, also of a name; None stands for nothing."""
        if given is None:
            return None
        return super().read_given(
            {"vehicle": given} if isinstance(given, str) else given, origin, place
        )

    def stands_for(self, rest: _Mapping, origin: str) -> _Mapping:
        """Participants and outputs."""
        return _Ego(rest, self, origin).data()


class _Ego:
    """What the key stands for in one scenario, as plain data."""

    def __init__(self, rest: _Mapping, template: AutowareTemplate, origin: str) -> None:
        parts = self._parts = ScenarioParts(rest, "autoware", origin)
        self._origin = origin
        self._name, self._outside = template.vehicle, template.outside
        parts.check_vehicle(self._name, "vehicle")
        allowed = ", ".join(command.topic for command in COMMANDS)
        known = {command.topic: command.port for command in COMMANDS}
        self._writers = parts.writers(known, REFUSED_TOPICS, "Autoware's simulator", allowed)
        self._callers = list(self._calls())
        if self._writers or self._callers:
            parts.check_masters([self._name], "Autoware's command topics")
        #: Whether it obeys Autoware; else what the file says drives it.
        self._obeys = not parts.is_driven(self._name)

    def data(self) -> _Mapping:
        """Scene and participants, to be completed by what the file says."""
        parts, name = self._parts, self._name
        world: _Mapping = {"outputs": self._world_outputs()}
        # In the order of the file: vehicles are numbered in it.
        participants: _Mapping = {each: {} for each in parts.participants}
        vehicles: _Mapping = {each: {} for each in parts.vehicles}
        if self._obeys:
            world["inputs"] = {f"control/{name}": f"{CONTROLLER}.control/{name}"}
            participants[CONTROLLER] = self._control()
            vehicles[name] = {"steering": "command"}
        participants[parts.world_name] = world
        participants[VEHICLE] = self._vehicle()
        for caller, call in self._callers:
            participants[caller] = {
                "inputs": {call: f"{CONTROLLER}.{MODE_PORT}"},
                "outputs": {call: _bundles(caller, call) | {"latency": _REQUEST_LATENCY}},
            }
        return {"scene": {"vehicles": vehicles}, "participants": participants}

    def _calls(self) -> Iterator[tuple[str, str]]:
        """Participants that call for a mode, and the name of the call."""
        for name in self._parts.participants:
            settings = self._parts.mapping(self._parts.participants, name)
            calls = self._parts.mapping(self._parts.mapping(settings, "parameters"), "calls")
            for call, service in calls.items():
                if isinstance(service, dict) and service.get("service") == MODE_SERVICE:
                    yield name, call

    def _world_outputs(self) -> _Mapping:
        parts = self._parts
        outputs: _Mapping = dict(world_outputs(parts.present))
        if parts.is_carla_world:
            outputs["vehicles"] = {"type": ROAD_USERS, "topic": "/vehicles"}
            if parts.mapping(parts.world, "parameters").get("traffic") or parts.scene.get(
                "recorded"
            ):
                outputs["traffic"] = {"type": ROAD_USERS, "topic": "/traffic"}
        return outputs

    def _vehicle(self) -> _Mapping:
        parts, name = self._parts, self._name
        there = {**self._world_outputs(), **parts.mapping(parts.world, "outputs")}
        wanted = [f"odometry/{name}", f"acceleration/{name}"]
        wanted += ["vehicles", "traffic", "static_objects"]
        inputs: _Mapping = {
            port: f"{parts.world_name}.{port}" for port in wanted if there.get(port)
        }
        if self._obeys:
            inputs[f"control/{name}"] = f"{CONTROLLER}.control/{name}"
        taken = {topic for _, topic in parts.topics()}
        left_out = {
            "steering_status": not self._obeys,
            "traffic_signals": not parts.has_own_lights,
            **{
                output.port: "vehicles" not in inputs
                for output in OUTPUTS
                if "objects" in output.port
            },
        }
        outputs = {
            output.port: output.settings()
            for output in OUTPUTS
            # As /tf of a participant of the file.
            if output.topic not in taken and not left_out.get(output.port)
        }
        return {"model": VEHICLE_MODEL, **parts.timing(), "inputs": inputs, "outputs": outputs}

    def _control(self) -> _Mapping:
        parts, name = self._parts, self._name
        inputs: _Mapping = {
            f"odometry/{name}": {"from": f"{parts.world_name}.odometry/{name}", "delayed": True}
        }
        for command in COMMANDS:
            if command.port in self._writers:
                inputs[command.port] = {"from": self._writers[command.port], "delayed": True}
            elif self._outside:
                inputs[command.port] = {"unsynchronised": command.topic, "type": command.type}
        outputs: _Mapping = {
            f"control/{name}": {
                "type": CONTROL,
                "topic": f"/{name}/control",
                "frame_id": base_link(name),
            },
            **{report.port: report.settings() for report in REPORTS},
        }
        activation: _Mapping = {}
        if self._callers:
            inputs[MODE_PORT] = [f"{caller}.{call}" for caller, call in self._callers]
            outputs[MODE_PORT] = _bundles(CONTROLLER, MODE_PORT)
            activation = {"activation": {"any": [MODE_PORT]}}
        if len(self._callers) > 1:
            raise ConfigurationError(
                f"{self._origin}: participants.{self._callers[1][0]}.parameters.calls: found a "
                f"second caller of {MODE_SERVICE}; allowed is one"
            )
        return {
            "model": CONTROL_MODEL,
            **parts.timing(),
            **activation,
            "inputs": inputs,
            "outputs": outputs,
        }


def _bundles(participant: str, port: str) -> _Mapping:
    return {"type": BYTES, "topic": f"/{participant}/{port}", "schedule": "sparse"}
