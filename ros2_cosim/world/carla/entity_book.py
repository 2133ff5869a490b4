# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The vehicles and objects of a scene as entities, from what the world reports at an activation.

The output ``traffic`` has all but the vehicles of the scenario and static objects: without it, only
these are known.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from ros2_cosim.core.kernel.exactmath import float32, sincos
from ros2_cosim.core.kernel.participant import ModelContext
from ros2_cosim.core.messages.records import Acceleration, Odometry, RoadUser, StaticObject
from ros2_cosim.core.scene.entities import (
    FIRST_SPAWNED_ID,
    Entity,
    EntityBook,
    EntityCommand,
    EntityKind,
    EntityMotion,
    EntityOrders,
    NamedPlace,
    OrderQueue,
    Pose,
    Spawnable,
    Volume,
)
from ros2_cosim.core.scene.recorded import FIRST_RECORDED_ID
from ros2_cosim.core.scene.scene import FIRST_OBJECT_ID, FIRST_TRAFFIC_ID
from ros2_cosim.core.scene.simulator import Body, Size
from ros2_cosim.core.scene.simulator import Pose as ActorPose
from ros2_cosim.world.carla.observation import placed_user, static_object
from ros2_cosim.world.carla.parameters import ObjectSpec, SceneParameters, VehicleSpec
from ros2_cosim.world.carla.plant import TRAFFIC
from ros2_cosim.world.carla.scene import (
    FIRST_STRANGER_ID,
    object_place,
    object_start,
    start_place,
)
from ros2_cosim.world.headless.blueprints import LIBRARY
from ros2_cosim.world.headless.contact import OrientedBox, contact
from ros2_cosim.world.map import RoadNetwork, frames
from ros2_cosim.world.map.scene import scene_road

#: Around a named pose in its lane, free of the ends of the road: half a length, half a width [m].
_AROUND: Final = (10.0, 1.5, 4.0)
_STANDS: Final = "static objects keep their places for all that have seen them"
_COMMANDED: Final = "messages of the scenario place it"
_TRAFFIC: Final = "the simulator's traffic drives it"
_RECORDED: Final = "it moves as it was recorded"
_STRANGER: Final = "another client of the simulator has it"
_OF_SCENARIO: Final = "it belongs to the scenario"
_ZERO: Final = (0.0, 0.0, 0.0)


