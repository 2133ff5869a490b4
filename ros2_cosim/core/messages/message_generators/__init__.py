# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""First on the module path of ROS's message generators: makes them share what they have parsed."""
