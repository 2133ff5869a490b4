# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""How a driving vehicle wanders about its way, by up to a centimetre and a half.

In CARLA a vehicle never drives exactly along the middle of its lane: it rests on springs and tyres.
Programs count on that without knowing. CARLA's agents look for vehicles and lights at angles
*above* 0 degrees, and float32 makes a 0 of what is below a hundredth of a degree: on a straight
road they do not see what is exactly ahead, run into the vehicle before them and stop behind red
lights. The agent of ros-bridge has no direction to a waypoint that it stands on, and steers by NaN
from then on: in its first step a vehicle moves by a tenth of a millimetre, as one that sinks into
its springs.
"""

from __future__ import annotations

from typing import Final

#: Largest distance from the way [m].
AMPLITUDE: Final = 0.015
#: From this speed on it sways with its full frequency [m/s]; a standing vehicle does not.
_FULL_SPEED: Final = 1.0
#: Vehicles sway with frequencies between these [Hz], so that no two do it together for long.
_LOWEST: Final = 0.35
_HIGHEST: Final = 0.55
#: Share of that range from one vehicle to the next: the golden ratio spreads any number of them.
_NEXT: Final = 0.6180339887498949
#: Where a new vehicle comes to stand, beside where it is put [m].
_SETTLED: Final = 1.0e-4
#: A period in units of the phase: two parabolas, each 2 long, take the place of a sine.
_PERIOD: Final = 4.0


class Sway:
    """The swaying of one vehicle. It begins near 0: a vehicle is where it is put.

    :param number: of the vehicle among those of its world
    """

    def __init__(self, number: int) -> None:
        share = number * _NEXT % 1.0
        self._rate: float = _PERIOD * (_LOWEST + share * (_HIGHEST - _LOWEST))
        self._phase: float = 0.5 * _SETTLED / AMPLITUDE
        self._offset: float = 0.0

    def step(self, dt: float, speed: float) -> float:
        """By how much the vehicle moves to its left during a step [m].

        :param dt: length of the step [s]
        :param speed: along the vehicle [m/s]
        """
        moving = min(1.0, abs(speed) / _FULL_SPEED)
        phase = (self._phase + self._rate * moving * dt) % _PERIOD
        offset = AMPLITUDE * (
            phase * (2.0 - phase) if phase < 2.0 else (phase - 2.0) * (phase - 4.0)
        )
        shift = offset - self._offset
        self._phase, self._offset = phase, offset
        return shift
