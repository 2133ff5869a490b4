# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""SUMO as the simulator of a scene: the only room that knows it (extra ``sumo``)."""
