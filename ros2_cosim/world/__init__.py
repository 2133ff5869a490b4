# SPDX-License-Identifier: Apache-2.0
"""What is simulated: roads, vehicles, the CARLA server and the bridge to it, SUMO."""
