# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The stop at a traffic light: when it begins, how hard it is, when it ends."""

from __future__ import annotations

from math import inf
from typing import Final

from ros2_cosim.core.kernel.exactmath import sqrt
from ros2_cosim.world.map.traffic_lights import RED, YELLOW

STAND: Final = 1.0
"""Of the front bumper before the stop line at standstill [m]."""

#: The stop begins when it needs this deceleration [m/s^2].
_BEGIN: Final = 1.8
#: At yellow a vehicle goes on if the stop would need more [m/s^2].
_MOST_AT_YELLOW: Final = 3.0
_HARDEST: Final = 8.0  # m/s^2
#: The way counted at least [m], and the demand while the vehicle is held [m/s^2].
_LEAST_WAY: Final = 0.05
_HOLDING: Final = -1.0
_STANDS: Final = 0.05  # m/s
#: The last metre per second is braked ever more softly [m/s^2, 1/s]; it takes 0.15 m more.
_SOFTEST: Final = 0.3
_SOFTENING: Final = 1.5


class LightStop:
    """What a traffic light ahead leaves of a driver's demand.

    From the moment at which the stop needs a deceleration of 1.8 m/s^2 it is v^2 / (2 d), d being
    the way to ``STAND`` before the stop line: a constant deceleration keeps that value constant.
    At yellow a vehicle that would need more than 3 m/s^2 goes on.

    ``stopping`` tells that the stop has begun.
    """

    __slots__ = ("stopping",)

    def __init__(self) -> None:
        self.stopping = False

    @staticmethod
    def speed_before(distance: float) -> float:
        """The greatest speed [m/s] at which the stop begins only so far before the line [m]."""
        room = max(distance - STAND, 0.0)
        return sqrt(2.0 * _BEGIN * room) if room < inf else inf

    def most(self, speed: float, state: int, distance: float) -> float | None:
        """The greatest acceleration allowed [m/s^2]; None: the light asks for nothing.

        :param speed: of the vehicle [m/s]
        :param state: of the light, as ``traffic_lights`` numbers them
        :param distance: from the front bumper to the stop line [m]
        """
        if state not in (RED, YELLOW):
            self.stopping = False
            return None
        needed = 0.5 * speed * speed / max(distance - STAND, _LEAST_WAY)
        if not self.stopping:
            if state == YELLOW and needed > _MOST_AT_YELLOW:
                return None
            self.stopping = needed >= _BEGIN or distance <= STAND
        if not self.stopping:
            return None
        if speed <= _STANDS:
            return _HOLDING
        return -min(needed, _HARDEST, _SOFTEST + _SOFTENING * speed)
