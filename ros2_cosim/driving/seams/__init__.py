# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Seams between this project's records and the standard messages of ROS."""
