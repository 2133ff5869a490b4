# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The vehicle as a DCP slave."""

from vehicle import Vehicle

from ros2_cosim.dcp.slave.slave_model import Input, Output, SlaveModel


class Car(SlaveModel):
    """Steps when its master says so."""

    throttle = Input("float64")
    brake = Input("float64")
    wheel = Input("float64", unit="rad")
    x = Output("float64", unit="m", start=0.0)
    y = Output("float64", unit="m", start=0.0)
    qz = Output("float64", start=0.0)
    qw = Output("float64", start=1.0)
    speed = Output("float64", unit="m/s", start=0.0)
    yaw_rate = Output("float64", unit="rad/s", start=0.0)

    def initialise(self):
        self.vehicle = Vehicle()

    def do_step(self, step):
        v = self.vehicle
        v.step(float(step.size), self.throttle, self.brake, self.wheel)
        self.x, self.y, self.speed, self.yaw_rate = v.x, v.y, v.speed, v.yaw_rate
        self.qz, self.qw = v.orientation
