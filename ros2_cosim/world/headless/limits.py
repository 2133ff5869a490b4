# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Limits of the server's options; without imports, so that the command line shows them fast."""

from __future__ import annotations

from typing import Final

#: Steps per second while no client has set ``fixed_delta_seconds``.
DEFAULT_RATE_HZ: Final = 20.0
#: The protocol allows steps of at most one second ...
MIN_RATE_HZ: Final = 1.0
#: ... and no client follows more frames per second than this.
MAX_RATE_HZ: Final = 1000.0
#: Longest ``fixed_delta_seconds`` that a client may set [s].
MAX_STEP_S: Final = 10.0
#: Seeds travel as 32 bits where the protocol carries them.
MAX_SEED: Final = 0xFFFFFFFF
