# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The records that cross participant borders, and their one wire form (CDR of ROS messages)."""
