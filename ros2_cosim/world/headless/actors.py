# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Actors of the world: anything with a pose, and vehicles with a body and controls."""

from __future__ import annotations

from typing import Final

from ros2_cosim.core.kernel.exactmath import sincos
from ros2_cosim.world.headless.ackermann import AckermannController
from ros2_cosim.world.headless.blueprints import Blueprint
from ros2_cosim.world.headless.body import VehicleBody
from ros2_cosim.world.headless.contact import OrientedBox
from ros2_cosim.world.headless.snapshot import (
    GREEN,
    ActorState,
    Numbers,
    VehicleStatus,
    narrow_numbers,
    numbers_of,
    pack_record,
    pack_status,
    pack_vehicle_record,
    state_of,
)
from ros2_cosim.world.headless.wire_types import (
    ORIGIN,
    ActorDescription,
    BoundingBox,
    Rotation,
    Transform,
    Vector,
    VehicleControl,
)
from ros2_cosim.world.map import frames

#: Vehicles pass over what is no higher [m].
_CLEARANCE: Final = 0.2
AT_REST = (Vector(), Vector(), Vector())
_NO_ROTATION = Rotation()
_STEERED_WHEELS: Final = 2


def box_at(pose: Transform, extent: Vector, ahead: float = 0.0) -> OrientedBox:
    """Upright box of half sizes ``extent`` standing at a pose, in the map frame of the roads.

    :param ahead: how far its middle is ahead of the pose [m]
    """
    sin, cos = sincos(frames.yaw_to_ros(pose.rotation.yaw))
    x, y, z = frames.vector_to_ros(*pose.location)
    return OrientedBox(x + ahead * cos, y + ahead * sin, z + extent.z, *extent, cos, sin)


def compose(parent: Transform, relative: Transform) -> Transform:
    """World pose of something mounted at ``relative`` on ``parent``."""
    if relative == ORIGIN:
        return parent
    parent_q = frames.rotation_to_ros(*parent.rotation)
    offset = frames.body_to_world(parent_q, frames.vector_to_ros(*relative.location))
    dx, dy, dz = frames.vector_to_carla(*offset)
    x, y, z = parent.location
    location = Vector(x + dx, y + dy, z + dz)
    if relative.rotation == _NO_ROTATION:
        return Transform(location, parent.rotation)
    q = frames.multiply(parent_q, frames.rotation_to_ros(*relative.rotation))
    return Transform(location, Rotation(*frames.rotation_to_carla(*q)))


def relative_to(parent: Transform, pose: Transform) -> Transform:
    """The inverse of ``compose``: where a world pose is on ``parent``."""
    parent_q = frames.rotation_to_ros(*parent.rotation)
    away = (a - b for a, b in zip(pose.location, parent.location, strict=True))
    place = frames.world_to_body(parent_q, frames.vector_to_ros(*away))
    turn = frames.multiply(frames.conjugate(parent_q), frames.rotation_to_ros(*pose.rotation))
    return Transform(
        Vector(*frames.vector_to_carla(*place)), Rotation(*frames.rotation_to_carla(*turn))
    )


class Actor:
    """One actor; ``state`` is in CARLA's frame and units, in double precision.

    It is kept as ``numbers``, because most of what reads it packs them at once.
    ``relative`` is the pose on the parent for attached actors; their ``state`` is then that
    of the moment they were spawned or lost their parent.
    """

    def __init__(
        self,
        actor_id: int,
        blueprint: Blueprint,
        description: ActorDescription,
        pose: Transform,
        parent: int = 0,
        relative: Transform = ORIGIN,
    ) -> None:
        self.id = actor_id
        self.blueprint = blueprint
        self.description = description
        self.parent = parent
        self.relative = relative
        self.numbers: Numbers = numbers_of(ActorState(pose, *AT_REST))
        self.bounding_box: BoundingBox = blueprint.bounding_box(actor_id)
        self.collides = blueprint.extent.x > 0.0 and 2.0 * blueprint.extent.z > _CLEARANCE
        self.simulates_physics = True
        #: Name of the bone of the parent that it is mounted on; none: the root.
        self.socket = ""
        #: The vehicles that a sensor leaves out.
        self.ignored: tuple[int, ...] = ()
        self._attributes = {a.id: a.value for a in description.attributes}
        self._box: OrientedBox | None = None

    @property
    def state(self) -> ActorState:
        """The state, in double precision."""
        return state_of(self.numbers)

    @state.setter
    def state(self, state: ActorState) -> None:
        self.numbers = numbers_of(state)

    def attribute(self, name: str) -> str | None:
        """Value of an attribute, None if the actor has none of this name."""
        return self._attributes.get(name)

    def number(self, name: str) -> float:
        """Value of a numeric attribute, 0 if the actor has none of this name."""
        return float(self._attributes.get(name, "0").rstrip("f"))

    def exposed(self) -> ActorState:
        """The state as clients see it, rounded to float32."""
        return state_of(self.exposed_numbers())

    def exposed_numbers(self) -> Numbers:
        """The numbers of the state as clients see them, rounded to float32."""
        return narrow_numbers(self.numbers)

    def place(self, pose: Transform) -> None:
        """Teleport."""
        self.state = self.state._replace(transform=pose)
        self._box = None

    def box(self) -> OrientedBox:
        """Box in the map frame of the roads, for contacts."""
        if self._box is None:
            self._box = box_at(self.state.transform, self.blueprint.hull)
        return self._box

    def motion(self) -> tuple[float, float, float]:
        """Velocity in the map frame [m/s] and inverse mass [1/kg]; most actors stand fast."""
        return 0.0, 0.0, 0.0

    def push(self, dx: float, dy: float, dvx: float, dvy: float) -> None:
        """Shift position [m] and velocity [m/s], both in the map frame; most actors stay."""

    def pack(self, numbers: Numbers) -> bytes:
        """Snapshot record.

        :param numbers: of the state, with the pose in the world also of an attached actor
        """
        return pack_record(self.id, numbers)


