# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What CARLA's ROS bridge publishes of vehicles and map, made of what the world sends."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from ros2_cosim.core.documents.settings import Section
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.model import FullModel, Port, Traits
from ros2_cosim.core.kernel.participant import ModelContext, Step
from ros2_cosim.core.messages.catalogue import DEFAULT as CATALOGUE
from ros2_cosim.core.messages.cdr import NS_PER_S
from ros2_cosim.core.messages.message_types import (
    ACCELERATION,
    COLLISION,
    CONTROL,
    ODOMETRY,
    ROAD_USERS,
    STATIC_OBJECTS,
)
from ros2_cosim.core.scene.scene import scene_settings
from ros2_cosim.driving.ros_bridge.actors import ActorListMessages, MarkerMessages, ObjectMessages
from ros2_cosim.driving.ros_bridge.frame_messages import FrameMessages
from ros2_cosim.driving.ros_bridge.lane_marks import LaneMarkWatch
from ros2_cosim.driving.ros_bridge.light_messages import SignalLights
from ros2_cosim.driving.ros_bridge.ros_bridge_ports import LIGHT_OUTPUTS, OUTPUTS
from ros2_cosim.driving.ros_bridge.seen import SeenVehicle, SeenWorld
from ros2_cosim.driving.ros_bridge.vehicle_messages import InfoMessages, StatusMessages
from ros2_cosim.driving.ros_bridge.vehicles import bridge_vehicles
from ros2_cosim.driving.seams.message_parts import MessageParts
from ros2_cosim.world.map.scene import scene_road, scene_road_text

#: Makes the message of a port; None: there is none now.
_Maker = Callable[[SeenWorld], Any]


class RosBridgeParameters(Section):
    """Parameters of the model carla_ros_bridge: none."""


class CarlaRosBridge(FullModel):
    """Publishes what CARLA's ROS bridge does, to be activated with the period of the world.

    Inputs, latched: what the world sends, and the commands that it obeys. Each output has the
    message type of the bridge; an output that is left out needs none of its packages.

    :raises ConfigurationError: the map cannot be read, or a vehicle has no odometry
    """

    Parameters = RosBridgeParameters
    traits = Traits(cost_ns=150_000)
    input_ports = (
        Port("odometry/{vehicle}", ODOMETRY, required=False, description="of each vehicle"),
        Port("acceleration/{vehicle}", ACCELERATION, required=False, description="the same"),
        Port("control/{vehicle}", CONTROL, required=False, description="what the vehicle obeys"),
        Port("static_objects", STATIC_OBJECTS, required=False),
        Port("collision", COLLISION, required=False),
        Port("traffic", ROAD_USERS, required=False, description="vehicles of no participant"),
    )
    output_ports = tuple(topic.output for topic in OUTPUTS)
    other_ports = False

    @classmethod
    def port_names(
        cls, context: ModelContext, parameters: RosBridgeParameters
    ) -> Mapping[str, Sequence[str]]:
        """All vehicles of the scene."""
        return {"vehicle": tuple(scene_settings(context).vehicles)}

    @classmethod
    def check_settings(cls, context: ModelContext, parameters: RosBridgeParameters) -> None:
        """Check whether map and dynamics are there."""
        _Makers(context)

    def __init__(self, context: ModelContext, parameters: RosBridgeParameters) -> None:
        self._vehicles = tuple(scene_settings(context).vehicles)
        made = _Makers(context)
        self._makers, self._watches = made.found, made.watches
        self._once = {
            port.name
            for port in self.declared_ports(context, parameters).outputs
            if port.schedule == "once"
        }
        self._count = 0
        #: Stamp and number of the newest collision.
        self._collision = (-1, -1)

    def activate(self, step: Step) -> Mapping[str, Any]:
        """Say what is known now."""
        seen = self._seen(step)
        outputs = {
            port: make(seen)
            for port, make in self._makers.items()
            if not (self._count and port in self._once)
        }
        self._count += 1
        return outputs

    def _seen(self, step: Step) -> SeenWorld:
        latest = step.latest

        def newest(port: str) -> Any:
            sample = latest.get(port)
            return None if sample is None else sample.value

        vehicles = {}
        for name in self._vehicles:
            odometry, acceleration = newest(f"odometry/{name}"), newest(f"acceleration/{name}")
            if odometry is not None and acceleration is not None:
                vehicles[name] = SeenVehicle(odometry, acceleration, newest(f"control/{name}"))
        users, static = newest("traffic"), newest("static_objects")
        contact = latest.get("collision")
        fresh = contact is not None and (contact.stamp, contact.seq) != self._collision
        if contact is not None:
            self._collision = (contact.stamp, contact.seq)
        return SeenWorld(
            step.time,
            self._count,
            vehicles,
            () if users is None else users.users,
            () if static is None else static.objects,
            (contact.value,) if contact is not None and fresh else (),
        )

    def save_state(self) -> Any:
        """How far it is: what is sent once, the last contact, and where corners are."""
        corners = {name: watch.save() for name, watch in self._watches.items()}
        return [self._count, *self._collision, corners]

    def restore_state(self, state: Any) -> None:
        """Go back to a state that ``save_state`` gave."""
        self._count, stamp, number, corners = state
        self._collision = (stamp, number)
        for name, watch in self._watches.items():
            watch.restore(corners[name])


