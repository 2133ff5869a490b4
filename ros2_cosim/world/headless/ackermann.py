# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The controller behind Ackermann control: the law of CARLA's own one.

Two PID controllers follow each other: one of the speed, whose output changes the acceleration that
is wanted, and one of the acceleration, whose output changes the position of the pedals. So their
gains are per step, as in CARLA: the same gains with another step size behave otherwise.
"""

from __future__ import annotations

from typing import Final

from ros2_cosim.world.headless.wire_types import (
    AckermannControl,
    AckermannSettings,
    VehicleControl,
)

#: Limits where a client names no acceleration [m/s^2].
_MOST_ACCELERATION: Final = 3.0
_MOST_DECELERATION: Final = 8.0
#: Below it a vehicle stands [m/s]: it may change its direction, and is held where it is to stand.
_STANDING: Final = 0.1
#: A slower turn of the wheels is none: they turn at once [rad/s].
_LEAST_STEER_SPEED: Final = 0.001
#: A smaller acceleration is none named [m/s^2].
_LEAST_ACCELERATION: Final = 0.0001
#: The measured acceleration is smoothed: the share of the last value in the next one.
_SMOOTHING: Final = 0.8


class Pid:
    """A controller whose output and integral stay within -1 and 1."""

    def __init__(self, start: float) -> None:
        """Begin at a measured value."""
        self._integral = 0.0
        self._last = start

    def run(self, gains: tuple[float, float, float], target: float, now: float, dt: float) -> float:
        """The output; ``now`` is the measured value."""
        kp, ki, kd = gains
        error = target - now
        self._integral = _within(self._integral + ki * error * dt, 1.0)
        derivative = 0.0 - kd * (now - self._last) / dt
        self._last = now
        return _within(kp * error + self._integral + derivative, 1.0)


class AckermannController:
    """Makes controls of a demanded speed, acceleration and steering angle."""

    def __init__(self) -> None:
        self.settings = AckermannSettings()
        self.demand: AckermannControl | None = None
        self._reset()

    def follow(self, demand: AckermannControl | None) -> None:
        """Follow a demand from now on; None: the vehicle is controlled otherwise."""
        if demand is None and self.demand is not None:
            self._reset()
        self.demand = demand

    def _reset(self) -> None:
        self._begin(0.0)
        self._runs = False

    def _begin(self, speed: float) -> None:
        """Start at a speed; unlike CARLA's own one it does not take it for an acceleration."""
        self._speed_control, self._acceleration_control = Pid(speed), Pid(0.0)
        self._steer = self._acceleration = self._pedals = 0.0
        self._speed, self._felt = speed, 0.0
        self._reverse = speed < 0.0 - _STANDING
        self._runs = True

    def controls(
        self, demand: AckermannControl, speed: float, most_steer: float, dt: float
    ) -> VehicleControl:
        """The controls of the next step.

        :param speed: along the vehicle [m/s]
        :param most_steer: largest angle of the wheels [rad]
        """
        if not self._runs:
            self._begin(speed)
        felt = (speed - self._speed) / dt
        self._felt = _SMOOTHING * self._felt + (1.0 - _SMOOTHING) * felt
        self._speed = speed
        self._turn(demand, most_steer, dt)
        steer = self._steer / most_steer
        target, stands = demand.speed, abs(speed) < _STANDING
        if stands and abs(target) < _STANDING:
            return VehicleControl(0.0, steer, 1.0, reverse=self._reverse)
        if stands:
            self._reverse = target < 0.0
        elif speed * target < 0.0:
            target = 0.0  # it stops first
        self._accelerate(demand, target, dt)
        forwards = 0.0 - self._pedals if self._reverse else self._pedals
        return VehicleControl(
            max(forwards, 0.0), steer, max(0.0 - forwards, 0.0), reverse=self._reverse
        )

    def _turn(self, demand: AckermannControl, most: float, dt: float) -> None:
        target, rate = _within(demand.steer, most), abs(demand.steer_speed)
        most_turn = rate * dt
        if rate < _LEAST_STEER_SPEED:
            self._steer = target
        else:
            self._steer += _within(target - self._steer, most_turn)

    def _accelerate(self, demand: AckermannControl, target: float, dt: float) -> None:
        kit = self.settings
        gains = kit.speed_kp, kit.speed_ki, kit.speed_kd
        self._acceleration += self._speed_control.run(gains, target, self._speed, dt)
        most = abs(demand.acceleration)
        if most < _LEAST_ACCELERATION:
            low, high = 0.0 - _MOST_DECELERATION, _MOST_ACCELERATION
        else:
            low, high = 0.0 - most, most
        self._acceleration = min(high, max(low, self._acceleration))
        gains = kit.accel_kp, kit.accel_ki, kit.accel_kd
        change = self._acceleration_control.run(gains, self._acceleration, self._felt, dt)
        self._pedals = _within(self._pedals + change, 1.0)


def _within(value: float, most: float) -> float:
    return min(most, max(0.0 - most, value))
