# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What a world and a sensor know, in standard messages.

Covariances are diagonal: those of an ideal sensor, unless the scenario says more. They do not
change the values, which stay exact.
"""

from __future__ import annotations

from abc import abstractmethod
from functools import cache
from typing import Annotated, Any, ClassVar

from pydantic import Field

from ros2_cosim.core.documents.settings import Number, Section
from ros2_cosim.core.messages.catalogue import DEFAULT, Catalogue
from ros2_cosim.core.messages.message_types import ACCELERATION, OBJECTS, ODOMETRY
from ros2_cosim.core.messages.raw import RawMessage
from ros2_cosim.core.messages.records import (
    CLASS_CAR,
    CLASS_OBSTACLE,
    CLASS_TRUCK,
    DetectedObject,
    Odometry,
)
from ros2_cosim.core.messages.seams import NoParameters, OutputSeam, SeamPlace
from ros2_cosim.driving.seams.message_parts import MessageParts
from ros2_cosim.world.map.earth import MapOrigin, TangentPlane
from ros2_cosim.world.vehicle.parameters import GRAVITY

_Variance = Annotated[Number, Field(ge=0)]


@cache
def _whole() -> Catalogue:
    """A catalogue without records of this project, whose odometry has covariances."""
    return Catalogue()


def _diagonal(size: int, *variances: float) -> list[float]:
    """A covariance matrix, row by row."""
    matrix = [0.0] * (size * size)
    for index, variance in enumerate(variances):
        matrix[index * (size + 1)] = variance
    return matrix


class OdometryParameters(Section):
    """Variances of a pose and a twist."""

    position: _Variance = Field(default=1e-6, description="variance of a coordinate [m^2]")
    orientation: _Variance = Field(default=1e-6, description="variance of an angle [rad^2]")
    speed: _Variance = Field(default=1e-6, description="variance of a speed [m^2/s^2]")
    rate: _Variance = Field(default=1e-6, description="variance of an angular rate [rad^2/s^2]")


class ToOdometry(OutputSeam):
    """Odometry with covariances."""

    Parameters = OdometryParameters
    source_types = (ODOMETRY,)
    target_type = ODOMETRY

    def __init__(self, place: SeamPlace, parameters: OdometryParameters) -> None:
        p = parameters
        pose = _diagonal(6, *[p.position] * 3, *[p.orientation] * 3)
        twist = _diagonal(6, *[p.speed] * 3, *[p.rate] * 3)
        catalogue = _whole()
        record: Any = catalogue.record(ODOMETRY)
        part = MessageParts(catalogue)
        codec = catalogue.wire_codec(ODOMETRY, frame_id=place.frame_id)

        def make(o: Odometry) -> RawMessage:
            message = record(
                place.child_frame_id,
                part.posed(part.pose(o), pose),
                part.moving(part.twist((o.vx, o.vy, o.vz), (o.wx, o.wy, o.wz)), twist),
            )
            return RawMessage(ODOMETRY, codec.encode(0, 0, message))

        self._make = make

    def convert(self, time: int, *records: Any) -> RawMessage:
        """Fill the covariances."""
        return self._make(*records)


class ToAutowareVelocity(OutputSeam):
    """Velocity along and across the vehicle, as Autoware reads it from a vehicle."""

    Parameters = NoParameters
    source_types = (ODOMETRY,)
    target_type = "autoware_vehicle_msgs/msg/VelocityReport"

    def __init__(self, place: SeamPlace, parameters: NoParameters) -> None:
        self._record: Any = DEFAULT.record(self.target_type)

    def convert(self, time: int, *records: Any) -> Any:
        """Velocities [m/s] and yaw rate [rad/s]."""
        (o,) = records
        return self._record(o.vx, o.vy, o.wz)


class ImuParameters(Section):
    """Variances of an inertial measurement unit."""

    orientation: _Variance = Field(default=1e-6, description="variance of an angle [rad^2]")
    rate: _Variance = Field(default=1e-6, description="variance of an angular rate [rad^2/s^2]")
    acceleration: _Variance = Field(
        default=1e-6, description="variance of an acceleration [m^2/s^4]"
    )


class ToImu(OutputSeam):
    """An inertial measurement unit at the reference point of the vehicle.

    It measures specific force, as such units do: one that stands still on a level road shows
    gravity upwards.
    """

    Parameters = ImuParameters
    source_types = (ODOMETRY, ACCELERATION)
    target_type = "sensor_msgs/msg/Imu"

    def __init__(self, place: SeamPlace, parameters: ImuParameters) -> None:
        self._record: Any = DEFAULT.record(self.target_type)
        self._part = MessageParts(DEFAULT)
        self._covariances = [
            _diagonal(3, *[variance] * 3)
            for variance in (parameters.orientation, parameters.rate, parameters.acceleration)
        ]

    def convert(self, time: int, *records: Any) -> Any:
        """Orientation, angular velocity and specific force in the vehicle's frame."""
        o, a = records
        part = self._part
        orientation, rate, acceleration = self._covariances
        up = (
            2.0 * (o.qx * o.qz - o.qw * o.qy),
            2.0 * (o.qy * o.qz + o.qw * o.qx),
            1.0 - 2.0 * (o.qx * o.qx + o.qy * o.qy),
        )
        force = part.vector(a.ax + GRAVITY * up[0], a.ay + GRAVITY * up[1], a.az + GRAVITY * up[2])
        return self._record(
            part.quaternion(o.qx, o.qy, o.qz, o.qw),
            orientation,
            part.vector(o.wx, o.wy, o.wz),
            rate,
            force,
            acceleration,
        )