class VehicleActor(Actor):
    """A vehicle: holds its last control until the next one arrives."""

    def __init__(
        self,
        actor_id: int,
        blueprint: Blueprint,
        description: ActorDescription,
        pose: Transform,
        body: VehicleBody,
    ) -> None:
        super().__init__(actor_id, blueprint, description, pose)
        self.body = body
        self.control = VehicleControl()
        self.ackermann = AckermannController()
        #: Physics parameters as a client has set them, None for those of the blueprint.
        self.own_physics: list[object] | None = None
        #: Whether a control holds until the next one, or for one step only.
        self.sticky = self.attribute("sticky_control") != "false"
        self.lights = 0
        #: The doors that are open, as bits by their numbers in the protocol.
        self.open_doors = 0
        #: Whether clients want to see its telemetry.
        self.shows_telemetry = False
        #: How clients want wheels to look [deg], by their numbers: steered, turned about the axle.
        self.steered_looks: dict[int, float] = {}
        self.turned_looks: dict[int, float] = {}
        #: The traffic light that the vehicle is at and its state, for the snapshot; 0: a stop sign.
        self.at_light: tuple[int, int] | None = None
        #: The stop sign that it is at, 0 without one, and since when [ns].
        self.stops_at = 0, 0
        #: What the last record told beside the numbers, and how that is packed.
        self._told_control, self._told = self.control, (-1.0, 0, 0, 0)
        self._status = b""
        self.take_state()

    def steer_angle(self, wheel: int) -> float:
        """Angle of a wheel, positive to the right [deg]."""
        return self.body.steer_angles()[wheel] if wheel < _STEERED_WHEELS else 0.0

    def gear(self) -> int:
        """The gear that is in: 1 the first, 0 neutral, -1 backwards."""
        if self.body.gearbox is not None:
            return self.body.gearbox.gear
        _, _, _, _, reverse, manual, gear = self.control
        return gear if manual else -1 if reverse else 1

    def place(self, pose: Transform) -> None:
        """Teleport; the vehicle keeps its speed and settles on the ground below, or falls.

        Without physics it stays exactly where it is put, also in the air.
        """
        self.body.place(pose, is_held=not self.simulates_physics)
        self.take_state()
        if not self.simulates_physics:
            self.numbers = (*pose.location, *pose.rotation, *self.numbers[6:])

    def wheels(self) -> list[tuple[str, Vector]]:
        """Names of the four wheels and their hubs on the vehicle [m], left before right."""
        p = self.body.parameters
        half = 0.5 * self.body.equipment.track
        return [
            (f"Wheel_{end}_{side}", Vector(along, across, p.wheel_radius))
            for end, along in (("Front", p.front_axle), ("Rear", -p.rear_axle))
            for side, across in (("Left", -half), ("Right", half))
        ]

    def wheel_rotation(self, wheel: int) -> Rotation:
        """How a wheel is turned on the vehicle [deg]: as clients want it to look, else as it is."""
        rolled = self.turned_looks.get(wheel)
        if rolled is None:
            rolled = self.body.wheel_turn_degrees()
        steered = self.steered_looks.get(wheel)
        if steered is None:
            steered = self.steer_angle(wheel)
        return Rotation(rolled, steered)

    def take_state(self) -> None:
        """Make the body's present state the one that is seen."""
        self.numbers = self.body.numbers()

    def motion(self) -> tuple[float, float, float]:
        """Velocity in the map frame [m/s] and inverse mass [1/kg]."""
        vx, vy = self.body.velocity()
        return vx, vy, (1.0 / self.body.mass if self.simulates_physics else 0.0)

    def push(self, dx: float, dy: float, dvx: float, dvy: float) -> None:
        """Shift position [m] and velocity [m/s], both in the map frame."""
        self.body.push(dx, dy, dvx, dvy)

    def box(self) -> OrientedBox:
        """Box in the map frame of the roads, for contacts."""
        return self.body.box()

    def pack(self, numbers: Numbers) -> bytes:
        """Snapshot record with controls and speed limit."""
        control, limit, gear = self.control, self.body.speed_limit_kmh(), self.gear()
        light, state = (0, GREEN) if self.at_light is None else self.at_light
        told = limit, gear, light, state
        if control is not self._told_control or told != self._told:
            self._told_control, self._told = control, told
            # As in CARLA, clients read the gear that is in where they do not shift by hand.
            shown = control.gear if control.manual_gear_shift else gear
            self._status = pack_status(VehicleStatus(control, limit, shown, state, light))
        return pack_vehicle_record(self.id, self.numbers, self._status)
