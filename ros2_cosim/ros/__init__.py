# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""ROS 2: participants as nodes, nodes of others, the run shapes ``ros`` and ``composed``.

Also runs on several hosts, and the executables of the package. No wing below knows rclpy.

May use: vds, driving, world, dcp, core. Used by: lab, cli.
"""
