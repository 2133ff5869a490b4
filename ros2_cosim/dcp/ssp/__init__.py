# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""System Structure and Parameterization (SSP) 1.0 and 2.0: systems of FMUs as scenarios, and back.

Source of all rules: the standard, repository modelica/ssp-standard, commit a83fcb5b, directory
``docs``.
"""
