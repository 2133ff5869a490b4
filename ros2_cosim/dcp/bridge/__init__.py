# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Couples any DCP slaves to a scenario by configuration: variables to message fields and back."""
