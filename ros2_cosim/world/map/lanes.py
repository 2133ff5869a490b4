# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Lanes across a road: widths, centre lines, which lane a lateral position is in.

Lane ids follow OpenDRIVE: 1, 2, ... to the left of the reference line (positive t), -1, -2,
... to the right; with right-hand traffic the negative lanes are driven towards larger s.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from ros2_cosim.world.map.cubics import Cubics, piece_at
from ros2_cosim.world.map.elements import RoadError

# Lane id of a position outside all lanes (id 0 is the line between the sides).
OFF_ROAD: Final = 0
#: Lanes beside those that vehicles drive on.
_NOT_DRIVEN: Final = ("sidewalk", "none", "border", "median")


class RoadMark(NamedTuple):
    """A line on the outer border of a lane, from ``start`` [m behind the section's start] on.

    ``lane_change`` is ``increase``, ``decrease``, ``both`` or ``none``: towards which lane
    numbers it may be crossed. ``width`` in m.
    """

    start: float
    type: str
    color: str
    width: float
    lane_change: str


class Lane(NamedTuple):
    """One lane of a section; ``width`` is a function of the distance from its start."""

    id: int
    type: str
    width: Cubics
    predecessor: int | None
    successor: int | None
    marks: tuple[RoadMark, ...] = ()


class _Side:
    """The lanes on one side of lane 0, from the inside out.

    Where no width changes along the section, the borders are found once.
    """

    __slots__ = ("_fixed_width", "_lanes", "fixed")

    def __init__(self, lanes: Sequence[Lane]) -> None:
        self._lanes = lanes
        self.fixed: list[tuple[int, float, float]] | None = None
        self._fixed_width: float | None = None
        if all(lane.width.constant is not None for lane in lanes):
            self._fixed_width = self.width(0.0)
            self.fixed = self.all_borders(0.0)

    def all_borders(self, ds: float) -> list[tuple[int, float, float]]:
        """(lane, inner, outer border) of every lane, distances from lane 0."""
        found = []
        outer = 0.0
        for lane in self._lanes:
            inner = outer
            outer += max(lane.width.value(ds), 0.0)
            found.append((lane.id, inner, outer))
        return found

    def width(self, ds: float) -> float:
        """Of all its lanes [m]."""
        if self._fixed_width is not None:
            return self._fixed_width
        found = self.all_borders(ds)
        return found[-1][2] if found else 0.0

    def borders(self, lane_id: int, ds: float) -> tuple[float, float]:
        """Inner and outer border of a lane; RoadError if it does not lie on this side."""
        for found, inner, outer in self.fixed or self.all_borders(ds):
            if found == lane_id:
                return inner, outer
        raise RoadError(f"no lane {lane_id} on this side")


class LaneSection:
    """The lanes between two stations; they neither begin nor end inside."""

    __slots__ = (
        "_driven", "_fixed_centres", "_left", "_right", "centre_marks", "end", "is_fixed", "lanes",
        "start",
    )  # fmt: skip

    def __init__(
        self,
        start: float,
        end: float,
        lanes: Mapping[int, Lane],
        centre_marks: Sequence[RoadMark] = (),
    ) -> None:
        self.start = start
        self.end = end
        self.centre_marks = tuple(centre_marks)
        self.lanes = dict(lanes)
        self._left = _Side([lanes[i] for i in sorted(i for i in lanes if i > 0)])
        self._right = _Side([lanes[i] for i in sorted((i for i in lanes if i < 0), reverse=True)])
        #: Distance of the centre from lane 0, negative to the right, where widths are fixed.
        self._fixed_centres: dict[int, float] = {}
        for side, sign in ((self._left, 1.0), (self._right, -1.0)):
            for lane_id, inner, outer in side.fixed or ():
                self._fixed_centres[_key(lane_id)] = sign * (0.5 * (inner + outer))
        self._driven = {_key(i) for i, lane in lanes.items() if lane.type not in _NOT_DRIVEN}
        #: Whether no width changes.
        self.is_fixed = self._left.fixed is not None and self._right.fixed is not None

    def is_driven(self, lane_id: int) -> bool:
        """Whether vehicles drive or may stand on a lane."""
        return 2 * lane_id + 1 in self._driven  # as _key has it

    def fixed_centre(self, lane_id: int) -> float | None:
        """Distance of a lane's centre from lane 0, negative to the right; None: it varies."""
        return self._fixed_centres.get(2 * lane_id + 1)  # as _key has it

    def width(self, lane_id: int, s: float) -> float:
        """Width of a lane at station s [m]."""
        return max(self.lanes[lane_id].width.value(s - self.start), 0.0)

    def borders(self, lane_id: int, s: float) -> tuple[float, float]:
        """Distance from lane 0 of the inner and the outer border [m], both non-negative."""
        side = self._left if lane_id > 0 else self._right
        return side.borders(lane_id, s - self.start)

    def lane_at(self, t: float, s: float) -> int:
        """Lane that holds the lateral position t from lane 0, or OFF_ROAD."""
        if t > 0.0:
            side, distance = self._left, t
        else:
            side, distance = self._right, -t
        for lane_id, _, outer in side.fixed or side.all_borders(s - self.start):
            if distance <= outer:
                return lane_id
        return OFF_ROAD

    def centre_slope(self, lane_id: int, s: float) -> float:
        """Change of the centre's distance from lane 0 along the section."""
        if self.fixed_centre(lane_id) is not None:
            return 0.0
        ds, step = s - self.start, 1 if lane_id > 0 else -1
        slope = 0.5 * self.lanes[lane_id].width.slope(ds)
        for inner in range(step, lane_id, step):
            slope += self.lanes[inner].width.slope(ds)
        return slope if lane_id > 0 else 0.0 - slope

    def edges(self, s: float) -> tuple[float, float]:
        """Right (not positive) and left (not negative) end of all lanes, from lane 0 [m]."""
        ds = s - self.start
        return 0.0 - self._right.width(ds), self._left.width(ds)

    def off_centre(self, t: float, s: float, lane_type: str) -> float | None:
        """Distance of t from the nearest centre of a lane of a type, None if there is none."""
        nearest: float | None = None
        for side, sign in ((self._left, 1.0), (self._right, -1.0)):
            for lane_id, inner, outer in side.fixed or side.all_borders(s - self.start):
                if self.lanes[lane_id].type == lane_type and outer > inner:
                    off = abs(t - sign * (0.5 * (inner + outer)))
                    if nearest is None or off < nearest:
                        nearest = off
        return nearest


