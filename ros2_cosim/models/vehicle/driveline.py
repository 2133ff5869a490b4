# SPDX-License-Identifier: Apache-2.0
"""Forces along the vehicle as functions of pedals and speed: the part that can be inverted.

The engine with its gearbox is an ideal one: constant force up to the speed where its power is
reached, constant power above. At closed throttle it drags. The throttle goes linearly from
drag to full force: F = throttle (F_max + F_drag) - F_drag.
"""

from __future__ import annotations

from ros2_cosim.models.vehicle.parameters import AIR_DENSITY, GRAVITY, VehicleParameters

# Engine drag reaches its full value at this speed [m/s]; below, the clutch opens.
_DRAG_SPEED = 4.0
# The limiter takes the drive force back over the last part below the maximum speed [m/s].
_LIMITER_BAND = 0.5


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
