# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The loop of a run whose participants are all in one process (shapes ``inproc``, ``composed``).

It runs the scheduler slice by slice, as far as run control and the wall clock permit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ros2_cosim.core.kernel.runtime import ParticipantRuntime
from ros2_cosim.core.kernel.sequential import SequentialScheduler
from ros2_cosim.core.kernel.time import format_ns
from ros2_cosim.core.realtime.pacing import Pacer
from ros2_cosim.core.realtime.run_control import RunControl

#: How long to wait at a time [s] while a participant is paused.
_POLL_S = 0.05


class SequentialRun:
    """How far a sequential run is, and the next slice of it.

    :param scheduler: runs the participants
    :param control: what limits how far the run goes; its scale is the pacer
    :param pacer: the wall clock of the run
    :param duration_ns: the end of the run, unless it is stopped before
    :param slice_ns: longest simulated time between two looks at the control
    :param serve: lets so many seconds pass; requests may arrive meanwhile
    :param on_pacing: called with False before a wait for the wall clock, with True after it
    :param on_waiting: called again and again with the simulated time [ns] while a participant is
        paused
    """

    def __init__(
        self,
        scheduler: SequentialScheduler,
        control: RunControl,
        pacer: Pacer,
        *,
        duration_ns: int,
        slice_ns: int,
        serve: Callable[[float], None],
        on_waiting: Callable[[int], None] = lambda time_ns: None,
        on_pacing: Callable[[bool], None] | None = None,
    ) -> None:
        self._scheduler = scheduler
        self._control = control
        self._pacer = pacer
        self._duration = duration_ns
        self._slice = slice_ns
        self._serve = serve
        self._on_waiting = on_waiting
        self._on_pacing = on_pacing
        #: The end of the run [ns], as far as it is known.
        self.end = duration_ns
        #: Every activation before this time [ns] is complete.
        self.reached = 0
        self._begun = 0
        #: No activation takes place before this time [ns] any more.
        self.time = min(scheduler.next_time, duration_ns)

    def has_finished(self) -> bool:
        """Whether the end of the run is reached."""
        return self.reached >= self.end

    @property
    def begun(self) -> int:
        """Activations before this time [ns] may have taken place, or may have been begun."""
        return max(self._begun, self._scheduler.begun_ahead + 1)

    @property
    def stop_reason(self) -> str | None:
        """Why the run was stopped before its end, if it was."""
        return self._scheduler.stop_reason

    @property
    def runtimes(self) -> Mapping[str, ParticipantRuntime]:
        """The participants by name."""
        return self._scheduler.runtimes

    @property
    def end_reason(self) -> str:
        """Why a run that is finished has ended."""
        if self._scheduler.stop_reason is not None and self.end < self._duration:
            return self._scheduler.stop_reason
        return f"end of the run at {format_ns(self.end)}"

    def advance(self) -> bool:
        """Do what was requested, then run one slice; returns whether the run has advanced.

        :raises Aborted: a request asked for the end at once
        :raises CosimError: a participant failed
        """
        control = self._control
        control.update(self.time, self._pacer.clock.now())
        control.check_abort()
        if control.stop_reason is not None:
            self.end = min(self.end, self.reached)
            self._scheduler.stop_reason = control.stop_reason
            return False
        until = min(self.reached + self._slice, self.end, control.limit)
        if until <= self.reached:
            return False
        self._begun = until
        self._scheduler.horizon = control.allowed(self.end, self._pacer.clock.now())
        self._run(until)
        while self._is_suspended():
            self._let_pass()
            if not self._is_suspended():
                self._run(until)
        self.reached = min(until, self.end)
        self.time = max(self.reached, min(self._scheduler.next_time, self.end))
        control.granted = max(control.granted, self.reached)
        return True

    def _run(self, until: int) -> None:
        before: Callable[[int], object] | None = None
        if self._pacer.rate is not None:
            before = self._pacer.wait if self._on_pacing is None else self._wait_noted
        self.end = self._scheduler.run(until, self.end, before=before)

    def _wait_noted(self, time_ns: int) -> None:
        assert self._on_pacing is not None
        self._on_pacing(False)
        self._pacer.wait(time_ns)
        self._on_pacing(True)

    def _is_suspended(self) -> bool:
        return self._scheduler.suspended

    def _let_pass(self) -> None:
        """Wait a little for the participants that are paused."""
        since = self._pacer.clock.now()
        self._serve(_POLL_S)
        self._control.check_abort()
        self._on_waiting(self._scheduler.now)
        # A paced run does not catch up on a pause.
        self._pacer.slip(self._pacer.clock.now() - since)
