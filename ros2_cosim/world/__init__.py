# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What is simulated: roads, vehicles, the CARLA server and the bridge to it, SUMO.

Also what drives a vehicle along its lane, and how the scene is drawn.

May use: dcp, core. Used by: driving, vds, ros, lab, cli.
"""
