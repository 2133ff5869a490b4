# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Requests to a run: pause, resume, step, run until, rate, stop, abort, reset, require, change.

Pure logic beside the clock's. :class:`RunControl` is the :class:`RunState` of a run that takes
requests, refuses those that make no sense, and answers each when it is done.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from typing import Any, NamedTuple

from ros2_cosim.core.kernel.errors import Aborted, AbortOrigin, ConfigurationError
from ros2_cosim.core.kernel.time import FOREVER, format_ns
from ros2_cosim.core.realtime.pacing import TimeScale, checked_rate
from ros2_cosim.core.realtime.run_state import RunState


class Command(IntEnum):
    """What may be requested (constants of ros2_cosim/srv/ControlRun)."""

    STATUS = 0
    PAUSE = 1
    RESUME = 2
    STEP = 3
    UNTIL = 4
    RATE = 5
    STOP = 6
    ABORT = 7
    RESET = 8
    INSTANT = 9
    REQUIRE = 10
    CHANGE = 11


#: How the reason begins for which a run ended that was asked to.
ENDED_BY_REQUEST = tuple(f"{each.name.lower()}: " for each in (Command.STOP, Command.RESET))


class Request(NamedTuple):
    """One request.

    ``steps`` counts steps or instants (0 is 1); ``time_ns`` is the length of a step (0: the step
    of the clock), the time to run to, or that from which on a change holds (0: soon); ``rate`` a
    real-time factor, 0: as fast as possible. A reset begins anew paused if the run is paused, or
    with any ``steps``. ``participants`` are those that the run is to require; ``path`` is what is
    changed, ``value`` to what, as JSON; ``reason`` of a change says where it comes from.
    """

    command: Command
    steps: int = 0
    time_ns: int = 0
    rate: float = 0.0
    reason: str = ""
    participants: tuple[str, ...] = ()
    path: str = ""
    value: str = ""


class Answer(NamedTuple):
    """What came of a request, said when it is done."""

    success: bool
    message: str


