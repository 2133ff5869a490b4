# SPDX-License-Identifier: Apache-2.0
"""Engine and gearbox of a vehicle whose client has set them (``VehiclePhysicsControl``).

The drive of the vehicles themselves is an ideal one of constant force, then of constant power. A
torque curve with gears takes its place: it says which force the wheels get at full throttle.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from ros2_cosim.core.kernel.exactmath import PI

#: Below this share of the largest engine speed the clutch slips, so that the engine turns so fast.
_SLIPPING: Final = 0.1
#: The limiter takes the force back over the last part of the engine speed, as a share of it.
_LIMITER: Final = 0.05
_TO_RPM: Final = 60.0 / (2.0 * PI)

Curve = tuple[tuple[float, float], ...]


class Gear(NamedTuple):
    """A forward gear: turns of the engine per turn of the wheel, shares of the largest speed.

    The automatic gearbox goes one gear up above ``up``, and one down below ``down``.
    """

    ratio: float
    down: float
    up: float


class DriveEngine(NamedTuple):
    """What a client has set.

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

    def largest_force(self) -> float:
        """Of all gears and engine speeds [N]."""
        torque = max(torque for _, torque in self.curve)
        return torque * max(gear.ratio for gear in self.gears) / self.radius

    def top_speed(self) -> float:
        """At the largest engine speed in the longest gear [m/s]."""
        return self.max_rpm / _TO_RPM / min(gear.ratio for gear in self.gears) * self.radius


class Gearbox:
    """The gear that is in, and the change to it."""

    def __init__(self, engine: DriveEngine) -> None:
        self.engine = engine
        #: 1 is the first one, -1 backwards, 0 neutral.
        self.gear = 1
        self._left = 0.0

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
        if self._left > 0.0:
            self._left -= dt
        gear = self._next(speed, wanted, reverse)
        if gear != self.gear:
            self.gear = gear
            self._left = self.engine.switch_time

    def force(self, speed: float) -> float:
        """Force at the wheels at full throttle [N] at a speed along the vehicle [m/s]."""
        if self.is_open:
            return 0.0
        forwards = 0.0 - speed if self.gear < 0 else speed
        ratio = self._ratio()
        turns = max(forwards, 0.0) / self.engine.radius * ratio * _TO_RPM
        if turns >= self.engine.max_rpm:
            return 0.0
        turns = max(turns, _SLIPPING * self.engine.max_rpm)
        force = max(0.0, self._torque(turns) * ratio / self.engine.radius)
        room = (1.0 - turns / self.engine.max_rpm) / _LIMITER
        return force * room if room < 1.0 else force

    def _torque(self, turns: float) -> float:
        """What the clutch passes on at full throttle [N m], at turns of the wheels' side [1/min].

        The engine turns faster than the other side of the clutch by as much as the torque needs.
        """
        torque = interpolated(self.engine.curve, turns)
        if self.engine.clutch <= 0.0:
            return torque
        room = self.engine.clutch * (self.engine.max_rpm - turns) / _TO_RPM
        slip = min(torque, room) / self.engine.clutch * _TO_RPM
        return min(interpolated(self.engine.curve, turns + slip), room)

    def drag(self, speed: float, throttle: float, usual: float) -> float:
        """Force of the engine's damping against the motion [N].

        :param speed: along the vehicle [m/s], without its sign
        :param usual: drag of the vehicle's class without throttle
        """
        if self.engine.damping is None:
            return (1.0 - throttle) * usual
        full, none = self.engine.damping
        rate = throttle * full + (1.0 - throttle) * none
        gearing = self._ratio() / self.engine.radius
        return rate * speed * gearing * gearing

    def added_mass(self) -> float:
        """What of the engine's inertia the vehicle feels as mass [kg]."""
        if self.is_open:
            return 0.0
        gearing = self._ratio() / self.engine.radius
        return self.engine.inertia * gearing * gearing

    def largest_drag(self) -> float:
        """Of the damping without throttle, at any speed [N]."""
        if self.engine.damping is None:
            return 0.0
        gearing = max(gear.ratio for gear in self.engine.gears) / self.engine.radius
        return max(self.engine.damping) * self.engine.max_rpm / _TO_RPM * gearing

    def rpm(self, speed: float) -> float:
        """Speed of the engine [1/min]."""
        if self.gear == 0:
            return 0.0
        return abs(speed) / self.engine.radius * self._ratio() * _TO_RPM

    def _ratio(self) -> float:
        return self.engine.gears[max(self.gear, 1) - 1].ratio

    def _next(self, speed: float, wanted: int | None, reverse: bool) -> int:
        gears = self.engine.gears
        if wanted is not None:
            return max(-1, min(wanted, len(gears)))
        if reverse:
            return -1
        if self.gear < 1:
            return 1
        if self._left > 0.0 or not self.engine.is_automatic:
            return self.gear
        turns = self.rpm(speed) / self.engine.max_rpm
        present = gears[self.gear - 1]
        if turns > present.up and self.gear < len(gears):
            return self.gear + 1
        if turns < present.down and self.gear > 1:
            return self.gear - 1
        return self.gear


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
