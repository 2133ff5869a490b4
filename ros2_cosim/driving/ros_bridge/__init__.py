# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A run as nodes see it that are written for CARLA's ROS bridge: its topics, types and frames."""
