# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""When a vehicle sends its next CAM: the triggering conditions of ETSI EN 302 637-2, 6.1.3.

Names in capitals are those of the standard. T_GenCam_Dcc, the shortest interval that congestion
control allows, is T_GenCamMin where the channel is not congested, else that of the reactive
approach of ETSI TS 102 687 (V1.2.1, table A.1, frames of at most 1 ms).
"""

from __future__ import annotations

from typing import Final, NamedTuple

from ros2_cosim.core.kernel.exactmath import hypot, radians, wrap_angle
from ros2_cosim.core.messages.records import Odometry
from ros2_cosim.world.map.frames import yaw_from_quaternion

T_GEN_CAM_MIN_NS: Final = 100_000_000
"""Shortest interval between two CAMs, and longest one between two looks (T_CheckCamGen) [ns]."""
T_GEN_CAM_MAX_NS: Final = 1_000_000_000
"""Longest interval between two CAMs [ns]."""
N_GEN_CAM: Final = 3
"""So many CAMs follow at the interval of the last one that the motion has triggered."""
HEADING_RAD: Final = radians(4.0)
"""A CAM is triggered by a larger change of heading [rad]."""
POSITION_M: Final = 4.0
"""A CAM is triggered by a larger change of position, in the plane [m]."""
SPEED_MPS: Final = 0.5
"""A CAM is triggered by a larger change of speed [m/s]."""


#: Channel busy ratio below which, and interval [ns]: relaxed and active 1 to 3.
_DCC: Final = (
    (0.30, T_GEN_CAM_MIN_NS),
    (0.40, 200_000_000),
    (0.50, 400_000_000),
    (0.60, 500_000_000),
)


def dcc_interval(busy: float) -> int:
    """The shortest interval between two CAMs [ns] at a channel busy ratio [1]."""
    return next((interval for limit, interval in _DCC if busy < limit), T_GEN_CAM_MAX_NS)


class _Sent(NamedTuple):
    """What the last CAM said, and when [ns]."""

    time: int
    x: float
    y: float
    heading: float
    speed: float


class CamTriggering:
    """Decides for one vehicle; asked at least every T_GenCamMin.

    The first CAM is sent at once. Another one follows when, T_GenCamMin or more after the last one,
    heading, position or speed has changed by more than its limit (condition 1), or when T_GenCam
    has passed (condition 2). Condition 1 sets T_GenCam to the time since the last CAM; after
    N_GenCam CAMs in a row by condition 2 it is T_GenCamMax again.
    """

    def __init__(self) -> None:
        self._last: _Sent | None = None
        self._interval = T_GEN_CAM_MAX_NS
        self._repeated = 0

    def is_due(self, time: int, odometry: Odometry, least: int = T_GEN_CAM_MIN_NS) -> bool:
        """Whether a CAM is sent now; it then counts as sent, also if the channel loses it.

        :param time: of the look [ns], later than that of the look before
        :param least: T_GenCam_Dcc [ns]
        """
        o = odometry
        heading = yaw_from_quaternion(o.qx, o.qy, o.qz, o.qw)
        now = _Sent(time, o.x, o.y, heading, hypot(o.vx, o.vy))
        last = self._last
        if last is None:
            self._last = now
            return True
        elapsed = time - last.time
        if elapsed < least:
            return False
        if _differs(last, now):
            self._interval = min(elapsed, T_GEN_CAM_MAX_NS)
            self._repeated = 0
        elif elapsed >= self._interval:
            self._repeated += 1
            if self._repeated >= N_GEN_CAM:
                self._interval = T_GEN_CAM_MAX_NS
        else:
            return False
        self._last = now
        return True


def _differs(last: _Sent, now: _Sent) -> bool:
    """Condition 1: whether the motion differs from what was sent last by more than a limit."""
    return (
        abs(wrap_angle(now.heading - last.heading)) > HEADING_RAD
        or hypot(now.x - last.x, now.y - last.y) > POSITION_M
        or abs(now.speed - last.speed) > SPEED_MPS
    )
