# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The way of a command to the wheels: delay, saturation and rate limit of each actuator."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from math import inf, isfinite
from typing import Generic, TypeVar

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.time import SECOND, format_ns
from ros2_cosim.vds.vehicle_plant import IDLE, VehicleCommand

_Value = TypeVar("_Value")
MAX_DELAY = 10 * SECOND


class DelayLine(Generic[_Value]):
    """A value that is seen a constant time later, held in between (zero-order hold).

    :param delay_ns: 0..10 s [ns]; need not be a multiple of any step
    :param initial: what is seen before the first value arrives
    :raises ConfigurationError: the delay is out of range
    """

    def __init__(self, delay_ns: int, initial: _Value) -> None:
        if not 0 <= delay_ns <= MAX_DELAY:
            raise ConfigurationError(
                f"delay: found {format_ns(delay_ns)}; allowed is 0s to {format_ns(MAX_DELAY)}"
            )
        self._delay = delay_ns
        self._seen = initial
        self._coming: deque[tuple[int, _Value]] = deque()

    def put(self, time: int, value: _Value) -> None:
        """Enter a value at a time [ns], which never decreases."""
        self._coming.append((time + self._delay, value))

    def at(self, time: int) -> _Value:
        """The newest value that has arrived at a time [ns], which never decreases."""
        coming = self._coming
        while coming and coming[0][0] <= time:
            self._seen = coming.popleft()[1]
        return self._seen


@dataclass(frozen=True)
class ActuatorLimits:
    """Range and largest rate of change [1/s] of one actuator; infinite by default."""

    low: float = -inf
    high: float = inf
    rate: float = inf

    def __post_init__(self) -> None:
        """Refuse limits that leave no value, or no motion."""
        if not (self.low <= self.high and self.rate > 0.0):
            raise ConfigurationError(
                f"actuator: found low {self.low!r}, high {self.high!r}, rate {self.rate!r}; "
                "allowed is low <= high and a rate above 0"
            )

    def follow(self, position: float, target: float, seconds: float) -> float:
        """Where an actuator gets from a position towards a target in a time [s]."""
        target = self.low if target < self.low else self.high if target > self.high else target
        way = self.rate * seconds
        if target > position + way:
            return position + way
        return position - way if target < position - way else target


@dataclass(frozen=True)
class ActuatorSettings:
    """Delay [ns] common to all channels, limits of each; the pedals are 0..1 at most."""

    delay_ns: int = 0
    steer: ActuatorLimits = ActuatorLimits()
    throttle: ActuatorLimits = ActuatorLimits(0.0, 1.0)
    brake: ActuatorLimits = ActuatorLimits(0.0, 1.0)


class Actuator:
    """Turns commands into what the vehicle gets; starts at ``initial`` and moves from there.

    Gear, hand brake and the advisory values are delayed only.
    """

    def __init__(self, settings: ActuatorSettings, initial: VehicleCommand = IDLE) -> None:
        self._settings = settings
        self._line = DelayLine(settings.delay_ns, initial)
        self._steer, self._throttle, self._brake = initial.steer, initial.throttle, initial.brake

    def apply(self, command: VehicleCommand, time: int, dt_ns: int) -> VehicleCommand:
        """What holds during the step that begins at a time.

        :param command: the command at ``time``; its steer and pedals must be finite
        :param time: begin of the step [ns]
        :param dt_ns: its length [ns]
        :raises ConfigurationError: a value is not finite
        """
        if not (isfinite(command.steer) and isfinite(command.throttle) and isfinite(command.brake)):
            raise ConfigurationError(f"command {command!r}: steer and pedals must be finite")
        self._line.put(time, command)
        wanted = self._line.at(time)
        seconds = dt_ns / SECOND
        s = self._settings
        self._steer = s.steer.follow(self._steer, wanted.steer, seconds)
        self._throttle = s.throttle.follow(self._throttle, wanted.throttle, seconds)
        self._brake = s.brake.follow(self._brake, wanted.brake, seconds)
        return wanted._replace(steer=self._steer, throttle=self._throttle, brake=self._brake)
