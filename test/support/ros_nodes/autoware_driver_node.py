# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A plain node for Autoware's vehicle: it drives at 5 m/s, hands over after 2 s, and comes back."""

import rclpy
from autoware_control_msgs.msg import Control
from autoware_vehicle_msgs.msg import ControlModeReport, GearCommand, VelocityReport
from autoware_vehicle_msgs.srv import ControlModeCommand
from rclpy.executors import ExternalShutdownException
from rclpy.node import Node

MANUAL, AUTONOMOUS = 4, 1


class Driver(Node):
    def __init__(self) -> None:
        super().__init__("driver")
        self._speed = 0.0
        self._mode = AUTONOMOUS
        self._asked = 0
        self._granted = 0
        self._control = self.create_publisher(Control, "/control/command/control_cmd", 1)
        self._gear = self.create_publisher(GearCommand, "/control/command/gear_cmd", 1)
        self._request = self.create_client(ControlModeCommand, "/control/control_mode_request")
        self.create_subscription(
            VelocityReport, "/vehicle/status/velocity_status", self._on_velocity, 1
        )
        self.create_subscription(
            ControlModeReport, "/vehicle/status/control_mode", self._on_mode, 1
        )
        self.create_timer(0.05, self._on_timer)

    def _on_velocity(self, report: VelocityReport) -> None:
        self._speed = report.longitudinal_velocity

    def _on_mode(self, report: ControlModeReport) -> None:
        self._mode = report.mode

    def _on_timer(self) -> None:
        now = self.get_clock().now()
        control = Control(stamp=now.to_msg())
        control.longitudinal.acceleration = 1.0 * (5.0 - self._speed)
        # What it has heard of the mode steers, so that the trace depends on the answer.
        control.lateral.steering_tire_angle = 0.01 * self._granted + 0.02 * (self._mode == MANUAL)
        self._control.publish(control)
        self._gear.publish(GearCommand(stamp=now.to_msg(), command=2))
        for number, (second, mode) in enumerate(((2, MANUAL), (3, AUTONOMOUS)), start=1):
            if self._asked < number and now.nanoseconds >= second * 1_000_000_000:
                self._asked = number
                future = self._request.call_async(ControlModeCommand.Request(mode=mode))
                future.add_done_callback(self._on_answer)

    def _on_answer(self, future) -> None:
        self._granted += future.result().success


if __name__ == "__main__":
    try:
        rclpy.init()
        rclpy.spin(Driver())
    except (KeyboardInterrupt, ExternalShutdownException):
        pass
    finally:
        rclpy.try_shutdown()
