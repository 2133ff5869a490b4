# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Walkers: they go where their control says, or where a client's navigation puts them.

As in CARLA the origin of a walker is the middle of its body, half its height above the ground.
"""

from __future__ import annotations

from typing import Final

from ros2_cosim.core.kernel.exactmath import atan2, degrees, hypot, radians, sincos, sqrt
from ros2_cosim.world.headless.actors import Actor, box_at
from ros2_cosim.world.headless.blueprints import Blueprint
from ros2_cosim.world.headless.contact import OrientedBox
from ros2_cosim.world.headless.skeleton import Skeleton
from ros2_cosim.world.headless.snapshot import ActorState, Numbers, pack_walker_record
from ros2_cosim.world.headless.wire_types import (
    ActorDescription,
    Rotation,
    Transform,
    Vector,
    WalkerControl,
)
from ros2_cosim.world.map import RoadNetwork, RoadPosition, frames
from ros2_cosim.world.map.lanes import OFF_ROAD
from ros2_cosim.world.vehicle.beside import LandHeights, ground_at

MASS: Final = 75.0  # kg
#: CARLA's walkers walk no faster [m/s].
MAX_SPEED: Final = 40.96
#: Speed upwards at the start of a jump [m/s], by CARLA's ``WalkerController.cpp``.
_JUMP_SPEED: Final = 5.0
_STANDING: Final = 1e-3  # m above the ground


class WalkerActor(Actor):
    """A walker: keeps its last control, stands on the ground, falls where there is room below."""

    def __init__(
        self,
        actor_id: int,
        blueprint: Blueprint,
        description: ActorDescription,
        pose: Transform,
        network: RoadNetwork,
        land: LandHeights | None = None,
    ) -> None:
        super().__init__(actor_id, blueprint, description, pose)
        self._network, self._land = network, land
        self._half_height = blueprint.extent.z
        self._place: RoadPosition | None = None
        self._rise = 0.0  # speed upwards [m/s]
        self._push = (0.0, 0.0)  # velocity that a collision gave [m/s], in CARLA's frame
        self.control = WalkerControl()
        #: Whether a client's navigation moves it: its mesh leads around what stands there.
        self.is_guided = False
        #: Where it was when its legs last moved [m].
        self._strode_at = pose.location.x, pose.location.y
        self.alive = True
        self.skeleton = Skeleton(2.0 * blueprint.extent.z, 2.0 * blueprint.extent.y)
        x, y, z = pose.location
        self.place(pose._replace(location=Vector(x, y, max(z, self._lowest(x, y, z)))))

    def box(self) -> OrientedBox:
        """Box in the map frame of the roads: its middle is the walker's origin."""
        if self._box is None:
            x, y, z = self.state.transform.location
            feet = Vector(x, y, z - self._half_height)
            rotation = self.state.transform.rotation
            self._box = box_at(Transform(feet, rotation), self.blueprint.extent)
        return self._box

    def motion(self) -> tuple[float, float, float]:
        """Velocity in the map frame [m/s] and inverse mass [1/kg]."""
        vx, vy, _ = frames.vector_to_ros(*self.state.velocity)
        return vx, vy, 1.0 / MASS if self.simulates_physics else 0.0

    def push(self, dx: float, dy: float, dvx: float, dvy: float) -> None:
        """Shift position [m] and velocity [m/s], both in the map frame; ends with the step."""
        state = self.state
        (x, y, z), rotation = state.transform
        sx, sy, _ = frames.vector_to_carla(dx, dy, 0.0)
        px, py, _ = frames.vector_to_carla(dvx, dvy, 0.0)
        self._push = self._push[0] + px, self._push[1] + py
        self.place(Transform(Vector(x + sx, y + sy, z), rotation))

    def follow(self, pose: Transform, speed: float) -> None:
        """Walk to a pose that something else has worked out, at a speed forwards [m/s]."""
        x, y, _ = pose.location
        sin, cos = sincos(radians(pose.rotation.yaw))
        before = self.state.transform.location
        self.skeleton.walk(hypot(x - before.x, y - before.y), speed)
        self.state = ActorState(pose, Vector(speed * cos, speed * sin), Vector(), Vector())
        self._box = None
        self.control = WalkerControl(Vector(cos, sin), speed)
        self.is_guided = True

    def stride(self, dt: float) -> None:
        """Let the legs go the way by which something has put it elsewhere in ``dt`` seconds.

        What is farther than ``MAX_SPEED`` allows in that time has not been walked.
        """
        x, y, _ = self.state.transform.location
        way = hypot(x - self._strode_at[0], y - self._strode_at[1])
        self._strode_at = x, y
        if way > MAX_SPEED * dt:
            way = 0.0
        self.skeleton.walk(way, way / dt)

    @property
    def is_on_lane(self) -> bool:
        """Whether it stands on a lane, such as a sidewalk."""
        return self._place is not None and self._place.lane_id != OFF_ROAD

    def stop(self, normal_x: float, normal_y: float, depth: float) -> float:
        """Step back out of something, and go on along it only.

        :param normal_x: of the unit vector into it, and ``normal_y``, in the map frame
        :param depth: of the overlap [m]
        :returns: speed at which it met it [m/s]; below 0: it goes away
        """
        (x, y, z), rotation = self.state.transform
        velocity = self.state.velocity
        nx, ny, _ = frames.vector_to_carla(normal_x, normal_y, 0.0)
        closing = velocity.x * nx + velocity.y * ny
        less = max(closing, 0.0)
        velocity = Vector(velocity.x - less * nx, velocity.y - less * ny, velocity.z)
        place = Vector(x - depth * nx, y - depth * ny, z)
        self.state = self.state._replace(transform=Transform(place, rotation), velocity=velocity)
        self._box = None
        return closing

    def step(self, dt: float, gravity: float) -> None:
        """Walk by ``dt`` seconds."""
        state = self.state
        (x, y, z), rotation = state.transform
        direction, speed, jump = self.control
        if not self.alive:
            speed, jump = 0.0, False
        length = sqrt(direction.x * direction.x + direction.y * direction.y)
        pace = min(max(speed, 0.0), MAX_SPEED) if length > 0.0 else 0.0
        self.skeleton.walk(pace * dt, pace)
        vx = vy = 0.0
        if pace > 0.0:
            vx, vy = pace * direction.x / length, pace * direction.y / length
            # It faces the way that it walks.
            rotation = Rotation(yaw=degrees(atan2(vy, vx)))
        vx, vy = vx + self._push[0], vy + self._push[1]
        self._push = (0.0, 0.0)
        x, y = x + vx * dt, y + vy * dt
        ground = self._lowest(x, y, z)
        standing = z - ground <= _STANDING and self._rise <= 0.0
        if standing and jump:
            self._rise, standing = _JUMP_SPEED, False
        if standing:
            self._rise, vz, z = 0.0, 0.0, ground
        else:
            self._rise -= gravity * dt
            vz = self._rise
            z += vz * dt
            if z <= ground:
                self._rise, z = 0.0, ground
        velocity = Vector(vx, vy, vz)
        before = state.velocity
        acceleration = Vector((vx - before.x) / dt, (vy - before.y) / dt, (vz - before.z) / dt)
        pose = Transform(Vector(x, y, z), rotation)
        self.state = ActorState(pose, velocity, Vector(), acceleration)
        self._box = None

    def pack(self, numbers: Numbers) -> bytes:
        """Snapshot record with the walker's control."""
        return pack_walker_record(self.id, numbers, self.control)

    def _lowest(self, x: float, y: float, z: float) -> float:
        """Height of the origin of a walker that stands on the ground below a point."""
        ros_x, ros_y, _ = frames.vector_to_ros(x, y, z)
        self._place, ground, _ = ground_at(
            self._network, self._land, ros_x, ros_y, self._place, z - self._half_height
        )
        return ground + self._half_height
