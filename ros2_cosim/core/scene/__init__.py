# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What a scenario says of its scene, and the interface of the simulators that hold it."""