class Lanes:
    """The lane sections of one road and the offset of lane 0 from the reference line."""

    __slots__ = ("_fixed_edges", "_fixed_offset", "_offset", "_only", "_starts", "sections")

    def __init__(self, sections: Sequence[LaneSection], offset: Cubics) -> None:
        self.sections = list(sections)
        self._starts = [section.start for section in sections]
        #: The one section of most roads.
        self._only = self.sections[0] if len(self.sections) == 1 else None
        self._offset = offset
        self._fixed_offset = offset.constant
        #: What ``edges`` gives, where it never changes.
        self._fixed_edges: tuple[float, float] | None = None
        if self._only is not None and self._only.is_fixed and offset.constant is not None:
            self._fixed_edges = self.edges(0.0)

    def section(self, s: float) -> LaneSection:
        """The section that holds station s."""
        return self._only or self.sections[piece_at(self._starts, s)]

    def index(self, s: float) -> int:
        """Number of the section that holds station s."""
        return piece_at(self._starts, s)

    def _known(self, lane_id: int, s: float) -> LaneSection:
        section = self.section(s)
        if lane_id not in section.lanes:
            raise RoadError(
                f"no lane {lane_id} at s={s:.3f}: there are lanes {sorted(section.lanes)}"
            )
        return section

    def width(self, lane_id: int, s: float) -> float:
        """Width of a lane at station s [m]; RoadError if there is no such lane."""
        return self._known(lane_id, s).width(lane_id, s)

    def borders(self, lane_id: int, s: float) -> tuple[float, float]:
        """Lateral positions t of the inner and outer border; RoadError if no such lane."""
        inner, outer = self._known(lane_id, s).borders(lane_id, s)
        offset = self._offset.value(s)
        return (offset + inner, offset + outer) if lane_id > 0 else (offset - inner, offset - outer)

    def centre(self, lane_id: int, s: float) -> float:
        """Lateral position t of a lane's centre; RoadError if there is no such lane."""
        section = self._only or self.sections[piece_at(self._starts, s)]
        fixed = section.fixed_centre(lane_id)
        if fixed is not None:
            offset = self._fixed_offset
            return (self._offset.value(s) if offset is None else offset) + fixed
        inner, outer = self._known(lane_id, s).borders(lane_id, s)
        half = 0.5 * (inner + outer)
        return self._offset.value(s) + (half if lane_id > 0 else -half)

    def centre_slope(self, lane_id: int, s: float) -> float:
        """dt/ds of a lane's centre; RoadError if there is no such lane."""
        return self._offset.slope(s) + self._known(lane_id, s).centre_slope(lane_id, s)

    def lane_at(self, s: float, t: float) -> int:
        """Lane that holds the lateral position t from the reference line, or OFF_ROAD."""
        section = self._only or self.sections[piece_at(self._starts, s)]
        offset = self._fixed_offset
        return section.lane_at(t - (self._offset.value(s) if offset is None else offset), s)

    def edges(self, s: float) -> tuple[float, float]:
        """Lateral positions t of the right and the left end of all lanes."""
        if self._fixed_edges is not None:
            return self._fixed_edges
        right, left = self.section(s).edges(s)
        offset = self._offset.value(s)
        return offset + right, offset + left

    def off_centre(self, s: float, t: float, lane_type: str) -> float | None:
        """Distance of t from the nearest centre of a lane of a type, None if there is none."""
        return self.section(s).off_centre(t - self._offset.value(s), s, lane_type)


def _key(lane_id: int) -> int:
    """A lane in a dict: -1 and -2 have one hash, and to tell them apart takes a dozen looks."""
    return 2 * lane_id + 1
