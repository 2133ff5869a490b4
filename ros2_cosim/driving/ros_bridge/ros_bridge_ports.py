# SPDX-License-Identifier: Apache-2.0
"""Topics and types of CARLA's ROS bridge (``carla_ros_bridge``), and the ports that stand for them.

The role name of a vehicle is its name in the scene. ``{vehicle}`` in a port or topic stands for it.
"""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

#: The models behind these ports, and the participants that the section ``ros_bridge`` makes.
BRIDGE_MODEL: Final = "carla_ros_bridge"
CONTROL_MODEL: Final = "carla_ros_control"

CONTROL_COMMAND: Final = "carla_msgs/msg/CarlaEgoVehicleControl"


class BridgeOutput(NamedTuple):
    """What the bridge publishes: port, message type, topic, when it is sent.

    ``latched``: viewers that come later get it, too, as they do of what is sent once.
    """

    port: str
    type: str
    topic: str
    schedule: Literal["every", "sparse", "once"] = "every"
    description: str = ""
    latched: bool = False


class BridgeCommand(NamedTuple):
    """What the bridge reads: the part of the topic behind the vehicle, and its message type.

    The port has the last word of it.
    """

    name: str
    type: str
    description: str = ""

    @property
    def port(self) -> str:
        """The port of a vehicle, with a placeholder."""
        return f"{self.name.rpartition('/')[2]}/{{vehicle}}"


_PREFIX: Final = "/carla/{vehicle}"

OUTPUTS: Final = (
    BridgeOutput(
        "vehicle_status/{vehicle}",
        "carla_msgs/msg/CarlaEgoVehicleStatus",
        f"{_PREFIX}/vehicle_status",
        description="speed, acceleration and orientation in the map, command",
    ),
    BridgeOutput(
        "vehicle_info/{vehicle}",
        "carla_msgs/msg/CarlaEgoVehicleInfo",
        f"{_PREFIX}/vehicle_info",
        "once",
        "identity, wheels and mass",
    ),
    BridgeOutput(
        "odometry/{vehicle}",
        "nav_msgs/msg/Odometry",
        f"{_PREFIX}/odometry",
        description="pose in the map, twist of the vehicle",
    ),
    BridgeOutput(
        "speedometer/{vehicle}",
        "std_msgs/msg/Float32",
        f"{_PREFIX}/speedometer",
        description="speed along the vehicle [m/s]",
    ),
    BridgeOutput(
        "objects/{vehicle}",
        "derived_object_msgs/msg/ObjectArray",
        f"{_PREFIX}/objects",
        description="all other vehicles",
    ),
    BridgeOutput(
        "collision/{vehicle}",
        "carla_msgs/msg/CarlaCollisionEvent",
        f"{_PREFIX}/collision",
        "sparse",
        "its contacts; x has the impulse [N s]",
    ),
    BridgeOutput(
        "lane_invasion/{vehicle}",
        "carla_msgs/msg/CarlaLaneInvasionEvent",
        f"{_PREFIX}/lane_invasion",
        "sparse",
        "road marks that a corner of it has crossed",
    ),
    BridgeOutput(
        "objects",
        "derived_object_msgs/msg/ObjectArray",
        "/carla/objects",
        description="all vehicles",
    ),
    BridgeOutput(
        "markers",
        "visualization_msgs/msg/MarkerArray",
        "/carla/markers",
        description="a box for each vehicle",
    ),
    BridgeOutput(
        "static_markers",
        "visualization_msgs/msg/MarkerArray",
        "/carla/markers/static",
        "once",
        "a box for each static object",
    ),
    BridgeOutput(
        "actor_list",
        "carla_msgs/msg/CarlaActorList",
        "/carla/actor_list",
        description="vehicles, background traffic, static objects",
    ),
    BridgeOutput(
        "status",
        "carla_msgs/msg/CarlaStatus",
        "/carla/status",
        description="number of the step, and its length",
    ),
    BridgeOutput(
        "world_info",
        "carla_msgs/msg/CarlaWorldInfo",
        "/carla/world_info",
        "once",
        "name and OpenDRIVE text of the map",
    ),
    BridgeOutput("map", "std_msgs/msg/String", "/carla/map", "once", "OpenDRIVE text of the map"),
    BridgeOutput(
        "traffic_lights_status",
        "carla_msgs/msg/CarlaTrafficLightStatusList",
        "/carla/traffic_lights/status",
        "sparse",
        "the state of each traffic light, when one has changed",
        latched=True,
    ),
    BridgeOutput(
        "traffic_lights_info",
        "carla_msgs/msg/CarlaTrafficLightInfoList",
        "/carla/traffic_lights/info",
        "once",
        "where the traffic lights stand, and where they are obeyed",
    ),
    BridgeOutput(
        "tf", "tf2_msgs/msg/TFMessage", "/tf", description="map to vehicles, vehicles to sensors"
    ),
)

COMMANDS: Final = (
    BridgeCommand("vehicle_control_cmd", CONTROL_COMMAND, "pedals and steering"),
    BridgeCommand("vehicle_control_cmd_manual", CONTROL_COMMAND, "the same, by a human"),
    BridgeCommand(
        "vehicle_control_manual_override", "std_msgs/msg/Bool", "which of the two is obeyed"
    ),
    BridgeCommand(
        "control/set_target_velocity",
        "geometry_msgs/msg/Twist",
        "speed and yaw rate, which are followed",
    ),
)

#: Outputs that only the headless server's own traffic lights give: those of a renderer, or of
#: another simulator, change by themselves.
LIGHT_OUTPUTS: Final = ("traffic_lights_status", "traffic_lights_info")

#: What the bridge reads further, behind ``/carla/``: nothing here would obey it.
REFUSED_TOPICS: Final = (
    "control",
    "debug_marker",
    "weather_control",
    "{vehicle}/enable_autopilot",
    "{vehicle}/control/set_transform",
    "{vehicle}/walker_control_cmd",
)

#: Kind of a sensor output of the world -> what stands behind the topic ``/carla/VEHICLE/SENSOR``.
SENSOR_TOPICS: Final = {
    "fix": "",
    "imu": "",
    "points": "",
    "image": "/image",
    "camera_info": "/camera_info",
}


def sensor_topic(vehicle: str, sensor: str) -> str:
    """The topic of a sensor, as far as all of its messages have it in common."""
    return f"/carla/{vehicle}/{sensor}"


def bridge_frame(vehicle: str, sensor: str = "") -> str:
    """The frame of a vehicle, or of a sensor on it; that of a camera is the optical one."""
    return f"{vehicle}/{sensor}" if sensor else vehicle
