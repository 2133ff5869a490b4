# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The Intelligent Driver Model, of background traffic and as a control law.

Source: M. Treiber, A. Hennecke, D. Helbing, "Congested traffic states in empirical observations
and microscopic simulations", Phys. Rev. E 62 (2000), eq. (1) and (2), with exponent 4.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from ros2_cosim.core.kernel.exactmath import sqrt

_LEAST_GAP: Final = 0.1  # m, so that nothing is divided by zero


class DriverStyle(NamedTuple):
    """How a driver drives: accelerations [m/s^2], gap at standstill [m], time gap [s].

    ``hardest`` bounds the deceleration, ``deceleration`` is the comfortable one.
    """

    max_acceleration: float
    deceleration: float
    hardest: float
    standstill_gap: float
    time_gap: float


def intelligent_driver(
    style: DriverStyle, speed: float, wanted: float, gap: float | None, gap_rate: float
) -> float:
    """Acceleration of a driver [m/s^2].

    :param speed: own speed [m/s]
    :param wanted: speed on a free road [m/s]; 0: it stops with its usual deceleration
    :param gap: to the vehicle or object ahead, bumper to bumper [m], None on a free road
    :param gap_rate: how fast the gap grows [m/s]
    """
    if wanted > 0.0:
        ratio = speed / wanted
        free = ratio * ratio * ratio * ratio
    else:
        free = 1.0 + (style.deceleration / style.max_acceleration if speed > 0.0 else 0.0)
    interaction = 0.0
    if gap is not None:
        braking = 2.0 * sqrt(style.max_acceleration * style.deceleration)
        following = max(0.0, speed * style.time_gap - speed * gap_rate / braking)
        share = (style.standstill_gap + following) / max(gap, _LEAST_GAP)
        interaction = share * share
    return max(style.max_acceleration * (1.0 - free - interaction), -style.hardest)
