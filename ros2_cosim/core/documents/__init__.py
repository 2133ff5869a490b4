# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Files as every room reads and writes them: checked settings, strict YAML, JSON and XML."""

from ros2_cosim.requirements import check

check()
