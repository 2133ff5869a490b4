# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Post-encroachment times of ways that are known in closed form."""

from __future__ import annotations

import math

import pytest

from ros2_cosim.world.map.encounters import Extreme
from ros2_cosim.world.map.post_encroachment import PostEncroachment, RecordedBox

MS = 1_000_000
#: Between the boxes [ms], and what that makes uncertain [s].
PERIOD, WITHIN = 20, 0.0401


def straight(
    x: float, y: float, degrees: float, speed: float, size: tuple[float, float], seconds: float
) -> RecordedBox:
    """One that is at (x, y) at 0 s."""
    cos, sin = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    return RecordedBox(x + speed * seconds * cos, y + speed * seconds * sin, cos, sin, *size)


Way = tuple[float, float, float, float, tuple[float, float]]


def least(ways: dict[str, Way], end: int = 12_000, egos: tuple[str, ...] = ("ego",)) -> Extreme:
    measure = PostEncroachment(egos)
    for ms in range(0, end, PERIOD):
        for name, way in ways.items():
            measure.add(ms * MS, name, straight(*way, ms / 1000))
    return measure.least


@pytest.mark.parametrize("late", [0.5, 1.0, 3.0])
def test_ways_that_cross_at_a_right_angle(late: float) -> None:
    """The rear of ego leaves the other's strip 1 m beyond the crossing, 3.3 s from its start 30 m
    before it: (30 + 1 + 2) / 10. The other's front comes to ego's strip, 1 m before the crossing.
    """
    start = 5.0 * (3.3 + late) + 1.0 + 0.25
    found = least({
        "ego": (-30.0, 0.0, 0.0, 10.0, (4.0, 2.0)),
        "walker": (0.0, -start, 90.0, 5.0, (0.5, 2.0)),
    })  # fmt: skip
    assert found.value == pytest.approx(late, abs=WITHIN)
    assert found.pair == ("ego", "walker")
    assert found.time == pytest.approx((3.3 + late) * 1e9, abs=WITHIN * 1e9)


def test_the_other_may_be_first() -> None:
    found = least({
        "ego": (-63.0, 0.0, 0.0, 10.0, (4.0, 2.0)),  # its front comes to x = -1 m at 6 s
        "other": (0.0, -17.0, 90.0, 5.0, (4.0, 2.0)),  # its rear leaves y = 1 m at 4 s
    })  # fmt: skip
    assert found.value == pytest.approx(2.0, abs=WITHIN)
    assert found.pair == ("other", "ego")


def test_ways_that_cross_at_sixty_degrees() -> None:
    """Of the places that both cover, one corner of a parallelogram has the least time.

    Ego's rear passes a place (x, y) at (32 + x) / 10 s, the other's front at (43 + x cos 60 +
    y sin 60) / 10 s; both cover |y| <= 1 and |x sin 60 - y cos 60| <= 1. The difference is least at
    y = -1, x = (1 - cos 60) / sin 60.
    """
    s, c = math.sin(math.radians(60)), math.cos(math.radians(60))
    x, y = (1.0 - c) / s, -1.0
    found = least({
        "ego": (-30.0, 0.0, 0.0, 10.0, (4.0, 2.0)),
        "other": (-45.0 * c, -45.0 * s, 60.0, 10.0, (4.0, 2.0)),
    })  # fmt: skip
    assert found.value == pytest.approx((11.0 - x * (1.0 - c) + y * s) / 10.0, abs=WITHIN)


def test_a_contact_is_none_left() -> None:
    found = least({
        "ego": (-30.0, 0.0, 0.0, 10.0, (4.0, 2.0)), "other": (0.0, -30.0, 90.0, 10.0, (4.0, 2.0)),
    })  # fmt: skip
    assert found.value == 0.0


def test_those_that_follow_each_other_do_not_count() -> None:
    follower = (-30.0, 0.0, 0.0, 10.0, (4.0, 2.0))
    ahead = (-15.0, 0.0, 0.0, 10.0, (4.0, 2.0))
    assert least({"ego": follower, "other": ahead}).pair is None


