# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""From a demanded acceleration to pedal positions: feed-forward and a slow correction."""

from __future__ import annotations

from collections.abc import Callable

from ros2_cosim.core.kernel import exactmath
from ros2_cosim.driving.controllers.checks import require_not_negative, require_positive

PedalMap = Callable[[float, float], tuple[float, float]]
"""(acceleration [m/s^2], speed [m/s]) -> (throttle, brake), each 0..1."""


class AccelerationTracker:
    """Makes the vehicle's acceleration follow the demand.

    The pedal map gives the feed-forward. What it misses (slope, mass, wear) shows as a
    difference between the measured acceleration and a reference: the demand after a first-order
    lag like the vehicle's own. A slow integral of that difference is added to the demand. A
    right pedal map therefore leaves nothing to correct and the law's dynamics untouched.
    """

    MOVING = 1.0
    """Below this speed [m/s] the correction rests: friction hides the map's error there."""

    def __init__(
        self,
        *,
        pedals: PedalMap,
        lag: float,
        integral_gain: float = 0.3,
        largest_correction: float = 1.0,
    ) -> None:
        """Make a tracker.

        :param pedals: inverse model of the vehicle
        :param lag: time constant of the vehicle's response [s]
        :param integral_gain: gain on the integral of the difference [1/s]; 0: feed-forward only
        :param largest_correction: bound of the correction [m/s^2]
        :raises ConfigurationError: a parameter out of range
        """
        require_positive("AccelerationTracker", lag=lag)
        require_not_negative(
            "AccelerationTracker",
            integral_gain=integral_gain,
            largest_correction=largest_correction,
        )
        self._pedals = pedals
        self._lag = lag
        self._gain = integral_gain
        self._largest = largest_correction
        self._reference: float | None = None
        self._correction = 0.0
        self._demand = 0.0

    def pedals(
        self, demand: float, acceleration: float, speed: float, dt: float
    ) -> tuple[float, float]:
        """Return (throttle, brake) for the coming interval.

        :param demand: demanded acceleration from now on [m/s^2]
        :param acceleration: measured now [m/s^2]
        :param speed: measured now [m/s]
        :param dt: time since the previous call [s]
        """
        reference = self._reference
        if reference is None:
            reference = acceleration
        else:
            # The vehicle has followed the previous demand since the previous call.
            share = 1.0 - exactmath.exp(-dt / self._lag)
            reference += share * (self._demand - reference)
            if speed > self.MOVING:
                correction = self._correction + self._gain * dt * (reference - acceleration)
                self._correction = max(-self._largest, min(self._largest, correction))
        self._reference = reference
        self._demand = demand
        return self._pedals(demand + self._correction, speed)
