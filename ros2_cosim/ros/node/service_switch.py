# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Whether the ROS services of a run may change it: any program in its domain can call them."""

from __future__ import annotations

import os

#: Environment variable: not empty: they only tell.
NO_CONTROL = "COSIM_NO_CONTROL"


def services_act() -> bool:
    """Whether services of this process may change the run."""
    return not os.environ.get(NO_CONTROL)
