# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Road marks that a vehicle drives over, as CARLA's lane invasion sensor reports them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from ros2_cosim.core.messages.records import Odometry
from ros2_cosim.world.map import OFF_ROAD, RoadNetwork, RoadPosition, frames
from ros2_cosim.world.map.lanes import LaneSection, RoadMark

#: Types of OpenDRIVE -> those of CARLA (``LaneMarkingType``), which the bridge sends as they are.
_TYPES: Final = {
    "broken": 1,
    "solid": 2,
    "solid solid": 3,
    "solid broken": 4,
    "broken solid": 5,
    "broken broken": 6,
    "botts dots": 7,
    "grass": 8,
    "curb": 9,
}
_OTHER: Final = 0
#: Of OpenDRIVE: there is no mark to be seen.
_INVISIBLE: Final = "none"


class LaneMarkWatch:
    """Watches the four corners of one vehicle.

    A corner that leaves the road onto another one, as at a junction, crosses nothing.
    """

    def __init__(self, road: RoadNetwork, length: float, width: float) -> None:
        self._road = road
        self._corners = [
            (0.5 * along * length, 0.5 * across * width, 0.0)
            for along in (1, -1)
            for across in (1, -1)
        ]
        self._places: list[RoadPosition | None] = [None] * len(self._corners)

    def crossed(self, o: Odometry) -> tuple[int, ...]:
        """CARLA's types of the marks that were crossed since the last call, ascending."""
        found: set[int] = set()
        turn = (o.qx, o.qy, o.qz, o.qw)
        for number, corner in enumerate(self._corners):
            x, y, _ = frames.body_to_world(turn, corner)
            before = self._places[number]
            now = self._road.project(o.x + x, o.y + y, before, o.z)
            self._places[number] = now
            if before is not None and before.road_id == now.road_id:
                found.update(self._between(before, now))
        return tuple(sorted(found))

    def save(self) -> list[list[float] | None]:
        """Where the corners are, as plain data."""
        return [None if place is None else list(place) for place in self._places]

    def restore(self, state: Sequence[Sequence[Any] | None]) -> None:
        """Go back to what ``save`` gave."""
        self._places = [None if place is None else RoadPosition(*place) for place in state]

    def _between(self, before: RoadPosition, now: RoadPosition) -> list[int]:
        section = self._road.road(now.road_id).lanes.section(now.s)
        first, last = sorted((_strip(section, before), _strip(section, now)))
        marks = [_mark(section, strip, now.s) for strip in range(first, last)]
        return [_TYPES.get(mark, _OTHER) for mark in marks if mark != _INVISIBLE]


def _strip(section: LaneSection, place: RoadPosition) -> int:
    """Number of the strip from right to left; those right of lane 0 are negative, and no gap.

    Strip -1 is lane -1, strip 0 is lane 1; beside the outermost lanes there is one more.
    """
    lane = place.lane_id
    if lane == OFF_ROAD:
        ends = [*section.lanes, 0]
        lane = max(ends) + 1 if place.t > 0.0 else min(ends) - 1
    return lane if lane < 0 else lane - 1


def _mark(section: LaneSection, strip: int, s: float) -> str:
    """OpenDRIVE's type of the mark on the left border of a strip."""
    marks: Sequence[RoadMark] = section.centre_marks
    if strip != -1:
        # A lane's own mark is on its outer border.
        lane = section.lanes.get(strip + 1)
        marks = lane.marks if lane is not None else ()
    valid = [mark for mark in marks if mark.start <= s - section.start]
    return valid[-1].type if valid else _INVISIBLE
