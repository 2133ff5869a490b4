# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Systems of other projects as plain nodes of rclpy, independent of this project."""
