# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Free run: a fleet against the wall clock, with a watchdog over its commands.

Of the run modes this is the one with a clock.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.time import MILLISECOND, SECOND
from ros2_cosim.core.realtime.pacing import TimeScale, checked_rate
from ros2_cosim.core.realtime.run_state import RunState
from ros2_cosim.core.realtime.wall_clock import MonotonicClock, Timing, WallClock
from ros2_cosim.vds.controllable import LiveControl
from ros2_cosim.vds.fleet import Fleet, VehicleOutput
from ros2_cosim.vds.vehicle_plant import FAIL_SAFE, VehicleCommand

# While it sleeps, a run checks this often for a stop, a pause or another rate [ns].
_GLANCE = 20 * MILLISECOND
_IDLE_S = 0.1


@dataclass(frozen=True)
class FreeRunSettings:
    """How to run against the wall clock.

    ``rate`` is the real-time factor (None: as fast as possible). A vehicle that gets no command
    for ``command_timeout_ns`` of the wall clock (0: no watchdog) gets ``fail_safe``. A run that
    is late catches up without idling; if more than ``max_lag_ns`` behind, it moves its deadlines
    (a slip) and counts that.
    """

    rate: float | None = 1.0
    command_timeout_ns: int = 100 * MILLISECOND
    fail_safe: VehicleCommand = FAIL_SAFE
    max_lag_ns: int = SECOND

    def __post_init__(self) -> None:
        """Check timeout, rate and lag."""
        checked_rate(self.rate)
        if self.command_timeout_ns < 0 or self.max_lag_ns <= 0:
            raise ConfigurationError(
                f"free run: found a command timeout of {self.command_timeout_ns} ns and a largest "
                f"lag of {self.max_lag_ns} ns; allowed is 0 or more, and above 0"
            )


class FreeRunMode:
    """Ticks a fleet at the pace of a clock.

    Steps of a paused run are taken at once, without pacing.

    :param fleet: what is ticked
    :param settings: pace and watchdog
    :param clock: the wall clock, or one of a test
    :param on_tick: called after each tick with the outputs of all vehicles
    :ivar control: pause, resume, step, rate and stop, for any thread
    """

    def __init__(
        self,
        fleet: Fleet,
        settings: FreeRunSettings = FreeRunSettings(),
        *,
        clock: WallClock | None = None,
        on_tick: Callable[[Mapping[str, VehicleOutput]], None] = lambda outputs: None,
    ) -> None:
        self._fleet = fleet
        self._settings = settings
        self._clock: WallClock = clock or MonotonicClock()
        self._on_tick = on_tick
        self._scale = TimeScale(settings.rate)
        self._state = RunState(self._scale)
        self._steps = 0
        # Whether deadlines count from the next paced tick: at the start, and after a pause.
        self._starts_anew = True
        self._heard = dict.fromkeys(fleet, self._clock.now())
        self._failing: set[str] = set()
        self.timing = Timing()
        #: How often the watchdog has stepped in, by vehicle.
        self.fail_safes = dict.fromkeys(fleet, 0)
        self.control = LiveControl(
            self._state, fleet.dt_ns, lambda: self._steps, now=self._clock.now
        )

    def command(self, vehicle: str, command: VehicleCommand) -> None:
        """Latch a fresh command for a vehicle; ends its fail-safe.

        :raises ConfigurationError: unknown vehicle, or a value that is not finite
        """
        if vehicle not in self._fleet:
            known = ", ".join(self._fleet)
            raise ConfigurationError(f"vehicle: found {vehicle!r}; allowed are {known}")
        with self.control.changed:
            self._fleet[vehicle].set_input(command)
            self._heard[vehicle] = self._clock.now()
            self._failing.discard(vehicle)

    def in_fail_safe(self, vehicle: str) -> bool:
        """Whether the watchdog drives a vehicle."""
        return vehicle in self._failing

    def run(self, steps: int | None = None) -> None:
        """Tick until ``control.stop()``, or until ``steps`` ticks have been taken.

        :param steps: None: no limit
        """
        with self.control.changed:
            # The timeout cannot begin before the run.
            now = self._clock.now()
            self._heard = {name: max(now, heard) for name, heard in self._heard.items()}
        try:
            while (steps is None or self._steps < steps) and self._wait():
                self._tick()
        finally:
            self.control.end()

    def _wait(self) -> bool:
        """Return when the next tick is due, and begin it; False: the run is to end."""
        state, control, dt = self._state, self.control, self._fleet.dt_ns
        while True:
            # One section from the decision to its grant: a pause in between would otherwise
            # count steps from before this tick.
            with control.changed:
                time = self._steps * dt
                if control.stopping:
                    return False
                if not control.may_step(self._steps):
                    self._starts_anew = True
                    control.changed.wait(_IDLE_S)
                    continue
                now = self._clock.now()
                if state.paused:  # a single step
                    self._starts_anew = True
                elif self._starts_anew:
                    self._starts_anew = False
                    self._scale.start(now, time)
                    # Every vehicle has a full timeout for its next command.
                    self._heard = dict.fromkeys(self._fleet, now)
                due = now if state.paused or state.rate is None else self._scale.due(time)
                if now >= due:
                    if not state.paused:
                        self._watch(now)
                        if state.rate is not None:
                            self._begin(now - due)
                    control.began_step(self._steps)
                    return True
            self._clock.sleep_until(min(due, now + _GLANCE))

    def _begin(self, lag: int) -> None:
        if lag > self._settings.max_lag_ns:
            self.timing.slipped(lag)
            self._scale.slip(lag)
            lag = 0
        self.timing.began(lag)

    def _tick(self) -> None:
        started = self._clock.now()
        outputs = self._fleet.tick()
        with self.control.changed:
            self._steps += 1
        self._on_tick(outputs)
        ended = self._clock.now()
        with self.control.changed:
            following = self._scale.due(self._steps * self._fleet.dt_ns)
            late = not self._state.paused and ended > following
        self.timing.ended(ended - started, late)

    def _watch(self, now: int) -> None:
        """Give the fail-safe command to each vehicle without command for too long."""
        timeout = self._settings.command_timeout_ns
        if timeout == 0:
            return
        for vehicle, heard in self._heard.items():
            if vehicle not in self._failing and now - heard >= timeout:
                self._failing.add(vehicle)
                self.fail_safes[vehicle] += 1
                self._fleet[vehicle].set_input(self._settings.fail_safe)

    def figures(self) -> dict[str, Any]:
        """Figures of the run: pace, deadlines, watchdog."""
        status = self.control.status()
        return {
            "state": status.state,
            "time_s": status.time / SECOND,
            "steps": status.steps,
            "rate": status.rate,
            "timing": self.timing.figures(),
            "fail_safes": dict(self.fail_safes),
        }
