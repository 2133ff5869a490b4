# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What a process of a run needs: signals, shared memory, a secret."""
