# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A vehicle moved by pedals and steering: longitudinal dynamics and a dynamic bicycle.

Longitudinal: pedals and steering act through first-order lags (discretised exactly); drive
force, engine drag, brakes, air, rolling resistance and slope give the acceleration. Brakes and
resistances only ever stop a vehicle: it comes to rest exactly and stays there until a force
exceeds them.

Lateral: bicycle with load transfer by acceleration; the tyre forces of each axle are limited by
what longitudinal force leaves of the friction circle. They are integrated implicitly, because
tyre stiffness divided by speed has no bound; towards standstill this turns into the kinematic
bicycle, which takes over altogether below walking speed.
"""

from __future__ import annotations

from math import copysign, nan
from typing import Final, NamedTuple

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.exactmath import exp, sincos, sqrt, wrap_angle
from ros2_cosim.world.vehicle.parameters import GRAVITY, VehicleParameters
from ros2_cosim.world.vehicle.pedals import air_drag, engine_drag, max_drive_force

MAX_SUBSTEP: Final = 0.010
MAX_STEP: Final = 1.0
_KINEMATIC_SPEED: Final = 0.5
# The gearbox refuses a gear against a faster motion than this [m/s].
_GEAR_CHANGE_SPEED: Final = 1.0
# The hand brake locks the rear axle: a share of the weight, whatever the pedal.
_HAND_BRAKE_SHARE: Final = 0.45
# Lateral force that remains at full longitudinal slip, as a share of the friction circle.
_LATERAL_RESERVE: Final = 0.2
_LEAST_LOAD: Final = 0.05  # of the weight, on each axle
# A vehicle whose wheels hardly touch the ground is beyond this model.
_LEAST_PRESSED: Final = 0.1
# A vehicle that turns faster than this [rad/s] spins.
_SPIN: Final = 3.0
#: PhysX's tyres slip as if they were faster by so much [m/s].
_SLOWEST_SLIP: Final = 1.0
_LEAST_LATERAL_SHARE: Final = _LATERAL_RESERVE * _LATERAL_RESERVE
_NEVER = (0.0, 0.0, 0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 0.0)


class ActuatorCommand(NamedTuple):
    """Command to a vehicle: pedals 0..1, steer -1..1 positive to the left (REP-103)."""

    throttle: float = 0.0
    brake: float = 0.0
    steer: float = 0.0
    reverse: bool = False
    hand_brake: bool = False


def substeps(dt: float, longest: float) -> int:
    """How many equal parts, none of them above ``longest``, a step has."""
    return 1 if dt <= longest else -int(-(dt / longest - 1e-9) // 1)


def steered(angle: float, wanted: float, share: float, limit: float, unwinding: float) -> float:
    """The angle of the front wheels after a substep [rad].

    :param angle: before it
    :param share: of the way to the wanted angle, by the lag of the steering
    :param limit: the largest change, by its rate
    :param unwinding: the wheels turn back so many times as fast
    """
    change = share * (wanted - angle)
    if change * angle < 0.0:
        limit *= unwinding
    return angle + (-limit if change < -limit else limit if change > limit else change)


#: All that the motion of a step depends on, apart from the command: vx, vy, yaw_rate, ax, ay;
#: throttle, brake, steer_angle; slope, cross, lengths of substep and step.
_Inner = tuple[
    tuple[float, float, float, float, float],
    tuple[float, float, float],
    tuple[float, float, float, float],
]


def _signs(inner: _Inner) -> float:
    """Another number for each choice of signs, also of zeros."""
    (vx, vy, rate, ax, ay), (throttle, brake, steer), (slope, cross, _, _) = inner
    return (
        copysign(1.0, vx) + copysign(2.0, vy) + copysign(4.0, rate) + copysign(8.0, ax)
        + copysign(16.0, ay) + copysign(32.0, throttle) + copysign(64.0, brake)
        + copysign(128.0, steer) + copysign(256.0, slope) + copysign(512.0, cross)
    )  # fmt: skip


class Vehicle:
    """State of one vehicle; plain floats, changed by ``step`` alone.

    Position [m] of the centre of the footprint, seen from above, in a right-handed frame;
    ``yaw`` [rad]; ``vx``, ``vy`` [m/s] and ``yaw_rate`` [rad/s] in the body frame; ``ax``,
    ``ay`` [m/s^2] mean acceleration of the last substep in the body frame, without gravity;
    ``throttle``, ``brake`` and ``steer_angle`` [rad] are what the actuators have reached;
    ``distance`` [m] is the way driven, backwards counted negative. A step is divided into equal
    ones of at most ``longest_substep`` [s].
    """

    __slots__ = (
        "_angle", "_began", "_began_at", "_command", "_cosine", "_cross", "_ended", "_grip",
        "_is_noted", "_lags", "_moment", "_repeats", "_reserve", "_rolling", "_sideways", "_signs",
        "_sine", "_steered", "_step_size", "_tangent", "_ways", "_weight", "_wheel_cosine",
        "_wheel_sine", "ax", "ay", "brake", "distance", "inner", "longest_substep", "parameters",
        "soft", "steer_angle", "throttle", "unwinding", "vx", "vy", "x", "y", "yaw", "yaw_rate",
    )  # fmt: skip

    def __init__(
        self,
        parameters: VehicleParameters,
        x: float = 0.0,
        y: float = 0.0,
        yaw: float = 0.0,
        speed: float = 0.0,
    ) -> None:
        """Place a vehicle that rolls straight on at a speed [m/s]."""
        self.parameters = parameters
        # On level ground: weight, what the tyres transmit, rolling resistance [N].
        self._weight = parameters.mass * GRAVITY
        self._grip = parameters.friction * parameters.mass * GRAVITY
        self._rolling = parameters.rolling_resistance * parameters.mass * GRAVITY
        self.x, self.y, self.yaw = x, y, wrap_angle(yaw)
        self.vx, self.vy, self.yaw_rate = speed, 0.0, 0.0
        self.ax = self.ay = 0.0
        self.throttle = self.brake = self.steer_angle = 0.0
        self.distance = 0.0
        self._step_size = 0.0
        self._reserve = 1.0
        #: About the vertical axis, of wheels that do not push alike on both sides [N m].
        self._moment = 0.0
        # Of the road: rise to the left over run, and the force with which it pulls right [N].
        self._cross = self._sideways = 0.0
        self.longest_substep: float = MAX_SUBSTEP
        #: Half the track over the wheelbase, if ``steer_angle`` is that of the wheel on the inner
        #: side of the bend; 0: that of a wheel in the middle of the axle.
        self.inner = 0.0
        #: The wheels turn back towards straight on so many times as fast.
        self.unwinding = 1.0
        #: Whether the tyres hold sideways as those of PhysX do: see ``soft_share``.
        self.soft = False
        #: Shares of the way that throttle, brake and steering go in one substep.
        self._lags = (0.0, 0.0, 0.0)
        #: The last angle of which sine and cosine were taken.
        self._angle, self._sine, self._cosine = 0.0, 0.0, 1.0
        #: The last angle of the steering; tangent, sine, cosine of a wheel in the middle.
        self._steered, self._tangent = 0.0, 0.0
        self._wheel_sine, self._wheel_cosine = 0.0, 1.0
        # A step that begins as the one before goes as that one: a vehicle that stands, or that
        # is held at a speed. This is how the last step began; if it was a second one of its kind,
        # also how it ended, and what its substeps added to distance, place and yaw. Of the first
        # one at a speed, only that speed is noted.
        self._began: _Inner = _NEVER
        self._began_at: float = nan
        self._is_noted = False
        #: Of how it began; 0: not needed yet.
        self._signs = 0.0
        self._command = ActuatorCommand()
        self._ended: _Inner = _NEVER
        self._ways: list[tuple[float, float, float, float]] | None = None
        #: Whether a subclass has no state of its own.
        self._repeats = True

    def step(
        self, dt: float, control: ActuatorCommand, slope: float = 0.0, cross: float = 0.0
    ) -> None:
        """Move by ``dt`` seconds under a constant control.

        :param dt: step [s], 0 < dt <= 1; divided into equal substeps, see the class
        :param control: values outside their range are clipped
        :param slope: rise over run of the road in the direction of the vehicle
        :param cross: rise over run to the left of the vehicle
        :raises ConfigurationError: dt out of range, or a control that is not a number
        """
        if not 0.0 < dt <= MAX_STEP:
            raise ConfigurationError(f"vehicle step dt={dt!r} s must be above 0 and at most 1")
        throttle, brake, steer, reverse, hand_brake = control
        total = throttle + brake + steer
        if total - total != 0.0:
            raise ConfigurationError(f"vehicle control {control!r}: every value must be finite")
        longest = self.longest_substep
        count = 1 if dt <= longest else substeps(dt, longest)
        h = dt / count
        if h != self._step_size:
            p = self.parameters
            self._step_size = h
            self._lags = (
                1.0 - exp(-h / p.throttle_lag),
                1.0 - exp(-h / p.brake_lag),
                1.0 - exp(-h / p.steer_lag),
            )
        if cross != self._cross:
            self._cross = cross
            self._sideways = self._weight * cross / sqrt(1.0 + cross * cross)
        is_known = False
        if control is not self._command or self.vx != self._began_at:
            self._command, self._began_at = control, self.vx
            self._is_noted, self._ways = False, None
        else:
            began = self._inner(slope, cross, h, dt)
            is_known = self._is_noted and self._repeats and began == self._began
            signs = 0.0
            if is_known:
                signs = _signs(began)
                is_known = signs == (self._signs or _signs(self._began))
            if is_known and self._ways is not None:
                for rolled, along, slid, turned in self._ways:
                    self._go(rolled, along, slid, turned)
                motion, actuators, _ = self._ended
                self.vx, self.vy, self.yaw_rate, self.ax, self.ay = motion
                self.throttle, self.brake, self.steer_angle = actuators
                return
            self._began, self._signs, self._is_noted = began, signs, True
            self._ways = [] if is_known else None
        throttle = 0.0 if throttle < 0.0 else 1.0 if throttle > 1.0 else throttle
        brake = 0.0 if brake < 0.0 else 1.0 if brake > 1.0 else brake
        steer = -1.0 if steer < -1.0 else 1.0 if steer > 1.0 else steer
        for _ in range(count):
            self._actuate(h, throttle, brake, steer)
            self._move(h, reverse, hand_brake, slope)
        if is_known:
            self._ended = self._inner(slope, cross, h, dt)

    def _inner(self, slope: float, cross: float, h: float, dt: float) -> _Inner:
        motion = self.vx, self.vy, self.yaw_rate, self.ax, self.ay
        return motion, (self.throttle, self.brake, self.steer_angle), (slope, cross, h, dt)

    def direction(self) -> tuple[float, float]:
        """Sine and cosine of the yaw."""
        return self._sincos(self.yaw)

    def _sincos(self, angle: float) -> tuple[float, float]:
        """Sine and cosine of an angle, which is often the one of before."""
        if angle == 0.0:
            return angle, 1.0
        if angle != self._angle:
            self._sine, self._cosine = sincos(angle)
            self._angle = angle
        return self._sine, self._cosine

    def _go(self, rolled: float, along: float, slid: float, turned: float) -> None:
        """Change place, yaw and distance."""
        s, c = self._sincos(self.yaw + 0.5 * turned)
        self.x += along * c - slid * s
        self.y += along * s + slid * c
        self.yaw = wrap_angle(self.yaw + turned)
        self.distance += rolled

    def wheel_forces(self) -> tuple[float, float, float, float]:
        """Lateral forces of the wheels now, front left first [N]; 0 at standstill.

        Both wheels of an axle have the same.
        """
        vx, vy, rate = self.vx, self.vy, self.yaw_rate
        if vx == 0.0:
            return 0.0, 0.0, 0.0, 0.0
        p = self.parameters
        wheel = self.wheel_tangent()
        load_front, load_rear = self._axle_loads(self._weight)
        front, rear = self._axle_stiffness(wheel, load_front, load_rear)
        speed = vx if vx >= 0.0 else -vx
        front *= 0.5 * (vx * wheel - vy - p.front_axle * rate) / speed
        rear *= 0.5 * (p.rear_axle * rate - vy) / speed
        return front, front, rear, rear

    def wheel_tangent(self) -> float:
        """Tangent of the angle of a wheel in the middle of the front axle."""
        angle = self.steer_angle
        if angle == 0.0:
            self._wheel_cosine = 1.0
            self._steered = self._tangent = self._wheel_sine = angle
        elif angle != self._steered:
            sine, cosine = sincos(angle)
            wheel = sine / cosine
            if self.inner != 0.0:
                wheel /= 1.0 + self.inner * (wheel if wheel >= 0.0 else -wheel)
                cosine = 1.0 / sqrt(1.0 + wheel * wheel)
                sine = wheel * cosine
            self._steered, self._tangent = angle, wheel
            self._wheel_sine, self._wheel_cosine = sine, cosine
        return self._tangent

    def _actuate(self, h: float, throttle: float, brake: float, steer: float) -> None:
        p = self.parameters
        throttle_share, brake_share, steer_share = self._lags
        self.throttle += throttle_share * (throttle - self.throttle)
        self.brake += brake_share * (brake - self.brake)
        rate = p.max_steer_rate * h
        wanted = steer * p.max_steer_angle
        self.steer_angle = steered(self.steer_angle, wanted, steer_share, rate, self.unwinding)

    def _move(self, h: float, reverse: bool, hand_brake: bool, slope: float) -> None:
        p = self.parameters
        mass = p.mass
        vx, vy, yaw_rate = self.vx, self.vy, self.yaw_rate
        speed = vx if vx >= 0.0 else -vx
        cosine = 1.0 / sqrt(1.0 + slope * slope) if slope != 0.0 else 1.0
        grip = self._grip * cosine
        if self._cross != 0.0:
            grip *= self._pressed()

        # Drive force and resistances, together within what the tyres transmit.
        active, resisting = self._tyre_forces(reverse, hand_brake, vx, speed)
        if active > grip:
            active = grip
        elif active < -grip:
            active = -grip
        room = grip + active if vx > 0.0 else grip - active if vx < 0.0 else grip
        if resisting > room:
            resisting = room
        if vx > 0.0:
            used = (active - resisting) / grip
        elif vx < 0.0:
            used = (active + resisting) / grip
        else:
            used = active / grip
        used /= p.lateral_grip  # the circle is as wide as the tyre holds sideways
        lateral_share = 1.0 - used * used
        if lateral_share < _LEAST_LATERAL_SHARE:
            lateral_share = _LEAST_LATERAL_SHARE
        drag = air_drag(p, speed)
        pushing = active - self._weight * slope * cosine - (drag if vx > 0.0 else -drag)
        resisting += self._rolling * cosine
        if vx == vy == yaw_rate == 0.0 and -resisting <= pushing <= resisting:
            self.ax = self.ay = 0.0
            return

        wheel = self.wheel_tangent()
        sine_steer, cosine_steer = self._wheel_sine, self._wheel_cosine
        if speed < _KINEMATIC_SPEED:
            new_vx = _advance_speed(vx, pushing, resisting, mass, h)
            target_rate = new_vx * wheel / (p.front_axle + p.rear_axle)
            # What slides is slowed by friction; what rolls is there at once.
            limit = grip * sqrt(lateral_share) / mass * h
            new_vy = _towards(vy, p.rear_axle * target_rate, limit)
            new_rate = _towards(yaw_rate, target_rate, limit / p.rear_axle)
            front_force = 0.0
        else:
            new_vy, new_rate, front_force = self._lateral(
                h, wheel, cosine_steer, grip, lateral_share
            )
        coupling = 0.5 * (yaw_rate * vy + new_rate * new_vy)
        outside = pushing
        pushing += mass * coupling - front_force * sine_steer
        new_vx = _advance_speed(vx, pushing, resisting, mass, h)
        if new_rate > _SPIN or new_rate < -_SPIN:
            kept = self._kept_in_spin(h, outside, new_vx, new_vy, new_rate)
            new_vx, new_vy, new_rate = kept * new_vx, kept * new_vy, kept * new_rate

        # A vehicle that stops within the step only rolls until then.
        rolled = 0.5 * (vx + new_vx) * h
        if new_vx == 0.0 and vx != 0.0:
            rolled = _stopping_way(vx, pushing, resisting, mass, h)
        slid = 0.5 * (vy + new_vy) * h
        turned = 0.5 * (yaw_rate + new_rate) * h
        self._go(rolled, rolled * cosine, slid, turned)
        if self._ways is not None:
            self._ways.append((rolled, rolled * cosine, slid, turned))
        self.ax = (new_vx - vx) / h - coupling
        self.ay = (new_vy - vy) / h + 0.5 * (yaw_rate * vx + new_rate * new_vx)
        self.vx, self.vy, self.yaw_rate = new_vx, new_vy, new_rate

    def _kept_in_spin(
        self, h: float, outside: float, new_vx: float, new_vy: float, new_rate: float
    ) -> float:
        """The share of a spinning vehicle's motion that is left: by itself it gains nothing.

        Tyres that slide take energy; only what pulls from outside gives some. The body turns so far
        in a substep that the integration would let its speed grow without a bound.

        :param outside: drive, slope and air [N]
        """
        p = self.parameters
        vx, vy, rate = self.vx, self.vy, self.yaw_rate
        pull = (outside if outside > 0.0 else -outside) + (
            self._sideways if self._sideways > 0.0 else -self._sideways
        )
        had = p.mass * (vx * vx + vy * vy) + p.yaw_inertia * rate * rate
        has = p.mass * (new_vx * new_vx + new_vy * new_vy) + p.yaw_inertia * new_rate * new_rate
        most = had + 2.0 * pull * sqrt(vx * vx + vy * vy) * h
        return 1.0 if has <= most else sqrt(most / has)

    def _pressed(self) -> float:
        """The load on a road with cross fall, of that on a level one: a bank presses in a curve."""
        cross = self._cross
        share = (1.0 - self.ay * cross / GRAVITY) / sqrt(1.0 + cross * cross)
        return share if share > _LEAST_PRESSED else _LEAST_PRESSED

    def _tyre_forces(
        self, reverse: bool, hand_brake: bool, vx: float, speed: float
    ) -> tuple[float, float]:
        """(drive force, resisting force of engine and brakes) [N]."""
        p = self.parameters
        throttle = self.throttle
        resisting = self.brake * p.max_brake_force
        if hand_brake:
            resisting += _HAND_BRAKE_SHARE * p.friction * p.mass * GRAVITY
        drag = engine_drag(p, speed)
        if reverse:
            if vx > _GEAR_CHANGE_SPEED:
                return 0.0, resisting + drag
            active = -throttle * max_drive_force(p, 0.0 if vx > 0.0 else -vx, True)
        else:
            if vx < -_GEAR_CHANGE_SPEED:
                return 0.0, resisting + drag
            active = throttle * max_drive_force(p, 0.0 if vx < 0.0 else vx)
        return active, resisting + (1.0 - throttle) * drag

    def _lateral(
        self, h: float, wheel: float, cosine_steer: float, grip: float, lateral_share: float
    ) -> tuple[float, float, float]:
        """(vy, yaw rate, front axle force) after one implicit step of the tyre equations."""
        p = self.parameters
        vx, vy, yaw_rate = self.vx, self.vy, self.yaw_rate
        lf, lr = p.front_axle, p.rear_axle
        mass, inertia = p.mass, p.yaw_inertia
        load_front, load_rear = self._axle_loads(grip / p.friction)
        inverse = 1.0 / vx if vx > 0.0 else -1.0 / vx
        self._reserve = sqrt(lateral_share)
        front, rear = self._axle_stiffness(wheel, load_front, load_rear)
        if self.soft:
            front *= self._slip_in_front()
            rear *= 1.0 / ((vx if vx > 0.0 else -vx) + _SLOWEST_SLIP)
        else:
            front *= inverse
            rear *= inverse

        # (vy, r) of the end of the step solve two linear equations.
        lateral_front = front * cosine_steer
        a11 = mass / h + lateral_front + rear
        a12 = mass * vx + lateral_front * lf - rear * lr
        a21 = lateral_front * lf - rear * lr
        a22 = inertia / h + lateral_front * lf * lf + rear * lr * lr
        steered = lateral_front * vx * wheel
        b1 = mass * vy / h + steered - self._sideways
        b2 = inertia * yaw_rate / h + steered * lf
        if self._moment != 0.0:
            b2 += self._moment
        determinant = a11 * a22 - a12 * a21
        new_vy = (b1 * a22 - a12 * b2) / determinant
        new_rate = (a11 * b2 - a21 * b1) / determinant
        front_force = -front * (new_vy + lf * new_rate - vx * wheel)
        return new_vy, new_rate, front_force

    def _axle_loads(self, weight: float) -> tuple[float, float]:
        """Wheel loads of both axles [N], with the shift by the acceleration of the last step.

        Even where that would lift an axle, a twentieth of the weight rests on it.
        """
        p = self.parameters
        base = p.front_axle + p.rear_axle
        shift = p.mass * self.ax * p.cg_height / base
        load_front = weight * p.rear_axle / base - shift
        load_rear = weight * p.front_axle / base + shift
        least = _LEAST_LOAD * weight
        if load_front < least:
            load_front = least
        if load_rear < least:
            load_rear = least
        return load_front, load_rear

    def _axle_stiffness(
        self, wheel: float, load_front: float, load_rear: float
    ) -> tuple[float, float]:
        """Lateral force per slip angle of both axles [N/rad], at the slip of now.

        ``_reserve`` is the share of the lateral force that the longitudinal one leaves.
        """
        p = self.parameters
        vx, vy, yaw_rate = self.vx, self.vy, self.yaw_rate

        # Secant stiffness where the force would leave the friction circle.
        share = p.friction * p.lateral_grip * self._reserve
        if self.soft:
            return self._soft_stiffness(
                load_front, load_rear, share * load_front, share * load_rear
            )
        front = p.front_stiffness * load_front
        rear = p.rear_stiffness * load_rear
        inverse = 1.0 / vx if vx > 0.0 else -1.0 / vx
        slip_front = (vy + p.front_axle * yaw_rate - vx * wheel) * inverse
        slip_rear = (vy - p.rear_axle * yaw_rate) * inverse
        if slip_front < 0.0:
            slip_front = -slip_front
        if slip_rear < 0.0:
            slip_rear = -slip_rear
        if front * slip_front > share * load_front:
            front = share * load_front / slip_front
        if rear * slip_rear > share * load_rear:
            rear = share * load_rear / slip_rear
        return front, rear

    def _slip_in_front(self) -> float:
        """Slip of a front wheel of PhysX per speed of its axle sideways to where it points [s/m].

        The wheel's own frame, and 1 m/s more, so that it has a meaning at standstill:
        ``computeTireSlips`` in the file that ``soft_share`` names.
        """
        along = self.vy + self.parameters.front_axle * self.yaw_rate
        along = self._wheel_cosine * self.vx + self._wheel_sine * along
        return self._wheel_cosine / ((along if along >= 0.0 else -along) + _SLOWEST_SLIP)

    def slips(self) -> tuple[float, float]:
        """Slips of both axles on tyres of PhysX, as tangents; positive to the left."""
        p = self.parameters
        vx, vy, yaw_rate = self.vx, self.vy, self.yaw_rate
        speed = vx if vx >= 0.0 else -vx
        front = (vy + p.front_axle * yaw_rate - vx * self.wheel_tangent()) * self._slip_in_front()
        return front, (vy - p.rear_axle * yaw_rate) / (speed + _SLOWEST_SLIP)

    def _soft_stiffness(
        self,
        load_front: float,
        load_rear: float,
        most_front: float,
        most_rear: float,
    ) -> tuple[float, float]:
        """Lateral force per slip of both axles on tyres of PhysX [N], at most so large [N]."""
        p = self.parameters
        base = p.front_axle + p.rear_axle
        front = soft_stiffness(p.front_stiffness, load_front, self._weight * p.rear_axle / base)
        rear = soft_stiffness(p.rear_stiffness, load_rear, self._weight * p.front_axle / base)
        slip_front, slip_rear = self.slips()
        if slip_front < 0.0:
            slip_front = -slip_front
        if slip_rear < 0.0:
            slip_rear = -slip_rear
        front *= soft_share(front * slip_front / most_front)
        rear *= soft_share(rear * slip_rear / most_rear)
        return front, rear


def soft_stiffness(stiffness: float, load: float, at_rest: float) -> float:
    """Lateral force per slip of a tyre of PhysX [N], at no slip.

    It grows less than its load does, up to three times the load at rest, as with CARLA's
    ``lat_stiff_max_load``: ``smoothingFunction1`` again.

    :param stiffness: force per slip and load at the load at rest
    """
    share = load / at_rest
    if share >= 3.0:
        return stiffness * at_rest * 27.0 / 19.0
    return stiffness * load * (27.0 - (9.0 - share) * share) / 19.0


def soft_share(wanted: float) -> float:
    """What a tyre of PhysX gives of its lateral stiffness.

    :param wanted: its force by stiffness alone, as a share of the largest one, from 0 on. The law
        is ``smoothingFunction1`` in NVIDIAGameWorks/PhysX-3.4 238605d8, PxVehicleUpdate.cpp.
    """
    if wanted >= 3.0:
        return 1.0 / wanted
    return 1.0 + wanted * (wanted / 27.0 - 1.0 / 3.0)


def _advance_speed(v: float, pushing: float, resisting: float, mass: float, h: float) -> float:
    """Speed after a step; resisting forces bring to rest, only pushing ones can reverse."""
    if v > 0.0:
        rate = (pushing - resisting) / mass
        new = v + rate * h
        if new >= 0.0:
            return new
        h += v / rate  # what is left of the step after the rest
    elif v < 0.0:
        rate = (pushing + resisting) / mass
        new = v + rate * h
        if new <= 0.0:
            return new
        h += v / rate
    if pushing > resisting:
        return (pushing - resisting) / mass * h
    if pushing < -resisting:
        return (pushing + resisting) / mass * h
    return 0.0


def _towards(value: float, target: float, limit: float) -> float:
    """The target, or as near to it as a change within the limit gets."""
    if target > value + limit:
        return value + limit
    if target < value - limit:
        return value - limit
    return target


def _stopping_way(v: float, pushing: float, resisting: float, mass: float, h: float) -> float:
    """Way from speed v to rest within a step."""
    force = pushing - resisting if v > 0.0 else pushing + resisting
    way = -0.5 * v * v * mass / force
    limit = 0.5 * v * h
    return min(way, limit) if v > 0.0 else max(way, limit)
