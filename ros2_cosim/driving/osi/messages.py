# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Messages of ASAM OSI 3 and the records of this project, both ways.

Records have their place at the centre of the footprint, on the ground, and velocities in the frame
of the body. OSI has both in the frame of the parent: the place is the centre of the box, velocity
and acceleration are its own, and an orientation rate is the change of the three angles. Both are
right-handed with x ahead, in SI units; OSI's angles (yaw, then pitch, then roll) are those of
``world/map/frames.py``. The origin of a vehicle's own frame is the middle of its rear axle.

Needs the package ``osi-python`` (extra ``osi``).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from osi3.osi_common_pb2 import Dimension3d, Orientation3d, Timestamp, Vector3d
from osi3.osi_object_pb2 import MovingObject, StationaryObject
from osi3.osi_sensordata_pb2 import SensorData
from osi3.osi_trafficupdate_pb2 import TrafficUpdate
from osi3.osi_version_pb2 import DESCRIPTOR, InterfaceVersion, current_interface_version

from ros2_cosim.core.kernel.exactmath import sincos
from ros2_cosim.core.kernel.time import SECOND
from ros2_cosim.core.messages.records import (
    CLASS_CAR,
    CLASS_OBSTACLE,
    CLASS_TRUCK,
    CLASS_UNKNOWN,
    Acceleration,
    DetectedObject,
    ObjectList,
    Odometry,
    RoadUser,
    StaticObject,
)
from ros2_cosim.world.map import frames

Vector = frames.Vector

#: The version of the standard that messages are written in.
VERSION: Final[InterfaceVersion] = DESCRIPTOR.GetOptions().Extensions[current_interface_version]
#: Its text, as ``3.8.0``.
VERSION_TEXT: Final = ".".join(
    str(part) for part in (VERSION.version_major, VERSION.version_minor, VERSION.version_patch)
)

_VEHICLE: Final = MovingObject.VehicleClassification
_TYPES: Final = {CLASS_CAR: _VEHICLE.TYPE_CAR, CLASS_TRUCK: _VEHICLE.TYPE_HEAVY_TRUCK}
#: Types of vehicles that are trucks here.
_TRUCKS: Final = frozenset(
    (
        _VEHICLE.TYPE_HEAVY_TRUCK,
        _VEHICLE.TYPE_SEMITRACTOR,
        _VEHICLE.TYPE_SEMITRAILER,
        _VEHICLE.TYPE_BUS,
    )
)
_LEVEL: Final = 1e-12


class Axles(NamedTuple):
    """Axles of a vehicle: ahead of and behind the centre of its footprint, both positive, and the
    radius of the wheels [m].
    """

    front: float
    rear: float
    radius: float


class Form(NamedTuple):
    """What stays of a moving object: identity, class, full size [m], and axles if it has some.

    A ``walker`` is a person.
    """

    id: int
    classification: int
    length: float
    width: float
    height: float
    axles: Axles | None = None
    walker: bool = False


class SensorFrame(NamedTuple):
    """A sensor: its number, and where the own front bumper is ahead of the rear axle [m].

    Distances of an object list begin at that bumper, so the frame of its detections is there.
    """

    id: int
    front: float


def set_time(message: Timestamp, time: int) -> None:
    """Write a simulated time [ns]."""
    message.seconds, message.nanos = divmod(time, SECOND)


def time_of(message: Timestamp) -> int:
    """The time of a message [ns]."""
    return int(message.seconds) * SECOND + int(message.nanos)


def _vector(message: Vector3d, value: Vector) -> None:
    message.x, message.y, message.z = value


def _angles(message: Orientation3d, value: Vector) -> None:
    message.roll, message.pitch, message.yaw = value


def _box(base: Any, size: Vector, place: Vector, turn: Vector) -> None:
    dimension: Dimension3d = base.dimension
    dimension.length, dimension.width, dimension.height = size
    _vector(base.position, place)
    _angles(base.orientation, turn)


def _vector_of(message: Vector3d) -> Vector:
    return message.x, message.y, message.z


