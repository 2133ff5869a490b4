# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A vehicle's body: the dynamics model on the road, seen in CARLA's frame and units.

What leaves the road, or is put above it, is a rigid box until it stands on its wheels again.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final, NamedTuple

from ros2_cosim.core.kernel.exactmath import PI, atan, degrees, radians, sincos
from ros2_cosim.core.kernel.named_tuples import NEW
from ros2_cosim.world.headless.blueprints import Blueprint
from ros2_cosim.world.headless.contact import OrientedBox
from ros2_cosim.world.headless.flight import (
    DROP,
    LIFT,
    TILT,
    BoxShape,
    FreeBody,
    GroundPlane,
    box_shape,
    is_upright,
)
from ros2_cosim.world.headless.gearbox import Curve, Gearbox, interpolated
from ros2_cosim.world.headless.snapshot import Numbers
from ros2_cosim.world.headless.sway import Sway
from ros2_cosim.world.headless.vehicle_dynamics import EquippedVehicle
from ros2_cosim.world.headless.wire_types import Transform, Vector, VehicleControl
from ros2_cosim.world.map import RoadNetwork, RoadPosition, frames
from ros2_cosim.world.vehicle import (
    ActuatorCommand,
    RoadVehicle,
    Vehicle,
    VehicleParameters,
)
from ros2_cosim.world.vehicle.beside import LandHeights
from ros2_cosim.world.vehicle.parameters import GRAVITY
from ros2_cosim.world.vehicle.pedals import air_drag, engine_drag, max_drive_force, rolling_force
from ros2_cosim.world.vehicle.split_grip import Four, SplitGripVehicle, mean_grip
from ros2_cosim.world.vehicle.vehicle import soft_share

_DEFAULT_SPEED_LIMIT: Final = 90.0  # km/h, where the road names none
_FIRST_LIMIT: Final = 30.0 / 3.6  # m/s, of CARLA's vehicles before the first sign
_MS_TO_KMH: Final = 3.6
_MAX_PUSHED_SPEED: Final = 1000.0  # m/s
_MAX_YAW_RATE: Final = 3600.0  # deg/s; beyond it a vehicle is a top
_LEVEL = (0.0, 0.0, 0.0)  # not Final: mypyc takes a Final tuple of floats for one without a value
_SLIP_SPEED: Final = 0.5  # m/s, below which slip angles mean nothing
_ROUNDING: Final = 1.0e-6  # m, more than what lengths on a vehicle are rounded by


_WHEELS: Final = 4
_FRONT: Final = 2
#: From here on brakes are full: CARLA's traffic manager, for one, has 0.7 and 1.
_FULL_BRAKE: Final = 0.95
#: What of full brakes has to have been reached, so that the wheels lock.
_REACHED: Final = 0.25
#: Brakes with this share of the usual deceleration, or more, are as strong as these.
_AS_STRONG: Final = 0.9
#: Friction of the ground below each wheel; None: that of dry tyres on asphalt.
Patches = tuple[float | None, float | None, float | None, float | None]
_DRY = (None, None, None, None)
#: Tyres without any friction: what the model computes as nothing, and can divide by.
_LEAST_FRICTION: Final = 1.0e-6


def with_friction(p: VehicleParameters, friction: float) -> VehicleParameters:
    """The vehicle on tyres of a friction (``tire_friction``).

    Sideways they have it; along the vehicle it can only make less of what its class has. A tyre
    that slides does not roll, so that without friction nothing holds it.
    """
    felt = max(friction, _LEAST_FRICTION)
    along = min(p.friction, felt)
    return replace(
        p,
        friction=along,
        lateral_grip=felt / along,
        rolling_resistance=min(p.rolling_resistance, along),
    )


class WheelForces(NamedTuple):
    """One tyre: slip angle [rad, positive to the left], load and forces [N] in the body's frame."""

    slip: float
    load: float
    longitudinal: float
    lateral: float
    friction: float


_NO_FORCES: Final = WheelForces(0.0, 0.0, 0.0, 0.0, 0.0)


