# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What a run leaves behind (bag, summary, profile), and what viewers see of it while it runs."""