class SceneEntities(EntityBook):
    """The entities of a scene.

    :param context: of the world
    :param scene: what is in it
    :param orders: on their way into it
    """

    def __init__(self, context: ModelContext, scene: SceneParameters, orders: OrderQueue) -> None:
        self._context = context
        self._scene = scene
        self._road: RoadNetwork | None = None
        self.begin(orders)

    def begin(self, orders: OrderQueue) -> None:
        """Be as before the first activation."""
        self._orders = orders
        self._time = 0
        self._outputs: Mapping[str, Any] = {}
        self._static: dict[int, StaticObject] = {}
        #: Orders on their way, from the services.
        self._expected: list[EntityOrders] = []
        self._number = 0

    def seen(self, time: int, outputs: Mapping[str, Any]) -> None:
        """Take what the scene reports at an activation."""
        self._time, self._outputs = time, outputs
        static = outputs.get("static_objects")
        if static is not None:
            self._static = {found.id: found for found in static.objects}

    def ordered(self) -> None:
        """Orders have gone into the scene: they are carried out with the next step."""
        self._expected = [e for e in self._expected if e.number > self._orders.given]

    def entities(self) -> Sequence[Entity]:
        """All of them, with what is expected."""
        found = {each.name: each for each in self._present()}
        for orders in self._expected:
            for command in orders.commands:
                if command.do == "delete":
                    found.pop(command.name, None)
                    continue
                known = found.get(command.name)
                if known is None and command.do == "spawn":
                    known = self._new(command.name, command.blueprint)
                if known is not None:
                    motion = known.motion._replace(time_ns=self._time)
                    if command.pose is not None:
                        motion = motion._replace(pose=command.pose)
                    if command.velocity is not None:
                        motion = motion._replace(velocity=command.velocity)
                    found[command.name] = known._replace(motion=motion)
        return list(found.values())

    def spawnables(self) -> Sequence[Spawnable]:
        """The vehicles of CARLA's catalogue."""
        return [
            Spawnable(name, f"{kind.default('base_type') or 'car'} of CARLA", _volume(name, Size()))
            for name, kind in LIBRARY.items()
            if name.startswith("vehicle.")
        ]

    def places(self) -> Sequence[NamedPlace]:
        """Where the vehicles of the scenario start, and spawn points of the map."""
        road = self._network()
        if road is None:
            return []
        length, width, height = _AROUND
        around = Volume((-length, -width, 0.0), (length, width, height))
        found = [
            NamedPlace(
                f"start_of_{spec.name}",
                f"where {spec.name} starts",
                ("start",),
                _start(road, spec),
                _volume(spec.blueprint, spec.size),
            )
            for spec in self._scene.present
        ]
        for number, point in enumerate(road.spawn_points()):
            q = frames.quaternion_from_yaw(point.heading)
            name = f"spawn_point_{number}"
            pose = point.x, point.y, point.z, *q
            found.append(NamedPlace(name, "in a lane of the map", ("spawn",), pose, around))
        return found

    def in_the_way(self, blueprint: str, pose: Pose, planned: Sequence[EntityCommand]) -> str:
        """The entity that a new one would overlap as all are now."""
        box = _box(pose, _volume(blueprint, Size()))
        others = [(each.name, each.motion.pose, each.volume) for each in self.entities()]
        others += [(c.name, c.pose, _volume(c.blueprint, Size())) for c in planned if c.pose]
        for name, there, volume in others:
            if contact(box, _box(there, volume)) is not None:
                return name
        return ""

    def next_number(self) -> int:
        """Greater than those of all orders so far."""
        self._number = max(self._number, self._orders.taken) + 1
        return self._number

    def expect(self, orders: EntityOrders) -> None:
        """Show what they do until they are done."""
        if orders.number > self._orders.given:
            self._expected.append(orders)

    def _network(self) -> RoadNetwork | None:
        if self._road is None and self._scene.map.opendrive:
            self._road = scene_road(self._context)
        return self._road

    def _present(self) -> Iterator[Entity]:
        """Those of the last activation; before the first one, all at their starts."""
        for spec in self._scene.present:
            commanded = spec.driver is None
            kind = EntityKind.ROBOT if commanded else EntityKind.DYNAMIC_OBJECT
            by = "commands of the scenario drive it" if commanded else "its driver drives it"
            keeps = _COMMANDED if spec.placed else ""
            motion = self._motion_of(spec)
            if motion is not None:
                yield Entity(
                    spec.name,
                    kind,
                    f"{spec.blueprint}; {by}",
                    ("vehicle", "scenario", spec.blueprint),
                    motion,
                    _volume(spec.blueprint, spec.size),
                    keeps,
                    _OF_SCENARIO,
                )
        for number, entry in enumerate(self._scene.objects, start=FIRST_OBJECT_ID):
            found = self._static.get(number)
            if not self._outputs and (road := self._network()) is not None:
                pose, body = object_place(road, entry), _body(entry)
                if not entry.placed:
                    found = static_object(number, ActorPose(*map(float32, pose)), body)
                elif TRAFFIC in self._context.output_types:
                    yield self._user(placed_user(number, object_start(entry, pose), body))
            if found is not None:
                half = 0.5 * found.height
                volume = _around(found.length, found.width, -half, half)
                there = found.x, found.y, found.z, *frames.quaternion_from_yaw(found.yaw)
                yield Entity(
                    entry.name,
                    EntityKind.STATIC_OBJECT,
                    entry.blueprint,
                    ("object", "scenario", entry.blueprint),
                    EntityMotion(self._time, there),
                    volume,
                    _STANDS,
                    _STANDS,
                )
        users = self._outputs.get(TRAFFIC)
        for user in () if users is None else users.users:
            yield self._user(user)

    def _motion_of(self, spec: VehicleSpec) -> EntityMotion | None:
        odometry: Odometry | None = self._outputs.get(f"odometry/{spec.name}")
        if odometry is None:
            road = self._network()
            if road is None:
                return None
            pose = _start(road, spec)
            return EntityMotion(0, pose, frames.body_to_world(pose[3:7], (spec.speed, 0.0, 0.0)))
        q = odometry[3:7]
        felt: Acceleration = self._outputs[f"acceleration/{spec.name}"]
        return EntityMotion(
            self._time,
            odometry[0:7],
            frames.body_to_world(q, odometry[7:10]),
            frames.body_to_world(q, odometry[10:13]),
            frames.body_to_world(q, felt[0:3]),
        )

    def _user(self, user: RoadUser) -> Entity:
        q = frames.quaternion_from_yaw(user.yaw)
        velocity = frames.body_to_world(q, (user.vx, user.vy, 0.0))
        motion = EntityMotion(self._time, (user.x, user.y, user.z, *q), velocity)
        volume = _around(user.length, user.width, 0.0, user.height)
        number, kind = user.id, EntityKind.DYNAMIC_OBJECT
        tags: tuple[str, ...]
        spawned = number - FIRST_SPAWNED_ID
        if 0 <= spawned < len(self._orders.spawned):
            return self._new(*self._orders.spawned[spawned])._replace(motion=motion, volume=volume)
        if number >= FIRST_STRANGER_ID:
            name, tags, why = f"actor{number - FIRST_STRANGER_ID}", ("vehicle",), _STRANGER
        elif number >= FIRST_RECORDED_ID:
            recorded = self._scene.recorded[number - FIRST_RECORDED_ID]
            kind = EntityKind.HUMAN if recorded.kind == "pedestrian" else kind
            name, tags, why = recorded.name, (recorded.kind, "recorded"), _RECORDED
        elif number >= FIRST_TRAFFIC_ID:
            name = f"traffic{number - FIRST_TRAFFIC_ID + 1}"
            tags, why = ("vehicle", "traffic"), _TRAFFIC
        else:
            entry = self._scene.objects[number - FIRST_OBJECT_ID]
            kind = EntityKind.HUMAN if entry.blueprint.startswith("walker.") else EntityKind.OBJECT
            name, tags, why = entry.name, ("object", "scenario", entry.blueprint), _COMMANDED
        return Entity(name, kind, tags[-1], tags, motion, volume, why, why)

    def _new(self, name: str, blueprint: str) -> Entity:
        return Entity(
            name,
            EntityKind.DYNAMIC_OBJECT,
            f"{blueprint}; spawned",
            ("vehicle", "spawned", blueprint),
            EntityMotion(self._time, (*_ZERO, *_ZERO, 1.0)),
            _volume(blueprint, Size()),
        )


