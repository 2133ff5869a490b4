# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Tools: decoding of DCP traffic, verification of slaves."""
