# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What is around the vehicle, in ``autoware_perception_msgs``: the truth, without noise.

Poses are those of the centres of boxes, twists are in the axes of the objects. Accelerations are
not known: 0. Predicted paths have a constant velocity, with the horizons and the step of
autowarefoundation/autoware_universe, commit 1f0cfdffc29b3cfb2eaefdc927e51aebdd5ebfbc,
perception/autoware_map_based_prediction/config/map_based_prediction.param.yaml.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Final

from ros2_cosim.core.messages.catalogue import DEFAULT as CATALOGUE
from ros2_cosim.core.messages.records import (
    CLASS_CAR,
    CLASS_OBSTACLE,
    CLASS_TRUCK,
    Odometry,
    RoadUser,
    StaticObject,
)
from ros2_cosim.core.scene.simulator import SETTLE_TICKS
from ros2_cosim.driving.seams.message_parts import MessageParts
from ros2_cosim.world.map import RoadNetwork, frames
from ros2_cosim.world.map.traffic_lights import LightPhases

_PACKAGE: Final = "autoware_perception_msgs/msg/"
#: Of poses and twists, as the planning simulator's of a position.
_VARIANCE: Final = 1e-4
_COVARIANCE: Final = tuple(_VARIANCE if i % 7 == 0 else 0.0 for i in range(36))
#: Of an object whose height the scene does not say [m]; class estimate.
_HEIGHT: Final = 1.5
#: Slower than this, an object is stationary [m/s]; class estimate.
_STATIONARY: Final = 0.1
#: Half seconds of a predicted path: of vehicles, of others.
_VEHICLE_STEPS, _OTHER_STEPS = 30, 20
_STEP_S: Final = 0.5
_STEP_NS: Final = 500_000_000
_UUID_BYTES: Final = 16


def standing_user(one: StaticObject) -> RoadUser:
    """A static object as a road user, whose place is at the bottom of its box."""
    return RoadUser(
        one.id,
        one.classification,
        one.x,
        one.y,
        one.z - 0.5 * one.height,
        one.yaw,
        0.0,
        0.0,
        one.length,
        one.width,
        one.height,
    )


class SurroundingMessages(ABC):
    """Makes the message with all objects."""

    kind: str

    def __init__(self) -> None:
        self._part = MessageParts(CATALOGUE)
        self._record: Any = CATALOGUE.record(f"{_PACKAGE}{self.kind}Objects")
        self._one: Any = CATALOGUE.part(f"{_PACKAGE}{self.kind}Object")
        self._kinematics: Any = CATALOGUE.part(f"{_PACKAGE}{self.kind}ObjectKinematics")
        self._shape: Any = CATALOGUE.part(f"{_PACKAGE}Shape")
        self._uuid: Any = CATALOGUE.part("unique_identifier_msgs/msg/UUID")
        label: Any = CATALOGUE.part(f"{_PACKAGE}ObjectClassification")
        self._class = label
        self._labels = {
            CLASS_CAR: label.CAR,
            CLASS_TRUCK: label.TRUCK,
            CLASS_OBSTACLE: label.HAZARD,
        }

    def make(self, base: Odometry, users: Sequence[RoadUser]) -> Any:
        """The message.

        :param base: of ``base_link``
        """
        return self._record(tuple(self._object(base, user) for user in users))

    @abstractmethod
    def _object(self, base: Odometry, user: RoadUser) -> Any:
        """The message of one object."""

    def _common(self, user: RoadUser) -> dict[str, Any]:
        """What all kinds of objects have."""
        size = self._part.vector(user.length, user.width, user.height or _HEIGHT)
        label = self._labels.get(user.classification, self._class.UNKNOWN)
        return {
            "existence_probability": 1.0,
            "classification": (self._class(label=label, probability=1.0),),
            "shape": self._shape(type=self._shape.BOUNDING_BOX, dimensions=size),
        }

    def _id(self, user: RoadUser) -> Any:
        """The same for the whole run, and in each one of the scenario."""
        return self._uuid(user.id.to_bytes(_UUID_BYTES, "big"))

    def _pose(self, place: frames.Vector, turn: frames.Quaternion) -> Any:
        return self._part.pose_of(self._part.point(*place), self._part.quaternion(*turn))

    def _twist(self, user: RoadUser) -> Any:
        twist = self._part.twist((user.vx, user.vy, 0.0), (0.0, 0.0, 0.0))
        return self._part.moving(twist, _COVARIANCE)

    def _in_map(self, user: RoadUser) -> Any:
        pose = self._pose(_centre(user), frames.quaternion_from_yaw(user.yaw))
        return self._part.posed(pose, _COVARIANCE)


