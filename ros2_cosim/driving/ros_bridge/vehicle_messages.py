# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Status and description of a vehicle in ``carla_msgs``."""

from __future__ import annotations

from math import isnan
from typing import Any

from ros2_cosim.core.kernel.exactmath import sqrt
from ros2_cosim.core.messages.catalogue import DEFAULT as CATALOGUE
from ros2_cosim.core.messages.records import ControlCommand
from ros2_cosim.driving.ros_bridge.ros_bridge_ports import CONTROL_COMMAND
from ros2_cosim.driving.ros_bridge.seen import SeenVehicle
from ros2_cosim.driving.ros_bridge.vehicles import BridgeVehicle
from ros2_cosim.driving.seams.message_parts import MessageParts
from ros2_cosim.world.map import frames

_PACKAGE = "carla_msgs/msg/"
_WHEELS = 4


class StatusMessages:
    """Makes ``CarlaEgoVehicleStatus``: speed, acceleration and orientation in the map, command."""

    def __init__(self) -> None:
        self._status: Any = CATALOGUE.record(f"{_PACKAGE}CarlaEgoVehicleStatus")
        self._control: Any = CATALOGUE.part(CONTROL_COMMAND)
        self._part = MessageParts(CATALOGUE)

    def make(self, vehicle: SeenVehicle) -> Any:
        """The status of one vehicle."""
        o, a = vehicle.odometry, vehicle.acceleration
        turn = (o.qx, o.qy, o.qz, o.qw)
        return self._status(
            velocity=sqrt(o.vx * o.vx + o.vy * o.vy + o.vz * o.vz),
            acceleration=self._part.accel(frames.body_to_world(turn, (a.ax, a.ay, a.az))),
            orientation=self._part.quaternion(*turn),
            control=self._pedals(vehicle.command),
        )

    def _pedals(self, command: ControlCommand | None) -> Any:
        """The pedals; none while the world finds them for an acceleration by itself."""
        if command is None:
            return self._control()
        steer = frames.steer_to_carla(command.steer)
        if isnan(command.throttle) or isnan(command.brake):
            return self._control(steer=steer)
        return self._control(
            throttle=abs(command.throttle),
            brake=command.brake,
            steer=steer,
            reverse=command.throttle < 0.0,
        )


class InfoMessages:
    """Makes ``CarlaEgoVehicleInfo``: what does not change, as far as the dynamics know it."""

    def __init__(self) -> None:
        self._info: Any = CATALOGUE.record(f"{_PACKAGE}CarlaEgoVehicleInfo")
        self._wheel: Any = CATALOGUE.part(f"{_PACKAGE}CarlaEgoVehicleInfoWheel")
        self._part = MessageParts(CATALOGUE)

    def make(self, vehicle: BridgeVehicle) -> Any:
        """The description of one vehicle; front wheels first, left before right, as CARLA's."""
        p = vehicle.dynamics
        wheels = [
            self._wheel(
                tire_friction=p.friction,
                max_steer_angle=p.max_steer_angle if front else 0.0,
                radius=p.wheel_radius,
                max_brake_torque=p.max_brake_force * p.wheel_radius / _WHEELS,
                position=self._part.vector(
                    p.front_axle if front else 0.0 - p.rear_axle,
                    0.5 * vehicle.width if left else -0.5 * vehicle.width,
                    p.wheel_radius,
                ),
            )
            for front in (True, False)
            for left in (True, False)
        ]
        return self._info(
            id=vehicle.id,
            type=vehicle.blueprint,
            rolename=vehicle.name,
            wheels=tuple(wheels),
            use_gear_autobox=True,
            mass=p.mass,
            drag_coefficient=p.drag_area,
            center_of_mass=self._part.vector(0.0, 0.0, p.cg_height),
        )
