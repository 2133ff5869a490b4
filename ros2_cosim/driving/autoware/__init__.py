# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A vehicle as Autoware sees it: its planning simulator's topics, types and frames."""
