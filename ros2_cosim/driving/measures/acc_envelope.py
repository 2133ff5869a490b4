# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The limits of acceleration, deceleration and jerk of adaptive cruise control, by speed.

They are those that others quote of ISO 15622:2018; the text of the standard was not read, so their
class is estimate. Each holds up to 5 m/s, another from 20 m/s on, and between them a straight line:
acceleration 4 and 2 m/s^2 (FrogAi/FrogPilot, frogpilot_acceleration.py), deceleration as the mean
over 2 s 5 and 3.5 m/s^2 (the latter commaai/opendbc, "2 second average above -3.5"), and jerk of
braking as the mean over 1 s 5 and 2.5 m/s^3 (sunnypilot in opendbc, longitudinal controller).
"""

from __future__ import annotations

from collections import deque
from typing import Final

_SLOW: Final = 5.0
_FAST: Final = 20.0
#: At low and at high speed.
ACCELERATION: Final = (4.0, 2.0)
DECELERATION: Final = (5.0, 3.5)
JERK: Final = (5.0, 2.5)
#: Over which deceleration and jerk are means [ns].
_TWO: Final = 2_000_000_000
_ONE: Final = 1_000_000_000
#: What rounding of times and speeds leaves.
_ROUNDING: Final = 1e-9


def limit_at(speed: float, ends: tuple[float, float]) -> float:
    """A limit at a speed [m/s]."""
    share = min(1.0, max(0.0, (speed - _SLOW) / (_FAST - _SLOW)))
    return ends[0] + share * (ends[1] - ends[0])


class AccEnvelope:
    """The largest share of a limit that a vehicle has used.

    :ivar share: above 1: outside of the envelope
    """

    def __init__(self) -> None:
        self.share = 0.0
        #: Vehicle -> time [ns], speed [m/s] and acceleration [m/s^2] of the last two seconds.
        self._past: dict[str, deque[tuple[int, float, float]]] = {}

    def add(self, name: str, time: int, speed: float) -> None:
        """Take the speed of a vehicle over, in the order of times.

        :param time: [ns]
        :param speed: [m/s]
        """
        past = self._past.setdefault(name, deque())
        if past and time <= past[-1][0]:
            return
        acceleration = 0.0
        if past:
            acceleration = (speed - past[-1][1]) / ((time - past[-1][0]) * 1e-9)
            self._use(acceleration, limit_at(speed, ACCELERATION))
        for since, former, before in past:
            if since == time - _TWO:
                self._use((former - speed) / 2.0, limit_at(speed, DECELERATION))
            if since == time - _ONE and since != past[0][0]:
                self._use(before - acceleration, limit_at(speed, JERK))
        past.append((time, speed, acceleration))
        while past[0][0] < time - _TWO:
            past.popleft()

    def _use(self, found: float, limit: float) -> None:
        self.share = max(self.share, found / limit - _ROUNDING)
