# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The run itself: time, messages, scenarios, records.

Time and order, files, messages and their bytes, what a scenario says, faults, the wall clock, bag
and summary, and runs in one process without ROS. It contains nothing about vehicles, and does not
name any other wing: they add their parts through entry points.

May use: none. Used by: dcp, world, driving, vds, ros, lab, cli.
"""
