# SPDX-License-Identifier: Apache-2.0
"""The two controllers of Rajamani's book: constant-time-gap ACC, constant-spacing platoon.

Source: R. Rajamani, "Vehicle Dynamics and Control", 2nd ed., Springer 2012, chapters 6 and 7;
parameters as in the Plexe platooning simulator.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

from ros2_cosim.kernel.errors import ConfigurationError
from ros2_cosim.models.checks import (
    require_not_negative,
    require_positive,
    require_probability,
)
from ros2_cosim.models.controllers.measurement import Measurement


@dataclass(frozen=True, kw_only=True)
class RajamaniAcc:
    """ACC (eq. 6.18): ``u = (gap_rate + lam e) / h``.

    String stable if and only if h is at least twice the actuator lag, whatever ``lam``.

    :param lam: gain on the gap error [1/s]
    """

    lam: float = 0.1

    needs_v2v = ()

    def __post_init__(self) -> None:
        """Check the gain."""
        require_positive("RajamaniAcc", lam=self.lam)

    def acceleration(self, measurement: Measurement) -> float:
        """Return the demanded acceleration [m/s^2]."""
        m = measurement
        return (m.gap_rate + self.lam * m.gap_error) / m.time_gap


@dataclass(frozen=True, kw_only=True)
class LeaderPredecessorCacc:
    """Platoon law (eq. 7.39) with a constant spacing; needs leader and predecessor by V2V.

    ``u = a1 u_pred + a2 u_lead + a3 (v - v_pred) + a4 (v - v_lead) + a5 (spacing - gap)`` with
    a1 = 1 - c1, a2 = c1, a3 = -(2 xi - c1 (xi + q)) wn, a4 = -(xi + q) wn c1, a5 = -wn^2 and
    q = sqrt(xi^2 - 1).

    :param spacing: wanted gap at any speed [m]
    :param c1: weight of the leader against the predecessor, 0..1
    :param xi: damping ratio, at least 1
    :param wn: bandwidth [rad/s]
    """

    spacing: float = 5.0
    c1: float = 0.5
    xi: float = 1.0
    wn: float = 0.2

    needs_v2v = ("predecessor", "leader")

    def __post_init__(self) -> None:
        """Check the parameters."""
        require_positive("LeaderPredecessorCacc", spacing=self.spacing, wn=self.wn)
        require_probability("LeaderPredecessorCacc", c1=self.c1)
        require_not_negative("LeaderPredecessorCacc", xi=self.xi)
        if self.xi < 1.0:
            raise ConfigurationError(
                f"LeaderPredecessorCacc: xi is {self.xi!r}; it must be at least 1"
            )

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
