# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What the equations of motion of a vehicle give without the model: integrals over the speed."""

from __future__ import annotations

import math
from collections.abc import Callable

from ros2_cosim.world.vehicle import VehicleParameters

#: As numbers of their own: the oracle uses none of the code's.
GRAVITY, AIR_DENSITY = 9.81, 1.184


def _integral(f: Callable[[float], float], low: float, high: float, pieces: int = 2000) -> float:
    """Simpson's rule."""
    h = (high - low) / pieces
    inner = sum((4.0 if i % 2 else 2.0) * f(low + i * h) for i in range(1, pieces))
    return h / 3.0 * (f(low) + inner + f(high))


def resistance(p: VehicleParameters, v: float) -> float:
    """Air and rolling resistance [N]."""
    return 0.5 * AIR_DENSITY * p.drag_area * v * v + p.rolling_resistance * p.mass * GRAVITY


def _drive(p: VehicleParameters, v: float) -> float:
    """Drive force [N]: constant, then of constant power, within the friction of the tyres."""
    force = min(p.max_drive_force, p.max_power / v) if v > 0.0 else p.max_drive_force
    return min(force, p.friction * p.mass * GRAVITY)


def time_to(p: VehicleParameters, speed: float) -> float:
    """From rest to a speed at full throttle [s]."""

    def inverse(v: float) -> float:
        return p.mass / (_drive(p, v) - resistance(p, v))

    # The throttle comes by a first-order lag, which costs its time constant.
    return _integral(inverse, 0.0, speed) + p.throttle_lag


def braking_way(p: VehicleParameters, speed: float) -> float:
    """The way of full braking from a speed [m]."""

    def share(v: float) -> float:
        engine = p.engine_braking_force * min(1.0, v / 4.0)
        brakes = min(p.max_brake_force + engine, p.friction * p.mass * GRAVITY)
        return v * p.mass / (brakes + resistance(p, v))

    # The lag loses some of the change of speed that the brakes make, while the rest goes on.
    braking = min(p.max_brake_force, p.friction * p.mass * GRAVITY - p.engine_braking_force)
    others = p.engine_braking_force + resistance(p, speed)
    lost = _brake_delay(p) * braking / (braking + others)
    return _integral(share, 0.0, speed) + speed * lost - _second_order(p, braking, others)


def _second_order(p: VehicleParameters, braking: float, others: float) -> float:
    """What the lost change of speed is less on the way that it takes [m]."""
    change = _brake_delay(p) * braking / p.mass
    return 0.5 * change * change * p.mass / (braking + others)


def _brake_delay(p: VehicleParameters) -> float:
    """For so long the brakes would have to be without effect to lose what their lag loses [s].

    Their force grows as ``F (1 - exp(-t / lag))`` until the tyres transmit no more.
    """
    room = p.friction * p.mass * GRAVITY - p.engine_braking_force
    if room >= p.max_brake_force:
        return p.brake_lag
    until = -p.brake_lag * math.log(1.0 - room / p.max_brake_force)
    grown = until - p.brake_lag * (1.0 - math.exp(-until / p.brake_lag))
    return until - p.max_brake_force / room * grown


def top_speed(p: VehicleParameters) -> float:
    """Where power and resistance are equal, or the limiter."""
    low, high = 1.0, 150.0
    for _ in range(80):
        middle = 0.5 * (low + high)
        wins = p.max_power > resistance(p, middle) * middle
        low, high = (middle, high) if wins else (low, middle)
    return min(low, p.max_speed)
