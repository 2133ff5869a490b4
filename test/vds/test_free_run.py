# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Free run against a clock by hand: pace, overruns, watchdog, control."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping

import pytest
from support.patience import until
from support.vds_peer import HandClock

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.realtime.wall_clock import MonotonicClock, Timing
from ros2_cosim.vds.fleet import Fleet, VehicleOutput
from ros2_cosim.vds.fleet_settings import read_settings
from ros2_cosim.vds.free_run import FreeRunMode, FreeRunSettings
from ros2_cosim.vds.vehicle_plant import FAIL_SAFE, VehicleCommand

MS = 1_000_000
US = 1_000
DRIVE = VehicleCommand(throttle=0.5)


def two(dt: str = "5ms") -> Fleet:
    return read_settings({"dt": dt, "vehicles": {"a": {"speed": 20.0}, "b": {}}}, "f").fleet()


class Recorded:
    """Notes when each tick ended, and lets it take time."""

    def __init__(self, clock: HandClock, takes: int | Mapping[int, int] = 0) -> None:
        self.clock = clock
        self.takes = takes
        self.times: list[int] = []
        self.outputs: list[Mapping[str, VehicleOutput]] = []

    def __call__(self, outputs: Mapping[str, VehicleOutput]) -> None:
        self.times.append(self.clock.time)
        self.outputs.append(outputs)
        takes = self.takes
        self.clock.time += takes if isinstance(takes, int) else takes.get(len(self.times), 0)


def free_run(
    clock: HandClock, seen: Recorded, fleet: Fleet | None = None, **settings: object
) -> FreeRunMode:
    chosen = FreeRunSettings(**{"command_timeout_ns": 0, **settings})  # type: ignore[arg-type]
    return FreeRunMode(fleet or two(), chosen, clock=clock, on_tick=seen)


def test_ticks_keep_their_deadlines_whatever_sleeping_loses() -> None:
    clock = HandClock(start=777, late=130 * US)
    seen = Recorded(clock, takes=900 * US)
    run = free_run(clock, seen)
    run.run(steps=2000)
    # The first tick is due at once, tick k at k * 5 ms; each sleep ends 0.13 ms late.
    assert seen.times[0] == 777
    assert seen.times[1:] == [777 + k * 5 * MS + 130 * US for k in range(1, 2000)]
    figures = run.timing.figures()
    assert figures["overruns"] == figures["slips"] == 0
    assert figures["lateness_us"]["max"] == 130.0
    assert figures["lateness_classes"] == [[1e-5, 1], [16e-5, 1999]]
    assert figures["busy_us"] == 900.0
    assert run.control.status() == ("ended", 2000 * 5 * MS, 2000, 1.0, True, True)


@pytest.mark.parametrize(("rate", "distance"), [(0.5, 10 * MS), (2.0, 2_500_000), (10.0, 500_000)])
def test_the_rate_scales_the_distance(rate: float, distance: int) -> None:
    clock = HandClock()
    seen = Recorded(clock)
    free_run(clock, seen, rate=rate).run(steps=50)
    assert seen.times == [k * distance for k in range(50)]


def test_as_fast_as_possible_does_not_sleep() -> None:
    clock = HandClock()
    seen = Recorded(clock)
    run = free_run(clock, seen, rate=None)
    run.run(steps=100)
    assert clock.time == 0
    assert run.control.status().steps == 100


def test_overruns_are_counted_and_made_up_for_without_idling() -> None:
    clock = HandClock()
    seen = Recorded(clock, takes={10: 17 * MS})
    run = free_run(clock, seen)
    run.run(steps=20)
    # Tick 10 (due at 45 ms) ends at 62 ms: those due at 50, 55 and 60 ms follow at once.
    assert [t // MS for t in seen.times] == [
        *(0, 5, 10, 15, 20, 25, 30, 35, 40, 45),
        *(62, 62, 62, 65, 70, 75, 80, 85, 90, 95),
    ]
    figures = run.timing.figures()
    # Late at their end: tick 10, and 11 and 12, which begin after their successors are due.
    assert figures["overruns"] == 3
    assert figures["slips"] == 0
    assert figures["lateness_us"]["max"] == 12_000.0


@pytest.mark.parametrize(("takes", "overruns"), [(5 * MS, 0), (5 * MS + 1, 4)])
def test_a_tick_that_ends_when_the_next_one_is_due_is_in_time(takes: int, overruns: int) -> None:
    clock = HandClock()
    run = free_run(clock, Recorded(clock, takes=takes))
    run.run(steps=4)
    assert run.timing.figures()["overruns"] == overruns


