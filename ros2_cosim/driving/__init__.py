# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What drives and judges: control laws, sensors, V2V, CAN, referee, OpenSCENARIO.

Also the messages of other driving software, topics of CARLA's ROS bridge and of Autoware.

May use: world, dcp, core. Used by: ros, lab, cli.
"""
