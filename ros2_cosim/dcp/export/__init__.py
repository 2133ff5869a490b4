# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A scenario, a law or a law file as an FMU, and a scenario stepped by a DCP master."""
