# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Vehicles that cut in: when they are noticed, what the emergency brake makes of them."""

from __future__ import annotations

from pathlib import Path

from ros2_cosim.core.kernel.random_streams import RandomStream
from ros2_cosim.core.messages.records import DetectedObject
from ros2_cosim.core.run.inproc import run_inproc
from ros2_cosim.core.scenario.library import library_file
from ros2_cosim.core.scenario.schema import load_scenario
from ros2_cosim.driving.controllers.safety import CutInWatch

PERIOD = 40_000_000


def at(offset: float, number: int = 4) -> DetectedObject:
    return DetectedObject(number, 1, 20.0, -5.0, offset, 4.5, 1.8, 1.0)


def noticed(offsets: list[float], noise: float = 0.0) -> list[int]:
    """The looks at which an object with these offsets counts as cutting in."""
    watch, stream = CutInWatch(), RandomStream(1, "test", "offset")
    return [
        look
        for look, offset in enumerate(offsets)
        if watch.update(look * PERIOD, [at(offset + noise * stream.normal())], 1.75)
    ]


def lane_change(start: float, end: float, seconds: float) -> list[float]:
    """Minimum jerk, a look every 40 ms, half a second before and after."""
    count = round(seconds / 0.04)
    shares = [min(1.0, max(0.0, k / count)) for k in range(-12, count + 13)]
    return [start + (end - start) * s**3 * (10 - 15 * s + 6 * s * s) for s in shares]


def test_a_vehicle_is_noticed_when_it_leaves_the_middle_of_its_lane() -> None:
    for side in (3.5, -3.5):
        offsets = lane_change(side, 0.0, 3.0)
        looks = noticed(offsets)
        assert abs(offsets[looks[0]]) > 2.9, "not when it is half way over"
        assert abs(offsets[looks[-1]]) < 2.0, "until it is in the lane, and the law's"
        assert looks == list(range(looks[0], looks[-1] + 1))


def test_a_vehicle_that_stays_or_leaves_does_not_cut_in() -> None:
    assert noticed([3.5] * 2000, noise=0.05) == []
    assert noticed([2.9] * 2000, noise=0.02) == [], "off the middle, but it keeps there"
    assert noticed(lane_change(0.0, 3.5, 3.0)) == []
    assert noticed(lane_change(3.5, 7.0, 3.0)) == []
    assert noticed([3.5, 2.5]) == [], "two looks show no motion"


def test_each_object_has_its_own_motion_and_is_forgotten() -> None:
    watch = CutInWatch()
    for look, offset in enumerate(lane_change(3.5, 0.0, 3.0)[:45]):
        found = watch.update(look * PERIOD, [at(offset), at(-3.5, 5)], 1.75)
    assert [item.id for item in found] == [4]
    assert watch.update(60 * PERIOD, [at(2.5, 6)], 1.75) == []
    assert watch.update(61 * PERIOD, [at(2.4)], 1.75) == [], "it was out of sight"


def test_a_slow_vehicle_that_cuts_in_is_not_hit(tmp_path: Path) -> None:
    """8 m/s slower, 23.5 m ahead: the reference driver of UN R157 avoids it."""
    changes = ["parameters.slower=16.87", "parameters.gap=23.46", "duration=12s"]
    found = run_inproc(load_scenario(library_file("cut_in"), changes), tmp_path, record=False)
    assert found.collisions == 0
    assert (found.figures or {})["cacc1"]["modes"]["emergency"] > 0.0
