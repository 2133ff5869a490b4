# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""CACC by model predictive control: the best demand over a horizon, within its limits.

The model is that of J. Ploeg, N. van de Wouw, H. Nijmeijer, IEEE TCST 22 (2014), section III: gap
error, relative speed and own acceleration, the actuator a first-order lag. The predecessor is
expected to go on with the acceleration that it demands, which it tells by V2V.
"""

from __future__ import annotations

from typing import ClassVar, Final, NamedTuple

from pydantic import Field, PrivateAttr

from ros2_cosim.core.documents.settings import Number, Section
from ros2_cosim.core.kernel.exactmath import exp
from ros2_cosim.driving.controllers.box_qp import minimise
from ros2_cosim.driving.controllers.measurement import Measurement, Peer

#: Steps of the horizon for which one demand holds: short ones first, where it matters.
_MOVES: Final = (1, 1, 1, 2, 2, 3, 5)
#: So many sweeps bring the demand to a millionth of its final value (see the test).
SWEEPS: Final = 60


class _State(NamedTuple):
    """Gap error [m], relative speed [m/s], own and predecessor's acceleration [m/s^2]."""

    error: float
    rate: float
    own: float
    ahead: float


class _Program(NamedTuple):
    """What of the quadratic program depends on the time gap only; one row for each move."""

    time_gap: float
    matrix: list[list[float]]
    errors: list[list[float]]
    rates: list[list[float]]


class MpcCacc(Section):
    """The first demand of the sequence that costs least over the horizon, with limits.

    The cost is the sum over the steps of ``error_weight e^2 + rate_weight (de/dt)^2`` and, of the
    demand, ``change_weight`` times the square of its changes, the first one from the previous
    demand. ``de/dt = gap_rate - h a``.
    """

    step: Number = Field(default=0.2, gt=0, le=1, description="of the prediction [s]")
    lag: Number = Field(default=0.2, gt=0, description="of the vehicle's acceleration [s]")
    error_weight: Number = Field(default=1.0, gt=0, description="on the gap error [1/m^2]")
    rate_weight: Number = Field(default=8.0, ge=0, description="on its derivative [s^2/m^2]")
    change_weight: Number = Field(
        default=0.3, gt=0, description="on changes of the demand [s^4/m^2]"
    )
    max_acceleration: Number = Field(default=2.5, gt=0, description="highest demand [m/s^2]")
    max_deceleration: Number = Field(
        default=8.0, gt=0, description="lowest demand, as a positive number [m/s^2]"
    )

    needs_v2v: ClassVar = ("predecessor",)

    _program: _Program | None = PrivateAttr(default=None)

    def acceleration(self, measurement: Measurement) -> float:
        """Return the demanded acceleration [m/s^2]."""
        m = measurement
        program = self._program
        if program is None or program.time_gap != m.time_gap:
            program = self._program = self._prepared(m.time_gap)
        peer = m.predecessor or Peer(m.speed + m.gap_rate, 0.0, 0.0, 0.0)
        begin = _State(m.gap_error, m.gap_rate, m.acceleration, peer.acceleration)
        errors, rates = self._course(begin, (0.0,) * len(_MOVES), peer, m.time_gap)
        vector = [
            self.error_weight * _product(by_error, errors)
            + self.rate_weight * _product(by_rate, rates)
            for by_error, by_rate in zip(program.errors, program.rates, strict=True)
        ]
        vector[0] -= self.change_weight * m.previous_command
        start = [m.previous_command] * len(_MOVES)
        low, high = -self.max_deceleration, self.max_acceleration
        return minimise(program.matrix, vector, low, high, start, SWEEPS)[0]

    def save_state(self) -> None:
        """Nothing: the program is made of the parameters and the time gap at hand."""

    def restore_state(self, state: None) -> None:
        """Nothing."""

    def _course(
        self, begin: _State, demands: tuple[float, ...], peer: Peer, time_gap: float
    ) -> tuple[list[float], list[float]]:
        """Gap error and its derivative at the end of each step."""
        dt = self.step
        share = 1.0 - exp(-dt / self.lag)
        errors, rates = [], []
        error, rate, own, ahead = begin
        for demand, steps in zip(demands, _MOVES, strict=True):
            for _ in range(steps):
                own_next = own + share * (demand - own)
                ahead_next = ahead + share * (peer.commanded_acceleration - ahead)
                gained = 0.5 * dt * (own + own_next)
                rate_next = rate + 0.5 * dt * (ahead + ahead_next) - gained
                error += 0.5 * dt * (rate + rate_next) - time_gap * gained
                own, ahead, rate = own_next, ahead_next, rate_next
                errors.append(error)
                rates.append(rate - time_gap * own)
        return errors, rates

    def _prepared(self, time_gap: float) -> _Program:
        """The matrix of the program: what one unit of each demand does."""
        still, rest = Peer(0.0, 0.0, 0.0, 0.0), _State(0.0, 0.0, 0.0, 0.0)
        count = len(_MOVES)
        units = [tuple(1.0 if i == j else 0.0 for j in range(count)) for i in range(count)]
        courses = [self._course(rest, unit, still, time_gap) for unit in units]
        errors, rates = ([course[n] for course in courses] for n in range(2))
        matrix = [
            [
                self.error_weight * _product(errors[i], errors[j])
                + self.rate_weight * _product(rates[i], rates[j])
                for j in range(count)
            ]
            for i in range(count)
        ]
        for i in range(count):
            matrix[i][i] += self.change_weight * (2.0 if i < count - 1 else 1.0)
            if i:
                matrix[i][i - 1] -= self.change_weight
                matrix[i - 1][i] -= self.change_weight
        return _Program(time_gap, matrix, errors, rates)


def _product(one: list[float], other: list[float]) -> float:
    total = 0.0
    for a, b in zip(one, other, strict=True):
        total += a * b
    return total
