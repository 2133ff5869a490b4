# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Sensors of the server: what they measure, from the actors, the roads and the ground.

``hub`` decides which sensor measures when; each other module is one kind of sensor, or a part of
the scene that cameras and rays see. Nothing here costs anything until a client listens.
"""
