# SPDX-License-Identifier: Apache-2.0
"""Definition texts of the message types that the suite uses.

The project's own types say the same as the files in ``msg/``; the standard types are listed
as far as records are mapped to them. They stand here as text because the codec and the bag
writer must work without a ROS installation.
"""

from __future__ import annotations

_STAMPED = "std_msgs/Header header\nuint64 seq\n"

STANDARD_DEFINITIONS: dict[str, str] = {
    "builtin_interfaces/msg/Time": "int32 sec\nuint32 nanosec\n",
    "std_msgs/msg/Header": "builtin_interfaces/Time stamp\nstring frame_id\n",
    "rosgraph_msgs/msg/Clock": "builtin_interfaces/Time clock\n",
    "geometry_msgs/msg/Point": "float64 x\nfloat64 y\nfloat64 z\n",
    "geometry_msgs/msg/Quaternion": "float64 x 0\nfloat64 y 0\nfloat64 z 0\nfloat64 w 1\n",
    "geometry_msgs/msg/Vector3": "float64 x\nfloat64 y\nfloat64 z\n",
    "geometry_msgs/msg/Pose": "Point position\nQuaternion orientation\n",
    "geometry_msgs/msg/Twist": "Vector3 linear\nVector3 angular\n",
    "geometry_msgs/msg/Accel": "Vector3 linear\nVector3 angular\n",
    "geometry_msgs/msg/PoseWithCovariance": "Pose pose\nfloat64[36] covariance\n",
    "geometry_msgs/msg/TwistWithCovariance": "Twist twist\nfloat64[36] covariance\n",
    "geometry_msgs/msg/AccelStamped": "std_msgs/Header header\nAccel accel\n",
    "nav_msgs/msg/Odometry": (
        "std_msgs/Header header\n"
        "string child_frame_id\n"
        "geometry_msgs/PoseWithCovariance pose\n"
        "geometry_msgs/TwistWithCovariance twist\n"
    ),
}

OWN_DEFINITIONS: dict[str, str] = {
    "ros2_cosim/msg/ControlCommand": _STAMPED
    + "float64 acceleration\nfloat64 throttle\nfloat64 brake\nfloat64 steer\n",
    "ros2_cosim/msg/DetectedObject": (
        "uint32 id\n"
        "uint32 classification\n"
        "float64 distance\n"
        "float64 relative_speed\n"
        "float64 lateral_offset\n"
        "float64 length\n"
        "float64 width\n"
        "float64 existence_probability\n"
    ),
    "ros2_cosim/msg/ObjectList": _STAMPED + "DetectedObject[] objects\n",
    "ros2_cosim/msg/V2VMessage": _STAMPED
    + (
        "uint32 sender\n"
        "int64 generation_time\n"
        "float64 x\n"
        "float64 y\n"
        "float64 speed\n"
        "float64 acceleration\n"
        "float64 commanded_acceleration\n"
        "float64 length\n"
        "bool braking\n"
    ),
    "ros2_cosim/msg/StaticObject": (
        "uint32 id\n"
        "uint32 classification\n"
        "float64 x\n"
        "float64 y\n"
        "float64 z\n"
        "float64 yaw\n"
        "float64 length\n"
        "float64 width\n"
        "float64 height\n"
    ),
    "ros2_cosim/msg/StaticObjects": _STAMPED + "StaticObject[] objects\n",
    "ros2_cosim/msg/CollisionEvent": _STAMPED + "uint32 vehicle\nuint32 other\nfloat64 impulse\n",
    "ros2_cosim/msg/PlatoonStatus": _STAMPED
    + (
        "float64 obstacle_gap\n"
        "uint32 collisions\n"
        "bool standstill\n"
        "float64[] gaps\n"
        "float64[] speeds\n"
    ),
    "ros2_cosim/msg/PortPromise": "string port\nuint64 count\nint64 time_ns\n",
    "ros2_cosim/msg/Completion": (
        "string participant\n"
        "uint64 activations\n"
        "int64 bound_ns\n"
        "int64 stop_ns\n"
        "string stop_reason\n"
        "PortPromise[] ports\n"
    ),
    "ros2_cosim/msg/Presence": "string participant\nint64 enter_ns\nint64 leave_ns\n",
    "ros2_cosim/msg/Horizon": (
        "string run_id\nint64 time_ns\nint64 end_ns\nPresence[] presences\n"
    ),
    "ros2_cosim/msg/ParticipantState": (
        "std_msgs/Header header\n"
        "string participant\n"
        "uint8 state\n"
        "string reason\n"
        "string cannot_reset\n"
    ),
    "ros2_cosim/msg/SystemState": (
        "std_msgs/Header header\nuint8 state\nstring reason\nstring run_id\nstring[] required\n"
    ),
    "ros2_cosim/msg/Heartbeat": (
        "string participant\n"
        "uint64 activations\n"
        "int64 bound_ns\n"
        "string[] waits_for\n"
        "int64[] promised_ns\n"
    ),
    "ros2_cosim/msg/ParticipantStatus": (
        "string participant\n"
        "uint8 state\n"
        "string reason\n"
        "bool present\n"
        "int64 bound_ns\n"
        "int64 granted_ns\n"
        "uint64 activations\n"
        "float64 rate\n"
        "string[] waits_for\n"
        "int64[] promised_ns\n"
        "int64 since_ns\n"
        "float64 since_s\n"
        "float64 heard_s\n"
        "bool silent\n"
    ),
    "ros2_cosim/msg/RunStatus": (
        "string run_id\n"
        "uint8 state\n"
        "string reason\n"
        "int64 time_ns\n"
        "int64 horizon_ns\n"
        "int64 end_ns\n"
        "float64 rate\n"
        "float64 real_time_factor\n"
        "float64 wall_s\n"
        "string blocking\n"
        "string why\n"
        "ParticipantStatus[] participants\n"
    ),
    "ros2_cosim/msg/ParticipantReport": (
        "string participant\n"
        "uint64 activations\n"
        "string trace_sha256\n"
        "uint64 compute_ns\n"
        "uint64 wait_ns\n"
        "uint64 transport_ns\n"
        "uint32 timing\n"
        "uint32 order\n"
        "uint32 loss\n"
        "string details_json\n"
    ),
}
