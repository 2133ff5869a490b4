# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Models of human drivers as control laws: they follow what they see, without V2V.

Sources: see :mod:`ros2_cosim.world.drivers.intelligent_driver`; P. G. Gipps, "A behavioural
car-following model for computer simulation", Transp. Res. B 15 (1981), eq. (1) and (2).
"""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from ros2_cosim.core.documents.settings import Number, Section
from ros2_cosim.core.kernel.exactmath import sqrt
from ros2_cosim.driving.controllers.measurement import Measurement
from ros2_cosim.world.drivers.intelligent_driver import DriverStyle, intelligent_driver


class IntelligentDriver(Section):
    """The Intelligent Driver Model with exponent 4; the time gap is its T, the standstill gap s0.

    In steady following the gap is ``(s0 + v T) / sqrt(1 - (v / set_speed)^4)``.
    """

    max_acceleration: Number = Field(default=1.5, gt=0, description="on a free road [m/s^2]")
    deceleration: Number = Field(default=2.0, gt=0, description="comfortable one [m/s^2]")
    hardest: Number = Field(default=8.0, gt=0, description="bound of the deceleration [m/s^2]")

    needs_v2v: ClassVar = ()

    def acceleration(self, measurement: Measurement) -> float:
        """Return the demanded acceleration [m/s^2]."""
        m = measurement
        style = DriverStyle(
            self.max_acceleration, self.deceleration, self.hardest, m.standstill_gap, m.time_gap
        )
        return intelligent_driver(style, m.speed, m.set_speed, m.gap, m.gap_rate)


class GippsDriver(Section):
    """Gipps' model: the speed that is safe if the vehicle ahead brakes, after a reaction time.

    The reaction time takes the place of the time gap: in steady following the gap is
    ``s0 + 1.5 v reaction + v^2 (1 / b_ahead - 1 / b) / 2`` with the decelerations of both.
    """

    max_acceleration: Number = Field(default=1.7, gt=0, description="on a free road [m/s^2]")
    deceleration: Number = Field(default=3.0, gt=0, description="hardest that it wants [m/s^2]")
    ahead: Number = Field(
        default=3.0, gt=0, description="what it expects of the vehicle ahead [m/s^2]"
    )
    reaction: Number = Field(default=0.7, gt=0, description="reaction time [s]")

    needs_v2v: ClassVar = ()

    def acceleration(self, measurement: Measurement) -> float:
        """Return the demanded acceleration [m/s^2]: to the new speed within the reaction time."""
        m = measurement
        ratio = m.speed / m.set_speed
        free = (
            m.speed
            + 2.5 * self.max_acceleration * self.reaction * (1.0 - ratio) * sqrt(0.025 + ratio)
            if ratio < 1.0
            else m.set_speed
        )
        b, reaction = self.deceleration, self.reaction
        other = max(0.0, m.speed + m.gap_rate)
        room = 2.0 * (m.gap - m.standstill_gap) - m.speed * reaction
        square = b * b * reaction * reaction + b * (room + other * other / self.ahead)
        safe = -b * reaction + sqrt(square) if square > 0.0 else 0.0
        return (min(free, max(0.0, safe)) - m.speed) / reaction
