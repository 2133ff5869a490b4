# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What a controller assumes about the vehicle ahead while its sensor reports nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ros2_cosim.core.messages.records import DetectedObject

#: A measured object takes the place of a coasted one from which it differs by less [m].
_SAME: Final = 5.0
#: Below this speed [m/s] equal lists are not a sign of a frozen sensor.
_MOVES: Final = 1.0
#: An object with a shorter headway [s], or nearer [m], is not gone at once if the sensor works.
_CLOSE: Final = 2.0
_NEAR: Final = 10.0
#: By how much [m/s] something must differ from equal lists to contradict them.
_CHANGES: Final = 0.2


class SensorWatch:
    """Carries the object ahead on while the sensor is silent, frozen, or loses it.

    The gap goes on with the object's speed less the own one. That speed is what V2V reports for
    this object, while it is fresh; else the last one, less the braking that was seen last.
    """

    def __init__(self) -> None:
        """Begin with nothing seen."""
        self._list_time: int | None = None
        self._list: tuple[DetectedObject, ...] = ()
        #: When a list that differs from the one before came last [ns].
        self._fresh_time: int | None = None
        self._fresh_speed = 0.0
        #: Equal lists that something contradicted stay wrong, at standstill too.
        self._frozen = False
        self._repeats = False
        self._target: DetectedObject | None = None
        self._speed = 0.0
        self._braking = 0.0
        #: Whether an empty list says nothing about the object ahead.
        self._doubts = False
        #: When sensor or V2V last reported the object ahead [ns].
        self._known: int | None = None

    def look(
        self, now: int, stamp: int, objects: Sequence[DetectedObject], speed: float, timeout: int
    ) -> bool:
        """Take the newest list; say whether it may be believed.

        :param stamp: of the list [ns]
        :param speed: own [m/s]
        :param timeout: age at which a list, or one that stays the same, counts for nothing [ns]
        """
        seen = tuple(objects)
        if stamp != self._list_time:
            self._repeats = len(seen) > 0 and seen == self._list
            if not self._repeats:
                self._frozen, self._fresh_speed = False, speed
            elif speed > _MOVES:
                changes = abs(speed - self._fresh_speed) > _CHANGES
                self._frozen = self._frozen or changes or _approaches(seen)
            if not self._frozen:
                self._fresh_time = stamp
            self._list_time, self._list = stamp, seen
        assert self._fresh_time is not None
        return not self._frozen and now - self._fresh_time < timeout

    @property
    def repeats(self) -> bool:
        """Whether the newest list is the one before once more."""
        return self._repeats

    def contradicts(self, object_speed: float, speed: float) -> bool:
        """Whether what V2V reports about the object ahead shows that a repeated list is frozen.

        :param object_speed: by V2V, now [m/s]
        :param speed: own [m/s]
        """
        target = self._target
        if target is not None and speed > _MOVES:
            change = object_speed - speed - target.relative_speed
            self._frozen = self._frozen or abs(change) > _CHANGES
        return self._frozen

    def measured(
        self, now: int, target: DetectedObject | None, speed: float, braking: float
    ) -> None:
        """Remember the object that the sensor shows ahead, or that it shows none."""
        self._target = target
        self._known = now
        self._doubts = target is not None and target.distance < max(_CLOSE * speed, _NEAR)
        if target is not None:
            self._speed, self._braking = speed + target.relative_speed, braking

    def coast(
        self, now: int, dt: float, speed: float, heard: tuple[float, float] | None
    ) -> DetectedObject | None:
        """Carry the object on by a step, and return it as it is thought to be.

        :param dt: time since the previous activation [s]
        :param speed: own [m/s]
        :param heard: speed [m/s] and acceleration [m/s^2] of that object by V2V, if fresh
        """
        target = self._target
        if target is None:
            return None
        before = self._speed
        if heard is not None:
            self._speed, self._braking = max(0.0, heard[0]), max(0.0, -heard[1])
            self._known = now
        else:
            self._speed = max(0.0, before - self._braking * dt)
        gap = target.distance + (0.5 * (before + self._speed) - speed) * dt
        self._target = target._replace(distance=gap, relative_speed=self._speed - speed)
        return self._target

    @property
    def object(self) -> DetectedObject | None:
        """The object ahead as last measured or thought."""
        return self._target

    @property
    def braking(self) -> float:
        """Its deceleration [m/s^2], 0 or more."""
        return self._braking

    def clears(self, seen: Sequence[DetectedObject]) -> bool:
        """Whether a list without the object says that it is gone."""
        return len(seen) > 0 or not self._doubts

    def unknown_for(self, now: int) -> int:
        """Time since sensor or V2V told of what is ahead [ns]."""
        return 0 if self._known is None else now - self._known

    def replaces(self, seen: DetectedObject | None) -> bool:
        """Whether a measured object ahead stands for the one that is carried on."""
        target = self._target
        if target is None or seen is None:
            return seen is not None
        return seen.id == target.id or seen.distance < target.distance + _SAME

    def forget(self) -> None:
        """Stop carrying the object on."""
        self._target = None


def _approaches(objects: Sequence[DetectedObject]) -> bool:
    """Whether some distance would have to change."""
    return any(abs(item.relative_speed) > _CHANGES for item in objects)
