# SPDX-License-Identifier: Apache-2.0
"""What stands between a law's demand and the vehicle: limits, emergency brake, standstill."""

from __future__ import annotations

from dataclasses import dataclass

from ros2_cosim.models.checks import require_not_negative, require_positive


@dataclass(frozen=True, kw_only=True)
class CommandLimits:
    """Bounds of the demanded acceleration and of its rate (all > 0).

    :param max_acceleration: [m/s^2]
    :param max_deceleration: [m/s^2], as a positive number
    :param max_jerk: rate at which the demand may rise [m/s^3]
    :param max_brake_jerk: rate at which it may fall [m/s^3]; braking must not come late
    """

    max_acceleration: float = 2.5
    max_deceleration: float = 8.0
    max_jerk: float = 15.0
    max_brake_jerk: float = 60.0

    def __post_init__(self) -> None:
        """Check the bounds."""
        require_positive(
            "CommandLimits",
            max_acceleration=self.max_acceleration,
            max_deceleration=self.max_deceleration,
            max_jerk=self.max_jerk,
            max_brake_jerk=self.max_brake_jerk,
        )

    def apply(self, demand: float, previous: float, dt: float) -> float:
        """Return the demand within the bounds [m/s^2], ``dt`` [s] after ``previous``."""
        demand = min(demand, previous + self.max_jerk * dt)
        demand = max(demand, previous - self.max_brake_jerk * dt)
        return max(-self.max_deceleration, min(self.max_acceleration, demand))


@dataclass(frozen=True, kw_only=True)
class EmergencyBrake:
    """Brakes when the deceleration needed to avoid a contact becomes large.

    Needed is ``closing^2 / (2 (gap - margin))``, which unlike the time to collision stays
    meaningful at low speed. It acts from ``trigger`` on, with ``gain`` times the need.

    :param trigger: needed deceleration at which it acts [m/s^2]
    :param margin: gap that is to remain [m]
    :param gain: share above the need, at least 1 to end early
    """

    trigger: float = 4.0
    margin: float = 1.0
    gain: float = 1.2

    def __post_init__(self) -> None:
        """Check the parameters."""
        require_positive("EmergencyBrake", trigger=self.trigger, gain=self.gain)
        require_not_negative("EmergencyBrake", margin=self.margin)

    def demand(self, gap: float, gap_rate: float, full: float) -> float | None:
        """Return the demanded acceleration [m/s^2, negative], or None if there is no need.

        :param gap: bumper to bumper [m]
        :param gap_rate: speed of the object minus own speed [m/s]
        :param full: largest deceleration of the vehicle [m/s^2]
        """
        if gap_rate >= 0.0:
            return None
        twice_room = 2.0 * (gap - self.margin)
        square = gap_rate * gap_rate
        if square <= self.trigger * twice_room:
            return None
        # Written without a division by the room, which may be zero or negative.
        if twice_room <= 0.0 or self.gain * square >= full * twice_room:
            return -full if square > 0.01 else None
        return -self.gain * square / twice_room


class StandstillHold:
    """Keeps the vehicle braked behind a standing object instead of creeping with the noise.

    Holds once the vehicle is slower than ``STOP_SPEED`` behind an object that stands and that
    is nearer than the standstill gap plus ``HOLD_MARGIN``; releases when the object moves off
    or is ``RELEASE_MARGIN`` away. The distances between the two thresholds exceed any sensible
    sensor noise.
    """

    STOP_SPEED = 0.1
    OBJECT_STANDS = 0.3
    OBJECT_MOVES = 0.6
    HOLD_MARGIN = 0.5
    RELEASE_MARGIN = 2.0

    def __init__(self) -> None:
        """Begin released."""
        self.holding = False

    def update(self, speed: float, gap: float, object_speed: float, standstill_gap: float) -> bool:
        """Return whether to hold now.

        :param speed: own speed [m/s]
        :param gap: bumper to bumper [m]
        :param object_speed: speed of the object ahead along the lane [m/s]
        :param standstill_gap: wanted gap at standstill [m]
        """
        if self.holding:
            if object_speed > self.OBJECT_MOVES or gap > standstill_gap + self.RELEASE_MARGIN:
                self.holding = False
        elif (
            speed < self.STOP_SPEED
            and object_speed < self.OBJECT_STANDS
            and gap < standstill_gap + self.HOLD_MARGIN
        ):
            self.holding = True
        return self.holding
