# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Forces along the vehicle as functions of pedals and speed, and the inverse of that.

The engine with its gearbox is an ideal one: constant force up to the speed where its power is
reached, constant power above. At closed throttle it drags. The throttle goes linearly from
drag to full force: F = throttle (F_max + F_drag) - F_drag.

The inverse, in steady state and for forward motion, tells which pedals give a demanded
acceleration: the feed-forward of every speed controller. Controllers that use it only have to
correct what the model does not know.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from ros2_cosim.core.kernel.exactmath import sqrt
from ros2_cosim.world.vehicle.parameters import AIR_DENSITY, GRAVITY, VehicleParameters

# Below this speed a demand not to accelerate means: stand, hold the brake.
STANDSTILL_SPEED: Final = 0.05
HOLD_BRAKE: Final = 0.3
# Engine drag reaches its full value at this speed [m/s]; below, the clutch opens.
_DRAG_SPEED: Final = 4.0
# The limiter takes the drive force back over the last part below the maximum speed [m/s].
_LIMITER_BAND: Final = 0.5


def max_drive_force(p: VehicleParameters, speed: float, reverse: bool = False) -> float:
    """Force at full throttle [N] at a speed in the direction of the gear [m/s], >= 0."""
    room = (p.max_reverse_speed if reverse else p.max_speed) - speed
    if room <= 0.0:
        return 0.0
    force = p.max_drive_force
    if speed * force > p.max_power:
        force = p.max_power / speed
    return force if room >= _LIMITER_BAND else force * room / _LIMITER_BAND


def engine_drag(p: VehicleParameters, speed: float) -> float:
    """Force of the closed engine against the motion [N], >= 0, for |v| = speed."""
    if speed >= _DRAG_SPEED:
        return p.engine_braking_force
    return p.engine_braking_force * speed / _DRAG_SPEED


def air_drag(p: VehicleParameters, speed: float) -> float:
    """Force of still air against the motion [N], >= 0, for |v| = speed."""
    return 0.5 * AIR_DENSITY * p.drag_area * speed * speed


def rolling_force(p: VehicleParameters, slope_cosine: float = 1.0) -> float:
    """Rolling resistance against the motion [N], >= 0."""
    return p.rolling_resistance * p.mass * GRAVITY * slope_cosine


def _road_load(p: VehicleParameters, speed: float, slope: float) -> float:
    """Force that slope, tyres and air hold against forward motion [N]."""
    cosine = 1.0 / sqrt(1.0 + slope * slope)
    return rolling_force(p, cosine) + air_drag(p, speed) + p.mass * GRAVITY * slope * cosine


def _grip(p: VehicleParameters, slope: float) -> float:
    """Largest force that the tyres transmit [N]."""
    return p.friction * p.mass * GRAVITY / sqrt(1.0 + slope * slope)


def max_acceleration(p: VehicleParameters, speed: float, slope: float = 0.0) -> float:
    """Acceleration at full throttle [m/s^2] at a forward speed; negative if drag wins."""
    force = min(max_drive_force(p, speed), _grip(p, slope))
    return (force - _road_load(p, speed, slope)) / p.mass


def max_deceleration(p: VehicleParameters, speed: float, slope: float = 0.0) -> float:
    """Deceleration at full brake and closed throttle [m/s^2], positive."""
    force = min(p.max_brake_force + engine_drag(p, speed), _grip(p, slope))
    return (force + _road_load(p, speed, slope)) / p.mass


def coasting_acceleration(p: VehicleParameters, speed: float, slope: float = 0.0) -> float:
    """Acceleration without any pedal [m/s^2]: the border between throttle and brake."""
    return -(engine_drag(p, speed) + _road_load(p, speed, slope)) / p.mass


def pedals_for(
    p: VehicleParameters, acceleration: float, speed: float, slope: float = 0.0
) -> tuple[float, float]:
    """(throttle, brake), each 0..1 and one of them 0, for an acceleration at a forward speed.

    A demand beyond what the vehicle can do gives a full pedal. At standstill a demand of zero
    or less gives a brake that holds.

    :param acceleration: along the vehicle [m/s^2]
    :param speed: forward speed [m/s]; a negative one counts as zero
    :param slope: rise over run in driving direction
    """
    speed = max(speed, 0.0)
    drag = engine_drag(p, speed)
    # What the engine and the brake together have to add to the closed engine's drag.
    demand = p.mass * acceleration + _road_load(p, speed, slope) + drag
    if speed < STANDSTILL_SPEED and acceleration <= 0.0:
        hold = _hold_brake(p, slope)
        return 0.0, max(hold, min(-demand / p.max_brake_force, 1.0))
    if demand >= 0.0:
        full = max_drive_force(p, speed) + drag
        return (min(demand / full, 1.0) if full > 0.0 else 0.0), 0.0
    return 0.0, min(-demand / p.max_brake_force, 1.0)


class PedalMap(NamedTuple):
    """``pedals_for`` of one vehicle on a level road, to be called as (acceleration, speed)."""

    parameters: VehicleParameters

    def __call__(self, acceleration: float, speed: float) -> tuple[float, float]:
        """(throttle, brake) for an acceleration [m/s^2] at a forward speed [m/s]."""
        return pedals_for(self.parameters, acceleration, speed)


def _hold_brake(p: VehicleParameters, slope: float) -> float:
    """Brake that holds on a slope with something to spare."""
    needed = 1.5 * p.mass * GRAVITY * abs(slope) / sqrt(1.0 + slope * slope)
    return min(max(HOLD_BRAKE, needed / p.max_brake_force), 1.0)
