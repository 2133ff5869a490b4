# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What linear theory says of a control law in a platoon of equal vehicles: gains of the motion.

The law is linearised by differences about steady following, so that any law can be looked at; the
vehicle is ``exp(-delay s) / (lag s + 1)`` from demanded to real acceleration. Source of the method:
J. Ploeg, N. van de Wouw, H. Nijmeijer, IEEE TCST 22 (2014), sections III and IV.
"""

from __future__ import annotations

import cmath
from collections.abc import Callable
from typing import Final, NamedTuple

from ros2_cosim.driving.controllers.measurement import Measurement, Peer

#: Of the law's inputs, for the differences: large against rounding, small against limits.
_STEP: Final = 1e-3
#: Frequencies [rad/s] among which the largest gain is looked for.
GRID: Final = tuple(10 ** (-2 + 3.2 * i / 400) for i in range(401))
#: A gain that exceeds 1 by less is 1: at low frequency all gains tend to it.
_TOLERANCE: Final = 1e-6
#: A smaller demand is none [m/s^2]: that of steady following, except for rounding.
_NONE: Final = 1e-9
#: Among these a steady gap is looked for [m].
_GAPS: Final = (0.1, 1e4)


class Loop(NamedTuple):
    """What surrounds the law; all times in s."""

    period: float
    lag: float
    delay: float
    v2v_delay: float


#: Makes a law anew; it is asked once, so that what it keeps from one call to the next has no part.
LawMaker = Callable[[], Callable[[Measurement], float]]


class SteadyFollowing(NamedTuple):
    """Steady following: speed and set speed [m/s], standstill gap [m], time gap [s]."""

    speed: float
    set_speed: float
    standstill_gap: float
    time_gap: float


class LinearLaw(NamedTuple):
    """Slopes of the demand: by gap, by the rate of the gap, by own speed and acceleration, by the
    predecessor's demand and acceleration, and by the own previous demand.
    """

    gap: float
    rate: float
    speed: float
    acceleration: float
    forward: float
    ahead: float
    previous: float


def linearised(make: LawMaker, following: SteadyFollowing, period: float) -> LinearLaw | None:
    """The slopes of a law at steady following; None: it keeps no gap at this speed."""
    speed = following.speed
    peer = Peer(speed, 0.0, 0.0, 0.0)
    steady = _steady(
        make,
        Measurement(
            dt=period,
            speed=speed,
            acceleration=0.0,
            gap=following.standstill_gap + following.time_gap * speed,
            gap_rate=0.0,
            standstill_gap=following.standstill_gap,
            time_gap=following.time_gap,
            set_speed=following.set_speed,
            predecessor=peer,
            leader=peer,
        ),
    )
    if steady is None:
        return None
    base = steady

    def slope(changed: Measurement) -> float:
        return (make()(changed) - make()(base)) / _STEP

    faster = peer._replace(speed=speed + _STEP)
    # A law may take the predecessor's speed from the sensor or from V2V: both are moved.
    return LinearLaw(
        gap=slope(base._replace(gap=base.gap + _STEP)),
        rate=slope(base._replace(gap_rate=_STEP, predecessor=faster)),
        speed=slope(base._replace(speed=speed + _STEP, predecessor=faster, leader=faster)),
        acceleration=slope(base._replace(acceleration=_STEP)),
        forward=slope(base._replace(predecessor=peer._replace(commanded_acceleration=_STEP))),
        ahead=slope(base._replace(predecessor=peer._replace(acceleration=_STEP))),
        previous=slope(base._replace(previous_command=_STEP)),
    )


def _steady(make: LawMaker, near: Measurement) -> Measurement | None:
    """Where a law demands nothing: at the gap of the spacing policy, or at one of its own.

    The gap of the Intelligent Driver Model, for one, grows towards the set speed.
    """

    def demand(gap: float) -> float:
        return make()(near._replace(gap=gap))

    if abs(demand(near.gap)) <= _NONE:
        return near
    low, high = _GAPS
    if not demand(low) < 0.0 < demand(high):
        return None
    while high - low > 1e-12 * high:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if demand(middle) < 0.0 else (low, middle)
    return near._replace(gap=high)


def transfer(law: LinearLaw, loop: Loop, w: float) -> complex:
    """Ratio of the motion of a vehicle to that of its predecessor at w [rad/s]."""
    s = 1j * w
    vehicle = cmath.exp(-loop.delay * s) / (loop.lag * s + 1.0)
    radio = cmath.exp(-loop.v2v_delay * s)
    heard = (law.forward / vehicle + law.ahead) * radio * s * s
    own = s * s * (1.0 - law.previous * cmath.exp(-loop.period * s)) / vehicle
    own -= law.speed * s + law.acceleration * s * s
    seen = law.gap + law.rate * s
    return (seen + heard) / (own + seen)


def largest_gain(law: LinearLaw, loop: Loop) -> float:
    """The largest gain over all frequencies."""
    return max(abs(transfer(law, loop, w)) for w in GRID)


def is_string_stable(make: LawMaker, loop: Loop, following: SteadyFollowing) -> bool:
    """Whether no disturbance grows from a vehicle to the next one."""
    linear = linearised(make, following, loop.period)
    return linear is not None and largest_gain(linear, loop) <= 1.0 + _TOLERANCE


def smallest_time_gap(
    make: LawMaker, loop: Loop, following: SteadyFollowing, low: float, high: float
) -> float | None:
    """The smallest time gap [s] from which no disturbance grows, by bisection; None: above high."""

    def stable(time_gap: float) -> bool:
        return is_string_stable(make, loop, following._replace(time_gap=time_gap))

    if not stable(high):
        return None
    while high - low > 1e-3:
        middle = 0.5 * (low + high)
        if stable(middle):
            high = middle
        else:
            low = middle
    return high
