# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Engine and gearbox of a vehicle (``VehiclePhysicsControl``).

A torque curve with gears says which force the wheels get at full throttle.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final, NamedTuple

from ros2_cosim.core.kernel.exactmath import PI

#: Below this share of the largest engine speed the clutch slips, so that the engine turns so fast.
_SLIPPING: Final = 0.1
#: The limiter takes the force back over the last part of the engine speed, as a share of it.
_LIMITER: Final = 0.05
#: Of the table of forces, from standstill to the largest engine speed.
_STEPS: Final = 160
#: A speed at which no gear is changed [m/s].
_NEVER: Final = 1.0e9
#: [1/min per rad/s]
TO_RPM: Final = 60.0 / (2.0 * PI)

Curve = tuple[tuple[float, float], ...]


class Gear(NamedTuple):
    """A forward gear: turns of the engine per turn of the wheel, shares of the largest speed.

    The automatic gearbox goes one gear up above ``up``, and one down below ``down``.
    """

    ratio: float
    down: float
    up: float


class DriveEngine(NamedTuple):
    """An engine and its gears.

    :ivar curve: torque [N m] at engine speeds [1/min], in increasing order
    :ivar max_rpm: largest engine speed [1/min]
    :ivar gears: the forward gears; backwards the first one drives
    :ivar switch_time: for so long [s] a change of gears interrupts the drive
    :ivar is_automatic: whether the gearbox shifts by itself
    :ivar radius: of the wheels [m]
    :ivar inertia: moment of inertia of the engine [kg m^2]
    :ivar damping: torque over speed of the engine [N m s] at full throttle, and without throttle;
        None: the drag of the vehicle's class
    :ivar clutch: torque over the difference of speeds [N m s]; 0: it does not slip
    :ivar final: the part of all ratios that the axle has
    :ivar apart: damping with an open clutch [N m s], which no motion shows
    """

    curve: Curve
    max_rpm: float
    gears: tuple[Gear, ...]
    switch_time: float
    is_automatic: bool
    radius: float
    inertia: float = 0.0
    damping: tuple[float, float] | None = None
    clutch: float = 0.0
    final: float = 1.0
    apart: float = 0.0

    def largest_force(self) -> float:
        """Of all gears and engine speeds [N]."""
        torque = max(torque for _, torque in self.curve)
        return torque * max(gear.ratio for gear in self.gears) / self.radius

    def largest_drag(self) -> float:
        """Of the damping without throttle, at any speed [N]."""
        if self.damping is None:
            return 0.0
        gearing = max(gear.ratio for gear in self.gears) / self.radius
        return max(self.damping) * self.max_rpm / TO_RPM * gearing

    def top_speed(self) -> float:
        """At the largest engine speed in the longest gear [m/s]."""
        return self.max_rpm / TO_RPM / min(gear.ratio for gear in self.gears) * self.radius


@lru_cache(maxsize=1024)
def _forces(engine: DriveEngine, gear: int) -> list[float]:
    """Force at the wheels at full throttle in a gear [N], at equal steps of the wheels' speed.

    They go from standstill to the largest engine speed; the clutch slips at the slowest ones.
    """
    ratio, most = engine.gears[gear].ratio, engine.max_rpm
    found = []
    for step in range(_STEPS):
        turns = max(step / _STEPS, _SLIPPING) * most
        force = max(0.0, _passed_on(engine, turns) * ratio / engine.radius)
        room = (1.0 - turns / most) / _LIMITER
        found.append(force * room if room < 1.0 else force)
    return [*found, 0.0]


def _passed_on(engine: DriveEngine, turns: float) -> float:
    """What the clutch passes on at full throttle [N m], at turns of the wheels' side [1/min].

    The engine turns faster than the other side of the clutch by as much as the torque needs.
    """
    torque = interpolated(engine.curve, turns)
    if engine.clutch <= 0.0:
        return torque
    room = engine.clutch * (engine.max_rpm - turns) / TO_RPM
    slip = min(torque, room) / engine.clutch * TO_RPM
    return min(interpolated(engine.curve, turns + slip), room)


