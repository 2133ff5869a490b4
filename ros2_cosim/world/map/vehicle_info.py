# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What every participant knows beforehand of the vehicles: identity and size."""

from __future__ import annotations

from typing import NamedTuple

from ros2_cosim.core.messages.records import CLASS_CAR


class VehicleInfo(NamedTuple):
    """Identity, footprint [m] and class of one vehicle."""

    id: int
    length: float
    width: float
    classification: int = CLASS_CAR