class RunControl(RunState):
    """What was requested, and how far the run may go because of it.

    :param step_ns: length of a step, unless a request says otherwise
    :param scale: simulated time against wall time, with the wanted real-time factor
    :param paused: begin paused, before the activations at time 0
    :param can_reset: whether the run can begin anew in the same processes
    """

    def __init__(
        self,
        *,
        step_ns: int,
        scale: TimeScale | None = None,
        paused: bool = False,
        can_reset: bool = False,
    ) -> None:
        super().__init__(scale, paused=paused)
        #: Why the run is to end in order, once that was requested.
        self.stop_reason: str | None = None
        #: Why the run is to end at once.
        self.abort_reason: str | None = None
        #: Whether the run is to begin anew after its end.
        self.reset = False
        #: Whether it is to begin anew paused.
        self.reset_paused = False
        #: The participants that the system controller requires; empty: as the scenario says.
        self.required: tuple[str, ...] = ()
        #: Makes them the required ones; raises a ConfigurationError that says why not.
        self.on_require: Callable[[tuple[str, ...]], None] = lambda names: None
        #: Makes a change (path, value as JSON, from a time [ns] on, origin), and reports
        #: it; raises a ConfigurationError that says why not.
        self.on_change: Callable[[str, str, int, str], str] = _change_nothing
        #: Gives the changes by hand so far, for the summary.
        self.changes_made: Callable[[], list[dict[str, Any]]] = list
        #: Takes the times [ns] from which on a participant was reset by hand, all so far.
        self.on_resets: Callable[[str, tuple[int, ...]], None] = lambda name, times: None
        self.step_ns = step_ns
        self._can_reset = can_reset
        #: Why the run cannot begin anew, where that is known.
        self.no_reset = ""
        self.is_over = False
        #: Number of requests that changed the course of the run.
        self.orders = 0
        self._pending: list[Callable[[Answer], None]] = []

    @property
    def can_reset(self) -> bool:
        """Whether the run can begin anew in the same processes."""
        return self._can_reset and not self.no_reset

    @property
    def stepping(self) -> bool:
        """Whether a request waits for the run to stand again."""
        return bool(self._pending)

    def over(self, message: str) -> None:
        """The run is over: requests that are still open are answered, later ones refused."""
        self.is_over = True
        self._answer_all(Answer(True, message))

    def handle(
        self, request: Request, *, time: int, now: int, reply: Callable[[Answer], None]
    ) -> None:
        """Take a request; ``reply`` is called when it is done or refused.

        :param time: every activation before it is complete [ns]
        :param now: wall time [ns]
        """
        if request.command is Command.STATUS:
            reply(Answer(True, self.describe(time)))
            return
        refusal = self._refusal(request, time)
        if refusal:
            reply(Answer(False, refusal))
            return
        if request.command is Command.REQUIRE:
            reply(self._require(request.participants))
            return
        if request.command is Command.CHANGE:
            reply(self._change(request))
            return
        if request.command is Command.RATE:
            self.set_rate(request.rate or None, now)
            reply(Answer(True, f"rate {_rate(self.rate)}"))
            return
        self.orders += 1
        self._answer_all(Answer(False, f"overtaken by a request to {request.command.name.lower()}"))
        if request.command is Command.RESUME:
            self.resume(now)
            reply(Answer(True, "running"))
        elif request.command in (Command.STOP, Command.RESET, Command.ABORT):
            self._end(request, now)
            reply(Answer(True, f"{request.command.name.lower()} accepted"))
        else:
            self._stand(request, now)
            self._pending.append(reply)
            self.update(time, now)

    def update(self, time: int, now: int) -> bool:
        """Go to the next instant, or answer the requests that wait for the run to stand.

        :param time: every activation before it is complete [ns]
        :param now: wall time [ns]
        :returns: whether the run stands
        """
        stands = super().update(time, now)
        if stands:
            self._answer_all(Answer(True, self.describe(time)))
        return stands

    def check_abort(self) -> None:
        """End the run at once if that was requested.

        :raises Aborted: it was
        """
        if self.abort_reason is not None:
            raise Aborted(f"aborted: {self.abort_reason}", AbortOrigin.REQUEST)

    def describe(self, time: int) -> str:
        """One line: whether the run goes on, and where it is."""
        stands = self.stands(time)
        where = format_ns(self.base if stands else max(min(time, self.limit), 0))
        if self.is_over:
            return f"over at {where}"
        if self.limit == FOREVER:
            return f"running at {where}, rate {_rate(self.rate)}"
        if not stands and self.resting:
            return f"pausing at {format_ns(self.limit)}"
        if not stands:
            return f"running at {where} until {format_ns(self.limit)}"
        return f"paused at {where}"

    def _require(self, participants: tuple[str, ...]) -> Answer:
        names = tuple(sorted(set(participants)))
        try:
            self.on_require(names)
        except ConfigurationError as error:
            return Answer(False, str(error))
        self.required = names
        return Answer(True, f"required: {', '.join(names)}")

    def _change(self, request: Request) -> Answer:
        try:
            by = f"/cosim/control: {request.reason or 'not told'}"
            told = self.on_change(request.path, request.value, request.time_ns, by)
            return Answer(True, told)
        except ConfigurationError as error:
            return Answer(False, str(error))

    def _refusal(self, request: Request, time: int) -> str | None:
        command = request.command
        if self.is_over:
            return "the run is over"
        # A run that is to begin anew may end instead.
        ends_after_all = self.reset and command in (Command.STOP, Command.ABORT)
        if (self.stop_reason is not None or self.abort_reason is not None) and not ends_after_all:
            return "the run is ending already"
        if command in (Command.STEP, Command.INSTANT) and not self.paused:
            return "the run is not paused; a step needs a paused run"
        if command is Command.STEP and request.time_ns < 0:
            return f"length of a step: found {request.time_ns} ns; it must not be negative"
        if command is Command.UNTIL and request.time_ns < max(self.granted, 0):
            return (
                f"until: found {format_ns(request.time_ns)}; everything before "
                f"{format_ns(max(self.granted, 0))} has been granted already"
            )
        if command is Command.RATE and request.rate != 0:
            try:
                checked_rate(request.rate)
            except ConfigurationError as error:
                return f"{error} (0)"
        if command is Command.REQUIRE and self.granted > 0:
            return (
                f"require: too late, the run is {self.describe(time)}; this is allowed before the "
                "system is RUNNING, or while a run that began paused stands at 0s"
            )
        if command is Command.RESET and not self.can_reset:
            why = self.no_reset or "it was not started with the means for it"
            return f"this run cannot begin anew: {why}"
        return None

    def _stand(self, request: Request, now: int) -> None:
        length = (request.time_ns or self.step_ns) * max(request.steps, 1)
        if request.command is Command.PAUSE:
            self.pause()
        elif request.command is Command.INSTANT:
            self.instants(max(request.steps, 1))
        elif request.command is Command.STEP:
            self.step(length, now)
        else:
            self.until(request.time_ns, now)

    def _end(self, request: Request, now: int) -> None:
        reason = request.reason or "on request"
        self.reset = request.command is Command.RESET
        if request.command is Command.ABORT:
            self.abort_reason = reason
            return
        self.reset_paused = self.paused or bool(request.steps)
        self.stop_reason = f"{request.command.name.lower()}: {reason}"
        self.resume(now)

    def _answer_all(self, answer: Answer) -> None:
        pending, self._pending = self._pending, []
        for reply in pending:
            reply(answer)


def _change_nothing(path: str, value: str, time_ns: int, by: str) -> str:
    raise ConfigurationError(f"change: found '{path}'; this run takes no changes as requests")


def _rate(rate: float | None) -> str:
    return "max" if rate is None else f"{rate:g}"