class Gearbox:
    """The gear that is in, and the change to it."""

    def __init__(self, engine: DriveEngine, gear: int = 1) -> None:
        self.engine = engine
        #: 1 is the first one, -1 backwards, 0 neutral.
        self.gear = gear
        #: Whether the last step has changed nothing.
        self.is_steady = False
        self._left = 0.0
        self._engage()

    def _engage(self) -> None:
        """Take over what depends on the gear alone."""
        engine = self.engine
        number = max(self.gear, 1) - 1
        gear = engine.gears[number]
        self._ratio = gear.ratio
        #: Of the wheels' speed, in steps of the table of forces.
        self._steps = _STEPS * gear.ratio / engine.radius * TO_RPM / engine.max_rpm
        self._table = _forces(engine, number)
        gearing = gear.ratio / engine.radius
        #: What of the engine's inertia the vehicle feels as mass while the clutch is closed [kg].
        self.mass = engine.inertia * gearing * gearing
        self._full = self._none = 0.0
        if engine.damping is not None:
            full, none = engine.damping
            self._full, self._none = full * gearing * gearing, none * gearing * gearing
        #: Slower than the first the gearbox goes one gear down, faster than the second one up.
        to_turns = self._steps / _STEPS
        shifts = engine.is_automatic
        self.slowest = gear.down / to_turns if shifts and number > 0 else -1.0
        is_last = number + 1 == len(engine.gears)
        self.fastest = gear.up / to_turns if shifts and not is_last else _NEVER

    @property
    def is_open(self) -> bool:
        """Whether the engine is parted from the wheels: in neutral, and while it shifts."""
        return self.gear == 0 or self._left > 0.0

    def step(self, dt: float, speed: float, wanted: int | None, reverse: bool) -> None:
        """Shift.

        :param speed: along the vehicle [m/s]
        :param wanted: the gear that the driver has chosen by hand; None: the gearbox shifts
        :param reverse: whether the driver wants to go backwards
        """
        self.is_steady = self._left <= 0.0
        if self._left > 0.0:
            self._left -= dt
        gear = self._next(speed, wanted, reverse)
        if gear != self.gear:
            self.gear = gear
            self._left = self.engine.switch_time
            self._engage()
            self.is_steady = False

    def force(self, speed: float) -> float:
        """Force at the wheels at full throttle [N] at a speed along the vehicle [m/s]."""
        if self.is_open:
            return 0.0
        place = (0.0 - speed if self.gear < 0 else speed) * self._steps
        if place >= _STEPS:
            return 0.0
        table = self._table
        if place <= 0.0:
            return table[0]
        step = int(place)
        return table[step] + (place - step) * (table[step + 1] - table[step])

    def drag(self, speed: float, throttle: float, usual: float) -> float:
        """Force of the engine's damping against the motion [N].

        :param speed: along the vehicle [m/s], without its sign
        :param usual: drag of the vehicle's class without throttle
        """
        if self.engine.damping is None:
            return (1.0 - throttle) * usual
        return (throttle * self._full + (1.0 - throttle) * self._none) * speed

    def rpm(self, speed: float) -> float:
        """Speed of the engine [1/min]."""
        if self.gear == 0:
            return 0.0
        return abs(speed) / self.engine.radius * self._ratio * TO_RPM

    def _next(self, speed: float, wanted: int | None, reverse: bool) -> int:
        last = len(self.engine.gears)
        if wanted is not None:
            return max(-1, min(wanted, last))
        if reverse:
            return -1
        if self.gear < 1:
            return 1
        if self._left > 0.0:
            return self.gear
        rolls = abs(speed)
        if rolls > self.fastest:
            return self.gear + 1
        return self.gear - 1 if rolls < self.slowest else self.gear


def interpolated(curve: Curve, x: float) -> float:
    """The value of a curve of points with increasing x; beyond its ends that of the end."""
    x0, y0 = curve[0]
    if x <= x0:
        return y0
    for x1, y1 in curve[1:]:
        if x <= x1:
            return y1 if x1 == x0 else y0 + (y1 - y0) * (x - x0) / (x1 - x0)
        x0, y0 = x1, y1
    return y0
