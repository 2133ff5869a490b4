# SPDX-License-Identifier: Apache-2.0
"""Message types of the ports of models, as scenarios name them."""

ACCELERATION = "geometry_msgs/msg/AccelStamped"
BYTES = "std_msgs/msg/UInt8MultiArray"
COLLISION = "ros2_cosim/msg/CollisionEvent"
CONTROL = "ros2_cosim/msg/ControlCommand"
CONTROLLER_STATUS = "ros2_cosim/msg/ControllerStatus"
OBJECTS = "ros2_cosim/msg/ObjectList"
ODOMETRY = "nav_msgs/msg/Odometry"
ROAD_USERS = "ros2_cosim/msg/RoadUsers"
STATIC_OBJECTS = "ros2_cosim/msg/StaticObjects"
STATUS = "ros2_cosim/msg/PlatoonStatus"
V2V = "ros2_cosim/msg/V2VMessage"