class NavSatParameters(MapOrigin):
    """Where the map lies on the earth, and how precise the receiver is."""

    variance: _Variance = Field(default=1e-4, description="variance of a coordinate [m^2]")


class ToNavSat(OutputSeam):
    """A satellite receiver at the reference point."""

    Parameters = NavSatParameters
    source_types = (ODOMETRY,)
    target_type = "sensor_msgs/msg/NavSatFix"

    def __init__(self, place: SeamPlace, parameters: NavSatParameters) -> None:
        self._record: Any = DEFAULT.record(self.target_type)
        status: Any = DEFAULT.part("sensor_msgs/msg/NavSatStatus")
        self._status = status(status.STATUS_FIX, status.SERVICE_GPS)
        self._altitude = parameters.altitude
        self._plane = TangentPlane(parameters)
        self._covariance = _diagonal(3, *[parameters.variance] * 3)

    def convert(self, time: int, *records: Any) -> Any:
        """Latitude and longitude [deg], altitude [m]."""
        (o,) = records
        latitude, longitude = self._plane.geodetic(o.x, o.y)
        return self._record(
            self._status,
            latitude,
            longitude,
            self._altitude + o.z,
            self._covariance,
            self._record.COVARIANCE_TYPE_DIAGONAL_KNOWN,
        )


class ObjectParameters(Section):
    """Size and precision of detected objects, as far as the object list does not say it."""

    height: Annotated[Number, Field(gt=0)] = Field(
        default=1.5, description="of an object, which is not measured [m]"
    )
    position: _Variance = Field(default=0.01, description="variance of a coordinate [m^2]")
    speed: _Variance = Field(default=0.01, description="variance of a speed [m^2/s^2]")


class _Objects(OutputSeam):
    """An object list in a frame at the sensor: x along the lane, y to the left.

    Distances of an object list are to its near bumper, positions in messages those of centres.
    """

    Parameters = ObjectParameters
    source_types = (OBJECTS,)

    def __init__(self, place: SeamPlace, parameters: ObjectParameters) -> None:
        self._parameters = parameters
        self._part = MessageParts(DEFAULT)
        self._frame = place.frame_id
        self._record: Any = DEFAULT.record(self.target_type)
        self._pose_covariance = _diagonal(6, *[parameters.position] * 3)
        self._twist_covariance = _diagonal(6, *[parameters.speed] * 3)

    def convert(self, time: int, *records: Any) -> Any:
        """All objects of the list."""
        (found,) = records
        header = self._part.header(time, self._frame)
        return self._record(tuple(self._object(header, one) for one in found.objects))

    @abstractmethod
    def _object(self, header: Any, found: DetectedObject) -> Any:
        """The message of one object."""

    def _pose(self, found: DetectedObject) -> Any:
        part = self._part
        centre = part.point(found.distance + 0.5 * found.length, found.lateral_offset, 0.0)
        return part.pose_of(centre, part.quaternion(0.0, 0.0, 0.0, 1.0))

    def _size(self, found: DetectedObject) -> tuple[float, float, float]:
        return found.length, found.width, self._parameters.height


