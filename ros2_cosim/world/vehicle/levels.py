# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The same vehicle at other levels of detail than ``Vehicle``, which is a bicycle (single track).

- *kinematic*: the wheels roll where they point; no tyre slips, no limit of friction to the side;
- *pacejka*: the bicycle with tyres by the Magic Formula, ``F = D sin(C atan(B a - E (B a - atan(B
  a))))`` (H. B. Pacejka, "Tire and Vehicle Dynamics", 3rd ed., 2012, chapter 4), whose friction
  falls with the load;
- *two_track*: four such wheels, whose loads follow from the lean of a body on springs and dampers
  (roll and pitch).

All have the longitudinal dynamics, actuators and implicit integration of ``Vehicle``.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from ros2_cosim.core.kernel.exactmath import atan, sin, sincos, sqrt
from ros2_cosim.world.vehicle.parameters import GRAVITY, VehicleParameters
from ros2_cosim.world.vehicle.vehicle import Vehicle

Four = tuple[float, float, float, float]
#: Smaller slips have the stiffness at zero slip [rad].
_NO_SLIP: Final = 1e-6
#: Wheels never turn faster against the body than this share of its speed, in the tightest turn.
_LEAST_WHEEL_SPEED: Final = 0.2


class MagicFormula(NamedTuple):
    """Lateral force of a tyre; numbers without units.

    ``peak`` is the largest force per load and friction of the road at the nominal load, ``shape``
    C and ``curvature`` E of the formula (below 1), ``load_drop`` by how much the peak falls, as a
    share, where the load doubles. B follows from the cornering stiffness.
    """

    peak: float = 1.0
    shape: float = 1.4
    curvature: float = -0.5
    load_drop: float = 0.1

    def secant(
        self, slip: float, load: float, nominal: float, stiffness: float, mu: float
    ) -> float:
        """Force per slip angle [N/rad].

        :param slip: angle, of any sign [rad]
        :param load: [N]
        :param nominal: load for which ``stiffness`` and ``peak`` are given [N]
        :param stiffness: force per slip angle and load at no slip [1/rad]
        :param mu: friction of the road [1]
        """
        if slip < 0.0:
            slip = -slip
        if slip < _NO_SLIP:
            return stiffness * load
        top = mu * self.peak * (1.0 - self.load_drop * (load / nominal - 1.0))
        least = 0.2 * mu * self.peak
        if top < least:
            top = least
        turned = stiffness / (self.shape * top) * slip
        turned -= self.curvature * (turned - atan(turned))
        return top * load * sin(self.shape * atan(turned)) / slip


TYPICAL_TYRE: Final = MagicFormula()


class BodyParameters(NamedTuple):
    """What a body on four wheels needs beside ``VehicleParameters``; SI units.

    ``roll_centre`` is the height of the roll axis below the centre of gravity. Stiffness and
    damping are those of the whole axle pair about the axis [N m/rad, N m s/rad];
    ``front_roll_share`` is what the front axle has of the roll stiffness.
    """

    track: float
    roll_inertia: float
    pitch_inertia: float
    roll_centre: float
    roll_stiffness: float
    roll_damping: float
    front_roll_share: float
    pitch_stiffness: float
    pitch_damping: float


def typical_body(p: VehicleParameters) -> BodyParameters:
    """A body of the usual kind: it rolls by 4 degrees and pitches by 2 degrees at 1 g, damped.

    Both swing with 0.3 of the critical damping; the roll axis is at a fifth of the height of the
    centre of gravity.
    """
    roll_centre = 0.2 * p.cg_height
    arm = p.cg_height - roll_centre
    roll_inertia = p.mass * (0.4 * p.width) * (0.4 * p.width)
    pitch_inertia = p.yaw_inertia
    roll_stiffness = p.mass * GRAVITY * arm * (1.0 / 0.0698 + 1.0)
    pitch_stiffness = p.mass * GRAVITY * p.cg_height / 0.0349
    return BodyParameters(
        track=0.84 * p.width,
        roll_inertia=roll_inertia,
        pitch_inertia=pitch_inertia,
        roll_centre=roll_centre,
        roll_stiffness=roll_stiffness,
        roll_damping=0.6 * sqrt(roll_stiffness * roll_inertia),
        front_roll_share=0.55,
        pitch_stiffness=pitch_stiffness,
        pitch_damping=0.6 * sqrt(pitch_stiffness * pitch_inertia),
    )


