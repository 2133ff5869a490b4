# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Records: the immutable values that participants exchange.

All quantities are SI, frames follow REP-103 (right-handed; body x forward, y left, z up)
and REP-105 (``map`` is the world). Each record corresponds to one ROS message type, named
in its docstring; header stamp and sequence number travel beside the record, not in it. Times count
from the start of the run; those of a message count as ROS does (``start_time`` of the scenario).
"""

from typing import Annotated, Final, NamedTuple

from ros2_cosim.core.messages.binding import SINCE_START


class Odometry(NamedTuple):
    """Pose in ``map``, twist in the body frame (nav_msgs/msg/Odometry).

    The reference point is the centre of the vehicle's footprint on the ground.
    """

    x: float
    y: float
    z: float
    qx: float
    qy: float
    qz: float
    qw: float
    vx: float
    vy: float
    vz: float
    wx: float
    wy: float
    wz: float


class Acceleration(NamedTuple):
    """Linear acceleration in the body frame, m/s^2 (geometry_msgs/msg/AccelStamped)."""

    ax: float
    ay: float
    az: float


class ControlCommand(NamedTuple):
    """Command of a controller to one vehicle (ros2_cosim/msg/ControlCommand).

    ``acceleration`` is the demanded acceleration u in m/s^2 (sent on by V2V); ``throttle`` and
    ``brake`` are pedal positions 0..1; ``steer`` is -1..1, positive to the left. A throttle below
    zero, down to -1, acts in the reverse gear, and has no effect while the vehicle rolls forwards.
    If both pedals are NaN, the vehicle finds them from the acceleration.
    """

    acceleration: float
    throttle: float
    brake: float
    steer: float


class ControllerStatus(NamedTuple):
    """What a controller does (ros2_cosim/msg/ControllerStatus).

    ``mode`` is one of the values below. ``time_gap`` [s] is the present one of the spacing policy,
    ``time_gap_error`` [s] the real time gap minus that; the ages [s] are those of the V2V data in
    use. NaN: not available.
    """

    mode: int
    time_gap: float
    time_gap_error: float
    predecessor_age: float
    leader_age: float


class DetectedObject(NamedTuple):
    """One object of an object list (ros2_cosim/msg/DetectedObject).

    ``distance`` is bumper to bumper along the lane [m]; ``relative_speed`` is the object's
    speed minus the own speed along the lane [m/s]; ``lateral_offset`` [m] is positive to
    the left of the own lane position.
    """

    id: int
    classification: int
    distance: float
    relative_speed: float
    lateral_offset: float
    length: float
    width: float
    existence_probability: float


class ObjectList(NamedTuple):
    """What an object sensor reports at its measurement time (ros2_cosim/msg/ObjectList)."""

    objects: tuple[DetectedObject, ...]


class V2VMessage(NamedTuple):
    """A beacon of another vehicle as received (ros2_cosim/msg/V2VMessage).

    The header stamp is the time of reception; ``generation_time`` [ns] the time of sending.
    """

    sender: int
    generation_time: Annotated[int, SINCE_START]
    x: float
    y: float
    speed: float
    acceleration: float
    commanded_acceleration: float
    length: float
    braking: bool


class StaticObject(NamedTuple):
    """One fixed object of the scene (ros2_cosim/msg/StaticObject): box centre, yaw, full size."""

    id: int
    classification: int
    x: float
    y: float
    z: float
    yaw: float
    length: float
    width: float
    height: float


class StaticObjects(NamedTuple):
    """All fixed objects, sent once at the start (ros2_cosim/msg/StaticObjects)."""

    objects: tuple[StaticObject, ...]


class RoadUser(NamedTuple):
    """A vehicle of the simulator (ros2_cosim/msg/RoadUser): centre of its footprint in the map
    frame, yaw, velocity along and across its heading, full size.
    """

    id: int
    classification: int
    x: float
    y: float
    z: float
    yaw: float
    vx: float
    vy: float
    length: float
    width: float
    height: float


class RoadUsers(NamedTuple):
    """Vehicles of the simulator (ros2_cosim/msg/RoadUsers), in ascending order of id."""

    users: tuple[RoadUser, ...]


class TrafficLightAhead(NamedTuple):
    """The next traffic light on the way of a vehicle (ros2_cosim/msg/TrafficLightAhead).

    ``light`` is its number from 1 in the order of the map, ``state`` what it shows: 0 red,
    1 yellow, 2 green, 3 off, 4 unknown; ``distance`` [m] is that from the front bumper to the stop
    line.
    Without a light ahead: 0, 4 and infinite.
    """

    light: int
    state: int
    distance: float


class RedLightsPassed(NamedTuple):
    """Stop lines passed at red since the run began (ros2_cosim/msg/RedLightsPassed)."""

    vehicles: int
    traffic: int


class CollisionEvent(NamedTuple):
    """A contact reported by the simulator (ros2_cosim/msg/CollisionEvent); impulse in N s."""

    vehicle: int
    other: int
    impulse: float


class PlatoonStatus(NamedTuple):
    """The referee's view of the platoon (ros2_cosim/msg/PlatoonStatus).

    ``gaps`` [m] are bumper to bumper, gap i lies behind vehicle i; ``speeds`` [m/s].
    """

    obstacle_gap: float
    collisions: int
    standstill: bool
    gaps: tuple[float, ...]
    speeds: tuple[float, ...]


# Values of ``classification``, shared by detected and static objects.
CLASS_UNKNOWN: Final = 0
CLASS_CAR: Final = 1
CLASS_TRUCK: Final = 2
CLASS_OBSTACLE: Final = 3

#: Names of ``mode`` of a controller, by value.
CONTROLLER_MODES: Final = (
    "waiting",
    "cruise",
    "law",
    "estimate",
    "fallback",
    "emergency",
    "hold",
    "light",
    "coast",
    "v2v",
    "minimal_risk",
)
