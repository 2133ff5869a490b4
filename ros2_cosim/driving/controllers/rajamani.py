# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The two controllers of Rajamani's book: constant-time-gap ACC, constant-spacing platoon.

Source: R. Rajamani, "Vehicle Dynamics and Control", 2nd ed., Springer 2012, chapters 6 and 7;
parameters as in the Plexe platooning simulator.
"""

from __future__ import annotations

from math import sqrt
from typing import ClassVar

from pydantic import Field

from ros2_cosim.core.documents.settings import Number, Section
from ros2_cosim.driving.controllers.measurement import Measurement


class RajamaniAcc(Section):
    """ACC (eq. 6.18): ``u = (gap_rate + lam e) / h``.

    String stable if and only if h is at least twice the actuator lag, whatever ``lam``.
    """

    lam: Number = Field(default=0.1, gt=0, description="gain on the gap error [1/s]")

    needs_v2v: ClassVar = ()

    def acceleration(self, measurement: Measurement) -> float:
        """Return the demanded acceleration [m/s^2]."""
        m = measurement
        return (m.gap_rate + self.lam * m.gap_error) / m.time_gap


class LeaderPredecessorCacc(Section):
    """Platoon law (eq. 7.39) with a constant spacing; needs leader and predecessor by V2V.

    ``u = a1 u_pred + a2 u_lead + a3 (v - v_pred) + a4 (v - v_lead) + a5 (spacing - gap)`` with
    a1 = 1 - c1, a2 = c1, a3 = -(2 xi - c1 (xi + q)) wn, a4 = -(xi + q) wn c1, a5 = -wn^2 and
    q = sqrt(xi^2 - 1).

    It closes up slowly by design: behind a standing vehicle a gap error decays as
    ``(1 + wn t) exp(-wn t)`` with ``xi = 1``, to 10 % in ``3.9 / wn``, 19 s with the default.
    """

    spacing: Number = Field(default=5.0, gt=0, description="wanted gap at any speed [m]")
    c1: Number = Field(
        default=0.5, ge=0, le=1, description="weight of the leader against the predecessor [1]"
    )
    xi: Number = Field(default=1.0, ge=1, description="damping ratio [1]")
    wn: Number = Field(default=0.2, gt=0, description="bandwidth [rad/s]")

    needs_v2v: ClassVar = ("predecessor", "leader")

    @property
    def standstill_gap(self) -> float:
        """The spacing holds at standstill, too [m]."""
        return self.spacing

    @property
    def alphas(self) -> tuple[float, float, float, float, float]:
        """The five gains a1 [1], a2 [1], a3 [1/s], a4 [1/s], a5 [1/s^2]."""
        root = self.xi + sqrt(self.xi * self.xi - 1.0)
        return (
            1.0 - self.c1,
            self.c1,
            -(2.0 * self.xi - self.c1 * root) * self.wn,
            -root * self.wn * self.c1,
            -self.wn * self.wn,
        )

    def acceleration(self, measurement: Measurement) -> float:
        """Return the demanded acceleration [m/s^2]."""
        m = measurement
        predecessor, leader = m.predecessor, m.leader
        assert predecessor is not None and leader is not None  # by needs_v2v
        a1, a2, a3, a4, a5 = self.alphas
        return (
            a1 * predecessor.commanded_acceleration
            + a2 * leader.commanded_acceleration
            - a3 * m.gap_rate
            + a4 * (m.speed - leader.speed)
            + a5 * (self.spacing - m.gap)
        )