class KinematicVehicle(Vehicle):
    """The kinematic bicycle at every speed."""

    def _lateral(
        self, h: float, wheel: float, cosine_steer: float, grip: float, lateral_share: float
    ) -> tuple[float, float, float]:
        p = self.parameters
        rate = self.vx * wheel / (p.front_axle + p.rear_axle)
        return p.rear_axle * rate, rate, 0.0

    def wheel_forces(self) -> Four:
        """Lateral forces of the wheels that the motion needs, in a steady turn [N]."""
        p = self.parameters
        share = 0.5 * (p.mass * self.ay + self._sideways) / (p.front_axle + p.rear_axle)
        front, rear = share * p.rear_axle, share * p.front_axle
        return front, front, rear, rear


class PacejkaVehicle(Vehicle):
    """The bicycle with tyres by the Magic Formula."""

    __slots__ = ("tyre",)

    def __init__(
        self,
        parameters: VehicleParameters,
        x: float = 0.0,
        y: float = 0.0,
        yaw: float = 0.0,
        speed: float = 0.0,
        *,
        tyre: MagicFormula = TYPICAL_TYRE,
    ) -> None:
        super().__init__(parameters, x, y, yaw, speed)
        self.tyre = tyre

    def _axle_stiffness(
        self, wheel: float, load_front: float, load_rear: float
    ) -> tuple[float, float]:
        p, tyre, reserve = self.parameters, self.tyre, self._reserve
        vx, vy, yaw_rate = self.vx, self.vy, self.yaw_rate
        speed = vx if vx >= 0.0 else -vx
        slip_front = (vy + p.front_axle * yaw_rate - vx * wheel) / speed
        slip_rear = (vy - p.rear_axle * yaw_rate) / speed
        base = p.front_axle + p.rear_axle
        front = tyre.secant(
            slip_front, load_front, self._weight * p.rear_axle / base, p.front_stiffness, p.friction
        )
        rear = tyre.secant(
            slip_rear, load_rear, self._weight * p.front_axle / base, p.rear_stiffness, p.friction
        )
        return reserve * front, reserve * rear


