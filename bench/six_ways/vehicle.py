# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The vehicle of the study: a single-track vehicle that self-steers, with pedals.

It knows of no coupling. ``vehicle.c`` has the same equations and gives the same bits: only + - * /
are used, and the polynomials of fdlibm for sine and cosine. The heading stays within 90 degrees.
"""

MASS = 1500.0  # [kg]
FORCE, POWER, BRAKE = 6000.0, 90e3, 12000.0  # [N], [W], [N]: class estimates of a compact car
AIR, ROLLING = 0.4, 150.0  # [N s^2/m^2], [N]
WHEELBASE, CHARACTERISTIC_SPEED, LAG = 2.7, 22.0, 0.15  # [m], [m/s], [s] of the yaw rate


def sine_cosine(a):
    """Of an angle up to 45 degrees [rad]."""
    z = a * a
    r = 2.75573137070700676789e-06 + z * (
        -2.50507602534068634195e-08 + z * 1.58969099521155010221e-10
    )
    r = 8.33333333332248946124e-03 + z * (-1.98412698298579493134e-04 + z * r)
    sine = a + z * a * (-1.66666666666666324348e-01 + z * r)
    r = -2.75573143513906633035e-07 + z * (
        2.08757232129817482790e-09 + z * -1.13596475577881948265e-11
    )
    r = z * (-1.38888888888741095749e-03 + z * (2.48015872894767294178e-05 + z * r))
    r = z * (4.16666666666666019037e-02 + r)
    w = 1.0 - 0.5 * z
    return sine, w + (((1.0 - w) - 0.5 * z) + z * r)


class Vehicle:
    """Place [m], heading and yaw rate [rad, rad/s], speed [m/s]."""

    def __init__(self):
        self.x = self.y = self.yaw = self.speed = self.yaw_rate = 0.0

    @property
    def orientation(self):
        """Its quaternion, z and w."""
        return sine_cosine(0.5 * self.yaw)

    def step(self, dt, throttle, brake, wheel):
        """Go on by dt [s] with pedals (0 to 1) and an angle of the front wheels [rad]."""
        force = throttle * min(FORCE, POWER / max(self.speed, 1.0)) - brake * BRAKE
        if self.speed > 0.0:
            force -= ROLLING + AIR * self.speed * self.speed
        self.speed = max(0.0, self.speed + dt * force / MASS)
        share = self.speed / CHARACTERISTIC_SPEED
        steady = self.speed * wheel / (WHEELBASE * (1.0 + share * share))
        self.yaw_rate += dt / LAG * (steady - self.yaw_rate)
        self.yaw += dt * self.yaw_rate
        sine, cosine = self.orientation
        self.x += dt * self.speed * (1.0 - 2.0 * sine * sine)
        self.y += dt * self.speed * (2.0 * sine * cosine)
