# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The controllers of California PATH: CACC, ACC and speed control.

Source: V. Milanes, S. E. Shladover, "Modeling cooperative and autonomous adaptive cruise
control dynamic responses using experimental data", Transp. Res. C 48 (2014) 285-300; the ACC
and speed gains as used by the SUMO car-following models after the same work.
"""

from __future__ import annotations

from typing import Any, ClassVar, Final

from pydantic import Field, PrivateAttr

from ros2_cosim.core.documents.settings import Number, Section
from ros2_cosim.driving.controllers.measurement import Measurement

# Activations that are a sample time apart except for rounding are so.
_NEARLY: Final = 1.0 - 1e-6


class PathCacc(Section):
    """CACC as a speed command per period: ``v+ = v + kp e + kd de/dt``, e the gap error.

    The demanded acceleration is ``(v+ - v) / period``. With ``de/dt = gap_rate - h a`` and a
    the very acceleration demanded, that is ``(kp e + kd gap_rate) / (period + kd h)``.

    The gains mean something only together with the period. Without actuator lag the string is
    stable for ``h >= sqrt(2 period / kp)``: 0.42 s at 40 ms, 0.67 s at 100 ms.
    """

    kp: Number = Field(default=0.45, gt=0, description="gain on the gap error [1/s]")
    kd: Number = Field(default=0.25, ge=0, description="gain on its derivative [1]")
    period: Number | None = Field(
        default=None,
        gt=0,
        description="control period of the speed command [s]; default: the actual one",
    )

    needs_v2v: ClassVar = ("predecessor",)

    def acceleration(self, measurement: Measurement) -> float:
        """Return the demanded acceleration [m/s^2]; the predecessor's speed comes by V2V."""
        return self._demand_for(measurement, measurement.dt if self.period is None else self.period)

    def _demand_for(self, measurement: Measurement, period: float) -> float:
        """The demand that reaches the commanded speed within a period [s]."""
        m = measurement
        peer = m.predecessor
        gap_rate = m.gap_rate
        if peer is not None:
            gap_rate = peer.speed + peer.acceleration * peer.age - m.speed
        return (self.kp * m.gap_error + self.kd * gap_rate) / (period + self.kd * m.time_gap)


class PathCaccSampled(PathCacc):
    """The same speed command with its own sample time, held in between.

    For a controller that is asked more often than it commands: every ``sample_time`` the demanded
    acceleration of :class:`PathCacc` is computed for that period. Written with explicit
    differences of the measured gap error, as the law is published, it is unstable for the usual
    gains (a pole at -1.7 for 0.1 s and a time gap of 0.6 s), so that form is not offered.
    """

    sample_time: Number = Field(default=0.1, gt=0, description="of the speed command [s]")

    #: Time since the last sample [s] (None: none yet), and the held demand [m/s^2].
    _since: float | None = PrivateAttr(default=None)
    _demand: float = PrivateAttr(default=0.0)

    def acceleration(self, measurement: Measurement) -> float:
        """Return the demanded acceleration [m/s^2]."""
        since = None if self._since is None else self._since + measurement.dt
        if since is None or since >= self.sample_time * _NEARLY:
            period = self.sample_time if self.period is None else self.period
            self._demand = self._demand_for(measurement, period)
            since = 0.0
        self._since = since
        return self._demand

    def save_state(self) -> list[float | None]:
        """The held demand, and for how long it has been held."""
        return [self._since, self._demand]

    def restore_state(self, state: list[Any]) -> None:
        """Go back to a state that ``save_state`` gave."""
        self._since, self._demand = state


class PathAcc(Section):
    """ACC without V2V: ``a = k1 e + k2 gap_rate``.

    String stable from a time gap of 2.66 s; at the usual 1.1 s a disturbance grows by up to
    59 % per vehicle. It is the fall-back for a lost channel, not a platoon controller.
    """

    k1: Number = Field(default=0.23, gt=0, description="gain on the gap error [1/s^2]")
    k2: Number = Field(default=0.07, ge=0, description="gain on the relative speed [1/s]")

    needs_v2v: ClassVar = ()

    def acceleration(self, measurement: Measurement) -> float:
        """Return the demanded acceleration [m/s^2]."""
        return self.k1 * measurement.gap_error + self.k2 * measurement.gap_rate


class CruiseControl(Section):
    """Speed control: ``a = k (set_speed - speed)``; it does not look at the gap."""

    k: Number = Field(default=0.4, gt=0, description="gain [1/s]")

    needs_v2v: ClassVar = ()

    def acceleration(self, measurement: Measurement) -> float:
        """Return the demanded acceleration [m/s^2]."""
        return self.k * (measurement.set_speed - measurement.speed)
