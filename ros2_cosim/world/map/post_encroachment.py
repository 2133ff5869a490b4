# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Post-encroachment time, from boxes at recorded times.

It is the time from when the first of two road users leaves a place to when the second one comes
there (B. L. Allen, B. T. Shin and P. J. Cooper, Transportation Research Record 667, 1978). A place
is here any point that the boxes of both have covered: the least time between a box of the one and a
later box of the other that touches it. It is 0 for two that touch at one time.

Only ways that cross or meet at an angle count, as in the Surrogate Safety Assessment Model (FHWA,
2008): the headings of both at the place differ by more than ``CROSSES``. Vehicles in one lane are
judged by gap and time to collision, also where the first one turns off: two that have had about one
heading at one place follow each other. Before its start a road user has come as it first moves,
with constant curvature. Heights do not count: boxes are seen from above.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator
from typing import Final, NamedTuple

from ros2_cosim.core.kernel.exactmath import hypot
from ros2_cosim.world.map.encounters import Extreme, Rectangle, corners, touch

#: Longer times say nothing [s].
LONGEST_PET: Final = 10.0
#: Ways whose headings differ by less lead the same way: 30 degrees, as a cosine.
CROSSES: Final = 0.8660254037844387
#: Whether two follow each other is looked at again after this time [ns].
_AGAIN: Final = 200_000_000
#: Boxes of one road user are looked at so far apart, or further [ns].
STEP: Final = 20_000_000
#: A road user moves once it has come so far from its start [m].
_MOVED: Final = 0.05
#: So far it has come as it first moves [m].
_BEFORE: Final = 10.0
#: Size of the squares by which boxes that may touch are found [m].
_SQUARE: Final = 5.0
_COS_10: Final = 0.984807753012208
_COS_20: Final = 0.9396926207859084


class RecordedBox(NamedTuple):
    """A box at one time."""

    x: float
    y: float
    cos: float
    sin: float
    length: float
    width: float


class _Passage:
    """The boxes of one road user in a square, and how far their headings differ from the first."""

    __slots__ = ("boxes", "first", "turned")

    def __init__(self, first: Rectangle) -> None:
        self.boxes: deque[tuple[int, Rectangle]] = deque()
        self.first = first
        #: Smallest cosine of the difference.
        self.turned = 1.0

    def add(self, time: int, box: Rectangle) -> None:
        """Take a box over."""
        self.boxes.append((time, box))
        self.turned = min(self.turned, _cosine(self.first, box))

    def may_cross(self, box: Rectangle) -> bool:
        """Whether a box may have another heading than one of them: most do not, for a lane."""
        return self.turned < _COS_10 or _cosine(self.first, box) < _COS_20


