# SPDX-License-Identifier: Apache-2.0
"""Free run: sessions against the wall clock, with a watchdog over their commands.

Of the three run modes this is the one with a clock. External stepping needs no code of its own
(somebody calls ``set_input`` and ``tick``), and replay is in ``replay``.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ros2_cosim.kernel.errors import ConfigurationError
from ros2_cosim.kernel.time import MILLISECOND, SECOND
from ros2_cosim.realtime.wall_clock import MonotonicClock, Schedule, Timing, WallClock
from ros2_cosim.vds.controllable import (
    ENDED,
    PAUSED,
    RUNNING,
    RunStatus,
    checked_rate,
    checked_steps,
)
from ros2_cosim.vds.session import Fleet, Output
from ros2_cosim.vds.vehicle_plant import FAIL_SAFE, VehicleCommand

# A sleeping run looks this often whether it is to end, pause or change its rate [ns].
_GLANCE = 20 * MILLISECOND
_IDLE_S = 0.1


@dataclass(frozen=True)
class FreeRunSettings:
    """How to run against the wall clock.

    ``rate`` is the real-time factor (None: as fast as possible). A vehicle that gets no command
    for ``command_timeout_ns`` of the wall clock (0: no watchdog) gets ``fail_safe``. A run that
    is late catches up without idling; if more than ``max_lag_ns`` behind, it lets the time go
    (a slip) and counts that.
    """

    rate: float | None = 1.0
    command_timeout_ns: int = 100 * MILLISECOND
    fail_safe: VehicleCommand = FAIL_SAFE
    max_lag_ns: int = SECOND

    def __post_init__(self) -> None:
        """Refuse what cannot be meant."""
        checked_rate(self.rate)
        if self.command_timeout_ns < 0 or self.max_lag_ns <= 0:
            raise ConfigurationError(
                f"free run: found a command timeout of {self.command_timeout_ns} ns and a largest "
                f"lag of {self.max_lag_ns} ns; allowed is 0 or more, and above 0"
            )


class FreeRun:
    """Ticks a fleet at the pace of a clock; it is ``Controllable``.

    :param fleet: what is ticked
    :param settings: pace and watchdog
    :param clock: the wall clock, or one of a test
    :param on_tick: called after each tick with the outputs of all vehicles
    """

    def __init__(
        self,
        fleet: Fleet,
        settings: FreeRunSettings = FreeRunSettings(),
        *,
        clock: WallClock | None = None,
        on_tick: Callable[[Mapping[str, Output]], None] = lambda outputs: None,
    ) -> None:
        self._fleet = fleet
        self._settings = settings
        self._clock: WallClock = clock or MonotonicClock()
        self._on_tick = on_tick
        self._condition = threading.Condition()
        self._rate = settings.rate
        self._paused = False
        self._granted = 0
        self._stopping = False
        self._ended = False
        self._changed = True
        self._steps = 0
        self._first = 0
        self._schedule: Schedule | None = None
        self._heard = dict.fromkeys(fleet, self._clock.now())
        self._failing: set[str] = set()
        self.timing = Timing()
        #: How often the watchdog has stepped in, by vehicle.
        self.fail_safes = dict.fromkeys(fleet, 0)

    # -- commands --------------------------------------------------------------------------------

    def command(self, vehicle: str, command: VehicleCommand) -> None:
        """Latch a fresh command for a vehicle; ends its fail-safe.

        :raises ConfigurationError: unknown vehicle, or a value that is not finite
        """
        if vehicle not in self._fleet:
            known = ", ".join(self._fleet)
            raise ConfigurationError(f"vehicle: found {vehicle!r}; allowed are {known}")
        with self._condition:
            self._fleet[vehicle].set_input(command)
            self._heard[vehicle] = self._clock.now()
            self._failing.discard(vehicle)

    def in_fail_safe(self, vehicle: str) -> bool:
        """Whether the watchdog drives a vehicle."""
        return vehicle in self._failing

    # -- control ---------------------------------------------------------------------------------

    def pause(self) -> None:
        """Stop before the next tick; the watchdog rests meanwhile."""
        with self._condition:
            self._paused = True
            self._granted = 0
            self._condition.notify_all()

    def resume(self) -> None:
        """Go on at the pace from before; every vehicle has a full timeout to be heard again."""
        with self._condition:
            if self._paused:
                self._paused = False
                self._granted = 0
                self._changed = True
                self._heard = dict.fromkeys(self._fleet, self._clock.now())
            self._condition.notify_all()

    def step(self, count: int = 1) -> None:
        """Pause if running, and take so many ticks at once."""
        checked_steps(count)
        with self._condition:
            self._paused = True
            self._granted += count
            self._condition.notify_all()

    def set_rate(self, rate: float | None) -> None:
        """Change the real-time factor from the next tick on."""
        checked_rate(rate)
        with self._condition:
            self._rate = rate
            self._changed = True
            self._condition.notify_all()

    def status(self) -> RunStatus:
        """Where the run is."""
        with self._condition:
            state = ENDED if self._ended else PAUSED if self._paused else RUNNING
            return RunStatus(state, self._steps * self._fleet.dt_ns, self._steps, self._rate)

    def stop(self) -> None:
        """End the run before its next tick."""
        with self._condition:
            self._stopping = True
            self._condition.notify_all()

    # -- the run ---------------------------------------------------------------------------------

    def run(self, steps: int | None = None) -> None:
        """Tick until told to stop, or for so many ticks.

        :param steps: None: until :meth:`stop`
        """
        with self._condition:
            # Nobody could be heard before.
            now = self._clock.now()
            self._heard = {name: max(now, heard) for name, heard in self._heard.items()}
        try:
            while (steps is None or self._steps < steps) and self._wait():
                self._tick()
        finally:
            with self._condition:
                self._ended = True

    def _wait(self) -> bool:
        """Return when the next tick is due; False: the run is to end."""
        while True:
            with self._condition:
                if self._stopping:
                    return False
                if self._paused and self._granted == 0:
                    self._condition.wait(_IDLE_S)
                    continue
                now = self._clock.now()
                if self._paused:
                    self._granted -= 1
                    return True
                if self._changed:
                    self._start_anew(now)
                schedule = self._schedule
                if schedule is None:
                    return True
                due = schedule.due(self._steps - self._first)
                if now >= due:
                    self._begin(now, due)
                    return True
            self._clock.sleep_until(min(due, now + _GLANCE))

    def _start_anew(self, now: int) -> None:
        self._changed = False
        self._first = self._steps
        self._schedule = (
            None if self._rate is None else Schedule(now, self._fleet.dt_ns, self._rate)
        )

    def _begin(self, now: int, due: int) -> None:
        lag = now - due
        if lag > self._settings.max_lag_ns:
            self.timing.slipped(lag)
            self._start_anew(now)
            lag = 0
        self.timing.began(lag)

    def _tick(self) -> None:
        started = self._clock.now()
        with self._condition:
            if not self._paused:
                self._watch(started)
        outputs = self._fleet.tick()
        with self._condition:
            self._steps += 1
            schedule, following = self._schedule, self._steps - self._first
            paced = schedule is not None and not self._paused
        self._on_tick(outputs)
        ended = self._clock.now()
        late = schedule is not None and paced and ended > schedule.due(following)
        self.timing.ended(ended - started, late)

    def _watch(self, now: int) -> None:
        """Give the fail-safe command to whoever has not been heard of for too long."""
        timeout = self._settings.command_timeout_ns
        if timeout == 0:
            return
        for vehicle, heard in self._heard.items():
            if vehicle not in self._failing and now - heard >= timeout:
                self._failing.add(vehicle)
                self.fail_safes[vehicle] += 1
                self._fleet[vehicle].set_input(self._settings.fail_safe)

    def figures(self) -> dict[str, Any]:
        """What the run says of itself: pace, deadlines, watchdog."""
        status = self.status()
        return {
            "state": status.state,
            "time_s": status.time / SECOND,
            "steps": status.steps,
            "rate": status.rate,
            "timing": self.timing.figures(),
            "fail_safes": dict(self.fail_safes),
        }
