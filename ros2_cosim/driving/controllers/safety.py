# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What stands between a law's demand and the vehicle: limits, emergency brake, standstill."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ros2_cosim.core.kernel.exactmath import total
from ros2_cosim.core.messages.records import DetectedObject
from ros2_cosim.driving.controllers.parameters import CommandLimits, EmergencyBrake


class CommandLimiter:
    """Keeps the demanded acceleration and its rate within bounds."""

    def __init__(self, limits: CommandLimits) -> None:
        self._max_acceleration: float = limits.max_acceleration
        self.max_deceleration: float = limits.max_deceleration
        self._max_jerk: float = limits.max_jerk
        self._max_brake_jerk: float = limits.max_brake_jerk

    def apply(self, demand: float, previous: float, dt: float) -> float:
        """Return the demand within the bounds [m/s^2], ``dt`` [s] after ``previous``."""
        demand = min(demand, previous + self._max_jerk * dt)
        demand = max(demand, previous - self._max_brake_jerk * dt)
        return max(-self.max_deceleration, min(self._max_acceleration, demand))


class EmergencyBraking:
    """Brakes as :class:`~.parameters.EmergencyBrake` says."""

    def __init__(self, settings: EmergencyBrake) -> None:
        self._trigger: float = settings.trigger
        self._margin: float = settings.margin
        self._gain: float = settings.gain
        self._least_room: float = settings.least_room

    def demand(
        self, gap: float, gap_rate: float, speed: float, object_braking: float, full: float
    ) -> float | None:
        """Return the demanded acceleration [m/s^2, negative], or None if there is no need.

        :param gap: bumper to bumper [m]
        :param gap_rate: speed of the object minus own speed [m/s]
        :param speed: own speed [m/s]
        :param object_braking: deceleration of the object [m/s^2], 0 if not known to brake
        :param full: largest deceleration of the vehicle [m/s^2]
        """
        room = max(gap - self._margin, self._least_room * gap)
        need = 0.0
        if gap_rate < -_STEADY:
            need = _deceleration(gap_rate * gap_rate, room, full)
        if object_braking > _BRAKING and speed > _STEADY:
            object_speed = max(0.0, speed + gap_rate)
            stretch = object_speed * object_speed / (2.0 * object_braking)
            need = max(need, _deceleration(speed * speed, room + stretch, full))
        trigger = self._trigger
        if self._least_room > 0.0 and room < self._margin:
            trigger *= max(0.0, gap - self._margin) / self._margin
            if gap_rate < _STEADY:
                need = max(need, _FALL_BACK * (self._margin - gap))
        if need <= trigger:
            return None
        return -min(full, self._gain * need)


_FALL_BACK: Final = 0.5
"""Deceleration per missing gap within the margin [1/s^2]."""

_STEADY: Final = 0.1
"""Speeds below this [m/s] are noise."""

_BRAKING: Final = 1.0
"""Decelerations below this [m/s^2] are coasting or noise."""

_SMOOTHING: Final = 0.4
"""Time constant of the filter of an object's acceleration [s]."""

_STOP_SPEED: Final = 0.1
_OBJECT_STANDS: Final = 0.3
_OBJECT_MOVES: Final = 0.6
"""Below and above these speeds [m/s] the own vehicle stops, an object stands and moves off."""

_HOLD_MARGIN: Final = 0.5
_RELEASE_MARGIN: Final = 2.0
"""Gaps [m] beyond that at standstill, at which a vehicle is held and released."""

_WANDERING: Final = 0.375
_INWARD: Final = 0.3
_WINDOW_NS: Final = 400_000_000
"""What an object does that cuts in: offset [m], speed [m/s], and for how long [ns]."""


def _deceleration(square: float, room: float, full: float) -> float:
    """Return what stops a squared speed within the room [m/s^2], at most ``full``."""
    return square / (2.0 * room) if square < 2.0 * full * room else full