class PostEncroachment:
    """The smallest post-encroachment time of a run [s], to within twice the time between boxes.

    ``least`` has the pair, the one that leaves first, and the time when the second one comes.

    :param egos: at least one of a pair is among these, but not both; none: all pairs count
    """

    def __init__(self, egos: Collection[str] = ()) -> None:
        self._egos = frozenset(egos)
        self.least = Extreme()
        self._trails: dict[str, deque[tuple[int, Rectangle]]] = {}
        self._squares: dict[tuple[int, int], dict[str, _Passage]] = {}
        #: The first box of each, and the first one after that at which it has moved.
        self._starts: dict[str, list[Rectangle]] = {}
        #: First and second of two -> when they were looked at, and were seen to follow [ns].
        self._looked: dict[tuple[str, str], int] = {}
        self._follows: dict[tuple[str, str], int] = {}
        self._tidied = 0

    def add(self, time: int, name: str, box: Rectangle) -> None:
        """Take a box over, in the order of times.

        :param time: [ns]
        """
        trail = self._trails.setdefault(name, deque())
        if trail and time - trail[-1][0] < STEP:
            return
        if time - self._tidied > LONGEST_PET * 1e9:
            self._tidy(time)
        start = self._starts.setdefault(name, [box])
        if len(start) == 1 and _apart_squared(start[0], box) >= _MOVED * _MOVED:
            start.append(box)
        for square in _squares_under(box):
            users = self._squares.setdefault(square, {})
            for other, passage in users.items():
                if other != name and self._counts(name, other):
                    self._see_following(time, (other, name), box, passage.boxes)
                    if passage.may_cross(box):
                        self._compare(time, (other, name), box, passage.boxes)
            if name not in users:
                users[name] = _Passage(box)
            users[name].add(time, box)
        trail.append((time, box))

    def _counts(self, name: str, other: str) -> bool:
        return not self._egos or (name in self._egos) != (other in self._egos)

    def _see_following(
        self, time: int, pair: tuple[str, str], box: Rectangle, boxes: deque[tuple[int, Rectangle]]
    ) -> None:
        """Check whether one is where the other has been with about its heading."""
        if 0 < time - self._looked.get(pair, -_AGAIN) < _AGAIN:
            return
        self._looked[pair] = time
        if self._follows.get(pair) != time and any(
            not _cross(box, there) and touch(box, there) for _, there in boxes
        ):
            self._follows[pair] = time

    def _has_followed(self, time: int, pair: tuple[str, str], box: Rectangle) -> bool:
        """Whether the second of a pair, with this box, follows the first."""
        seen = self._follows.get(pair)
        if seen is not None and time - seen <= LONGEST_PET * 1e9:
            return True
        way = _before(*self._starts[pair[0]])
        return any(not _cross(box, there) and touch(box, there) for there in way)

    def _compare(
        self, time: int, pair: tuple[str, str], box: Rectangle, boxes: deque[tuple[int, Rectangle]]
    ) -> None:
        for since, there in reversed(boxes):
            passed = (time - since) / 1e9
            if passed >= min(self.least.value, LONGEST_PET):
                return
            if _cross(box, there) and touch(box, there):
                # A vehicle that turns ahead of another has come past here in the same direction.
                _, here = min(
                    self._trails[pair[0]],
                    key=lambda kept: _apart_squared(kept[1], box),
                )
                if _cross(box, here) and not self._has_followed(time, pair, box):
                    self.least = Extreme(passed, pair, time)
                return

    def _tidy(self, time: int) -> None:
        """Forget what is too old."""
        self._tidied = time
        oldest = time - int(LONGEST_PET * 1e9)
        for trail in self._trails.values():
            _drop(trail, oldest)
        for users in self._squares.values():
            for passage in users.values():
                _drop(passage.boxes, oldest)
        squares = self._squares.items()
        kept = {place: {n: p for n, p in users.items() if p.boxes} for place, users in squares}
        self._squares = {place: users for place, users in kept.items() if users}
        self._trails = {name: trail for name, trail in self._trails.items() if trail}
        self._follows = {pair: seen for pair, seen in self._follows.items() if seen >= oldest}


#: Classes of its state.
POST_ENCROACHMENT_PARTS: Final = (PostEncroachment, _Passage)


def _drop(boxes: deque[tuple[int, Rectangle]], oldest: int) -> None:
    while boxes and boxes[0][0] < oldest:
        boxes.popleft()


def _before(first: Rectangle, moved: Rectangle | None = None) -> Iterator[Rectangle]:
    """Boxes before the first one, from which the same motion leads on as from it to ``moved``."""
    if moved is None:
        return
    dx, dy = moved.x - first.x, moved.y - first.y
    ahead, aside = dx * first.cos + dy * first.sin, dy * first.cos - dx * first.sin
    turn_cos = _cosine(first, moved)
    turn_sin = first.cos * moved.sin - first.sin * moved.cos
    x, y, cos, sin = first.x, first.y, first.cos, first.sin
    for _ in range(int(_BEFORE / hypot(dx, dy))):
        cos, sin = cos * turn_cos + sin * turn_sin, sin * turn_cos - cos * turn_sin
        x, y = x - ahead * cos + aside * sin, y - ahead * sin - aside * cos
        yield RecordedBox(x, y, cos, sin, first.length, first.width)


def _apart_squared(first: Rectangle, second: Rectangle) -> float:
    """Square of the distance of two centres [m^2]."""
    dx, dy = first.x - second.x, first.y - second.y
    return dx * dx + dy * dy


def _cross(first: Rectangle, second: Rectangle) -> bool:
    return _cosine(first, second) < CROSSES


def _cosine(first: Rectangle, second: Rectangle) -> float:
    """Of the difference of two headings."""
    return first.cos * second.cos + first.sin * second.sin


def _squares_under(box: Rectangle) -> Iterator[tuple[int, int]]:
    """The squares that the upright rectangle around a box lies on."""
    places = corners(box)
    x, y = [place[0] for place in places], [place[1] for place in places]
    for column in range(int(min(x) // _SQUARE), int(max(x) // _SQUARE) + 1):
        for row in range(int(min(y) // _SQUARE), int(max(y) // _SQUARE) + 1):
            yield column, row