def _start(road: RoadNetwork, spec: VehicleSpec) -> Pose:
    there = start_place(road, spec)
    q = frames.rotation_to_ros(there.pitch, there.yaw, there.roll)
    return (*frames.vector_to_ros(there.x, there.y, there.z), *q)


def _body(entry: ObjectSpec) -> Body:
    """The box that the simulator gives an object; a point of a kind that is not known."""
    known = LIBRARY.get(entry.blueprint)
    if known is None:
        half = 0.5 * entry.size.height
        return Body((0.0, 0.0, half), (0.5 * entry.size.length, 0.5 * entry.size.width, half))
    box = known.sized(entry.size).bounding_box(0)
    (x, y, z), (length, width, height) = map(float32, box.location), map(float32, box.extent)
    return Body((x, y, z), (length, width, height))


def _volume(blueprint: str, size: Size) -> Volume:
    """The box of a vehicle at the centre of its footprint; a point of a kind that is not known."""
    known = LIBRARY.get(blueprint)
    if known is None:
        return _around(size.length, size.width, 0.0, size.height)
    x, y, z = known.sized(size).extent
    return Volume((-x, -y, 0.0), (x, y, 2.0 * z))


def _around(length: float, width: float, low: float, high: float) -> Volume:
    return Volume((-0.5 * length, -0.5 * width, low), (0.5 * length, 0.5 * width, high))


def _box(pose: Pose, volume: Volume) -> OrientedBox:
    sin, cos = sincos(frames.yaw_from_quaternion(*pose[3:7]))
    length, width, height = (0.5 * (b - a) for a, b in zip(volume.low, volume.high, strict=True))
    z = pose[2] + 0.5 * (volume.low[2] + volume.high[2])
    return OrientedBox(pose[0], pose[1], z, length, width, height, cos, sin)
