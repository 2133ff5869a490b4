# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""All that is on the road: as objects, as markers and as a list of actors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ros2_cosim.core.messages.catalogue import DEFAULT as CATALOGUE
from ros2_cosim.core.messages.records import CLASS_TRUCK, RoadUser
from ros2_cosim.driving.ros_bridge.seen import SeenWorld
from ros2_cosim.driving.ros_bridge.vehicles import BridgeVehicle
from ros2_cosim.driving.seams.message_parts import MessageParts
from ros2_cosim.world.map import frames

_MAP = "map"
#: Colour (red, green, blue) of commanded vehicles, of other vehicles, of what stands still.
_VEHICLE, _USER, _STATIC = (0.0, 1.0, 0.0), (1.0, 0.0, 0.0), (0.5, 0.5, 0.5)
_OPACITY = 0.3
#: What CARLA's ROS bridge says of every class: it knows it.
_CERTAIN = 255
_NO_VECTOR = (0.0, 0.0, 0.0)


class ActorBox(NamedTuple):
    """A vehicle on the road; centre of its footprint, vectors in the map frame."""

    id: int
    is_truck: bool
    place: frames.Vector
    turn: frames.Quaternion
    velocity: frames.Vector
    rates: frames.Vector
    acceleration: frames.Vector
    size: frames.Vector


def scene_boxes_of(seen: SeenWorld, vehicles: Mapping[str, BridgeVehicle]) -> dict[str, ActorBox]:
    """The vehicles of the scene, by name."""
    boxes = {}
    for name, (o, a, _) in seen.vehicles.items():
        vehicle = vehicles[name]
        turn = (o.qx, o.qy, o.qz, o.qw)
        boxes[name] = ActorBox(
            vehicle.id,
            vehicle.is_truck,
            (o.x, o.y, o.z),
            turn,
            frames.body_to_world(turn, (o.vx, o.vy, o.vz)),
            frames.body_to_world(turn, (o.wx, o.wy, o.wz)),
            frames.body_to_world(turn, (a.ax, a.ay, a.az)),
            (vehicle.length, vehicle.width, vehicle.height),
        )
    return boxes


def user_box(user: RoadUser) -> ActorBox:
    """A vehicle that is not a participant's."""
    turn = frames.quaternion_from_yaw(user.yaw)
    return ActorBox(
        user.id,
        user.classification == CLASS_TRUCK,
        (user.x, user.y, user.z),
        turn,
        frames.body_to_world(turn, (user.vx, user.vy, 0.0)),
        _NO_VECTOR,
        _NO_VECTOR,
        (user.length, user.width, user.height),
    )


class ObjectMessages:
    """Makes ``derived_object_msgs/ObjectArray``."""

    def __init__(self, vehicles: Mapping[str, BridgeVehicle]) -> None:
        self._vehicles = vehicles
        self._array: Any = CATALOGUE.record("derived_object_msgs/msg/ObjectArray")
        self._object: Any = CATALOGUE.part("derived_object_msgs/msg/Object")
        self._solid: Any = CATALOGUE.part("shape_msgs/msg/SolidPrimitive")
        self._part = MessageParts(CATALOGUE)

    def make(self, seen: SeenWorld, without: str = "") -> Any:
        """All vehicles but one, those of the scene first."""
        boxes = scene_boxes_of(seen, self._vehicles)
        boxes.pop(without, None)
        header = self._part.header(seen.time, _MAP)
        found = [*boxes.values(), *map(user_box, seen.users)]
        return self._array(tuple(self._one(header, seen.before + 1, box) for box in found))

    def _one(self, header: Any, age: int, box: ActorBox) -> Any:
        part, one = self._part, self._object
        return one(
            header=header,
            id=box.id,
            detection_level=one.OBJECT_DETECTED,
            object_classified=True,
            pose=part.pose_of(part.point(*box.place), part.quaternion(*box.turn)),
            twist=part.twist(box.velocity, box.rates),
            accel=part.accel(box.acceleration),
            shape=self._solid(type=self._solid.BOX, dimensions=box.size),
            classification=(one.CLASSIFICATION_TRUCK if box.is_truck else one.CLASSIFICATION_CAR),
            classification_certainty=_CERTAIN,
            classification_age=age,
        )


class MarkerMessages:
    """Makes ``visualization_msgs/MarkerArray``: boxes, for RViz."""

    def __init__(self, vehicles: Mapping[str, BridgeVehicle]) -> None:
        self._vehicles = vehicles
        self._array: Any = CATALOGUE.record("visualization_msgs/msg/MarkerArray")
        self._marker: Any = CATALOGUE.part("visualization_msgs/msg/Marker")
        self._colour: Any = CATALOGUE.part("std_msgs/msg/ColorRGBA")
        self._part = MessageParts(CATALOGUE)

    def moving(self, seen: SeenWorld) -> Any:
        """A box for each vehicle."""
        found = [(box, _VEHICLE) for box in scene_boxes_of(seen, self._vehicles).values()]
        found += [(user_box(user), _USER) for user in seen.users]
        return self._array(
            tuple(
                self._box(
                    seen.time,
                    box.id,
                    # On the road: a footprint's centre is at the bottom of its box.
                    (box.place[0], box.place[1], box.place[2] + 0.5 * box.size[2]),
                    box.turn,
                    box.size,
                    colour,
                )
                for box, colour in found
            )
        )

    def static(self, seen: SeenWorld) -> Any:
        """A box for each static object."""
        return self._array(
            tuple(
                self._box(
                    seen.time,
                    one.id,
                    (one.x, one.y, one.z),
                    frames.quaternion_from_yaw(one.yaw),
                    (one.length, one.width, one.height),
                    _STATIC,
                )
                for one in seen.static
            )
        )

    def _box(
        self,
        time: int,
        number: int,
        place: frames.Vector,
        turn: frames.Quaternion,
        size: frames.Vector,
        colour: tuple[float, float, float],
    ) -> Any:
        part = self._part
        return self._marker(
            header=part.header(time, _MAP),
            id=number,
            type=self._marker.CUBE,
            pose=part.pose_of(part.point(*place), part.quaternion(*turn)),
            scale=part.vector(*size),
            color=self._colour(*colour, _OPACITY),
        )


class ActorListMessages:
    """Makes ``carla_msgs/CarlaActorList``.

    Of vehicles that are not participants', and of static objects, the kind in CARLA is not known:
    their type is ``vehicle`` or ``static.prop``.
    """

    def __init__(self, vehicles: Mapping[str, BridgeVehicle], lights: Sequence[int] = ()) -> None:
        self._vehicles = vehicles
        self._lights = lights
        self._list: Any = CATALOGUE.record("carla_msgs/msg/CarlaActorList")
        self._actor: Any = CATALOGUE.part("carla_msgs/msg/CarlaActorInfo")

    def make(self, seen: SeenWorld) -> Any:
        """All actors that are known."""
        known = [self._vehicles[name] for name in seen.vehicles]
        return self._list(
            (
                *(self._actor(id=v.id, type=v.blueprint, rolename=v.name) for v in known),
                *(self._actor(id=user.id, type="vehicle") for user in seen.users),
                *(self._actor(id=one.id, type="static.prop") for one in seen.static),
                *(self._actor(id=one, type="traffic.traffic_light") for one in self._lights),
            )
        )
