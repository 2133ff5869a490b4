# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What the clock node publishes of time: ``/clock``, the horizon, and a line a second."""

from __future__ import annotations

from collections.abc import Callable

from ros2_cosim.core.kernel.coordinator import Coordinator
from ros2_cosim.core.kernel.membership import Membership
from ros2_cosim.core.kernel.time import FOREVER, NEVER
from ros2_cosim.core.messages.protocol import ForeignMessageError, Horizon, RunChange
from ros2_cosim.core.realtime.run_control import RunControl
from ros2_cosim.ros.node import topics
from ros2_cosim.ros.node.session import Session
from ros2_cosim.ros.node.short_forms import short_horizon
from ros2_cosim.ros.node.writers import ClockWriter, data_qos

#: Interval in which a time that stands is published again [ns of wall time].
_REPEAT_NS = 1_000_000_000


def check_run(horizon: Horizon, run_id: str) -> None:
    """Check whether a horizon is one of this run.

    :param run_id: identity of this run; empty: any
    :raises ForeignMessageError: it is not
    """
    if run_id and horizon.run_id != run_id:
        raise ForeignMessageError(f"found a horizon of run '{horizon.run_id}', not '{run_id}'")


class StandingTime:
    """Publishes ``/clock`` now and then while time stands, for readers that come late.

    :param clock: its writer
    :param timer: monotonic wall clock [ns]
    """

    def __init__(self, clock: ClockWriter, timer: Callable[[], int]) -> None:
        self._clock = clock
        self._timer = timer
        self._told = timer()

    def poll(self, time_ns: int) -> None:
        """Publish the time [ns] again, if it is some time since."""
        now = self._timer()
        if now - self._told >= _REPEAT_NS:
            self._told = now
            self._clock.show(time_ns)


class TimeTopics:
    """Publishes how far the run is, and how far it may go.

    :param session: the ROS node of the clock
    :param coordinator: what decides about time
    :param control: what limits how far the run goes
    :param membership: which participants take part
    :param run_id: names this run in every message
    :param timer: monotonic wall clock [ns]
    :param on_progress: called by :meth:`report` with the time [ns], and whether the run stands
    """

    def __init__(
        self,
        session: Session,
        coordinator: Coordinator,
        control: RunControl,
        membership: Membership,
        *,
        run_id: str,
        timer: Callable[[], int],
        on_progress: Callable[[int, bool], None] = lambda time_ns, resting: None,
    ) -> None:
        self._on_progress = on_progress
        self._coordinator = coordinator
        self._control = control
        self._membership = membership
        self._run_id = run_id
        self._timer = timer
        self._changes: tuple[RunChange, ...] = ()
        #: The largest horizon that was published [ns].
        self.horizon = NEVER
        self._end = NEVER
        self._target = NEVER
        self._shown = NEVER
        self._session = session
        self._clock = ClockWriter(session.node, session.start_ns)
        session.follow(session.node, lambda: self._shown)
        self._standing = StandingTime(self._clock, timer)
        self._writer = session.writer(
            topics.HORIZON, topics.HORIZON_TYPE, data_qos(latched=True), short_horizon
        )

    def publish_clock(self) -> None:
        """Publish the time up to which everything is complete, if it has changed."""
        time = min(self._coordinator.time, self._control.limit)
        if time > self._shown and time >= 0:
            self._shown = time
            self._clock.show(time)

    def repeat_clock(self) -> None:
        """Publish the time again, now and then, while it stands."""
        self._standing.poll(max(self._shown, 0))

    def report(self) -> None:
        """Report the time, and whether the run stands because that was requested."""
        self._on_progress(max(self._shown, 0), self._control.resting)

    def change(self, changes: tuple[RunChange, ...]) -> None:
        """Publish what has been changed by hand, with the horizon as it is.

        Each participant has it before a horizon beyond the time from which on it holds.

        :param changes: all so far, each from a time on that has not been granted yet
        """
        self._changes = changes
        if self.horizon != NEVER:
            self.publish_horizon()

    def move_horizon(self) -> None:
        """Let all go as far as the run permits now, if that is worth a message."""
        coordinator = self._coordinator
        control = self._control
        horizon = control.allowed(coordinator.horizon, self._timer())
        if coordinator.finished:
            # Once everything is complete, no node has to wait for the wall clock to reach the end.
            horizon = coordinator.horizon
        important = coordinator.end != self._end or horizon in (coordinator.stops_at, control.limit)
        if self.horizon != NEVER and not important:
            # Half a window at a time: no node waits for it, and it costs few messages. In a paced
            # run the horizon moves with the wall clock all the time: it is worth a message when
            # a participant may have an activation before it.
            paced = control.rate is not None
            if horizon <= coordinator.time if paced else self._is_near(horizon):
                horizon = self.horizon
        if horizon > self.horizon or coordinator.end != self._end:
            self.horizon = control.granted = max(horizon, self.horizon)
            self._end = coordinator.end
            self.publish_horizon()
        elif self._next_target() != self._target:
            self._aim()

    def _is_near(self, horizon: int) -> bool:
        return horizon - self.horizon < self._coordinator.window_ns // 2

    def publish_horizon(self) -> None:
        """Publish the horizon as it is, with the presence of participants."""
        coordinator = self._coordinator
        end = coordinator.end if coordinator.end_is_final else FOREVER
        presences = self._membership.presences
        self._writer.send(Horizon(self._run_id, self.horizon, end, presences, self._changes))
        self._aim()

    def _next_target(self) -> int:
        """The time that all have to reach before there is something to do here."""
        coordinator, control = self._coordinator, self._control
        target = self.horizon
        if target == NEVER:
            return target
        if control.rate is None and target not in (coordinator.stops_at, control.limit):
            target -= coordinator.window_ns // 2
        if self._clock.is_wanted:
            target = min(target, max(self._shown, 0) + control.step_ns)
        return target

    def _aim(self) -> None:
        self._target = self._next_target()
        self._session.aim(self._target)
