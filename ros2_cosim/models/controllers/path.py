# SPDX-License-Identifier: Apache-2.0
"""The controllers of California PATH: CACC, ACC and speed control.

Source: V. Milanes, S. E. Shladover, "Modeling cooperative and autonomous adaptive cruise
control dynamic responses using experimental data", Transp. Res. C 48 (2014) 285-300; the ACC
and speed gains as used by the SUMO car-following models after the same work.
"""

from __future__ import annotations

from dataclasses import dataclass

from ros2_cosim.models.checks import require_not_negative, require_positive
from ros2_cosim.models.controllers.measurement import Measurement


@dataclass(frozen=True, kw_only=True)
class PathCacc:
    """CACC as a speed command per period: ``v+ = v + kp e + kd de/dt``, e the gap error.

    The demanded acceleration is ``(v+ - v) / period``. With ``de/dt = gap_rate - h a`` and a
    the very acceleration demanded, that is ``(kp e + kd gap_rate) / (period + kd h)``.

    The gains mean something only together with the period. Without actuator lag the string is
    stable for ``h >= sqrt(2 period / kp)``: 0.42 s at 40 ms, 0.67 s at 100 ms.

    :param kp: gain on the gap error [1/s]
    :param kd: gain on its derivative [1]
    :param period: control period of the speed command [s]; None: the actual one
    """

    kp: float = 0.45
    kd: float = 0.25
    period: float | None = None

    needs_v2v = ("predecessor",)

    def __post_init__(self) -> None:
        """Check the gains."""
        require_positive("PathCacc", kp=self.kp)
        require_not_negative("PathCacc", kd=self.kd)
        if self.period is not None:
            require_positive("PathCacc", period=self.period)

    def acceleration(self, measurement: Measurement) -> float:
        """Return the demanded acceleration [m/s^2]; the predecessor's speed comes by V2V."""
        m = measurement
        peer = m.predecessor
        gap_rate = m.gap_rate
        if peer is not None:
            gap_rate = peer.speed + peer.acceleration * peer.age - m.speed
        period = m.dt if self.period is None else self.period
        return (self.kp * m.gap_error + self.kd * gap_rate) / (period + self.kd * m.time_gap)


@dataclass(frozen=True, kw_only=True)
class PathAcc:
    """ACC without V2V: ``a = k1 e + k2 gap_rate``.

    String stable from a time gap of 2.66 s; at the usual 1.1 s a disturbance grows by up to
    59 % per vehicle. It is the fall-back for a lost channel, not a platoon controller.

    :param k1: gain on the gap error [1/s^2]
    :param k2: gain on the relative speed [1/s]
    """

    k1: float = 0.23
    k2: float = 0.07

    needs_v2v = ()

    def __post_init__(self) -> None:
        """Check the gains."""
        require_positive("PathAcc", k1=self.k1)
        require_not_negative("PathAcc", k2=self.k2)

    def acceleration(self, measurement: Measurement) -> float:
        """Return the demanded acceleration [m/s^2]."""
        return self.k1 * measurement.gap_error + self.k2 * measurement.gap_rate


@dataclass(frozen=True, kw_only=True)
class CruiseControl:
    """Speed control: ``a = k (set_speed - speed)``; it does not look at the gap.

    :param k: gain [1/s]
    """

    k: float = 0.4

    needs_v2v = ()

    def __post_init__(self) -> None:
        """Check the gain."""
        require_positive("CruiseControl", k=self.k)

    def acceleration(self, measurement: Measurement) -> float:
        """Return the demanded acceleration [m/s^2]."""
        return self.k * (measurement.set_speed - measurement.speed)
