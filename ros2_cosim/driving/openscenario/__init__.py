# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""ASAM OpenSCENARIO XML 1.x: its files as scenarios, its storyboard as a participant."""