def _turn_of(message: Orientation3d) -> frames.Quaternion:
    return frames.quaternion_from_rpy(message.roll, message.pitch, message.yaw)


def _cross(a: Vector, b: Vector) -> Vector:
    return (
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    )


def _sum(a: Vector, b: Vector) -> Vector:
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


def _difference(a: Vector, b: Vector) -> Vector:
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


def angle_rates(turn: Vector, rates: Vector) -> Vector:
    """How roll, pitch and yaw change [rad/s] with angular rates about the axes of the body.

    With ``R = Rz(yaw) Ry(pitch) Rx(roll)``, to be differentiated. At a pitch of 90 degrees, where
    they are not unique, roll and yaw are said not to change.

    :param turn: roll, pitch and yaw [rad]
    """
    sr, cr = sincos(turn[0])
    sp, cp = sincos(turn[1])
    about = sr * rates[1] + cr * rates[2]
    if -_LEVEL < cp < _LEVEL:
        return 0.0, cr * rates[1] - sr * rates[2], 0.0
    yaw = about / cp
    return rates[0] + sp * yaw, cr * rates[1] - sr * rates[2], yaw


def body_rates(turn: Vector, changes: Vector) -> Vector:
    """Angular rates about the axes of the body [rad/s], the reverse of :func:`angle_rates`."""
    sr, cr = sincos(turn[0])
    sp, cp = sincos(turn[1])
    roll, pitch, yaw = changes
    return roll - sp * yaw, cr * pitch + sr * cp * yaw, cr * cp * yaw - sr * pitch


def _classify(message: MovingObject, form: Form) -> None:
    message.id.value = form.id
    if form.walker:
        message.type = MovingObject.TYPE_PEDESTRIAN
        message.pedestrian_attributes.SetInParent()
        return
    if form.classification not in _TYPES:
        message.type = MovingObject.TYPE_OTHER
        return
    message.type = MovingObject.TYPE_VEHICLE
    message.vehicle_classification.type = _TYPES[form.classification]
    attributes = message.vehicle_attributes
    attributes.SetInParent()
    if form.axles is not None:
        down = form.axles.radius - 0.5 * form.height
        _vector(attributes.bbcenter_to_rear, (0.0 - form.axles.rear, 0.0, down))
        _vector(attributes.bbcenter_to_front, (form.axles.front, 0.0, down))


def moving_object(
    message: MovingObject, form: Form, o: Odometry, acceleration: Acceleration | None = None
) -> None:
    """Write a vehicle with an odometry.

    The acceleration is that of the reference point: what turning adds at the centre of the box,
    some 0.7 m above it, is not known.
    """
    _classify(message, form)
    base = message.base
    q = o.qx, o.qy, o.qz, o.qw
    turn = frames.rpy_from_quaternion(*q)
    up = 0.0, 0.0, 0.5 * form.height
    place = _sum((o.x, o.y, o.z), frames.body_to_world(q, up))
    _box(base, (form.length, form.width, form.height), place, turn)
    rates = o.wx, o.wy, o.wz
    velocity = _sum((o.vx, o.vy, o.vz), _cross(rates, up))
    _vector(base.velocity, frames.body_to_world(q, velocity))
    if acceleration is not None:
        _vector(base.acceleration, frames.body_to_world(q, acceleration))
    _angles(base.orientation_rate, angle_rates(turn, rates))


def moving_user(
    message: MovingObject,
    user: RoadUser,
    *,
    walker: bool = False,
    acceleration: Vector | None = None,
    yaw_rate: float = 0.0,
) -> None:
    """Write a road user, which stands upright.

    :param acceleration: in the map frame [m/s^2]
    """
    form = Form(user.id, user.classification, user.length, user.width, user.height, walker=walker)
    _classify(message, form)
    base = message.base
    size = user.length, user.width, user.height
    _box(base, size, (user.x, user.y, user.z + 0.5 * user.height), (0.0, 0.0, user.yaw))
    _vector(base.velocity, velocity_of(user))
    if acceleration is not None:
        _vector(base.acceleration, acceleration)
    _angles(base.orientation_rate, (0.0, 0.0, yaw_rate))


