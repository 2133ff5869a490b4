# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Commands of Autoware to one vehicle of the world, and the reports that answer them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any, Final

import msgpack

from ros2_cosim.core.documents.settings import Section
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.model import FullModel, Port, Traits
from ros2_cosim.core.kernel.participant import ModelContext, Step
from ros2_cosim.core.messages.bundles import Item, bundle, items_of
from ros2_cosim.core.messages.catalogue import DEFAULT as CATALOGUE
from ros2_cosim.core.messages.message_types import BYTES, CONTROL, ODOMETRY
from ros2_cosim.core.scene.scene import scene_settings
from ros2_cosim.driving.autoware.autoware_ports import COMMANDS, MODE_PORT, REPORTS
from ros2_cosim.driving.autoware.gears import GEARS, PARK, command_of
from ros2_cosim.driving.autoware.rear_axle import dynamics_of, only_vehicle

#: ``ControlModeReport`` and ``ControlModeCommand`` of autoware_vehicle_msgs.
_AUTONOMOUS: Final = 1
_MANUAL: Final = 4
#: ``TurnIndicatorsReport`` and ``HazardLightsReport``.
_DISABLE: Final = 1


class AutowareControlParameters(Section):
    """Parameters of the model autoware_control: none."""


class AutowareControl(FullModel):
    """Obeys Autoware's commands and reports on them, to be activated before the world is.

    At the beginning the mode is AUTONOMOUS and the gear PARK: the vehicle brakes and stands until a
    gear is commanded. In the mode MANUAL the commands of ``manual_control_cmd`` and
    ``manual_gear_command`` count. A command that is not known (of a gear also NONE), or has numbers
    that are not finite, is passed over. Commands hold until others come. While
    ``emergency_cmd`` is true, the vehicle brakes fully.

    ``control_mode_request`` is the service of that name, as the ``calls`` of a foreign node have
    it: AUTONOMOUS and MANUAL succeed, all others do not.

    :raises ConfigurationError: it has no vehicle, or several
    """

    Parameters = AutowareControlParameters
    traits = Traits(cost_ns=40_000)
    input_ports = (
        Port("odometry/{vehicle}", ODOMETRY, required=False, description="of the vehicle, delayed"),
        *(topic.input for topic in COMMANDS),
        Port(MODE_PORT, BYTES, required=False, description="requests of a mode"),
    )
    output_ports = (
        Port("control/{vehicle}", CONTROL, required=False, description="what the vehicle obeys"),
        *(topic.output for topic in REPORTS),
        Port(MODE_PORT, BYTES, required=False, schedule="sparse", description="their answers"),
    )
    other_ports = False

    @classmethod
    def port_names(
        cls, context: ModelContext, parameters: AutowareControlParameters
    ) -> Mapping[str, Sequence[str]]:
        """All vehicles of the scene."""
        return {"vehicle": tuple(scene_settings(context).vehicles)}

    @classmethod
    def check_settings(cls, context: ModelContext, parameters: AutowareControlParameters) -> None:
        """Check whether there is one vehicle."""
        _vehicle(context)

    def __init__(self, context: ModelContext, parameters: AutowareControlParameters) -> None:
        self._name = _vehicle(context)
        self._dynamics = dynamics_of(context, self._name)
        self._reports: dict[str, Any] = {
            report.port: CATALOGUE.record(report.type)
            for report in REPORTS
            if report.port in context.output_types
        }
        self._bytes: Any = CATALOGUE.record(BYTES)
        self.reset()

    def reset(self) -> None:
        """Nothing has been commanded."""
        self._mode = _AUTONOMOUS
        #: Mode -> gear; acceleration [m/s^2] and angle of the wheels [rad].
        self._gears = {_AUTONOMOUS: PARK, _MANUAL: PARK}
        self._demands = {_AUTONOMOUS: (0.0, 0.0), _MANUAL: (0.0, 0.0)}
        self._turn = self._hazard = _DISABLE

    def activate(self, step: Step) -> Mapping[str, Any]:
        """Answer, command and report."""

        def newest(port: str) -> Any:
            sample = step.latest.get(port)
            return None if sample is None else sample.value

        outputs: dict[str, Any] = {}
        answers = self._answers(step)
        if answers:
            outputs[MODE_PORT] = self._bytes(data=bundle(answers))
        self._take(_AUTONOMOUS, newest("control_cmd"), newest("gear_cmd"))
        self._take(_MANUAL, newest("manual_control_cmd"), newest("manual_gear_command"))
        turn, hazard = newest("turn_indicators_cmd"), newest("hazard_lights_cmd")
        self._turn = self._turn if turn is None else turn.command or _DISABLE
        self._hazard = self._hazard if hazard is None else hazard.command or _DISABLE
        emergency, odometry = newest("emergency_cmd"), newest(f"odometry/{self._name}")
        gear = self._gears[self._mode]
        acceleration, angle = self._demands[self._mode]
        stops = emergency is not None and emergency.emergency
        outputs[f"control/{self._name}"] = command_of(
            self._dynamics,
            PARK if stops else gear,
            acceleration,
            angle,
            0.0 if odometry is None else odometry.vx,
        )
        values = {
            "control_mode": self._mode,
            "gear_status": gear,
            "turn_indicators_status": self._turn,
            "hazard_lights_status": self._hazard,
        }
        return outputs | {port: make(values[port]) for port, make in self._reports.items()}

    def _take(self, mode: int, control: Any, gear: Any) -> None:
        if control is not None:
            demand = control.longitudinal.acceleration, control.lateral.steering_tire_angle
            if all(map(isfinite, demand)):
                self._demands[mode] = demand
        if gear is not None and gear.command in GEARS:
            self._gears[mode] = gear.command

    def _answers(self, step: Step) -> list[Item]:
        """The answers to the requests of a mode, each of which has a time and the mode."""
        answers = []
        for sample in step.samples.get(MODE_PORT, ()):
            for item in items_of(bytes(sample.value.data)):
                _, mode = msgpack.unpackb(item.data)
                known = mode in self._gears
                if known:
                    self._mode = mode
                answers.append(item._replace(data=bytes(msgpack.packb([known]))))
        return answers

    def save_state(self) -> Any:
        """Mode, gears, demands and lights."""
        modes = [[mode, self._gears[mode], *self._demands[mode]] for mode in self._gears]
        return [self._mode, modes, self._turn, self._hazard]

    def restore_state(self, state: Any) -> None:
        """Go back to a state that ``save_state`` gave."""
        self._mode, modes, self._turn, self._hazard = state
        for mode, gear, acceleration, angle in modes:
            self._gears[mode] = gear
            self._demands[mode] = (acceleration, angle)


def _vehicle(context: ModelContext) -> str:
    name = only_vehicle(context, "outputs", "control/", context.output_types)
    if f"odometry/{name}" not in context.input_types:
        raise ConfigurationError(
            f"participants.{context.name}.inputs: 'odometry/{name}' is missing; a gear needs the "
            "vehicle's own speed"
        )
    return name
