# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What stands beside the roads of a map that does not describe it: houses, plants, walls, rails.

It is made from the map and from numbers that are drawn by the map's own text: the same map has the
same scenery on every machine. Roads, sidewalks and what the map itself has stay free of it.
"""