class TwoTrackVehicle(PacejkaVehicle):
    """Four wheels below a body that rolls and pitches against the ground.

    :ivar roll: of the body, positive to the right side down [rad], and its rate [rad/s]
    :ivar pitch: of the body, positive nose down [rad], and its rate [rad/s]
    :ivar twist: roll of the ground below the front axle less that below the rear axle [rad]
    """

    __slots__ = (
        "_forward", "_left", "_load", "body", "pitch", "pitch_rate", "roll", "roll_rate", "twist",
    )  # fmt: skip

    def __init__(
        self,
        parameters: VehicleParameters,
        x: float = 0.0,
        y: float = 0.0,
        yaw: float = 0.0,
        speed: float = 0.0,
        *,
        tyre: MagicFormula = TYPICAL_TYRE,
        body: BodyParameters | None = None,
    ) -> None:
        super().__init__(parameters, x, y, yaw, speed, tyre=tyre)
        self._repeats = False
        self.body = typical_body(parameters) if body is None else body
        self.roll = self.roll_rate = self.pitch = self.pitch_rate = self.twist = 0.0
        # What the tyres do per mass, along and across [m/s^2], and the load of all wheels [N].
        self._forward = self._left = 0.0
        self._load = self._weight

    def _move(self, h: float, reverse: bool, hand_brake: bool, slope: float) -> None:
        super()._move(h, reverse, hand_brake, slope)
        p, body = self.parameters, self.body
        cosine = 1.0 / sqrt(1.0 + slope * slope)
        self._forward = self.ax + GRAVITY * slope * cosine
        self._left = self.ay + self._sideways / p.mass
        self._load = self._weight * cosine * self._pressed()
        arm = p.mass * (p.cg_height - body.roll_centre)
        # A twisted ground turns the body as the stiffer axle stands.
        twisting = 0.5 * (1.0 - 2.0 * body.front_roll_share) * self.twist
        moment = arm * (self._left + GRAVITY * self.roll)
        moment -= body.roll_stiffness * (self.roll + twisting)
        self.roll_rate = (self.roll_rate + h * moment / body.roll_inertia) / (
            1.0 + h * body.roll_damping / body.roll_inertia
        )
        self.roll += h * self.roll_rate
        moment = 0.0 - p.mass * p.cg_height * self._forward - body.pitch_stiffness * self.pitch
        self.pitch_rate = (self.pitch_rate + h * moment / body.pitch_inertia) / (
            1.0 + h * body.pitch_damping / body.pitch_inertia
        )
        self.pitch += h * self.pitch_rate

    def axle_loads(self) -> tuple[float, float]:
        """Loads of front and rear axle [N]."""
        p, load = self.parameters, self._load
        base = p.front_axle + p.rear_axle
        shift = p.mass * self._forward * p.cg_height / base
        front = load * p.rear_axle / base - shift
        front = min(max(front, 0.0), load)
        return front, load - front

    def wheel_loads(self) -> Four:
        """Loads of the wheels, front left first [N]."""
        front, rear = self.axle_loads()
        front_left, front_right = self._two(front, True)
        rear_left, rear_right = self._two(rear, False)
        return front_left, front_right, rear_left, rear_right

    def _two(self, load: float, is_front: bool) -> tuple[float, float]:
        """The loads of the left and the right wheel of an axle."""
        p, body = self.parameters, self.body
        base = p.front_axle + p.rear_axle
        if is_front:
            share, mass = body.front_roll_share, p.mass * p.rear_axle / base
            lean = self.roll - 0.5 * self.twist
        else:
            share, mass = 1.0 - body.front_roll_share, p.mass * p.front_axle / base
            lean = self.roll + 0.5 * self.twist
        springs = body.roll_stiffness * lean + body.roll_damping * self.roll_rate
        shift = (share * springs + mass * self._left * body.roll_centre) / body.track
        half = 0.5 * load
        if shift > half:
            shift = half
        elif shift < -half:
            shift = -half
        return half - shift, half + shift

    def _axle_stiffness(
        self, wheel: float, load_front: float, load_rear: float
    ) -> tuple[float, float]:
        # Those of the caller do not know the slope.
        load_front, load_rear = self.axle_loads()
        left, right = self._two(load_front, True)
        front = self._wheel(wheel, left, True, 1.0)
        front += self._wheel(wheel, right, True, -1.0)
        left, right = self._two(load_rear, False)
        rear = self._wheel(0.0, left, False, 1.0)
        rear += self._wheel(0.0, right, False, -1.0)
        return front, rear

    def _wheel(self, wheel: float, load: float, is_front: bool, side: float) -> float:
        """Lateral force per slip angle of one wheel [N/rad]; ``side`` is 1 on the left."""
        p = self.parameters
        base = p.front_axle + p.rear_axle
        slip = self._slip(wheel, is_front, side)
        if is_front:
            nominal, stiffness = 0.5 * self._weight * p.rear_axle / base, p.front_stiffness
        else:
            nominal, stiffness = 0.5 * self._weight * p.front_axle / base, p.rear_stiffness
        return self._reserve * self.tyre.secant(slip, load, nominal, stiffness, p.friction)

    def _slip(self, wheel: float, is_front: bool, side: float) -> float:
        p = self.parameters
        vx, vy, yaw_rate = self.vx, self.vy, self.yaw_rate
        along = vx - side * 0.5 * self.body.track * yaw_rate
        speed = along if along >= 0.0 else -along
        least = _LEAST_WHEEL_SPEED * (vx if vx >= 0.0 else -vx)
        if speed < least:
            speed = least
        place = p.front_axle if is_front else -p.rear_axle
        return (vy + place * yaw_rate - along * wheel) / speed

    def wheel_forces(self) -> Four:
        """Lateral forces of the wheels now [N]; 0 at standstill."""
        if self.vx == 0.0:
            return 0.0, 0.0, 0.0, 0.0
        sine, cosine = sincos(self.steer_angle)
        wheel = sine / cosine
        loads = self.wheel_loads()
        forces = []
        for number in range(4):
            is_front, side = number < 2, 1.0 if number % 2 == 0 else -1.0
            turned = wheel if is_front else 0.0
            secant = self._wheel(turned, loads[number], is_front, side)
            forces.append(0.0 - secant * self._slip(turned, is_front, side))
        return forces[0], forces[1], forces[2], forces[3]
