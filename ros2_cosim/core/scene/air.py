# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""How much light fog and rain take on its way, by CARLA's weather parameters and by rain in mm/h.

Extinctions are those of a power, per metre: after the way d the share exp(-extinction d) is left.
"""

from __future__ import annotations

from typing import Final

from ros2_cosim.core.kernel.exactmath import exp, log

#: The way [m] after which 1 / e is left in air without fog, and how fog of 100 % shortens it.
CLEAR_WAY: Final = 2600.0
FULL_FOG: Final = 40.0
#: Up to this share fog is haze, as in ``ClearNoon``: what sensors do in clear air holds there.
HAZE: Final = 0.02

#: Rain of CARLA's precipitation of 100 % [mm/h]: where meteorologists begin to call it violent.
HEAVIEST_RAIN: Final = 50.0
#: Natural extinction [1/m] per dB/km.
PER_DB_KM: Final = log(10.0) / 10.0 / 1000.0


def fog_extinction(share: float) -> float:
    """Extinction of light [1/m] by fog of a share (0 to 1) of the densest, beyond haze."""
    return max(0.0, share - HAZE) * FULL_FOG / CLEAR_WAY


def rain_extinction(rain: float) -> float:
    """Extinction of light [1/m] by rain [mm/h]: 1.076 R^0.67 dB/km (ITU-R P.1814, France)."""
    return 1.076 * power(rain, 0.67) * PER_DB_KM


def power(base: float, exponent: float) -> float:
    """A power of a number that is not below 0."""
    return exp(exponent * log(base)) if base > 0.0 else 0.0