class _Makers:
    """What makes the messages of each output that a participant has: ``found``, by port.

    ``watches`` are what remembers something, by vehicle.
    """

    def __init__(self, context: ModelContext) -> None:
        self._context = context
        self._scene = scene_settings(context)
        self._vehicles = bridge_vehicles(self._scene)
        kinds: dict[str, Callable[[str], _Maker]] = {
            "vehicle_status": self._status,
            "vehicle_info": self._info,
            "odometry": lambda name: lambda seen: seen.vehicles[name].odometry,
            "speedometer": self._speed,
            "objects": lambda name: partial(ObjectMessages(self._vehicles).make, without=name),
            "collision": self._collision,
            "lane_invasion": self._lane_invasion,
            "markers": lambda _: MarkerMessages(self._vehicles).moving,
            "static_markers": lambda _: MarkerMessages(self._vehicles).static,
            "actor_list": self._actor_list,
            "status": self._step_status,
            "world_info": self._world_info,
            "map": self._map,
            "tf": lambda _: FrameMessages(self._scene).make,
            "traffic_lights_status": lambda _: self._lights().status,
            "traffic_lights_info": self._lights_info,
        }
        self._known_lights: SignalLights | None = None
        self.found: dict[str, _Maker] = {}
        self.watches: dict[str, LaneMarkWatch] = {}
        for port in context.output_types:
            kind, _, vehicle = port.partition("/")
            if vehicle and f"odometry/{vehicle}" not in context.input_types:
                raise ConfigurationError(
                    f"participants.{context.name}.inputs: 'odometry/{vehicle}' is missing; output "
                    f"'{port}' needs it"
                )
            self.found[port] = kinds[kind](vehicle)

    def _status(self, vehicle: str) -> _Maker:
        messages = StatusMessages()
        return lambda seen: messages.make(seen.vehicles[vehicle])

    def _info(self, vehicle: str) -> _Maker:
        message = InfoMessages().make(self._vehicles[vehicle])
        return lambda seen: message

    def _speed(self, vehicle: str) -> _Maker:
        record: Any = CATALOGUE.record("std_msgs/msg/Float32")
        return lambda seen: record(seen.vehicles[vehicle].odometry.vx)

    def _collision(self, vehicle: str) -> _Maker:
        record: Any = CATALOGUE.record("carla_msgs/msg/CarlaCollisionEvent")
        vector = MessageParts(CATALOGUE).vector
        own = self._vehicles[vehicle].id

        def make(seen: SeenWorld) -> Any:
            for event in seen.collisions:
                if own in (event.vehicle, event.other):
                    other = event.other if event.vehicle == own else event.vehicle
                    return record(other, vector(event.impulse))
            return None

        return make

    def _lane_invasion(self, vehicle: str) -> _Maker:
        record: Any = CATALOGUE.record("carla_msgs/msg/CarlaLaneInvasionEvent")
        body = self._vehicles[vehicle]
        watch = LaneMarkWatch(scene_road(self._context), body.length, body.width)
        self.watches[vehicle] = watch

        def make(seen: SeenWorld) -> Any:
            crossed = watch.crossed(seen.vehicles[vehicle].odometry)
            return record(crossed) if crossed else None

        return make

    def _actor_list(self, _: str) -> _Maker:
        has_lights = any(port in self._context.output_types for port in LIGHT_OUTPUTS)
        lights = self._lights().numbers if has_lights else ()
        return ActorListMessages(self._vehicles, lights).make

    def _step_status(self, _: str) -> _Maker:
        record: Any = CATALOGUE.record("carla_msgs/msg/CarlaStatus")
        period = self._context.period_ns
        if period is None:
            raise ConfigurationError(
                f"participants.{self._context.name}.period: missing; allowed is that of the world"
            )
        length = period / NS_PER_S
        return lambda seen: record(seen.time // period, length, True, True)

    def _world_info(self, _: str) -> _Maker:
        record: Any = CATALOGUE.record("carla_msgs/msg/CarlaWorldInfo")
        message = record(Path(self._scene.map).stem, scene_road_text(self._context))
        return lambda seen: message

    def _map(self, _: str) -> _Maker:
        record: Any = CATALOGUE.record("std_msgs/msg/String")
        message = record(scene_road_text(self._context))
        return lambda seen: message

    def _lights(self) -> SignalLights:
        if self._known_lights is None:
            period = self._context.period_ns
            self._known_lights = SignalLights(scene_road(self._context), period or 0)
        return self._known_lights

    def _lights_info(self, _: str) -> _Maker:
        lights = self._lights()
        return lambda seen: lights.info()