class DetectedMessages(SurroundingMessages):
    """``DetectedObjects``, in the frame ``base_link``."""

    kind = "Detected"

    def _object(self, base: Odometry, user: RoadUser) -> Any:
        x, y, z = _centre(user)
        turn = (base.qx, base.qy, base.qz, base.qw)
        place = frames.world_to_body(turn, (x - base.x, y - base.y, z - base.z))
        heading = frames.multiply(frames.conjugate(turn), frames.quaternion_from_yaw(user.yaw))
        kinematics = self._kinematics(
            pose_with_covariance=self._part.posed(self._pose(place, heading), _COVARIANCE),
            has_position_covariance=True,
            orientation_availability=self._kinematics.AVAILABLE,
            twist_with_covariance=self._twist(user),
            has_twist=True,
            has_twist_covariance=True,
        )
        return self._one(kinematics=kinematics, **self._common(user))


class TrackedMessages(SurroundingMessages):
    """``TrackedObjects``, in the map."""

    kind = "Tracked"

    def _object(self, base: Odometry, user: RoadUser) -> Any:
        squared = user.vx * user.vx + user.vy * user.vy
        kinematics = self._kinematics(
            pose_with_covariance=self._in_map(user),
            twist_with_covariance=self._twist(user),
            orientation_availability=self._kinematics.AVAILABLE,
            is_stationary=squared < _STATIONARY * _STATIONARY,
        )
        return self._one(object_id=self._id(user), kinematics=kinematics, **self._common(user))


class PredictedMessages(SurroundingMessages):
    """``PredictedObjects``, in the map, with one path each."""

    kind = "Predicted"

    def __init__(self) -> None:
        super().__init__()
        self._path: Any = CATALOGUE.part(f"{_PACKAGE}PredictedPath")
        duration: Any = CATALOGUE.part("builtin_interfaces/msg/Duration")
        self._step = duration(0, _STEP_NS)

    def _object(self, base: Odometry, user: RoadUser) -> Any:
        kinematics = self._kinematics(
            initial_pose_with_covariance=self._in_map(user),
            initial_twist_with_covariance=self._twist(user),
            predicted_paths=(self._path(self._way(user), self._step, 1.0),),
        )
        return self._one(object_id=self._id(user), kinematics=kinematics, **self._common(user))

    def _way(self, user: RoadUser) -> tuple[Any, ...]:
        turn = frames.quaternion_from_yaw(user.yaw)
        x, y, z = _centre(user)
        vx, vy, _ = frames.body_to_world(turn, (user.vx, user.vy, 0.0))
        is_vehicle = user.classification in (CLASS_CAR, CLASS_TRUCK)
        count = _VEHICLE_STEPS if is_vehicle else _OTHER_STEPS
        times = (_STEP_S * number for number in range(count + 1))
        return tuple(self._pose((x + vx * t, y + vy * t, z), turn) for t in times)


class SignalMessages:
    """Makes ``TrafficLightGroupArray``: each light is a group, numbered from 1 as in the map.

    Only time changes the lights of the headless server, so they are counted along with it.

    :param step_ns: length of a step of the world
    """

    def __init__(self, road: RoadNetwork, step_ns: int) -> None:
        self._phases, self._step_ns = LightPhases(road, step_ns), step_ns
        self._record: Any = CATALOGUE.record(f"{_PACKAGE}TrafficLightGroupArray")
        self._group: Any = CATALOGUE.part(f"{_PACKAGE}TrafficLightGroup")
        element: Any = CATALOGUE.part(f"{_PACKAGE}TrafficLightElement")
        self._element = element
        #: Of CARLA's states red, yellow, green, off, unknown.
        self._shown = (
            (element.RED, element.SOLID_ON),
            (element.AMBER, element.SOLID_ON),
            (element.GREEN, element.SOLID_ON),
            (element.UNKNOWN, element.SOLID_OFF),
            (element.UNKNOWN, element.UNKNOWN),
        )

    def make(self, time: int) -> Any:
        """All lights at a time [ns]."""
        states = self._phases.states(SETTLE_TICKS + time // self._step_ns)
        return self._record(tuple(self._one(*each) for each in enumerate(states, start=1)))

    def _one(self, number: int, state: int) -> Any:
        color, status = self._shown[state]
        shape = self._element.CIRCLE
        element = self._element(color=color, shape=shape, status=status, confidence=1.0)
        return self._group(traffic_light_group_id=number, elements=(element,))


def _centre(user: RoadUser) -> frames.Vector:
    """The centre of the box."""
    return user.x, user.y, user.z + 0.5 * (user.height or _HEIGHT)
