# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Time, queues, activation, time advance: the deterministic core, without I/O or wall clocks."""