def test_those_that_follow_each_other_round_a_corner_do_not_count() -> None:
    """On a circle of 6 m boxes have common places whose headings differ by a radian."""
    measure = PostEncroachment(("ego",))
    for ms in range(0, 6000, PERIOD):
        for name, ahead in (("ego", 0.0), ("other", 1.0)):
            angle = ms / 1000 * 4.0 / 6.0 + ahead
            x, y = 6.0 * math.cos(angle), 6.0 * math.sin(angle)
            box = RecordedBox(x, y, -math.sin(angle), math.cos(angle), 4.0, 2.0)
            if name == "other" or ms > 1500:
                measure.add(ms * MS, name, box)
    assert measure.least.pair is None


def test_one_that_turns_off_ahead_of_another_has_followed_the_same_way() -> None:
    """The first one turns left, out of the lane of ego, which goes straight on past its rear."""
    for begin in (0.0, 5.0):  # straight on before the turn, of 6 m [m]
        measure = PostEncroachment(("ego",))
        for ms in range(0, 6000, PERIOD):
            way = 5.0 * ms / 1000
            angle = min(max(way - begin, 0.0) / 6.0, 0.5 * math.pi)
            on = way - 6.0 * angle if angle < 1.0 else begin
            x, y = 6.0 + on + 6.0 * math.sin(angle), 6.0 * (1.0 - math.cos(angle))
            y += way - begin - 3.0 * math.pi if angle == 0.5 * math.pi else 0.0
            turned = RecordedBox(x, y, math.cos(angle), math.sin(angle), 4.0, 2.0)
            measure.add(ms * MS, "ego", RecordedBox(way, 0.0, 1.0, 0.0, 4.0, 2.0))
            measure.add(ms * MS, "other", turned)
        assert measure.least.pair is None, begin


@pytest.mark.parametrize("ahead", [0.8, 1.0, 1.4])
def test_nor_do_those_count_that_start_in_a_bend(ahead: float) -> None:
    """Nothing of the run shows that the first one, at its start, has come the same way."""
    measure = PostEncroachment(("ego",))
    for ms in range(0, 3000, PERIOD):
        for name, angle in (("ego", 0.0), ("other", ahead)):
            angle += ms / 1000 * 4.0 / 6.0
            x, y = 6.0 * math.sin(angle), 6.0 * (1.0 - math.cos(angle))
            box = RecordedBox(x, y, math.cos(angle), math.sin(angle), 4.0, 2.0)
            measure.add(ms * MS, name, box)
    assert measure.least.pair is None


def test_one_that_starts_across_counts() -> None:
    """It stands beside ego's lane, then crosses it: its way before the start is straight, too."""
    measure = PostEncroachment(("ego",))
    for ms in range(0, 6000, PERIOD):
        seconds = ms / 1000
        measure.add(ms * MS, "other", straight(0.0, -4.0, 90.0, 4.0, (4.0, 2.0), seconds))
        measure.add(ms * MS, "ego", straight(-30.0, 0.0, 0.0, 10.0, (4.0, 2.0), seconds))
    # Its rear leaves y = 1 m at 1.75 s; ego's front comes to x = -1 m at 2.7 s.
    assert measure.least.value == pytest.approx(0.95, abs=WITHIN)
    assert measure.least.pair == ("other", "ego")


def test_long_times_and_pairs_without_ego_do_not_count() -> None:
    ego = (-30.0, 0.0, 0.0, 10.0, (4.0, 2.0))
    # Their fronts come to ego's strip at 11.4 s and 14.7 s; ego has left theirs at 3.3 s.
    near, far = ((0.0, -way, 90.0, 5.0, (4.0, 2.0)) for way in (60.0, 76.5))
    assert least({"ego": ego, "other": near}, 20_000).value == pytest.approx(8.1, abs=WITHIN)
    assert least({"ego": ego, "other": far}, 20_000).pair is None
    ways = {"ego": ego, "other": near}
    assert least(ways, 20_000, ("ego", "other")).pair is None
    assert least(ways, 20_000, ("somebody",)).pair is None
    assert least(ways, 20_000, ()).pair == ("ego", "other")


def test_old_places_are_forgotten() -> None:
    measure = PostEncroachment(("ego",))
    for ms in range(0, 100_000, 100):
        measure.add(ms * MS, "ego", straight(0.0, 0.0, 0.0, 20.0, (4.0, 2.0), ms / 1000))
    assert len(measure._squares) < 20.0 * 20.0 / 5.0 * 2 + 4
