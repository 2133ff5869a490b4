# SPDX-License-Identifier: Apache-2.0
"""Control of a run: pause, resume, step, run until, rate, stop, abort, reset, require.

Pure logic beside the clock's: it only ever limits how far participants may run, so that a
controlled run has the trace of one that was left alone. Wall time comes in as a number; who
owns the loop (clock node, composed node, :class:`~ros2_cosim.run.inproc.InprocRun`) asks
:meth:`RunControl.allowed`, tells what was granted, and calls :meth:`RunControl.update`.

The run *stands* when it has a limit and every activation before the limit is complete. A grant
cannot be taken back: a pause stands at what was granted when it was asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from typing import NamedTuple

from ros2_cosim.kernel.errors import ConfigurationError, Interruption, RunError
from ros2_cosim.kernel.time import FOREVER, NEVER, format_ns, saturating_add


class Command(IntEnum):
    """What may be asked for (constants of ros2_cosim/srv/ControlRun)."""

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


class Request(NamedTuple):
    """One request.

    ``steps`` counts steps or instants (0 is 1); ``time_ns`` is the length of a step (0: the step
    of the clock) or the time to run to; ``rate`` a real-time factor, 0: as fast as possible. A
    reset begins anew paused if the run is paused, or with any ``steps``. ``participants`` are those
    that the run is to require.
    """

    command: Command
    steps: int = 0
    time_ns: int = 0
    rate: float = 0.0
    reason: str = ""
    participants: tuple[str, ...] = ()


class Answer(NamedTuple):
    """What came of a request, said when it is done."""

    success: bool
    message: str


class AbortRequestedError(RunError, Interruption):
    """Somebody asked for the end of the run at once; it ends a step that is open, too."""


class Pace:
    """How far a paced run may be: moves with the wall clock.

    :param rate: real-time factor, None for as fast as possible
    """

    def __init__(self, rate: float | None) -> None:
        self.rate = rate
        self._wall = 0
        self._simulated = 0

    def start(self, now: int, simulated: int) -> None:
        """From the wall time ``now`` [ns] on, go on at ``simulated`` [ns]."""
        self._wall, self._simulated = now, max(simulated, 0)

    def limit(self, now: int) -> int:
        """Activations before this time [ns] may run at the wall time ``now`` [ns]."""
        if self.rate is None:
            return FOREVER
        # +1: the activation that is due right now may run.
        return saturating_add(self._simulated, int((now - self._wall) * self.rate) + 1)


class RunControl:
    """What was asked for, and how far the run may go because of it.

    :param step_ns: length of a step, unless a request says otherwise
    :param rate: wanted real-time factor, None for as fast as possible
    :param paused: begin paused, before the activations at time 0
    :param can_reset: whether the run can begin anew in the same processes
    """

    def __init__(
        self,
        *,
        step_ns: int,
        rate: float | None = None,
        paused: bool = False,
        can_reset: bool = False,
    ) -> None:
        #: Activations at or beyond it may not run (exclusive bound, ns); FOREVER: going on.
        self.limit = 0 if paused else FOREVER
        #: Why the run is to end in order, once somebody has asked for it.
        self.stop_reason: str | None = None
        #: Why the run is to end at once.
        self.abort_reason: str | None = None
        #: Whether the run is to begin anew after its end.
        self.reset = False
        #: Whether the run stands or was asked to pause: nobody is late then.
        self.resting = paused
        #: Whether it is to begin anew paused.
        self.reset_paused = False
        #: Whom the system controller has named as required; nobody: as the scenario says.
        self.required: tuple[str, ...] = ()
        #: Makes them the required ones; raises a ConfigurationError that says why not.
        self.on_require: Callable[[tuple[str, ...]], None] = lambda names: None
        #: What was granted so far (exclusive bound, ns).
        self.granted = NEVER
        self._pace = Pace(rate)
        self._step = step_ns
        self._can_reset = can_reset
        #: Why the run cannot begin anew, where that is known.
        self.no_reset = ""
        self.is_over = False
        #: Where steps count from, and how many instants are still to come.
        self._base = 0
        self._instants = 0
        self._pending: list[Callable[[Answer], None]] = []

    @property
    def rate(self) -> float | None:
        """Wanted real-time factor, None for as fast as possible."""
        return self._pace.rate

    @property
    def can_reset(self) -> bool:
        """Whether the run can begin anew in the same processes."""
        return self._can_reset and not self.no_reset

    @property
    def paused(self) -> bool:
        """Whether the run stands or is to stand: nothing may be said about its speed."""
        return self.limit != FOREVER

    @property
    def stepping(self) -> bool:
        """Whether somebody waits for the run to stand again."""
        return bool(self._pending)

    def started(self, now: int) -> None:
        """Simulated time begins to run at the wall time ``now`` [ns]."""
        self._pace.start(now, 0)

    def over(self, message: str) -> None:
        """The run is over: requests that are still open are answered, later ones refused."""
        self.is_over = True
        self._answer_all(Answer(True, message))

    def paced(self, now: int) -> int:
        """How far the wall clock lets the run go at its wall time ``now`` [ns]."""
        return self._pace.limit(now)

    def allowed(self, wanted: int, now: int) -> int:
        """The horizon [ns] of what the coordinator would allow, at the wall time ``now`` [ns]."""
        return min(wanted, self.limit, self._pace.limit(now))

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
        if request.command is Command.RATE:
            self._pace.start(now, self.granted)
            self._pace.rate = request.rate or None
            reply(Answer(True, f"rate {_rate(self.rate)}"))
            return
        self._answer_all(Answer(False, f"overtaken by a request to {request.command.name.lower()}"))
        self._instants = 0
        if request.command is Command.RESUME:
            self._go_on(FOREVER, now)
            reply(Answer(True, "running"))
        elif request.command in (Command.STOP, Command.RESET, Command.ABORT):
            self._end(request, now)
            reply(Answer(True, f"{request.command.name.lower()} accepted"))
        else:
            self._stand(request, now)
            self._pending.append(reply)
            self.update(time, now)

    def update(self, time: int, now: int) -> bool:
        """Go to the next instant, or answer those who wait for the run to stand.

        :param time: every activation before it is complete [ns]
        :param now: wall time [ns]
        :returns: whether the run stands
        """
        if self.limit == FOREVER or time < self.limit:
            return False
        if self._instants:
            self._instants -= 1
            # Nobody has an activation before ``time``: the next one may be then.
            self._base = time
            self._go_on(saturating_add(time, 1), now)
            return False
        self.resting = True
        self._answer_all(Answer(True, self.describe(time)))
        return True

    def describe(self, time: int) -> str:
        """One line: whether the run goes on, and where it is."""
        stands = self.limit != FOREVER and time >= self.limit
        where = format_ns(self._base if stands else max(min(time, self.limit), 0))
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

    def _refusal(self, request: Request, time: int) -> str | None:
        command = request.command
        if self.is_over or self.stop_reason is not None or self.abort_reason is not None:
            return "the run is over" if self.is_over else "the run is ending already"
        if command in (Command.STEP, Command.INSTANT) and not self.paused:
            return "the run is not paused; a step needs a paused run"
        if command is Command.STEP and request.time_ns < 0:
            return f"length of a step: found {request.time_ns} ns; it must not be negative"
        if command is Command.UNTIL and request.time_ns < max(self.granted, 0):
            return (
                f"until: found {format_ns(request.time_ns)}; everything before "
                f"{format_ns(max(self.granted, 0))} has been granted already"
            )
        if command is Command.RATE and not (request.rate == 0 or 0 < request.rate < 1e6):
            return f"rate: found {request.rate}; allowed is a number above 0, or 0: unlimited"
        if command is Command.REQUIRE and self.granted > 0:
            return (
                f"require: too late, the run is {self.describe(time)}; allowed is that before the "
                "system is RUNNING, or while a run that began paused stands at 0s"
            )
        if command is Command.RESET and not self.can_reset:
            why = self.no_reset or "it was not started with the means for it"
            return f"this run cannot begin anew: {why}"
        return None

    def _stand(self, request: Request, now: int) -> None:
        if request.command is Command.PAUSE:
            self.resting = True
            if not self.paused or self.granted < self.limit:
                self.limit = max(self.granted, 0)
                self._base = self.limit
        elif request.command is Command.INSTANT:
            self._instants = max(request.steps, 1)
        else:
            length = (request.time_ns or self._step) * max(request.steps, 1)
            step = request.command is Command.STEP
            target = saturating_add(self._base, length) if step else request.time_ns
            self._base = target
            self._go_on(target, now)

    def _go_on(self, limit: int, now: int) -> None:
        if self.granted >= self.limit:
            # The wall time of the pause does not count.
            self._pace.start(now, self.limit)
        self.limit = limit
        self.resting = False

    def _end(self, request: Request, now: int) -> None:
        reason = request.reason or "on request"
        if request.command is Command.ABORT:
            self.abort_reason = reason
            return
        self.reset = request.command is Command.RESET
        self.reset_paused = self.paused or bool(request.steps)
        self.stop_reason = f"{request.command.name.lower()}: {reason}"
        self._go_on(FOREVER, now)

    def _answer_all(self, answer: Answer) -> None:
        pending, self._pending = self._pending, []
        for reply in pending:
            reply(answer)


def _rate(rate: float | None) -> str:
    return "max" if rate is None else f"{rate:g}"
