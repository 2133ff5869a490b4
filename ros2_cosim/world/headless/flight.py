# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A vehicle that has left the road: a rigid box in the air, on its side or on its roof.

Six degrees of freedom in the map frame. Gravity moves its centre of mass; where a corner of the
box is below the ground, impulses stop it there, with friction. As soon as it stands on its wheels
and is calm it is a vehicle on the road again. Only + - x / and square roots, in a fixed order.
"""

from __future__ import annotations

from math import sqrt
from typing import Final, NamedTuple

from ros2_cosim.world.map import frames
from ros2_cosim.world.map.frames import Quaternion, Vector
from ros2_cosim.world.vehicle.parameters import GRAVITY

DROP: Final = 0.5
"""A vehicle that is put higher above the road falls [m]; below that it lies down at once."""

UPRIGHT: Final = 0.9
"""Least cosine between the axes of vehicle and road of a vehicle that stands on its wheels."""

LIFT: Final = 0.5
"""A vehicle that leaves the road with less speed stays on it [m/s]."""

TILT: Final = 0.2
"""The same for turning about a horizontal axis [rad/s]."""

_CALM_SPEED: Final = 0.6  # m/s, of a corner towards the road when a vehicle has landed
_CALM_TURN: Final = 0.6  # rad/s
_TOUCHING: Final = 0.05  # m
_RESTITUTION: Final = 0.15
_BOUNCE_SPEED: Final = 1.0  # m/s; slower corners do not bounce
_FRICTION: Final = 0.7
_ROUNDS: Final = 8  # of impulses over all corners
_MOST_TURN: Final = 60.0  # rad/s


class GroundPlane(NamedTuple):
    """The plane below a vehicle: height [m] at (x, y), and its slopes along x and y."""

    x: float
    y: float
    z: float
    slope_x: float
    slope_y: float

    def height(self, x: float, y: float) -> float:
        """Of the plane at a place [m]."""
        return self.z + self.slope_x * (x - self.x) + self.slope_y * (y - self.y)

    def normal(self) -> Vector:
        """Unit vector upwards."""
        norm = sqrt(1.0 + self.slope_x * self.slope_x + self.slope_y * self.slope_y)
        return (0.0 - self.slope_x) / norm, (0.0 - self.slope_y) / norm, 1.0 / norm


def is_upright(orientation: Quaternion, ground: GroundPlane) -> bool:
    """Whether something with this orientation could stand on its wheels."""
    return _dot(frames.body_to_world(orientation, (0.0, 0.0, 1.0)), ground.normal()) >= UPRIGHT


class BoxShape(NamedTuple):
    """Mass [kg], half sizes of the box [m], height of the centre of mass [m], inertia [kg m^2]."""

    mass: float
    half: Vector
    centre: float
    inertia: Vector


def box_shape(mass: float, half: Vector, centre: float, yaw_inertia: float) -> BoxShape:
    """A box of even density, except for its known inertia about the vertical."""
    x, y, z = half
    third = mass / 3.0
    inertia = third * (y * y + z * z), third * (x * x + z * z), yaw_inertia
    return BoxShape(mass, half, centre, inertia)


class FreeBody:
    """State of a box; ``origin`` is the middle of its lower face, ``turn`` in rad/s.

    :param orientation: quaternion (x, y, z, w) in the map frame
    """

    def __init__(
        self,
        shape: BoxShape,
        origin: Vector,
        orientation: Quaternion,
        velocity: Vector,
        turn: Vector,
    ) -> None:
        self.shape = shape
        self.orientation = orientation
        self.velocity = velocity
        self.turn = turn
        self.has_gravity = True
        self._centre = _plus(origin, frames.body_to_world(orientation, (0.0, 0.0, shape.centre)))

    @property
    def origin(self) -> Vector:
        """Middle of the lower face [m]."""
        down = frames.body_to_world(self.orientation, (0.0, 0.0, 0.0 - self.shape.centre))
        return _plus(self._centre, down)

    def shift(self, dx: float, dy: float) -> None:
        """Move it aside [m]."""
        x, y, z = self._centre
        self._centre = x + dx, y + dy, z

    def change_velocity(self, change: Vector) -> None:
        """Add to the velocity [m/s]."""
        self.velocity = _plus(self.velocity, change)

    def add_angular_impulse(self, impulse: Vector) -> None:
        """Change the angular momentum [N m s], in the map frame."""
        self._set_turn(_plus(self.turn, self._turned_by(impulse)))

    def step(self, dt: float, ground: GroundPlane) -> None:
        """Move by ``dt`` seconds above a plane."""
        vx, vy, vz = self.velocity
        if self.has_gravity:
            vz -= GRAVITY * dt
        self.velocity = vx, vy, vz
        x, y, z = self._centre
        self._centre = x + vx * dt, y + vy * dt, z + vz * dt
        self.orientation = _turned(self.orientation, self.turn, dt)
        normal = ground.normal()
        for _ in range(_ROUNDS):
            if not self._stop_corners(ground, normal):
                break
        deepest = min(self._room(corner, ground) for corner in self._corners())
        if deepest < 0.0:
            x, y, z = self._centre
            self._centre = x, y, z - deepest

    def stands(self, ground: GroundPlane) -> bool:
        """Whether it stands on its wheels and is calm."""
        normal = ground.normal()
        x, y, _ = frames.world_to_body(self.orientation, self.turn)
        if not is_upright(self.orientation, ground) or x * x + y * y > _CALM_TURN * _CALM_TURN:
            return False
        if abs(_dot(self.velocity, normal)) > _CALM_SPEED:
            return False
        return min(self._room(corner, ground) for corner in self._corners()) < _TOUCHING

    def _stop_corners(self, ground: GroundPlane, normal: Vector) -> bool:
        """Stop the corners below the ground, all at once; whether one has moved down.

        Each gets its share: so a box that falls flat does not begin to turn.
        """
        touching = []
        for corner in self._corners():
            if self._room(corner, ground) < 0.0:
                arm = _minus(corner, self._centre)
                speed = _plus(self.velocity, _cross(self.turn, arm))
                if _dot(speed, normal) < 0.0:
                    touching.append((arm, speed))
        share = 1.0 / max(len(touching), 1)
        for arm, speed in touching:
            down = _dot(speed, normal)
            bounce = _RESTITUTION if down < -_BOUNCE_SPEED else 0.0
            push = 0.0 - share * (1.0 + bounce) * down / self._mobility(arm, normal)
            impulse = _times(normal, push)
            along = _minus(speed, _times(normal, down))
            slide = sqrt(_dot(along, along))
            if slide > 0.0:
                direction = _times(along, 1.0 / slide)
                most = share * slide / self._mobility(arm, direction)
                back = 0.0 - min(_FRICTION * push, most)
                impulse = _plus(impulse, _times(direction, back))
            self._hit(arm, impulse)
        return bool(touching)

    def _hit(self, arm: Vector, impulse: Vector) -> None:
        self.velocity = _plus(self.velocity, _times(impulse, 1.0 / self.shape.mass))
        self._set_turn(_plus(self.turn, self._turned_by(_cross(arm, impulse))))

    def _mobility(self, arm: Vector, direction: Vector) -> float:
        """Change of a point's speed in a direction by a unit impulse in it [1/kg]."""
        turn = self._turned_by(_cross(arm, direction))
        return 1.0 / self.shape.mass + _dot(_cross(turn, arm), direction)

    def _turned_by(self, impulse: Vector) -> Vector:
        """Change of the angular velocity by an angular impulse."""
        x, y, z = frames.world_to_body(self.orientation, impulse)
        ix, iy, iz = self.shape.inertia
        return frames.body_to_world(self.orientation, (x / ix, y / iy, z / iz))

    def _set_turn(self, turn: Vector) -> None:
        rate = sqrt(_dot(turn, turn))
        self.turn = turn if rate <= _MOST_TURN else _times(turn, _MOST_TURN / rate)

    def _corners(self) -> list[Vector]:
        x, y, z = self.shape.half
        low, high = 0.0 - self.shape.centre, 2.0 * z - self.shape.centre
        return [
            _plus(self._centre, frames.body_to_world(self.orientation, (along, across, up)))
            for up in (low, high)
            for along in (x, 0.0 - x)
            for across in (y, 0.0 - y)
        ]

    @staticmethod
    def _room(corner: Vector, ground: GroundPlane) -> float:
        return corner[2] - ground.height(corner[0], corner[1])


def _turned(q: Quaternion, turn: Vector, dt: float) -> Quaternion:
    """An orientation after a turn, as a unit quaternion."""
    qx, qy, qz, qw = q
    wx, wy, wz = _times(turn, 0.5 * dt)
    x = qx + wx * qw + wy * qz - wz * qy
    y = qy + wy * qw + wz * qx - wx * qz
    z = qz + wz * qw + wx * qy - wy * qx
    w = qw - wx * qx - wy * qy - wz * qz
    norm = sqrt(x * x + y * y + z * z + w * w)
    return x / norm, y / norm, z / norm, w / norm


def _plus(a: Vector, b: Vector) -> Vector:
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


def _minus(a: Vector, b: Vector) -> Vector:
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


def _times(a: Vector, factor: float) -> Vector:
    return a[0] * factor, a[1] * factor, a[2] * factor


def _dot(a: Vector, b: Vector) -> float:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def _cross(a: Vector, b: Vector) -> Vector:
    return (
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    )
