# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What Autoware reads of a vehicle and its surroundings, made of what the world sends."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from ros2_cosim.core.documents.settings import Section
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.model import FullModel, Port, Traits
from ros2_cosim.core.kernel.participant import ModelContext, Step
from ros2_cosim.core.messages.catalogue import DEFAULT as CATALOGUE
from ros2_cosim.core.messages.cdr import NS_PER_S
from ros2_cosim.core.messages.message_types import (
    ACCELERATION,
    CONTROL,
    ODOMETRY,
    ROAD_USERS,
    STATIC_OBJECTS,
)
from ros2_cosim.core.messages.records import Acceleration, Odometry, RoadUser
from ros2_cosim.core.messages.seams import SeamPlace
from ros2_cosim.core.scene.scene import scene_settings
from ros2_cosim.driving.autoware.autoware_ports import BASE_LINK, OUTPUTS
from ros2_cosim.driving.autoware.perception import (
    DetectedMessages,
    PredictedMessages,
    SignalMessages,
    SurroundingMessages,
    TrackedMessages,
    standing_user,
)
from ros2_cosim.driving.autoware.rear_axle import (
    acceleration_at_rear_axle,
    at_rear_axle,
    dynamics_of,
    only_vehicle,
)
from ros2_cosim.driving.autoware.steering_column import SteeringColumn
from ros2_cosim.driving.seams.message_parts import MessageParts
from ros2_cosim.driving.seams.sensing import OdometryParameters, ToOdometry
from ros2_cosim.world.map.scene import scene_road

#: Variances of the planning simulator, of a position [m^2] and of accelerations [m^2/s^4].
_POSITION, _ACCELERATION = 1e-4, 1e-3
#: Perception is so much slower than the vehicle: the timer of autowarefoundation/
#: autoware_universe, commit 198145f4203dea6ca6bdc111afd22c524754a896,
#: simulator/autoware_dummy_perception_publisher/src/node.cpp.
_PERCEPTION_NS: Final = 100_000_000
#: Output -> input that it needs beside the odometry.
_NEEDS: Final = {
    "acceleration": "acceleration/{vehicle}",
    "steering_status": "control/{vehicle}",
    "detected_objects": "vehicles",
    "tracked_objects": "vehicles",
    "predicted_objects": "vehicles",
}


class AutowareVehicleParameters(Section):
    """Parameters of the model autoware_vehicle: none."""


class _Seen(NamedTuple):
    """What is known at ``time`` [ns]: ``base`` is the odometry of ``base_link``."""

    time: int
    base: Odometry
    body: Odometry
    acceleration: Acceleration | None
    users: tuple[RoadUser, ...]


