# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Many runs and what they show: sweeps, studies, reports, pages.

May use: ros, vds, driving, world, dcp, core. Used by: cli.
"""
