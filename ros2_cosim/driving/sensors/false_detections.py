# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What a sensor reports although it is not there: clutter, and ghosts of objects."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from ros2_cosim.core.kernel.exactmath import exp
from ros2_cosim.core.kernel.random_streams import RandomStream
from ros2_cosim.core.messages.records import CLASS_UNKNOWN, DetectedObject, ObjectList

#: A list with more false detections than that carries no information about the objects.
MOST_CLUTTER: Final = 20.0
#: Identities of what is not there begin there; vehicles have small ones.
FIRST_FALSE_IDENTITY: Final = 2_000_000
#: Extent of a detection of nothing [m].
_EXTENT: Final = 0.5


class FalseDetections:
    """Adds to the lists of one sensor; without clutter and ghosts it draws nothing.

    The number of detections of nothing in a list has a Poisson distribution, their places and
    relative speeds are uniform.

    :param clutter: mean number in a list
    :param clutter_speed: largest relative speed [m/s]
    :param ghost_probability: of an object to have a ghost in a list
    :param reach: largest distance [m]
    :param max_lateral: largest offset to either side [m]
    :param probability: reported as existence probability: the sensor takes them for objects
    :param stream: gives the random stream of a name
    """

    def __init__(
        self,
        *,
        clutter: float,
        clutter_speed: float,
        ghost_probability: float,
        reach: float,
        max_lateral: float,
        probability: float,
        stream: Callable[[str], RandomStream],
    ) -> None:
        self.happen = clutter > 0.0 or ghost_probability > 0.0
        self._none = exp(-clutter)
        self._speed = clutter_speed
        self._ghost_probability = ghost_probability
        self._reach = reach
        self._max_lateral = max_lateral
        self._probability = probability
        self._clutter = stream("clutter")
        self._stream = stream
        self._ghosts: dict[int, RandomStream] = {}
        self._identity = FIRST_FALSE_IDENTITY

    def among(self, objects: ObjectList) -> ObjectList:
        """The objects of a list with what is not there, in ascending distance."""
        found = list(objects.objects)
        for item in objects.objects:
            ghost = self._ghost(item)
            if ghost is not None:
                found.append(ghost)
        draw = self._clutter
        left = draw.uniform()
        while left > self._none:
            left *= draw.uniform()
            found.append(
                DetectedObject(
                    self._next(),
                    CLASS_UNKNOWN,
                    draw.uniform_between(0.0, self._reach),
                    draw.uniform_between(-self._speed, self._speed),
                    draw.uniform_between(-self._max_lateral, self._max_lateral),
                    _EXTENT,
                    _EXTENT,
                    self._probability,
                )
            )
        found.sort(key=_distance_then_id)
        return ObjectList(tuple(found))

    def _ghost(self, item: DetectedObject) -> DetectedObject | None:
        stream = self._ghosts.get(item.id)
        if stream is None:
            stream = self._ghosts[item.id] = self._stream(f"ghost/{item.id}")
        happens = stream.bernoulli(self._ghost_probability)
        distance, offset = 2.0 * item.distance, 2.0 * item.lateral_offset
        if not happens or distance > self._reach or abs(offset) > self._max_lateral:
            return None
        return item._replace(
            id=self._next(),
            distance=distance,
            relative_speed=2.0 * item.relative_speed,
            lateral_offset=offset,
        )

    def _next(self) -> int:
        self._identity += 1
        return self._identity - 1


def _distance_then_id(item: DetectedObject) -> tuple[float, int]:
    return item.distance, item.id