class ToVision(_Objects):
    """Objects as ``vision_msgs``: detections with a class and a box."""

    target_type = "vision_msgs/msg/Detection3DArray"
    _CLASSES: ClassVar = {CLASS_CAR: "car", CLASS_TRUCK: "truck", CLASS_OBSTACLE: "obstacle"}

    def __init__(self, place: SeamPlace, parameters: ObjectParameters) -> None:
        super().__init__(place, parameters)
        self._detection: Any = DEFAULT.part("vision_msgs/msg/Detection3D")
        self._result: Any = DEFAULT.part("vision_msgs/msg/ObjectHypothesisWithPose")
        self._hypothesis: Any = DEFAULT.part("vision_msgs/msg/ObjectHypothesis")
        self._box: Any = DEFAULT.part("vision_msgs/msg/BoundingBox3D")

    def _object(self, header: Any, found: DetectedObject) -> Any:
        pose = self._pose(found)
        kind = self._CLASSES.get(found.classification, "unknown")
        return self._detection(
            header=header,
            results=(
                self._result(
                    self._hypothesis(kind, found.existence_probability),
                    self._part.posed(pose, self._pose_covariance),
                ),
            ),
            bbox=self._box(pose, self._part.vector(*self._size(found))),
            id=str(found.id),
        )


class ToDerivedObjects(_Objects):
    """Objects as ``derived_object_msgs``, which the CARLA ROS bridge uses."""

    target_type = "derived_object_msgs/msg/ObjectArray"

    def __init__(self, place: SeamPlace, parameters: ObjectParameters) -> None:
        super().__init__(place, parameters)
        self._one: Any = DEFAULT.part("derived_object_msgs/msg/Object")
        self._solid: Any = DEFAULT.part("shape_msgs/msg/SolidPrimitive")

    def _object(self, header: Any, found: DetectedObject) -> Any:
        one = self._one
        classes = {
            CLASS_CAR: one.CLASSIFICATION_CAR,
            CLASS_TRUCK: one.CLASSIFICATION_TRUCK,
            CLASS_OBSTACLE: one.CLASSIFICATION_BARRIER,
        }
        return one(
            header=header,
            id=found.id,
            detection_level=one.OBJECT_DETECTED,
            object_classified=found.classification in classes,
            pose=self._pose(found),
            twist=self._part.twist((found.relative_speed, 0.0, 0.0), (0.0, 0.0, 0.0)),
            shape=self._solid(type=self._solid.BOX, dimensions=self._size(found)),
            classification=classes.get(found.classification, one.CLASSIFICATION_UNKNOWN),
            classification_certainty=round(255.0 * found.existence_probability),
        )


class ToAutoware(_Objects):
    """Objects as ``autoware_perception_msgs``."""

    target_type = "autoware_perception_msgs/msg/DetectedObjects"

    def __init__(self, place: SeamPlace, parameters: ObjectParameters) -> None:
        super().__init__(place, parameters)
        package = "autoware_perception_msgs/msg/"
        self._one: Any = DEFAULT.part(f"{package}DetectedObject")
        self._class: Any = DEFAULT.part(f"{package}ObjectClassification")
        self._kinematics: Any = DEFAULT.part(f"{package}DetectedObjectKinematics")
        self._shape: Any = DEFAULT.part(f"{package}Shape")

    def _object(self, header: Any, found: DetectedObject) -> Any:
        part, label, kinematics = self._part, self._class, self._kinematics
        classes = {
            CLASS_CAR: label.CAR,
            CLASS_TRUCK: label.TRUCK,
            CLASS_OBSTACLE: label.HAZARD,
        }
        twist = part.twist((found.relative_speed, 0.0, 0.0), (0.0, 0.0, 0.0))
        return self._one(
            found.existence_probability,
            (label(classes.get(found.classification, label.UNKNOWN), 1.0),),
            kinematics(
                pose_with_covariance=part.posed(self._pose(found), self._pose_covariance),
                has_position_covariance=True,
                orientation_availability=kinematics.UNAVAILABLE,
                twist_with_covariance=part.moving(twist, self._twist_covariance),
                has_twist=True,
                has_twist_covariance=True,
            ),
            self._shape(type=self._shape.BOUNDING_BOX, dimensions=part.vector(*self._size(found))),
        )