def velocity_of(user: RoadUser) -> Vector:
    """The velocity of a road user in the map frame [m/s]."""
    sine, cosine = sincos(user.yaw)
    return user.vx * cosine - user.vy * sine, user.vx * sine + user.vy * cosine, 0.0


def form_of(message: MovingObject) -> Form:
    """What stays of a moving object."""
    size = message.base.dimension
    axles = None
    attributes = message.vehicle_attributes
    if attributes.HasField("bbcenter_to_rear") and attributes.HasField("bbcenter_to_front"):
        rear, front = attributes.bbcenter_to_rear, attributes.bbcenter_to_front
        axles = Axles(front.x, 0.0 - rear.x, rear.z + 0.5 * size.height)
    return Form(
        message.id.value,
        _class_of(message.type, message.vehicle_classification.type),
        size.length,
        size.width,
        size.height,
        axles,
        message.type == MovingObject.TYPE_PEDESTRIAN,
    )


def _class_of(kind: int, vehicle: int) -> int:
    if kind != MovingObject.TYPE_VEHICLE:
        return CLASS_UNKNOWN
    return CLASS_TRUCK if vehicle in _TRUCKS else CLASS_CAR


def odometry_of(message: MovingObject) -> Odometry:
    """The odometry of a moving object in ground truth."""
    base = message.base
    q = _turn_of(base.orientation)
    turn = base.orientation.roll, base.orientation.pitch, base.orientation.yaw
    up = 0.0, 0.0, 0.5 * base.dimension.height
    place = _difference(_vector_of(base.position), frames.body_to_world(q, up))
    changes = base.orientation_rate
    rates = body_rates(turn, (changes.roll, changes.pitch, changes.yaw))
    velocity = frames.world_to_body(q, _vector_of(base.velocity))
    return Odometry(*place, *q, *_difference(velocity, _cross(rates, up)), *rates)


def acceleration_of(message: MovingObject) -> Acceleration:
    """The acceleration of a moving object in ground truth."""
    q = _turn_of(message.base.orientation)
    return Acceleration(*frames.world_to_body(q, _vector_of(message.base.acceleration)))


def road_user_of(message: MovingObject) -> RoadUser:
    """A moving object in ground truth as a road user, which stands upright."""
    base, form = message.base, form_of(message)
    yaw = base.orientation.yaw
    sine, cosine = sincos(yaw)
    vx, vy, _ = _vector_of(base.velocity)
    return RoadUser(
        form.id,
        form.classification,
        base.position.x,
        base.position.y,
        base.position.z - 0.5 * form.height,
        yaw,
        vx * cosine + vy * sine,
        vy * cosine - vx * sine,
        form.length,
        form.width,
        form.height,
    )


def updated(update: TrafficUpdate) -> Iterator[tuple[Form, Odometry, Acceleration]]:
    """What a traffic participant says of the objects that it moves."""
    for message in update.update:
        yield form_of(message), odometry_of(message), acceleration_of(message)


def stationary_object(message: StationaryObject, item: StaticObject) -> None:
    """Write a fixed object."""
    message.id.value = item.id
    place = item.x, item.y, item.z
    _box(message.base, (item.length, item.width, item.height), place, (0.0, 0.0, item.yaw))
    kinds = StationaryObject.Classification
    barrier = item.classification == CLASS_OBSTACLE
    message.classification.type = kinds.TYPE_BARRIER if barrier else kinds.TYPE_OTHER


def static_object_of(message: StationaryObject) -> StaticObject:
    """A fixed object of ground truth."""
    base, size = message.base, message.base.dimension
    barrier = message.classification.type == StationaryObject.Classification.TYPE_BARRIER
    return StaticObject(
        message.id.value,
        CLASS_OBSTACLE if barrier else CLASS_UNKNOWN,
        *_vector_of(base.position),
        base.orientation.yaw,
        size.length,
        size.width,
        size.height,
    )