class AutowareVehicle(FullModel):
    """Publishes state and surroundings of a vehicle, to be activated with the period of the world.

    Inputs, latched: what the world sends, and the command that the vehicle obeys. Objects and
    traffic lights are sent at the first activation of each tenth of a second.

    :raises ConfigurationError: it has no vehicle or several, or an output lacks its input
    """

    Parameters = AutowareVehicleParameters
    traits = Traits(cost_ns=200_000)
    input_ports = (
        Port("odometry/{vehicle}", ODOMETRY, required=False, description="of the vehicle"),
        Port("acceleration/{vehicle}", ACCELERATION, required=False, description="the same"),
        Port("control/{vehicle}", CONTROL, required=False, description="what it obeys"),
        Port("vehicles", ROAD_USERS, required=False, description="all of the scene"),
        Port("traffic", ROAD_USERS, required=False, description="vehicles of no participant"),
        Port("static_objects", STATIC_OBJECTS, required=False),
    )
    output_ports = tuple(topic.output for topic in OUTPUTS)
    other_ports = False

    @classmethod
    def port_names(
        cls, context: ModelContext, parameters: AutowareVehicleParameters
    ) -> Mapping[str, Sequence[str]]:
        """All vehicles of the scene."""
        return {"vehicle": tuple(scene_settings(context).vehicles)}

    @classmethod
    def check_settings(cls, context: ModelContext, parameters: AutowareVehicleParameters) -> None:
        """Check whether there is one vehicle, and what its outputs need."""
        cls(context, parameters)

    def __init__(self, context: ModelContext, parameters: AutowareVehicleParameters) -> None:
        name = self._name = only_vehicle(context, "inputs", "odometry/", context.input_types)
        for port, needed in _NEEDS.items():
            needed = needed.format(vehicle=name)
            if port in context.output_types and needed not in context.input_types:
                raise ConfigurationError(
                    f"participants.{context.name}.inputs: '{needed}' is missing; output '{port}' "
                    "needs it"
                )
        if context.period_ns is None:
            raise ConfigurationError(
                f"participants.{context.name}.period: missing; allowed is that of the world"
            )
        self._period = context.period_ns
        self._id = scene_settings(context).identity(name)
        dynamics = dynamics_of(context, name)
        self._rear = dynamics.rear_axle
        self._column = SteeringColumn(dynamics, self._period / NS_PER_S)
        self._has_begun = False
        every: dict[str, Callable[[], Callable[[_Seen], Any]]] = {
            "velocity_status": _velocity,
            "steering_status": self._steering,
            "kinematic_state": _kinematic_state,
            "acceleration": self._acceleration,
            "tf": _transform,
        }
        sparse: dict[str, Callable[[], Callable[[_Seen], Any]]] = {
            "detected_objects": lambda: _objects(DetectedMessages()),
            "tracked_objects": lambda: _objects(TrackedMessages()),
            "predicted_objects": lambda: _objects(PredictedMessages()),
            "traffic_signals": lambda: self._signals(context),
        }
        there = context.output_types
        self._every = {port: make() for port, make in every.items() if port in there}
        self._sparse = {port: make() for port, make in sparse.items() if port in there}

    def activate(self, step: Step) -> Mapping[str, Any]:
        """Say what is known now."""

        def newest(port: str) -> Any:
            sample = step.latest.get(port)
            return None if sample is None else sample.value

        command = newest(f"control/{self._name}")
        if command is not None and self._has_begun:
            self._column.follow(command.steer)
        self._has_begun = True
        odometry = newest(f"odometry/{self._name}")
        is_due = step.time % _PERCEPTION_NS < self._period
        seen = _Seen(
            step.time,
            at_rear_axle(odometry, self._rear),
            odometry,
            newest(f"acceleration/{self._name}"),
            self._users(newest) if is_due else (),
        )
        makers = self._every | self._sparse if is_due else self._every
        return {port: make(seen) for port, make in makers.items()}

    def _users(self, newest: Callable[[str], Any]) -> tuple[RoadUser, ...]:
        """All others, by their numbers."""
        found: list[RoadUser] = []
        for port in ("vehicles", "traffic"):
            users = newest(port)
            if users is not None:
                found += [user for user in users.users if user.id != self._id]
        static = newest("static_objects")
        if static is not None:
            found += map(standing_user, static.objects)
        return tuple(sorted(found))

    def save_state(self) -> Any:
        """The angle of the wheels."""
        return [self._has_begun, self._column.angle]

    def restore_state(self, state: Any) -> None:
        """Go back to a state that ``save_state`` gave."""
        self._has_begun, self._column.angle = state

    def reset(self) -> None:
        """The wheels are straight."""
        self._has_begun, self._column.angle = False, 0.0

    def _steering(self) -> Callable[[_Seen], Any]:
        record: Any = CATALOGUE.record("autoware_vehicle_msgs/msg/SteeringReport")
        return lambda seen: record(self._column.angle)

    def _acceleration(self) -> Callable[[_Seen], Any]:
        record: Any = CATALOGUE.record("geometry_msgs/msg/AccelWithCovarianceStamped")
        whole: Any = CATALOGUE.part("geometry_msgs/msg/AccelWithCovariance")
        part = MessageParts(CATALOGUE)
        covariance = tuple(_ACCELERATION if i % 7 == 0 else 0.0 for i in range(36))

        def make(seen: _Seen) -> Any:
            assert seen.acceleration is not None  # the world sends it with the odometry
            along, across = acceleration_at_rear_axle(seen.acceleration, seen.body, self._rear)
            return record(whole(part.accel((along, across, 0.0)), covariance))

        return make

    def _signals(self, context: ModelContext) -> Callable[[_Seen], Any]:
        messages = SignalMessages(scene_road(context), self._period)
        return lambda seen: messages.make(seen.time)


def _velocity() -> Callable[[_Seen], Any]:
    record: Any = CATALOGUE.record("autoware_vehicle_msgs/msg/VelocityReport")
    return lambda seen: record(seen.base.vx, seen.base.vy, seen.base.wz)


def _kinematic_state() -> Callable[[_Seen], Any]:
    place = SeamPlace("", "", ODOMETRY, (), {}, frame_id="map", child_frame_id=BASE_LINK)
    seam = ToOdometry(place, OdometryParameters(position=_POSITION))
    return lambda seen: seam.convert(seen.time, seen.base)


def _transform() -> Callable[[_Seen], Any]:
    record: Any = CATALOGUE.record("tf2_msgs/msg/TFMessage")
    stamped: Any = CATALOGUE.part("geometry_msgs/msg/TransformStamped")
    transform: Any = CATALOGUE.part("geometry_msgs/msg/Transform")
    part = MessageParts(CATALOGUE)

    def make(seen: _Seen) -> Any:
        o = seen.base
        move = transform(part.vector(o.x, o.y, o.z), part.quaternion(o.qx, o.qy, o.qz, o.qw))
        return record((stamped(part.header(seen.time, "map"), BASE_LINK, move),))

    return make


def _objects(messages: SurroundingMessages) -> Callable[[_Seen], Any]:
    return lambda seen: messages.make(seen.base, seen.users)
