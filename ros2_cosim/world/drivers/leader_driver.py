# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Driver on the simulator's side: constant speed or a given motion, a stop before an obstacle.

Once the way that is left calls for it, the driver brakes with v^2 / (2 d), d being the way to
the stopping point; a constant deceleration keeps that value constant, so that errors correct
themselves. Pedals come from the vehicle's inverse driveline plus an integral part.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.world.vehicle.parameters import VehicleParameters
from ros2_cosim.world.vehicle.pedals import max_deceleration, pedals_for

_SPEED_GAIN: Final = 0.5
_INTEGRAL_GAIN: Final = 0.05
_MAX_INTEGRAL: Final = 0.5
# The integral part rests while the speed is further off than this [m/s].
_INTEGRAL_RANGE: Final = 1.0
# On the speed error while a given motion is followed: its acceleration is known beforehand.
_TRACKING_GAIN: Final = 1.0
_STOPPED_SPEED: Final = 0.02
# The way counted at least, so that the last centimetres do not call for endless deceleration.
_LEAST_WAY: Final = 0.05


class LongitudinalCommand(NamedTuple):
    """Demanded acceleration [m/s^2] and the pedals 0..1 for it."""

    acceleration: float
    throttle: float
    brake: float


class LeaderDriver:
    """Longitudinal driver, called once per period.

    ``braking`` tells that the stop has begun, ``stopped`` that the vehicle stands and is held.
    """

    __slots__ = (
        "_acceleration", "_integral", "braking", "cruise_speed", "deceleration", "jerk",
        "max_acceleration", "parameters", "period", "stop_gap", "stopped",
    )  # fmt: skip

    def __init__(
        self,
        parameters: VehicleParameters,
        *,
        cruise_speed: float,
        stop_gap: float = 7.0,
        deceleration: float = 2.5,
        max_acceleration: float = 1.5,
        jerk: float = 4.0,
        period: float = 0.01,
    ) -> None:
        """Make a driver.

        :param cruise_speed: speed to hold before the stop [m/s]
        :param stop_gap: gap to the obstacle at standstill, bumper to bumper [m]
        :param deceleration: comfortable deceleration of the stop [m/s^2]; more is used only if
            the obstacle is nearer than that
        :param max_acceleration: for reaching the cruise speed [m/s^2]
        :param jerk: how fast the demanded acceleration changes [m/s^3]
        :param period: time between calls [s]
        :raises ConfigurationError: an argument is not positive
        """
        for name, value in (
            ("cruise_speed", cruise_speed),
            ("stop_gap", stop_gap),
            ("deceleration", deceleration),
            ("max_acceleration", max_acceleration),
            ("jerk", jerk),
            ("period", period),
        ):
            if not 0.0 < value < 1e6:
                raise ConfigurationError(f"leader driver: {name}={value!r} must be positive")
        self.parameters = parameters
        self.cruise_speed = cruise_speed
        self.stop_gap = stop_gap
        self.deceleration = deceleration
        self.max_acceleration = max_acceleration
        self.jerk = jerk
        self.period = period
        self.braking = False
        self.stopped = False
        self._acceleration = 0.0
        self._integral = 0.0

    def update(
        self, speed: float, gap: float | None = None, slope: float = 0.0
    ) -> LongitudinalCommand:
        """One period.

        :param speed: forward speed of the vehicle [m/s]
        :param gap: way from the front bumper to the obstacle [m], None without obstacle
        :param slope: rise over run of the road in driving direction
        """
        wanted = self._cruise(speed) if gap is None else self._approach(speed, gap)
        if self.stopped:
            self._acceleration = 0.0
            return LongitudinalCommand(0.0, *pedals_for(self.parameters, 0.0, 0.0, slope))
        change = self.jerk * self.period
        if self.braking and wanted < -1.2 * self.deceleration:
            change = 10.0 * change  # no comfort when the obstacle is too near for it
        step = min(max(wanted - self._acceleration, -change), change)
        self._acceleration += step
        throttle, brake = pedals_for(
            self.parameters, self._acceleration + self._integral, speed, slope
        )
        return LongitudinalCommand(self._acceleration, throttle, brake)

    def follow(
        self,
        speed: float,
        wanted: float,
        acceleration: float,
        gap: float | None = None,
        slope: float = 0.0,
    ) -> LongitudinalCommand:
        """One period of a given motion; an obstacle ahead is stopped for all the same.

        :param speed: forward speed of the vehicle [m/s]
        :param wanted: speed that it should have now [m/s]
        :param acceleration: derivative of that [m/s^2]
        :param gap: way from the front bumper to the obstacle [m], None without obstacle
        :param slope: rise over run of the road in driving direction
        """
        p = self.parameters
        error = wanted - speed
        demand = acceleration + _TRACKING_GAIN * error
        if -_INTEGRAL_RANGE < error < _INTEGRAL_RANGE:
            self._integral += _INTEGRAL_GAIN * error * self.period
            self._integral = min(max(self._integral, -_MAX_INTEGRAL), _MAX_INTEGRAL)
        if gap is None:
            self.braking = self.stopped = False
        elif self._must_stop(speed, gap):
            demand = min(demand, self._stopping(speed, gap))
        if self.stopped or (wanted <= _STOPPED_SPEED and speed <= _STOPPED_SPEED):
            self._acceleration = 0.0
            return LongitudinalCommand(0.0, *pedals_for(p, 0.0, 0.0, slope))
        demand = max(demand, -max_deceleration(p, speed))
        self._acceleration = demand
        throttle, brake = pedals_for(p, demand + self._integral, speed, slope)
        return LongitudinalCommand(demand, throttle, brake)

    def held_back(self, acceleration: float) -> None:
        """Something else has demanded less in this period [m/s^2]: go on from there."""
        self._acceleration = acceleration

    def _cruise(self, speed: float) -> float:
        """Acceleration that holds the cruise speed."""
        self.braking = self.stopped = False
        error = self.cruise_speed - speed
        wanted = _SPEED_GAIN * error
        if -_INTEGRAL_RANGE < error < _INTEGRAL_RANGE:
            self._integral += _INTEGRAL_GAIN * error * self.period
            self._integral = min(max(self._integral, -_MAX_INTEGRAL), _MAX_INTEGRAL)
        return min(max(wanted, -self.deceleration), self.max_acceleration)

    def _approach(self, speed: float, gap: float) -> float:
        """Acceleration towards the stopping point, or cruising while it is far."""
        if not self._must_stop(speed, gap):
            return self._cruise(speed)
        return self._stopping(speed, gap)

    def _must_stop(self, speed: float, gap: float) -> bool:
        """Whether the stop has begun, or has to begin now."""
        if not self.braking:
            # The ramp of the deceleration takes b / j seconds and half of it is lost; so is the
            # way during the lag of the brake.
            ramp = speed * (0.5 * self.deceleration / self.jerk + self.parameters.brake_lag)
            way = gap - self.stop_gap
            self.braking = way <= 0.5 * speed * speed / self.deceleration + ramp
        return self.braking

    def _stopping(self, speed: float, gap: float) -> float:
        """Acceleration of the stop."""
        if speed <= _STOPPED_SPEED:
            self.stopped = True
            return 0.0
        self.stopped = False
        needed = 0.5 * speed * speed / max(gap - self.stop_gap, _LEAST_WAY)
        return -min(needed, max_deceleration(self.parameters, speed))
