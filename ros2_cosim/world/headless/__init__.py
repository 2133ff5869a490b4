# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A CARLA-compatible server without graphics: protocol, streams, world model.

``World`` in ``world`` is the simulation without sockets; ``Server`` in ``server`` speaks the
CARLA 0.9.16 client protocol around it.
"""
