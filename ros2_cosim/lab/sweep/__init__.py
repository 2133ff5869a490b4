# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Many runs of one scenario with other values: designs, searches, results as a table."""
