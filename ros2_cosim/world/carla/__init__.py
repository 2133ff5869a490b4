# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The bridge to CARLA: a scene of vehicles behind an exchangeable simulator.

``Scene`` is the functional part; ``ClientWorld`` is a CARLA server seen through the ``carla``
client package, ``InProcessWorld`` the headless world model without sockets.
"""
