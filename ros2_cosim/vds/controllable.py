# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What can be done to a run while it goes on: pause, resume, step, rate."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import NamedTuple, Protocol

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.realtime.pacing import checked_rate
from ros2_cosim.core.realtime.run_state import RunState

RUNNING, PAUSED, ENDED = "running", "paused", "ended"
#: The largest number of steps in one request.
MOST_STEPS = 1_000_000


class ControlStatus(NamedTuple):
    """Where a run is: ``state`` is running, paused or ended, ``time`` [ns] and ``steps`` simulated.

    ``rate`` is the wanted real-time factor (None: as fast as possible); ``may_change_rate``
    is false where the run does not set its own pace, ``may_pause`` where others step it.
    """

    state: str
    time: int
    steps: int
    rate: float | None
    may_change_rate: bool = True
    may_pause: bool = True


class Controllable(Protocol):
    """A run that can be controlled; any thread may call, every method returns at once."""

    def pause(self) -> None:
        """Stop before the next step."""

    def resume(self) -> None:
        """Go on."""

    def step(self, count: int = 1) -> None:
        """Pause if running, and take ``count`` steps."""

    def set_rate(self, rate: float | None) -> None:
        """Change the real-time factor; None: as fast as possible.

        :raises ConfigurationError: the rate is out of range, or cannot be changed
        """

    def status(self) -> ControlStatus:
        """Where the run is now."""


def checked_steps(count: int) -> int:
    """The number of steps itself.

    :raises ConfigurationError: it is out of range
    """
    if not 1 <= count <= MOST_STEPS:
        raise ConfigurationError(f"step: found {count!r}; allowed is 1 to {MOST_STEPS}")
    return count


class LiveControl:
    """The ``Controllable`` of a run in this process: a run state that threads share.

    Other threads make requests; the loop of the run asks whether it may step, under ``changed``,
    which is notified with every request.

    :param state: pause, step and rate, in simulated time
    :param step_ns: simulated length of a step
    :param steps: how many steps the run has taken
    :param now: wall clock [ns]
    :param wake: called after every request, in the thread that made it
    :param fixed_rate: why the rate cannot be changed; None: it can
    """

    def __init__(
        self,
        state: RunState,
        step_ns: int,
        steps: Callable[[], int],
        *,
        now: Callable[[], int],
        wake: Callable[[], object] = lambda: None,
        fixed_rate: str | None = None,
    ) -> None:
        self.state = state
        self.step_ns = step_ns
        self.changed = threading.Condition()
        #: Whether the run is to end.
        self.stopping = False
        self._steps = steps
        self._now = now
        self._wake = wake
        self._fixed_rate = fixed_rate
        self._ended = False

    # -- for any thread --------------------------------------------------------------------------

    def pause(self) -> None:
        """Stop before the next step."""
        with self.changed:
            self.state.pause()
            self._notify()

    def resume(self) -> None:
        """Go on at the pace from before."""
        with self.changed:
            self.state.resume(self._now())
            self._notify()

    def step(self, count: int = 1) -> None:
        """Pause if running, and take ``count`` steps, after those that are still to be taken."""
        checked_steps(count)
        with self.changed:
            if not self.state.paused:
                self.state.pause()
            self.state.step(count * self.step_ns, self._now())
            self._notify()

    def set_rate(self, rate: float | None) -> None:
        """Change the real-time factor from the next step on.

        :raises ConfigurationError: the rate is out of range, or cannot be changed
        """
        if self._fixed_rate is not None:
            raise ConfigurationError(f"rate: {self._fixed_rate}")
        checked_rate(rate)
        with self.changed:
            self.state.set_rate(rate, self._now())
            self._notify()

    def stop(self) -> None:
        """End the run before its next step."""
        with self.changed:
            self.stopping = True
            self._notify()

    def status(self) -> ControlStatus:
        """Where the run is."""
        with self.changed:
            state = ENDED if self._ended else PAUSED if self.state.paused else RUNNING
            steps, rate = self._steps(), self.state.rate
        return ControlStatus(state, steps * self.step_ns, steps, rate, self._fixed_rate is None)

    def _notify(self) -> None:
        self.changed.notify_all()
        self._wake()

    # -- for the loop of the run -----------------------------------------------------------------

    def may_step(self, taken: int) -> bool:
        """Whether the run may take a step after the ``taken`` ones, as far as it is controlled."""
        with self.changed:
            return not self.state.stands(taken * self.step_ns)

    def began_step(self, taken: int) -> None:
        """The step after the ``taken`` ones begins: a pause can only stop the one after it."""
        with self.changed:
            self.state.granted = (taken + 1) * self.step_ns

    def end(self) -> None:
        """The run has ended."""
        with self.changed:
            self._ended = True
