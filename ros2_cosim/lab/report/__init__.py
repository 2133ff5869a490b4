# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Pages about runs: one run, several side by side, two compared."""