class BrakingEstimator:
    """Estimates from the sensor alone how hard the object ahead brakes.

    The object's speed is the own speed plus the relative speed; its derivative is smoothed by
    a first-order filter. The estimate begins anew when another object comes first.
    """

    def __init__(self) -> None:
        """Begin without an object."""
        self._object: int | None = None
        self._speed = 0.0
        self._acceleration = 0.0

    def update(self, number: int, object_speed: float, dt: float) -> float:
        """Return the deceleration [m/s^2], 0 if it does not brake.

        :param number: identity of the object
        :param object_speed: [m/s]
        :param dt: time since the previous call [s]
        """
        if number != self._object:
            self._object = number
            self._acceleration = 0.0
        else:
            share = dt / (_SMOOTHING + dt)
            self._acceleration += share * ((object_speed - self._speed) / dt - self._acceleration)
        self._speed = object_speed
        return self.braking

    @property
    def braking(self) -> float:
        """The deceleration as last estimated [m/s^2], 0 or more."""
        return max(0.0, -self._acceleration)


class StandstillHold:
    """Keeps the vehicle braked behind a standing object instead of creeping with the noise.

    Holds once the vehicle is slower than 0.1 m/s behind an object that stands and that is nearer
    than the standstill gap plus 0.5 m; releases when the object moves off or is 2 m further away.
    The distances between the two thresholds exceed any sensible sensor noise.
    """

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
            if object_speed > _OBJECT_MOVES or gap > standstill_gap + _RELEASE_MARGIN:
                self.holding = False
        elif (
            speed < _STOP_SPEED
            and object_speed < _OBJECT_STANDS
            and gap < standstill_gap + _HOLD_MARGIN
        ):
            self.holding = True
        return self.holding


class CutInWatch:
    """Finds the vehicles beside that come into the own lane, before they are in it.

    An object that is more than 0.375 m out of the centre of the next lane, towards the own one, and
    has come nearer by 0.3 m/s over the last 0.4 s, cuts in. 0.375 m is what UN R157 (Annex 4,
    appendix 3) takes for wandering within a lane; the speed is twice the error of a sensor with
    0.05 m noise.
    """

    def __init__(self) -> None:
        """Begin with nothing seen."""
        #: Identity -> time [ns] and offset [m] of the last looks.
        self._looks: dict[int, list[tuple[int, float]]] = {}

    def update(
        self, now: int, objects: Sequence[DetectedObject], half_width: float
    ) -> list[DetectedObject]:
        """The objects that cut in.

        :param now: time of the look [ns]
        :param half_width: of a lane [m]
        """
        outside = 2.0 * half_width - _WANDERING
        looks: dict[int, list[tuple[int, float]]] = {}
        found = []
        for item in objects:
            number: int = item[0]  # compiled, the other fields do not become numbers
            offset: float = item[4]
            if abs(offset) > 4.0 * half_width:
                continue  # two lanes away
            if number in looks:  # a list may have an identity twice: the later one counts
                looks[number].pop()
            seen = self._looks.get(number)
            if seen is None:
                seen = []
            looks[number] = seen
            while seen and now - seen[0][0] > _WINDOW_NS:
                seen.pop(0)  # compiled, faster than to delete it
            seen.append((now, offset))
            if half_width <= abs(offset) < outside:
                inward = -slope_of(seen) if offset > 0.0 else slope_of(seen)
                if inward > _INWARD:
                    found.append(item)
        self._looks = looks
        return found


def slope_of(looks: Sequence[tuple[int, float]]) -> float:
    """Slope of the straight line of least squares [m/s]; 0 for less than 0.2 s.

    :param looks: time [ns] and offset [m], one at least
    """
    first = looks[0][0]
    if looks[-1][0] - first < _WINDOW_NS // 2:
        return 0.0
    times = [(time - first) * 1e-9 for time, _ in looks]
    mean = total(times) / len(times)
    above = total([(t - mean) * offset for t, (_, offset) in zip(times, looks, strict=True)])
    return above / total([(t - mean) * (t - mean) for t in times])
