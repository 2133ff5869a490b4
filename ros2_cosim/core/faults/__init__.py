# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Faults as data: what is done to the messages of a port, when, and by which chance."""