class VehicleBody:
    """State of one vehicle in the map frame, with conversions at its surface.

    A step is ``begin_step``, ``step``, possibly ``push``, ``end_step``.
    """

    def __init__(
        self,
        blueprint: Blueprint,
        network: RoadNetwork,
        pose: Transform,
        driven: EquippedVehicle | None = None,
        sway: Sway | None = None,
        land: LandHeights | None = None,
    ) -> None:
        """Place a vehicle at rest on the road below ``pose``.

        :param driven: how the vehicle moves, until a client sets more; as clients drive it, if None
        :param sway: how it wanders about its way; None: not at all
        :param land: the land around the roads; None: the road's surface goes on beside it
        """
        #: What the vehicle has unless a client sets others.
        self.usual, self.equipment = driven or blueprint.driven({})
        #: What it has, and what it has on the ground below its wheels.
        self.own_parameters: VehicleParameters = self.usual
        self.parameters: VehicleParameters = self.usual
        self.mass = self.parameters.mass
        self._network = network
        self._land = land
        self._sway = sway
        self._hull, self._ahead = blueprint.hull, blueprint.centre[0]
        #: Its box reaches so far ahead of its place, or behind it, and to the side [m].
        self._reach, self._half_width = self._hull.x + abs(self._ahead), self._hull.y
        self._held: frames.Vector | None = None
        #: Friction of the trigger that each wheel is in, if any is.
        self._patches: Patches | None = None
        #: Friction of each tyre, where a client has set different ones.
        self.own_grips: Four | None = None
        #: The vehicle while its wheels have different frictions.
        self._split: SplitGripVehicle | None = None
        #: Engine and gears; None: the ideal drive of the parameters.
        self.gearbox: Gearbox | None = None
        #: Largest drag of the engine of the vehicle's class [N].
        self.usual_drag = self.parameters.engine_braking_force
        #: By which damped wheels lose speed [1/s], and their stiffness along the vehicle [N per
        #: slip and m/s^2]; 0: they roll freely and do not slip.
        self.wheel_damping = 0.0
        #: Force of the hand brake [N]; None: it locks the rear axle.
        self.hand_brake_force: float | None = None
        self.wheel_stiffness = 0.0
        #: Share of the steering range over the speed [km/h]; (): all of it.
        self.steering_curve: Curve = ()
        #: The limit of the last speed sign that it has passed [m/s].
        self._passed_limit = _FIRST_LIMIT
        self.fit_out()
        #: While it is not on the road: in the air, on its side or on its roof.
        self._flight: FreeBody | None = None
        self._has_gravity = True
        #: Of the impulses since the last step: speed upwards [m/s], angular impulse [N m s, map].
        self._lift = 0.0
        self._tilt = (0.0, 0.0, 0.0)
        #: Whether it has been pulled at since the last step: then it does not land in this one.
        self._pulled = False
        self._acceleration = (0.0, 0.0, 0.0)
        self._before = self._velocity = (0.0, 0.0, 0.0)
        self._vehicle = self._steered(Vehicle(self.parameters))
        #: The last control, what it meant, and at which speed.
        self._control: VehicleControl | None = None
        self._command = ActuatorCommand()
        self._commanded_at = 0.0
        self.place(pose)

    def fit_out(self) -> None:
        """Have the usual engine, steering, brakes and wheels."""
        kit = self.equipment
        self.gearbox = None if kit.engine is None else Gearbox(kit.engine)
        self.steering_curve = kit.steering_curve
        self.hand_brake_force = kit.hand_brake_force
        self.wheel_stiffness = kit.wheel_stiffness
        p = self.usual
        self.wheel_damping = (
            _WHEELS * kit.wheel_damping / (p.wheel_radius * p.wheel_radius * p.mass)
        )

    def place(self, pose: Transform, *, is_held: bool = False) -> None:
        """Teleport; velocity relative to the body and actuators do not change.

        Up to ``DROP`` above the ground, and below it, it lies down; higher up, or turned over, it
        falls.

        :param is_held: something else moves it, which puts it at the height of the road
        """
        vehicle = self._vehicle
        vehicle.x, vehicle.y, z = frames.vector_to_ros(*pose.location)
        vehicle.yaw = frames.yaw_to_ros(pose.rotation.yaw)
        self._on_road = RoadVehicle(self._network, vehicle, z, None if is_held else self._land)
        self._flight = None
        turned = frames.rotation_to_ros(pose.rotation.pitch, pose.rotation.yaw, pose.rotation.roll)
        if z > self._on_road.z + DROP or not is_upright(turned, self._ground()):
            velocity = frames.body_to_world(turned, (vehicle.vx, vehicle.vy, 0.0))
            self._take_off((vehicle.x, vehicle.y, z), turned, velocity)
        self._turned()

    def set_velocity(self, velocity: Vector) -> None:
        """Set the velocity [m/s, CARLA's world frame]; the change is not an acceleration."""
        vx, vy, vz = frames.vector_to_ros(*velocity)
        vehicle = self._vehicle
        self._pulled = True
        if self._flight is not None:
            self._flight.velocity = vx, vy, vz
        elif self._rises((vx, vy, vz)):
            self._leave_road((vx, vy, vz))
        vehicle.vx = vx * self._cos + vy * self._sin
        vehicle.vy = vy * self._cos - vx * self._sin
        vehicle.yaw_rate = 0.0
        vehicle.ax = vehicle.ay = 0.0
        self._acceleration = (0.0, 0.0, 0.0)
        self._take_velocity()

    def hold_velocity(self, velocity: Vector | None) -> None:
        """Keep the velocity [m/s, vehicle's own frame] during all steps, or stop doing so."""
        self._held = None if velocity is None else frames.vector_to_ros(*velocity)
        if self._held is not None and self._flight is None and self._held[2] > LIFT:
            self._leave_road(frames.body_to_world(self._on_road.orientation(), self._held))

    def add_impulse(self, impulse: Vector) -> None:
        """Change the momentum [N s, CARLA's world frame]."""
        x, y, z = frames.vector_to_ros(*impulse)
        self.push(0.0, 0.0, x / self.mass, y / self.mass)
        self._pulled = True
        if self._flight is None:
            self._lift += z / self.mass
        else:
            self._flight.change_velocity((0.0, 0.0, z / self.mass))

    def turn(self, impulse: Vector) -> None:
        """Change the angular momentum [N m s, CARLA's world frame]."""
        x, y, z = frames.angular_velocity_to_ros(*impulse)
        self._pulled = True
        if self._flight is not None:
            self._flight.add_angular_impulse((x, y, z))
            return
        a, b, c = self._tilt
        self._tilt = a + x, b + y, c
        rate = -self._vehicle.yaw_rate + impulse.z / self.parameters.yaw_inertia
        self._set_yaw_rate(degrees(rate))

    def set_turn(self, rate: Vector) -> None:
        """Set the angular velocity [deg/s, CARLA's world frame]."""
        x, y, z = frames.angular_velocity_degrees_to_ros(*rate)
        self._pulled = True
        if self._flight is None and (abs(x) > TILT or abs(y) > TILT):
            self._leave_road(self._velocity)
        if self._flight is not None:
            self._flight.turn = x, y, z
        self._set_yaw_rate(rate.z)

    def _set_yaw_rate(self, rate: float) -> None:
        limited = min(_MAX_YAW_RATE, max(-_MAX_YAW_RATE, rate))
        self._vehicle.yaw_rate = 0.0 - radians(limited)

    def enable_gravity(self, enabled: bool) -> None:
        """Switch gravity on or off; without it a vehicle stays where it is, until it is lifted."""
        self._has_gravity = enabled
        if self._flight is not None:
            self._flight.has_gravity = enabled

    def equip(self, parameters: VehicleParameters, grips: Four | None = None) -> None:
        """Go on with other parameters, from the present state; a trigger's friction stays.

        :param grips: friction of each tyre [1], where they are not alike
        """
        self.own_parameters, self.own_grips = parameters, grips
        self._put_on()

    def set_patches(self, patches: Patches) -> None:
        """Let each tyre have the friction of the ground that it is on [1], or its own (None)."""
        wanted = None if patches == _DRY else patches
        if wanted != self._patches:
            self._patches = wanted
            self._put_on()

    def _put_on(self) -> None:
        """Drive with the parameters, on the tyres that there are now, from the present state."""
        parameters, old, grips = self.own_parameters, self._vehicle, self.grips()
        self._split = None
        if grips != (grips[0],) * _WHEELS:
            parameters = with_friction(parameters, mean_grip(parameters, grips))
            self._split = SplitGripVehicle(
                parameters, old.x, old.y, old.yaw, grips=grips, along=self.usual.friction,
                track=self.equipment.track,
            )  # fmt: skip
        elif self._patches is not None:
            parameters = with_friction(parameters, grips[0])
        new = self._steered(self._split or Vehicle(parameters, old.x, old.y, old.yaw))
        new.vx, new.vy, new.yaw_rate = old.vx, old.vy, old.yaw_rate
        new.ax, new.ay = old.ax, old.ay
        new.throttle, new.brake, new.steer_angle = old.throttle, old.brake, old.steer_angle
        new.distance = old.distance
        self.parameters, self.mass, self._vehicle = parameters, parameters.mass, new
        self._on_road.vehicle = new
        self._control = None
        if self._flight is not None:
            self._flight.shape = self._shape()

    def _steered(self, vehicle: Vehicle) -> Vehicle:
        """A vehicle with the steering and the tyres of this one."""
        kit = self.equipment
        vehicle.inner, vehicle.unwinding, vehicle.soft = kit.inner, kit.unwinding, kit.soft
        return vehicle

    def grips(self) -> Four:
        """Friction of each tyre [1]: that of its ground, else its own."""
        p = self.own_parameters
        alike = p.friction * p.lateral_grip
        grips = self.own_grips or (alike, alike, alike, alike)
        if self._patches is None:
            return grips
        a, b, c, d = (
            own if patch is None else max(patch, _LEAST_FRICTION)
            for own, patch in zip(grips, self._patches, strict=True)
        )
        return a, b, c, d

    def is_on_patch(self) -> bool:
        """Whether a wheel has the friction of a trigger."""
        return self._patches is not None

    def wheel_places(self) -> list[tuple[float, float]]:
        """Where the wheels stand [m, map frame]: front left, front right, rear left, rear right."""
        p, half = self.parameters, 0.5 * self.equipment.track
        x, y, sin, cos = self._vehicle.x, self._vehicle.y, self._sin, self._cos
        return [
            (x + ahead * cos - left * sin, y + ahead * sin + left * cos)
            for ahead in (p.front_axle, -p.rear_axle)
            for left in (half, -half)
        ]

    def height(self) -> float:
        """Of the ground below, or of the origin in the air [m]."""
        return self._on_road.z if self._flight is None else self._flight.origin[2]

    def wheel_forces(self) -> list[WheelForces]:
        """What each tyre does; nothing in the air."""
        if self._flight is not None:
            return [_NO_FORCES] * _WHEELS
        p, v = self.parameters, self._vehicle
        base = p.wheelbase
        speed = max(abs(v.vx), _SLIP_SPEED)
        grips, forces, steered = self.grips(), [], atan(v.wheel_tangent())
        slips = v.slips()
        for wheel in range(_WHEELS):
            along, load, stiffness, angle = (
                (p.front_axle, p.rear_axle, p.front_stiffness, steered)
                if wheel < _FRONT
                else (-p.rear_axle, p.front_axle, p.rear_stiffness, 0.0)
            )
            newtons = 0.5 * p.mass * GRAVITY * load / base
            limit = grips[wheel] * newtons
            if v.soft:
                slip = slips[0 if wheel < _FRONT else 1]
                lateral = -stiffness * slip * newtons
                lateral *= soft_share(abs(lateral) / limit)
                slip = atan(slip)
            else:
                slip = atan((v.vy + along * v.yaw_rate) / speed) - angle
                lateral = -stiffness * slip * newtons
            lateral = min(limit, max(-limit, lateral))
            # Wheels that are alike drive and brake alike.
            push = 0.25 * p.mass * v.ax if self._split is None else self._split.pushes[wheel]
            forces.append(WheelForces(slip, newtons, push, lateral, grips[wheel]))
        return forces

    def begin_step(self) -> None:
        """Remember the velocity from which the acceleration of the step is taken."""
        self._before = self._velocity

    def step(self, dt: float, control: VehicleControl) -> None:
        """Move by ``dt`` seconds."""
        if self._flight is None and (self._lift != 0.0 or self._tilt != (0.0, 0.0, 0.0)):
            self._leave_road_if_lifted(dt)
        if self._flight is not None:
            self._fly(dt, self._flight)
            return
        if self._held is not None:
            self._vehicle.vx, self._vehicle.vy, _ = self._held
        if self.wheel_damping > 0.0 and self._held is None and self._vehicle.vx != 0.0:
            self._damp(dt)
        road = self._on_road
        z, roll, pitch, yaw = road.z, road.roll, road.pitch, self._vehicle.yaw
        before = self._vehicle.vx
        road.step(dt, self._commanded(dt, control))
        if self._held is not None:
            self._vehicle.vx, self._vehicle.vy, _ = self._held
        elif control.brake >= _FULL_BRAKE:
            self._lock(dt, before)
        if road.is_beside and road.z < z - DROP:  # beside a bridge
            turned = frames.quaternion_from_rpy(roll, pitch, yaw)
            self._take_off((self._vehicle.x, self._vehicle.y, z), turned, self._velocity)
        if self._sway is not None and self._held is None:
            shift = self._sway.step(dt, self._vehicle.vx)
            self._vehicle.x -= shift * self._sin
            self._vehicle.y += shift * self._cos
        self._turned()

    def _damp(self, dt: float) -> None:
        """Let damped wheels hold the vehicle back, as far as their tyres do not slide."""
        speed = self._vehicle.vx
        most = self.parameters.friction * GRAVITY * dt
        share = self.wheel_damping * dt
        loss = speed * share if share < 1.0 else speed
        self._vehicle.vx = speed - (most if loss > most else -most if loss < -most else loss)

    def _lock(self, dt: float, before: float) -> None:
        """Let full brakes lock the wheels at low speed, as those of CARLA do.

        Its brakes act by their torque at speed, but slow vehicles stop as if their tyres slid, with
        25 m/s^2 and more (carla-simulator/carla#8112): its traffic manager stops so at lights, and
        before others.

        :param before: the speed at the begin of the step [m/s]
        """
        kit, vehicle = self.equipment, self._vehicle
        speed = abs(vehicle.vx)
        if speed == 0.0 or speed >= kit.locks_below or vehicle.brake < _REACHED:
            return
        a, b, c, d = self.grips()
        p, usual = self.parameters, self.usual
        # Weaker brakes that a client has set, or those of a heavier vehicle, lock nothing.
        is_weaker = p.max_brake_force * usual.mass < _AS_STRONG * usual.max_brake_force * p.mass
        slowest = abs(before) - 0.25 * (a + b + c + d) * kit.locked * dt
        if slowest >= speed or is_weaker:
            return
        share = slowest / speed if slowest > 0.0 else 0.0
        # It has come as far as if it had slowed down evenly.
        excess = 0.5 * (1.0 - share) * vehicle.vx * dt
        vehicle.x -= excess * self._cos
        vehicle.y -= excess * self._sin
        vehicle.distance -= excess
        vehicle.vx *= share
        vehicle.vy *= share
        vehicle.yaw_rate *= share
        vehicle.ax = (vehicle.vx - before) / dt

    def _commanded(self, dt: float, control: VehicleControl) -> ActuatorCommand:
        """What a control means for pedals and steering now."""
        box, speed = self.gearbox, self._vehicle.vx
        if box is None:
            if control is self._control:
                return self._command
        elif speed == self._commanded_at and box.is_steady and control == self._control:
            return self._command
        throttle, steer, brake, hand_brake, reverse, manual, gear = control
        neutral = manual and gear == 0
        reverse = reverse or (manual and gear < 0)
        throttle = 0.0 if neutral else throttle
        varies = bool(self.steering_curve) and box is None
        rolls = speed if speed >= 0.0 else -speed
        if box is not None and (
            manual or reverse or not box.is_steady or box.gear < 1
            or not box.slowest <= rolls <= box.fastest
        ):  # fmt: skip
            box.step(dt, speed, gear if manual else None, reverse)
        if neutral if box is None else box.is_open:
            varies = box is None
            reverse = speed < 0.0
            throttle = self._idle(rolls, reverse)
        elif box is not None:
            throttle = self._geared(box, throttle, speed, rolls)
        if steer != 0.0 and self.steering_curve:
            steer *= interpolated(self.steering_curve, rolls * _MS_TO_KMH)
        if hand_brake and self.hand_brake_force is not None:
            brake = max(brake, min(1.0, self.hand_brake_force / self.parameters.max_brake_force))
            hand_brake = False
        self._control = None if varies else control
        self._commanded_at = speed
        values = throttle, brake, frames.steer_to_ros(steer), reverse, hand_brake
        self._command = NEW(ActuatorCommand, values)
        return self._command

    def push(self, dx: float, dy: float, dvx: float, dvy: float) -> None:
        """Shift position [m] and velocity [m/s], both in the map frame."""
        vehicle = self._vehicle
        vehicle.x += dx
        vehicle.y += dy
        if self._flight is not None:
            self._flight.shift(dx, dy)
            self._flight.change_velocity((dvx, dvy, 0.0))
        vehicle.vx = _limited(vehicle.vx + dvx * self._cos + dvy * self._sin)
        vehicle.vy = _limited(vehicle.vy + dvy * self._cos - dvx * self._sin)
        self._take_velocity()

    def end_step(self, dt: float) -> None:
        """Take the acceleration as the change of velocity over the step, as CARLA does."""
        x0, y0, z0 = self._before
        x1, y1, z1 = self._velocity
        self._acceleration = (x1 - x0) / dt, (y1 - y0) / dt, (z1 - z0) / dt
        if self._network.has_limits_by_signs:
            road_id, s, _, lane_id, _ = self._on_road.position
            passed = self._network.sign_passed(road_id, s, lane_id or -1)
            self._passed_limit = self._passed_limit if passed is None else passed

    def _idle(self, speed: float, backwards: bool) -> float:
        """The throttle by which the engine neither drives nor brakes, as in neutral."""
        drag = engine_drag(self.parameters, speed)
        if drag == 0.0:
            return 0.0
        return drag / (max_drive_force(self.parameters, speed, backwards) + drag)

    def _geared(self, gearbox: Gearbox, throttle: float, speed: float, rolls: float) -> float:
        """The throttle by which the ideal drive does what engine and gears do.

        The ideal drive gives ``throttle (most + drag) - drag``: see ``pedals``.
        """
        p = self.parameters
        drag = engine_drag(p, rolls)
        wanted = 0.0 - gearbox.drag(
            rolls, throttle, drag if drag < self.usual_drag else self.usual_drag
        )
        if throttle > 0.0:
            wanted += throttle * gearbox.force(speed)
        extra = gearbox.mass
        if extra > 0.0:
            # The engine takes its part of what accelerates: (force - load) / (mass + extra).
            load = rolling_force(p) + air_drag(p, rolls) if rolls > 0.0 else 0.0
            wanted = (wanted * p.mass + load * extra) / (p.mass + extra)
        return (wanted + drag) / (p.max_drive_force + drag)

    def numbers(self) -> Numbers:
        """State in CARLA's frame and units, in double precision."""
        road, vehicle = self._on_road, self._vehicle
        pitch = roll = turn_x = turn_y = 0.0
        turn_z, x, y, z = vehicle.yaw_rate, vehicle.x, vehicle.y, road.z
        if self._flight is not None:
            x, y, z = self._flight.origin
            qx, qy, qz, qw = self._flight.orientation
            pitch, yaw, roll = frames.rotation_to_carla(qx, qy, qz, qw)
            turn_x, turn_y, turn_z = self._flight.turn
        elif road.pitch == 0.0 and road.roll == 0.0:
            yaw = frames.yaw_to_carla(vehicle.yaw)
        else:
            qx, qy, qz, qw = road.orientation()
            pitch, yaw, roll = frames.rotation_to_carla(qx, qy, qz, qw)
        vx, vy, vz = self._velocity
        turn_x, turn_y, turn_z = frames.angular_velocity_degrees_to_carla(turn_x, turn_y, turn_z)
        ax, ay, az = self._acceleration
        # As vector_to_carla does it, which would be called three times.
        return (
            x, 0.0 - y, z, pitch, yaw, roll, vx, 0.0 - vy, vz, turn_x, turn_y, turn_z,
            ax, 0.0 - ay, az,
        )  # fmt: skip

    def box(self) -> OrientedBox:
        """Box in the map frame."""
        ahead = self._ahead
        x, y = self._vehicle.x + ahead * self._cos, self._vehicle.y + ahead * self._sin
        length, width, height = self._hull
        below = self._on_road.z if self._flight is None else self._flight.origin[2]
        return OrientedBox(x, y, below + height, length, width, height, self._cos, self._sin)

    def most_across(self, heading: float) -> float:
        """A bound of :meth:`across` that needs no sine: an angle is above its sine [m]."""
        turned = self._vehicle.yaw - heading
        turned = turned if turned > 0.0 else -turned
        return self._reach * turned + self._half_width + _ROUNDING

    def across(self, heading: float) -> float:
        """How far its box may reach across a road of a heading to either side of its place [m]."""
        sin, cos = sincos(heading)
        along = abs(self._cos * cos + self._sin * sin)
        across = abs(self._sin * cos - self._cos * sin)
        return self._reach * across + self._half_width * along

    def velocity(self) -> tuple[float, float]:
        """Horizontal velocity in the map frame [m/s]."""
        return self._velocity[0], self._velocity[1]

    def forward_speed(self) -> float:
        """Speed along the vehicle [m/s]."""
        return self._vehicle.vx

    def steer_range(self) -> float:
        """Largest angle of the front wheels at this speed [rad]."""
        most = self.parameters.max_steer_angle
        if not self.steering_curve:
            return most
        share = interpolated(self.steering_curve, abs(self._vehicle.vx) * _MS_TO_KMH)
        return most * share if share > 0.0 else most

    def steer_angles(self) -> tuple[float, float]:
        """Angles of the left and the right front wheel, positive to the right [deg]."""
        angle, inner = self._vehicle.steer_angle, self._vehicle.inner
        other = angle
        if inner != 0.0 and angle != 0.0:
            sine, cosine = sincos(angle)
            other = atan(sine / (cosine + 2.0 * inner * abs(sine)))
        left, right = (angle, other) if angle > 0.0 else (other, angle)
        return frames.steer_to_carla(degrees(left)), frames.steer_to_carla(degrees(right))

    def wheel_turn_degrees(self) -> float:
        """How far the wheels have rolled, within a turn; forwards is a pitch downwards."""
        turns = self._vehicle.distance / (2.0 * PI * self.parameters.wheel_radius)
        return (turns // 1.0 - turns) * 360.0

    def place_on_road(self) -> RoadPosition:
        """Where on the road the vehicle is."""
        return self._on_road.position

    def speed_limit_kmh(self) -> float:
        """Speed limit of the road below, or of the last sign [km/h]."""
        if self._network.has_limits_by_signs:
            return self._passed_limit * _MS_TO_KMH
        road_id, s, _, lane_id, _ = self._on_road.position
        limit = self._network.speed_limit(road_id, s, lane_id or -1)
        return _DEFAULT_SPEED_LIMIT if limit is None else limit * _MS_TO_KMH

    def _ground(self) -> GroundPlane:
        """The ground below as a plane."""
        vehicle = self._vehicle
        return GroundPlane(vehicle.x, vehicle.y, self._on_road.z, *self._on_road.slopes())

    def _shape(self) -> BoxShape:
        p, hull = self.parameters, self._hull
        return box_shape(p.mass, (hull.x, hull.y, hull.z), p.cg_height, p.yaw_inertia)

    def _rises(self, velocity: frames.Vector) -> bool:
        """Whether a velocity leads off the road."""
        nx, ny, nz = self._ground().normal()
        return velocity[0] * nx + velocity[1] * ny + velocity[2] * nz > LIFT

    def _leave_road(self, velocity: frames.Vector) -> None:
        origin = self._vehicle.x, self._vehicle.y, self._on_road.z
        self._take_off(origin, self._on_road.orientation(), velocity)

    def _take_off(
        self, origin: frames.Vector, orientation: frames.Quaternion, velocity: frames.Vector
    ) -> None:
        turn = 0.0, 0.0, self._vehicle.yaw_rate
        self._flight = FreeBody(self._shape(), origin, orientation, velocity, turn)
        self._flight.has_gravity = self._has_gravity

    def _leave_road_if_lifted(self, dt: float) -> None:
        """Check whether what has pulled at the vehicle since the last step outdoes its weight."""
        lift, tilt = self._lift, self._tilt
        self._lift, self._tilt = 0.0, _LEVEL
        weight = GRAVITY * dt if self._has_gravity else 0.0
        roll, pitch, _ = frames.world_to_body(self._on_road.orientation(), tilt)
        length, width, _ = self._hull
        held = self.mass * weight
        if lift <= weight and abs(roll) <= held * width and abs(pitch) <= held * length:
            return
        vx, vy, vz = self._velocity
        self._leave_road((vx, vy, vz + lift))
        if self._flight is not None:
            self._flight.add_angular_impulse(tilt)

    def _fly(self, dt: float, flight: FreeBody) -> None:
        """Move by ``dt`` seconds without tyres on the road."""
        vehicle = self._vehicle
        self._lift, self._tilt = 0.0, _LEVEL
        if self._held is not None:
            flight.velocity = frames.body_to_world(flight.orientation, self._held)
        ground = self._ground()
        flight.step(dt, ground)
        x, y, _ = flight.origin
        vehicle.x, vehicle.y = x, y
        vehicle.yaw = frames.yaw_from_quaternion(*flight.orientation)
        vehicle.vx, vehicle.vy, _ = frames.world_to_body(flight.orientation, flight.velocity)
        vehicle.yaw_rate = flight.turn[2]
        self._on_road.settle()
        rises = self._held is not None and self._held[2] > LIFT
        if flight.stands(ground) and not (self._pulled or rises):
            self._flight = None
        self._pulled = False
        self._turned()

    def _turned(self) -> None:
        self._sin, self._cos = self._vehicle.direction()
        self._take_velocity()

    def _take_velocity(self) -> None:
        """Work out the velocity in the map frame, once for all callers."""
        if self._flight is not None:
            self._velocity = self._flight.velocity
            return
        vehicle, road = self._vehicle, self._on_road
        vx, vy = vehicle.vx, vehicle.vy
        if road.pitch == 0.0 and road.roll == 0.0:
            self._velocity = vx * self._cos - vy * self._sin, vx * self._sin + vy * self._cos, 0.0
        else:
            self._velocity = frames.body_to_world(road.orientation(), (vx, vy, 0.0))


def _limited(speed: float) -> float:
    return min(_MAX_PUSHED_SPEED, max(-_MAX_PUSHED_SPEED, speed))