def sensor_data(
    message: SensorData, found: ObjectList, sensor: SensorFrame, time: int, measured: int | None
) -> None:
    """Write what an object sensor reports.

    The list has distances along the lane: they are the x of the sensor's frame, lateral offsets
    its y, as on a straight lane. Heights are not measured.

    :param time: when the list is there [ns]
    :param measured: when it was measured [ns]; None: unknown
    """
    message.version.CopyFrom(VERSION)
    set_time(message.timestamp, time)
    message.sensor_id.value = sensor.id
    mount(message, sensor)
    if measured is not None:
        set_time(message.last_measurement_time, measured)
    for item in found.objects:
        fixed = item.classification == CLASS_OBSTACLE
        one: Any = (message.stationary_object if fixed else message.moving_object).add()
        header = one.header
        header.tracking_id.value = item.id
        header.ground_truth_id.add().value = item.id
        header.existence_probability = item.existence_probability
        header.measurement_state = header.MEASUREMENT_STATE_MEASURED
        size = one.base.dimension
        size.length, size.width = item.length, item.width
        centre = item.distance + 0.5 * item.length
        _vector(one.base.position, (centre, item.lateral_offset, 0.0))
        candidate = one.candidate.add()
        candidate.probability = 1.0
        if fixed:
            candidate.classification.type = StationaryObject.Classification.TYPE_BARRIER
            continue
        _vector(one.base.velocity, (item.relative_speed, 0.0, 0.0))
        if item.classification in _TYPES:
            candidate.type = MovingObject.TYPE_VEHICLE
            candidate.vehicle_classification.type = _TYPES[item.classification]
        else:
            candidate.type = MovingObject.TYPE_UNKNOWN


def mount(message: Any, sensor: SensorFrame) -> None:
    """Write where a sensor is: in a SensorData or a SensorView."""
    _vector(message.mounting_position.position, (sensor.front, 0.0, 0.0))
    _angles(message.mounting_position.orientation, (0.0, 0.0, 0.0))


def own_speed_of(message: SensorData) -> float | None:
    """Own speed along the vehicle [m/s], as a message has it of its host; None: it has none."""
    host = message.host_vehicle_location
    if not host.HasField("velocity"):
        return None
    return frames.world_to_body(_turn_of(host.orientation), _vector_of(host.velocity))[0]


def object_list_of(message: SensorData, front: float, own_speed: float | None) -> ObjectList:
    """What a sensor reports, by ascending distance, as on a straight lane along the own vehicle.

    An object is taken as one that is not turned: its near bumper is half a length before its
    centre.

    :param front: of the own front bumper ahead of the rear axle [m]
    :param own_speed: along the vehicle [m/s]; a stationary object comes with as much. None: it is
        not known, and they are left out
    """
    mounting = message.mounting_position
    q = _turn_of(mounting.orientation)
    origin = _vector_of(mounting.position)

    def detected(item: Any, classification: int, relative_speed: float) -> DetectedObject:
        place = _sum(origin, frames.body_to_world(q, _vector_of(item.base.position)))
        size, header = item.base.dimension, item.header
        certain = header.existence_probability if header.HasField("existence_probability") else 1.0
        return DetectedObject(
            # OSI has 64 bits, the records 32.
            header.tracking_id.value & 0xFFFF_FFFF,
            classification,
            place[0] - 0.5 * size.length - front,
            relative_speed,
            place[1],
            size.length,
            size.width,
            certain,
        )

    found = []
    for moving in message.moving_object:
        kind, vehicle = MovingObject.TYPE_UNKNOWN, _VEHICLE.TYPE_UNKNOWN
        if moving.candidate:
            likely = max(moving.candidate, key=lambda each: each.probability)
            kind, vehicle = likely.type, likely.vehicle_classification.type
        speed = frames.body_to_world(q, _vector_of(moving.base.velocity))[0]
        found.append(detected(moving, _class_of(kind, vehicle), speed))
    for fixed in message.stationary_object if own_speed is not None else ():
        found.append(detected(fixed, CLASS_OBSTACLE, 0.0 - (own_speed or 0.0)))
    return ObjectList(tuple(sorted(found, key=lambda each: (each.distance, each.id))))
