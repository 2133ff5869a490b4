# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Commands on the topics of CARLA's ROS bridge, at the world's own ports."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import isfinite
from typing import Any

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.model import FullModel, Port, Traits
from ros2_cosim.core.kernel.participant import ModelContext, Step
from ros2_cosim.core.messages.message_types import CONTROL, ODOMETRY
from ros2_cosim.core.messages.records import ControlCommand
from ros2_cosim.core.messages.seams import InputSeam, NoParameters, SeamPlace
from ros2_cosim.core.scene.scene import scene_settings
from ros2_cosim.driving.ros_bridge.ros_bridge_ports import COMMANDS
from ros2_cosim.driving.seams.control import FromCarla, FromTwist, SpeedParameters

_TYPES = {command.port.partition("/")[0]: command.type for command in COMMANDS}
_NORMAL, _MANUAL = "vehicle_control_cmd", "vehicle_control_cmd_manual"
_OVERRIDE, _TARGET = "vehicle_control_manual_override", "set_target_velocity"


class CarlaRosControl(FullModel):
    """Obeys the command topics of CARLA's ROS bridge, to be activated by each of them.

    Commands of ``vehicle_control_cmd`` count until ``vehicle_control_manual_override`` is true, and
    those of ``vehicle_control_cmd_manual`` from then on. ``set_target_velocity`` is a speed and a
    yaw rate that the vehicle follows with its own means; the real bridge moves it at once, whatever
    its dynamics. Of commands at one time the pedals count. A command with a number that is not
    finite is passed over: nodes that were written for the bridge divide by a distance of zero, and
    go on.

    :raises ConfigurationError: a vehicle with ``set_target_velocity`` has no odometry
    """

    Parameters = SpeedParameters
    traits = Traits(cost_ns=20_000)
    input_ports = (
        *(topic.input for topic in COMMANDS),
        Port("odometry/{vehicle}", ODOMETRY, required=False, description="for set_target_velocity"),
    )
    output_ports = (
        Port(
            "control/{vehicle}",
            CONTROL,
            required=False,
            schedule="sparse",
            description="what the vehicle obeys",
        ),
    )
    other_ports = False

    @classmethod
    def port_names(
        cls, context: ModelContext, parameters: SpeedParameters
    ) -> Mapping[str, Sequence[str]]:
        """All vehicles of the scene."""
        return {"vehicle": tuple(scene_settings(context).vehicles)}

    def __init__(self, context: ModelContext, parameters: SpeedParameters) -> None:
        self._vehicles = [
            port.partition("/")[2] for port in context.output_types if port.startswith("control/")
        ]
        self._pedals: dict[str, InputSeam] = {}
        self._speeds: dict[str, InputSeam] = {}
        for name in self._vehicles:
            place = _place(context, name, _NORMAL)
            self._pedals[name] = FromCarla(place, NoParameters())
            if f"{_TARGET}/{name}" not in context.input_types:
                continue
            if f"odometry/{name}" not in context.input_types:
                raise ConfigurationError(
                    f"participants.{context.name}.inputs: 'odometry/{name}' is missing; "
                    f"'{_TARGET}/{name}' needs the vehicle's own speed"
                )
            self._speeds[name] = FromTwist(_place(context, name, _TARGET), parameters)
        self._overridden: set[str] = set()

    def activate(self, step: Step) -> Mapping[str, Any]:
        """Send on what the vehicles have to obey."""
        found: dict[str, Any] = {}
        for name in self._vehicles:
            command = self._command(name, step)
            if command is not None:
                found[f"control/{name}"] = command
        return found

    def _command(self, name: str, step: Step) -> ControlCommand | None:
        override = _newest(step, f"{_OVERRIDE}/{name}")
        if override is not None:
            (self._overridden.add if override.data else self._overridden.discard)(name)
        manual = name in self._overridden
        pedals = _newest(step, f"{_MANUAL if manual else _NORMAL}/{name}", _has_pedals)
        if pedals is not None:
            made: ControlCommand = self._pedals[name].convert(pedals, {})
            return made
        target = None if manual else _newest(step, f"{_TARGET}/{name}", _has_speed)
        if target is None:
            return None
        odometry = step.latest[f"odometry/{name}"]
        sent = {} if odometry is None else {f"odometry/{name}": odometry.value}
        followed: ControlCommand | None = self._speeds[name].convert(target, sent)
        return followed

    def save_state(self) -> Any:
        """The vehicles that a human drives."""
        return sorted(self._overridden)

    def restore_state(self, state: Any) -> None:
        """Go back to a state that ``save_state`` gave."""
        self._overridden = set(state)

    def reset(self) -> None:
        """No vehicle is driven by a human."""
        self._overridden.clear()


def _newest(step: Step, port: str, counts: Callable[[Any], bool] = lambda record: True) -> Any:
    """The record that came last at this activation, of those that count, if one did."""
    samples = step.samples.get(port, ())
    return next((s.value for s in reversed(samples) if counts(s.value)), None)


def _has_pedals(record: Any) -> bool:
    return all(map(isfinite, (record.throttle, record.brake, record.steer)))


def _has_speed(record: Any) -> bool:
    return isfinite(record.linear.x) and isfinite(record.angular.z)


def _place(context: ModelContext, vehicle: str, command: str) -> SeamPlace:
    return SeamPlace(
        f"participants.{context.name}.inputs.{command}/{vehicle}",
        f"control/{vehicle}",
        _TYPES[command],
        (f"odometry/{vehicle}",),
        context.scene,
    )