def test_a_run_too_far_behind_lets_the_time_go_and_says_so() -> None:
    clock = HandClock()
    seen = Recorded(clock, takes={3: 60 * MS})
    run = free_run(clock, seen, max_lag_ns=50 * MS)
    run.run(steps=6)
    assert [t // MS for t in seen.times] == [0, 5, 10, 70, 75, 80]
    assert run.timing.figures()["slips"] == 1
    assert run.timing.figures()["slipped_ms"] == 55.0


def test_pacing_does_not_change_the_states() -> None:
    fleets = [two(), two(), two()]
    for fleet, rate, takes in zip(fleets, (1.0, 3.0, None), (9 * MS, 0, 0), strict=True):
        clock = HandClock(late=50 * US)
        free_run(clock, Recorded(clock, takes), fleet, rate=rate).run(steps=100)
    assert len({fleet.trace_sha256 for fleet in fleets}) == 1


def test_command_loss_brings_the_fail_safe_within_its_timeout() -> None:
    clock = HandClock()
    commands: dict[int, str] = {}
    seen = Recorded(clock)

    def on_tick(outputs: Mapping[str, VehicleOutput]) -> None:
        seen(outputs)
        if clock.time <= 40 * MS:  # then the sender of a falls silent; b's goes on
            run.command("a", DRIVE)
        run.command("b", DRIVE)
        commands[clock.time // MS] = "fail" if run.in_fail_safe("a") else "drive"

    fleet = two()
    run = FreeRunMode(fleet, clock=clock, on_tick=on_tick)  # a timeout of 100 ms
    run.run(steps=60)
    assert max(t for t, mode in commands.items() if mode == "drive") == 135
    assert min(t for t, mode in commands.items() if mode == "fail") == 140  # 40 + 100
    applied = {o["a"].time // MS - 5: o["a"].command for o in seen.outputs}
    assert applied[135] == DRIVE or applied[135].throttle == 0.5
    # No throttle, brake 0.3, straight on, forward, no handbrake.
    assert all(applied[t][:5] == (0.0, 0.0, 0.3, 1, False) for t in range(140, 300, 5))
    assert all(o["b"].command.throttle == 0.5 for o in seen.outputs[1:])
    assert run.fail_safes == {"a": 1, "b": 0}
    assert run.figures()["fail_safes"] == {"a": 1, "b": 0}
    state = seen.outputs[-1]["a"].state
    assert state.ax < -1.0
    assert state.y == 0.0


def test_a_fresh_command_ends_the_fail_safe() -> None:
    clock = HandClock()
    seen = Recorded(clock)
    run = free_run(clock, seen, command_timeout_ns=20 * MS)
    run.run(steps=10)
    assert run.in_fail_safe("a")
    run.command("a", DRIVE)
    assert not run.in_fail_safe("a")
    run.run(steps=13)
    assert seen.outputs[-1]["a"].command == DRIVE
    assert run.in_fail_safe("b")
    assert run.fail_safes == {"a": 1, "b": 1}


def test_without_timeout_the_last_command_holds() -> None:
    clock = HandClock()
    seen = Recorded(clock)
    run = free_run(clock, seen)
    run.command("a", DRIVE)
    run.run(steps=500)
    assert seen.outputs[-1]["a"].command == DRIVE
    assert run.fail_safes == {"a": 0, "b": 0}


def test_pause_step_resume_and_the_watchdog_rests() -> None:
    clock = HandClock()
    seen = Recorded(clock)
    run = free_run(clock, seen, command_timeout_ns=50 * MS)
    run.command("a", DRIVE)
    run.control.pause()
    worker = threading.Thread(target=run.run, kwargs={"steps": 40})
    worker.start()
    assert run.control.status().state == "paused"
    run.control.step(3)
    run.control.step(4)
    while run.control.status().steps < 7:
        time.sleep(0.001)
    assert run.control.status() == ("paused", 35 * MS, 7, 1.0, True, True)
    clock.time = 10_000 * MS  # no command arrives while the run stands
    run.control.resume()
    worker.join(60)
    assert run.control.status().state == "ended"
    assert len(seen.times) == 40
    # Paced again from where it was resumed, and a full timeout until the fail-safe.
    assert [t // MS - 10_000 for t in seen.times[7:10]] == [0, 5, 10]
    failing = [k for k, o in enumerate(seen.outputs) if o["a"].command == FAIL_SAFE]
    assert failing == list(range(7 + 10, 40))
    assert run.timing.slips == 0


class PausingClock(HandClock):
    """Calls a function once, when it is read the n-th time from now."""

    def __init__(self) -> None:
        super().__init__()
        self.left = 0
        self.call: Callable[[], None] = lambda: None

    def now(self) -> int:
        self.left -= 1
        if self.left == 0:
            # Like any request, from another thread: it waits where the loop holds the lock.
            asking = threading.Thread(target=self.call)
            asking.start()
            asking.join(0.05)
        return super().now()


@pytest.mark.parametrize("reading", range(1, 9))
def test_a_pause_at_any_moment_loses_no_later_step(
    reading: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the decision to tick and the tick, a pause counted steps from before that tick."""
    clock = PausingClock()
    run = free_run(clock, Recorded(clock))
    asked, stood = run.control.may_step, list[int]()

    def may_step(taken: int) -> bool:
        """Notes where the loop itself finds that it stands: no tick is under way then."""
        if not (may := asked(taken)):
            stood.append(taken)
        return may

    monkeypatch.setattr(run.control, "may_step", may_step)
    clock.call, clock.left = run.control.pause, reading
    worker = threading.Thread(target=run.run)
    worker.start()
    until(lambda: stood)
    steps = stood[-1]
    for count in (1, 2):
        run.control.step(count)
        steps += count
        until(lambda: run.control.status().steps == steps)  # noqa: B023
    stood.clear()
    until(lambda: stood)
    assert (stood[-1], run.control.status().steps) == (steps, steps)
    run.control.stop()
    worker.join(60)


def test_the_rate_may_change_on_the_way() -> None:
    clock = HandClock()
    seen = Recorded(clock)

    def on_tick(outputs: Mapping[str, VehicleOutput]) -> None:
        seen(outputs)
        if len(seen.times) == 4:
            run.control.set_rate(0.5)
        if len(seen.times) == 7:
            run.control.set_rate(None)

    run = FreeRunMode(two(), FreeRunSettings(command_timeout_ns=0), clock=clock, on_tick=on_tick)
    run.run(steps=9)
    assert [t // MS for t in seen.times] == [0, 5, 10, 15, 15, 25, 35, 35, 35]
    assert run.control.status().rate is None


def test_a_run_can_be_ended_from_outside() -> None:
    clock = HandClock()
    seen = Recorded(clock)
    run = free_run(clock, seen)
    run.control.pause()
    worker = threading.Thread(target=run.run)
    worker.start()
    run.control.stop()
    worker.join(60)
    assert not worker.is_alive()
    assert seen.times == []


def test_wrong_requests_are_refused() -> None:
    run = free_run(HandClock(), Recorded(HandClock()))
    for rate in (0.0, -1.0, 1e9, float("nan")):
        with pytest.raises(ConfigurationError, match="rate"):
            run.control.set_rate(rate)
        with pytest.raises(ConfigurationError, match="rate"):
            FreeRunSettings(rate=rate)
    for count in (0, -1, 10**9):
        with pytest.raises(ConfigurationError, match="step"):
            run.control.step(count)
    with pytest.raises(ConfigurationError, match="'c'; allowed are a, b"):
        run.command("c", DRIVE)
    with pytest.raises(ConfigurationError, match="timeout"):
        FreeRunSettings(command_timeout_ns=-1)


def test_the_machines_clock_sleeps_until_its_deadline() -> None:
    clock = MonotonicClock()
    deadline = clock.now() + 2 * MS
    clock.sleep_until(deadline)
    assert clock.now() >= deadline
    clock.sleep_until(deadline - 10**15)


def test_a_step_before_its_time_is_not_late() -> None:
    timing = Timing()
    timing.began(-5)
    timing.ended(3000, False)
    figures = timing.figures()
    assert figures["lateness_us"] == {"last": 0.0, "mean": 0.0, "max": 0.0}
    assert (figures["lateness_classes"], figures["busy_us"]) == ([[1e-5, 1]], 3.0)


def test_the_figures_of_a_run_are_in_seconds() -> None:
    clock = HandClock()
    run = free_run(clock, Recorded(clock))
    run.run(steps=3)
    found = run.figures()
    assert (found["state"], found["time_s"], found["steps"]) == ("ended", 0.015, 3)
    assert found["rate"] == 1.0 and found["fail_safes"] == {"a": 0, "b": 0}
