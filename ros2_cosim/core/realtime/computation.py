# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Where the computations of a slow part run: in the calling thread, or in one beside it."""

from __future__ import annotations

import sys
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from ros2_cosim.core.kernel.errors import ParticipantError
from ros2_cosim.core.kernel.participant import Step
from ros2_cosim.core.kernel.time import FOREVER
from ros2_cosim.core.realtime.coupling import Sent
from ros2_cosim.core.realtime.hard_realtime import lower_priority

_SWITCH_INTERVAL_S = 0.0002


class Result(NamedTuple):
    """One computation of a slow part: a macro step, made of one or several own steps.

    ``outputs`` of the last of them; ``events`` of the others and the last (ports that are not
    sent at every step), oldest first; ``stop_reason`` as the model left it.
    """

    outputs: dict[str, Any]
    events: tuple[tuple[str, Any], ...]
    stop_reason: str | None


class Computation(Protocol):
    """Runs the computations of a slow part, one after another, in the order of their data."""

    #: Wall time [ns] spent on waiting for results; None where nothing is waited for.
    waited_ns: int | None

    def submit(self, steps: tuple[Step, ...]) -> None:
        """Queue one macro step."""

    def take(self) -> Result:
        """The result of the oldest one that has not been taken; waits for it."""

    def close(self) -> None:
        """Nothing more is taken."""


class Computing(Protocol):
    """A slow part."""

    @property
    def stop_reason(self) -> str | None:
        """Why it wants the run to end."""

    @property
    def activate(self) -> Callable[[Step], Mapping[str, Any]]:
        """Computes one own step."""


class MacroStep:
    """Runs one macro step.

    :param part: the slow part
    :param continuous: ports that carry a value at every step; the others carry events
    """

    def __init__(self, part: Computing, continuous: Sequence[str]) -> None:
        self._part = part
        self._continuous = frozenset(continuous)

    def run(self, steps: tuple[Step, ...]) -> Result:
        """Activate it for each step."""
        outputs: dict[str, Any] = {}
        events: list[tuple[str, Any]] = []
        for step in steps:
            outputs = {k: v for k, v in self._part.activate(step).items() if v is not None}
            events += [item for item in outputs.items() if item[0] not in self._continuous]
        values = {name: value for name, value in outputs.items() if name in self._continuous}
        return Result(values, tuple(events), self._part.stop_reason)


class InCaller:
    """Computes when the result is taken: what runs without a wall clock use."""

    waited_ns: int | None = None

    def __init__(self, macro_step: MacroStep) -> None:
        self._run = macro_step.run
        self._queue: deque[tuple[Step, ...]] = deque()

    def submit(self, steps: tuple[Step, ...]) -> None:
        """See :class:`Computation`."""
        self._queue.append(steps)

    def take(self) -> Result:
        """See :class:`Computation`."""
        return self._run(self._queue.popleft())

    def close(self) -> None:
        """See :class:`Computation`."""


class InThread:
    """Computes in its own thread, without idling while there is something to compute.

    It also is the source of arrivals of a paced run: an exchange waits for results until its
    deadline and no longer.

    :param macro_step: what to run
    :param deadline: te [ns] -> wall time [ns] until which an exchange may wait; FOREVER (a run as
        fast as possible): as long as the patience lasts
    :param timer: wall clock [ns]
    :param name: of the thread
    :param patience_s: a result that is *waited for* longer than this ends the run
    """

    depends_on_wall_clock = True

    def __init__(
        self,
        macro_step: MacroStep,
        *,
        deadline: Callable[[int], int],
        timer: Callable[[], int],
        name: str,
        patience_s: float,
    ) -> None:
        self._run = macro_step.run
        self._deadline = deadline
        self._timer = timer
        self._name = name
        self._patience_s = patience_s
        self._changed = threading.Condition()
        self._queue: deque[tuple[Step, ...]] = deque()
        self._results: deque[Result | BaseException] = deque()
        self._ended = False
        #: Wall time [ns] spent in computations, and on waiting for them.
        self.computing_ns = 0
        self.waited_ns: int | None = 0
        # The fast part gets Python's global lock back after so long at the latest.
        self._former_interval = sys.getswitchinterval()
        sys.setswitchinterval(_SWITCH_INTERVAL_S)
        self._thread = threading.Thread(target=self._work, name=f"slow part {name}", daemon=True)
        self._thread.start()

    def submit(self, steps: tuple[Step, ...]) -> None:
        """See :class:`Computation`."""
        with self._changed:
            self._queue.append(steps)
            self._changed.notify_all()

    def complete(self, te: int, pending: Sequence[Sent]) -> int:
        """See :class:`~ros2_cosim.core.realtime.arrivals.Arrivals`."""
        deadline = self._deadline(te)
        started = self._timer()
        if deadline >= FOREVER:
            deadline = started + int(self._patience_s * 1e9)
        with self._changed:
            while len(self._results) < len(pending):
                left = deadline - self._timer()
                if left <= 0:
                    break
                self._changed.wait(left / 1e9)
            self.waited_ns = (self.waited_ns or 0) + self._timer() - started
            return min(len(self._results), len(pending))

    def take(self) -> Result:
        """See :class:`Computation`.

        :raises ParticipantError: the model failed, or does not come to an end
        """
        with self._changed:
            if not self._changed.wait_for(lambda: bool(self._results), self._patience_s):
                raise ParticipantError(
                    f"participant '{self._name}': a computation has not ended within "
                    f"{self._patience_s:g} s of wall time"
                )
            result = self._results.popleft()
        if isinstance(result, BaseException):
            raise result
        return result

    def close(self) -> None:
        """End the thread; a computation that is under way is waited for."""
        with self._changed:
            self._ended = True
            self._changed.notify_all()
        self._thread.join(self._patience_s)
        sys.setswitchinterval(self._former_interval)

    def _work(self) -> None:
        lower_priority()
        while True:
            with self._changed:
                self._changed.wait_for(lambda: bool(self._queue) or self._ended)
                if self._ended:
                    return
                steps = self._queue.popleft()
            started = self._timer()
            outcome: Result | BaseException
            try:
                outcome = self._run(steps)
            except BaseException as error:
                outcome = error  # raised again in the thread that takes the result
            with self._changed:
                self.computing_ns += self._timer() - started
                self._results.append(outcome)
                if isinstance(outcome, BaseException):
                    self._ended = True
                self._changed.notify_all()
