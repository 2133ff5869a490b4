# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A vehicle whose wheels have different frictions: on a patch of ice, or with unlike tyres.

The bicycle of ``Vehicle`` pushes and holds with four wheels here. Drive and brakes have the shares
of the wheels' loads, and each wheel passes on what its own friction circle allows. What the left
wheels hold less than the right ones turns the vehicle (split mu); anti-lock brakes are ideal.
"""

from __future__ import annotations

from typing import Final

from ros2_cosim.core.kernel.exactmath import sqrt
from ros2_cosim.world.vehicle.parameters import VehicleParameters
from ros2_cosim.world.vehicle.vehicle import Vehicle

#: Front left, front right, rear left, rear right.
Four = tuple[float, float, float, float]
_NOTHING = (0.0, 0.0, 0.0, 0.0)
#: Lateral force that remains at full longitudinal slip, as a share of the friction circle.
_RESERVE: Final = 0.2


def mean_grip(p: VehicleParameters, grips: Four) -> float:
    """The friction of a vehicle all of whose wheels together hold as much [1]."""
    rear = p.front_axle / (p.front_axle + p.rear_axle)
    return 0.5 * ((1.0 - rear) * (grips[0] + grips[1]) + rear * (grips[2] + grips[3]))


class SplitGripVehicle(Vehicle):
    """The bicycle on four tyres of different friction.

    :param parameters: with ``mean_grip`` of the four as friction
    :param grips: friction of each wheel [1]
    :param along: the most of it that acts along the vehicle [1]
    :param track: between the wheels of an axle [m]
    :ivar pushes: forces along the vehicle of the wheels in the last substep [N]
    """

    __slots__ = ("along", "grips", "half_track", "pushes")

    def __init__(
        self,
        parameters: VehicleParameters,
        x: float = 0.0,
        y: float = 0.0,
        yaw: float = 0.0,
        speed: float = 0.0,
        *,
        grips: Four = (1.0, 1.0, 1.0, 1.0),
        along: float = 1.0,
        track: float = 1.6,
    ) -> None:
        super().__init__(parameters, x, y, yaw, speed)
        self.grips, self.along = grips, along
        self.half_track = 0.5 * track
        self.pushes: Four = _NOTHING

    def _tyre_forces(
        self, reverse: bool, hand_brake: bool, vx: float, speed: float
    ) -> tuple[float, float]:
        active, resisting = super()._tyre_forces(reverse, hand_brake, vx, speed)
        weight = self._weight
        front, rear = self._axle_loads(weight)
        sign = 1.0 if vx > 0.0 else -1.0 if vx < 0.0 else 0.0
        pushing = holding = 0.0
        pushes = []
        for wheel in range(4):
            load = 0.5 * (front if wheel < 2 else rear)
            most, share = min(self.grips[wheel], self.along) * load, load / weight
            push = active * share
            push = most if push > most else -most if push < -most else push
            room, hold = most + sign * push, resisting * share
            hold = room if hold > room else hold
            pushing += push
            holding += hold
            pushes.append(push - sign * hold)
        self.pushes = pushes[0], pushes[1], pushes[2], pushes[3]
        right = pushes[1] + pushes[3]
        self._moment = self.half_track * (right - pushes[0] - pushes[2])
        return pushing, holding

    def _axle_stiffness(
        self, wheel: float, load_front: float, load_rear: float
    ) -> tuple[float, float]:
        p = self.parameters
        vx, vy, yaw_rate = self.vx, self.vy, self.yaw_rate
        front = p.front_stiffness * load_front
        rear = p.rear_stiffness * load_rear
        speed = vx if vx >= 0.0 else -vx
        most_front = self._held(0, load_front) + self._held(1, load_front)
        most_rear = self._held(2, load_rear) + self._held(3, load_rear)
        if self.soft:
            return self._soft_stiffness(load_front, load_rear, most_front, most_rear)
        slip_front = abs(vy + p.front_axle * yaw_rate - vx * wheel) / speed
        slip_rear = abs(vy - p.rear_axle * yaw_rate) / speed
        if front * slip_front > most_front:
            front = most_front / slip_front
        if rear * slip_rear > most_rear:
            rear = most_rear / slip_rear
        return front, rear

    def _held(self, wheel: int, load: float) -> float:
        """Largest lateral force of a wheel [N]; ``load`` is that of its axle [N]."""
        most, push = 0.5 * self.grips[wheel] * load, self.pushes[wheel]
        left, least = most * most - push * push, _RESERVE * most
        return sqrt(left) if left > least * least else least
