# SPDX-License-Identifier: Apache-2.0
"""ROS 2: participants as nodes, the clock node, processes of a run, programs of the package."""
