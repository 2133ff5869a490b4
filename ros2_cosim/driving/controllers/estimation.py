# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What a vehicle can know of the one ahead by its own sensor, when V2V is lost.

Source: J. Ploeg, E. Semsar-Kazerooni, G. Lijster, N. van de Wouw, H. Nijmeijer, "Graceful
degradation of cooperative adaptive cruise control", IEEE T-ITS 16(1) 2015, section IV; the model
of the motion is that of R. A. Singer, IEEE Trans. Aerosp. Electron. Syst. 6 (1970).
"""

from __future__ import annotations

from typing import Final, NamedTuple

from ros2_cosim.core.kernel.exactmath import exp

#: How quickly a manoeuvre of the vehicle ahead changes, inverse of a time [1/s].
MANOEUVRE_RATE: Final = 1.25
#: Largest acceleration of a manoeuvre [m/s^2], probability of it with each sign, and of none.
MAX_ACCELERATION: Final = 3.0
EXTREME_SHARE: Final = 0.01
STEADY_SHARE: Final = 0.1
#: Standard deviation of the measured speed [m/s].
SPEED_NOISE: Final = 0.05


class Estimate(NamedTuple):
    """Speed [m/s] and acceleration [m/s^2] of the vehicle ahead."""

    speed: float
    acceleration: float


class SingerEstimator:
    """A Kalman filter on the speed of the vehicle ahead; begins anew with each new vehicle."""

    def __init__(self) -> None:
        """Begin without a vehicle."""
        self._rate = MANOEUVRE_RATE
        self._variance = (
            MAX_ACCELERATION * MAX_ACCELERATION / 3.0 * (1.0 + 4.0 * EXTREME_SHARE - STEADY_SHARE)
        )
        self._noise = SPEED_NOISE * SPEED_NOISE
        self._object: int | None = None
        self._speed = self._acceleration = 0.0
        # Covariance of (speed, acceleration).
        self._ss = self._sa = self._aa = 0.0

    def update(self, number: int, speed: float, dt: float) -> Estimate:
        """Take a measured speed over.

        :param number: identity of the vehicle
        :param speed: measured [m/s]
        :param dt: time since the previous call [s]
        """
        if number != self._object:
            self._object = number
            self._speed, self._acceleration = speed, 0.0
            self._ss, self._sa, self._aa = self._noise, 0.0, self._variance
            return Estimate(speed, 0.0)
        self._predict(dt)
        innovation = speed - self._speed
        total = self._ss + self._noise
        gain_speed, gain_acceleration = self._ss / total, self._sa / total
        self._speed += gain_speed * innovation
        self._acceleration += gain_acceleration * innovation
        self._aa -= gain_acceleration * self._sa
        self._sa -= gain_acceleration * self._ss
        self._ss -= gain_speed * self._ss
        return Estimate(self._speed, self._acceleration)

    def _predict(self, dt: float) -> None:
        rate, variance = self._rate, self._variance
        decay = exp(-rate * dt)
        share = (1.0 - decay) / rate
        self._speed += share * self._acceleration
        self._acceleration *= decay
        ss = self._ss + 2.0 * share * self._sa + share * share * self._aa
        sa = decay * (self._sa + share * self._aa)
        aa = decay * decay * self._aa
        # What the manoeuvre adds within the step, white noise through the same lag.
        added = 2.0 * rate * dt - 3.0 + 4.0 * decay - decay * decay
        self._ss = ss + variance / (rate * rate) * added
        self._sa = sa + variance / rate * (1.0 - decay) * (1.0 - decay)
        self._aa = aa + variance * (1.0 - decay * decay)
