# SPDX-License-Identifier: Apache-2.0
"""Keys of scenario files that are gone, and what is written instead."""

from __future__ import annotations

from typing import Final

FORMER_KEYS: Final = {
    "platoon.direction": "platoon.lane, whose sign says it",
    "platoon.length": "platoon.vehicle.length",
    "platoon.width": "platoon.vehicle.width",
    **{
        f"participants.storyboard.parameters.{key}": "openscenario.file"
        for key in ("boxes", "performance", "standing", "walking", "teleported", "values", "init",
                    "stories", "stop")
    },
}  # fmt: skip
