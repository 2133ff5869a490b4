# SPDX-License-Identifier: Apache-2.0
"""Models of human drivers as control laws: they follow what they see, without V2V.

Sources: M. Treiber, A. Hennecke, D. Helbing, "Congested traffic states in empirical observations
and microscopic simulations", Phys. Rev. E 62 (2000), eq. (1) and (2); P. G. Gipps, "A behavioural
car-following model for computer simulation", Transp. Res. B 15 (1981), eq. (1) and (2).
"""

from __future__ import annotations

from typing import ClassVar, Final

from pydantic import Field

from ros2_cosim.documents.settings import Number, Section
from ros2_cosim.kernel.exactmath import sqrt
from ros2_cosim.models.controllers.measurement import Measurement

_LEAST_GAP: Final = 0.1  # m, so that nothing is divided by zero


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
        ratio = m.speed / m.set_speed
        braking = 2.0 * sqrt(self.max_acceleration * self.deceleration)
        wanted = max(0.0, m.speed * m.time_gap - m.speed * m.gap_rate / braking)
        share = (m.standstill_gap + wanted) / max(m.gap, _LEAST_GAP)
        demand = self.max_acceleration * (1.0 - ratio * ratio * ratio * ratio - share * share)
        return max(demand, -self.hardest)


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
