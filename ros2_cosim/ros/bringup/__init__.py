# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The run shapes ``composed`` and ``ros``: processes are started, watched and ended."""
