# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What a viewer of Foxglove asks a server for; needs no extra."""

from __future__ import annotations

PROTOCOL = "foxglove.sdk.v1"
