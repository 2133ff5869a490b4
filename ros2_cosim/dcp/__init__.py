# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The Distributed Co-Simulation Protocol (DCP) 1.0, FMI and SSP.

PDUs and transports, descriptions, slaves and masters of any kind, tools; slaves and FMUs as
participants of a scenario, and a scenario as a slave or an FMU.

May use: core. Used by: world, driving, ros, lab, cli.
"""
