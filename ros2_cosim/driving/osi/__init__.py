# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""ASAM OSI 3 (Open Simulation Interface): runs as traces, and its messages as records."""
