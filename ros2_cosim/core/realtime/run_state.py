# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""How far a run may go: it is paused, takes steps, or goes on at a rate.

Pure logic. It only ever limits how far participants may run, so that a controlled run has the
trace of one that was left alone. Wall time comes in as a number: the owner of the loop asks
:meth:`RunState.allowed`, sets :attr:`RunState.granted` and calls :meth:`RunState.update`.

The run *stands* when it has a limit and every activation before the limit is complete. A grant
cannot be taken back: a pause stands at what was granted when it was requested.
"""

from __future__ import annotations

from ros2_cosim.core.kernel.time import FOREVER, NEVER, saturating_add
from ros2_cosim.core.realtime.pacing import TimeScale


class RunState:
    """Pause, step and rate of one run.

    :param scale: simulated time against wall time, with the wanted real-time factor
    :param paused: begin paused, before the activations at time 0
    """

    def __init__(self, scale: TimeScale | None = None, *, paused: bool = False) -> None:
        self.scale = scale or TimeScale()
        #: Activations at or beyond it may not run (exclusive bound, ns); FOREVER: going on.
        self.limit = 0 if paused else FOREVER
        #: What was granted so far (exclusive bound, ns).
        self.granted = NEVER
        #: Whether the run stands or was asked to pause: no participant is late then.
        self.resting = paused
        #: Where steps count from [ns].
        self.base = 0
        self._instants = 0

    @property
    def rate(self) -> float | None:
        """Wanted real-time factor, None for as fast as possible."""
        return self.scale.rate

    @property
    def paused(self) -> bool:
        """Whether the run stands or is to stand: its speed means nothing then."""
        return self.limit != FOREVER

    def started(self, now: int) -> None:
        """Simulated time begins to run at the wall time ``now`` [ns]."""
        self.scale.start(now)

    def pause(self) -> None:
        """Stand at what has been granted; what was left of a step is forgotten."""
        self._instants = 0
        self.resting = True
        if not self.paused or self.granted < self.limit:
            self.limit = self.base = max(self.granted, 0)

    def resume(self, now: int) -> None:
        """Go on without a limit, from the wall time ``now`` [ns] on."""
        self._instants = 0
        self._go_on(FOREVER, now)

    def step(self, length_ns: int, now: int) -> None:
        """Go on by a duration [ns] from where the last step ends, and stand there."""
        self.until(saturating_add(self.base, length_ns), now)

    def until(self, time: int, now: int) -> None:
        """Go on to a simulated time [ns], and stand there."""
        self._instants = 0
        self.base = time
        self._go_on(time, now)

    def instants(self, number: int) -> None:
        """Go on over so many of the next times at which anything happens."""
        self._instants = number

    def set_rate(self, rate: float | None, now: int) -> None:
        """Another real-time factor from the wall time ``now`` [ns] on."""
        self.scale.change(rate)
        self.scale.start(now, max(self.granted, 0))

    def allowed(self, wanted: int, now: int) -> int:
        """The horizon [ns] of what the coordinator would allow, at the wall time ``now`` [ns]."""
        return min(wanted, self.limit, self.scale.limit(now))

    def stands(self, time: int) -> bool:
        """Whether the run stands; ``time`` [ns]: every activation before it is complete."""
        return self.paused and time >= self.limit

    def update(self, time: int, now: int) -> bool:
        """Go to the next instant if one is to come.

        :param time: every activation before it is complete [ns]
        :param now: wall time [ns]
        :returns: whether the run stands
        """
        if not self.stands(time):
            return False
        if self._instants:
            self._instants -= 1
            # No activation is before ``time``: the next one may be then.
            self.base = time
            self._go_on(saturating_add(time, 1), now)
            return False
        self.resting = True
        return True

    def _go_on(self, limit: int, now: int) -> None:
        if self.granted >= self.limit:
            # The wall time of the pause does not count.
            self.scale.start(now, self.limit)
        self.limit = limit
        self.resting = False
