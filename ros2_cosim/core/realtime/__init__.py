# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Runs against the wall clock: pacing, late parts, plants of other programs."""
