# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Pause, step and rate of a run in fixed ticks, driven as a fleet of vehicles is."""

from __future__ import annotations

from support.coupling_signals import MS

from ros2_cosim.core.kernel.time import FOREVER
from ros2_cosim.core.realtime.pacing import TimeScale
from ros2_cosim.core.realtime.run_state import RunState

DT = 10 * MS


class Ticks:
    """Takes every tick that may be taken at a wall time."""

    def __init__(self, rate: float | None = None, **settings: bool) -> None:
        self.state = RunState(TimeScale(rate), **settings)
        self.state.started(0)
        self.taken = 0

    def run(self, now: int, most: int = 100) -> int:
        """The number of ticks taken so far, at most so many more than before."""
        for _ in range(most):
            time = self.taken * DT
            if self.state.update(time, now) or self.state.allowed(FOREVER, now) <= time:
                break
            self.state.granted = time + DT
            self.taken += 1
        self.state.update(self.taken * DT, now)
        return self.taken


def test_without_a_rate_nothing_is_waited_for() -> None:
    ticks = Ticks()
    assert ticks.run(0, most=7) == 7
    assert not ticks.state.paused
    ticks.state.pause()
    assert ticks.run(0) == 7
    assert ticks.state.stands(7 * DT) and ticks.state.resting
    ticks.state.resume(0)
    assert ticks.run(0, most=3) == 10


def test_steps_add_up_while_they_are_taken() -> None:
    ticks = Ticks(paused=True)
    assert ticks.run(0) == 0
    ticks.state.step(2 * DT, 0)
    assert ticks.run(0, most=1) == 1
    ticks.state.step(3 * DT, 0)
    assert ticks.run(0) == 5
    ticks.state.until(8 * DT, 0)
    assert ticks.run(0) == 8


def test_a_pause_forgets_what_was_left_of_a_step() -> None:
    ticks = Ticks(paused=True)
    ticks.state.step(5 * DT, 0)
    assert ticks.run(0, most=2) == 2
    ticks.state.pause()
    assert ticks.run(0) == 2
    ticks.state.step(DT, 0)
    assert ticks.run(0) == 3


def test_ticks_follow_the_wall_clock_and_a_pause_is_not_caught_up() -> None:
    ticks = Ticks(rate=2.0)
    assert ticks.run(0) == 1
    assert ticks.run(15 * MS - 1) == 3
    assert ticks.run(15 * MS) == 4
    ticks.state.pause()
    assert ticks.run(500 * MS) == 4
    ticks.state.resume(500 * MS)
    assert ticks.run(500 * MS) == 5
    assert ticks.run(505 * MS) == 6
    ticks.state.set_rate(0.5, 505 * MS)
    assert ticks.run(505 * MS) == 7
    assert ticks.run(545 * MS) == 9
    ticks.state.scale.slip(20 * MS)
    assert ticks.run(565 * MS) == 9
    assert ticks.run(585 * MS) == 10
