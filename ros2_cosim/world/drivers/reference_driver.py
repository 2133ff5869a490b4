# SPDX-License-Identifier: Apache-2.0
"""The competent and careful human driver of UN Regulation No. 157: which cut-ins are avoidable.

UN R157 (Automated Lane Keeping Systems), Annex 4, appendix 3, "Guidance on traffic disturbance
critical scenarios for ALKS": the driver perceives a cut-in when the other vehicle is 0.375 m off
the centre of its lane, takes 0.4 s to see the risk, and 0.75 s after the time to collision is then
2 s or less it brakes with 0.774 g, reached in 0.6 s. A cut-in that this
driver avoids has to be avoided by the system. The emergency brake (0.85 g) that the text gives
the driver's vehicle once the other one is wholly in its lane is left out: what this function
calls avoidable is so without it.
"""

from __future__ import annotations

from typing import Final, NamedTuple

#: Offset from the centre of the lane up to which a vehicle counts as wandering [m].
WANDERING: Final = 0.375
#: From the perception to the risk, and from there to the brake [s].
RISK_EVALUATION: Final = 0.4
BRAKE_DELAY: Final = 0.75
#: Deceleration [m/s^2], and time to reach it [s].
DECELERATION: Final = 0.774 * 9.81
BUILD_UP: Final = 0.6
#: Time to collision from which the driver brakes [s].
RISKY_TTC: Final = 2.0
#: [s]
_STEP: Final = 0.01


class CutIn(NamedTuple):
    """A vehicle that comes into the lane at constant speed.

    :ivar speed: of the own vehicle [m/s]
    :ivar other_speed: of the vehicle that cuts in [m/s]
    :ivar gap: bumper to bumper when it begins to change over [m]
    :ivar perceived_after: time until it is ``WANDERING`` off the centre of its lane [s]
    """

    speed: float
    other_speed: float
    gap: float
    perceived_after: float


def smallest_gap(cut_in: CutIn) -> float:
    """The smallest gap of the reference driver's vehicle [m]; 0 or less: a collision."""
    gap, speed = cut_in.gap, cut_in.speed
    evaluated = cut_in.perceived_after + RISK_EVALUATION
    time, brakes_from = 0.0, None
    while speed > cut_in.other_speed and gap > 0.0:
        closing = speed - cut_in.other_speed
        if brakes_from is None and time >= evaluated and gap <= RISKY_TTC * closing:
            brakes_from = time + BRAKE_DELAY
        braking = 0.0
        if brakes_from is not None and time > brakes_from:
            braking = DECELERATION * min(1.0, (time - brakes_from) / BUILD_UP)
        gap -= closing * _STEP - 0.5 * braking * _STEP * _STEP
        speed -= braking * _STEP
        time += _STEP
    return gap


def is_avoidable(cut_in: CutIn) -> bool:
    """Whether the reference driver avoids a collision."""
    return smallest_gap(cut_in) > 0.0
