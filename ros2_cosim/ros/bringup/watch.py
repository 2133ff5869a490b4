# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What the endings of its processes say about a run; serves ``cosim run`` and ``ros2 launch``.

This module starts no processes. The starter reports what they tell and print and when they end, and
asks what that means. The reason of the run's end is what a process reports about its failure; for a
program that reports nothing it is the exit code, with the last line that it printed.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Collection, Sequence

from ros2_cosim.core.process.processes import EXIT_ABORTED, EXIT_HUNG
from ros2_cosim.core.run.crashes import OWN_SIGNALS
from ros2_cosim.ros.bringup.plan import Process

#: Processes that fail one after the other have one cause, which is awaited for so long [s].
GATHER_S = 0.7
#: All nodes end together; a node that ended this long [s] before the others was not done.
EARLY_S = 10.0


class RunWatch:
    """The endings of the processes of one plan.

    :param plan: in order; those that come first are needed by those that follow
    :param turn: tells whose turn it was in a process of several participants when it ended, empty:
        not known, or none's
    :param crash: says in words in which activation a process ended by a signal; empty: not
        known, or in none
    :param named: tells which participants the system controller has named as required; None: none,
        and the plan says it
    """

    def __init__(
        self,
        plan: Sequence[Process],
        named: Callable[[], Collection[str] | None] = lambda: None,
        turn: Callable[[str], str] = lambda process: "",
        crash: Callable[[str, int], str] = lambda process, number: "",
    ) -> None:
        self._turn = turn
        self._crash = crash
        self._named = named
        self._processes = {process.name: process for process in plan}
        self._codes: dict[str, int] = {}
        self._last_lines: dict[str, str] = {}
        self._reasons: dict[str, str] = {}
        self._reported: set[str] = set()
        #: Those that a signal ends.
        self._asked: list[str] = []
        self._over = False

    def printed(self, name: str, line: str) -> None:
        """Take a line that a process printed."""
        self._last_lines[name] = line

    def told(self, name: str, reason: str, *, asked: bool = False) -> None:
        """Take what a process tells about its failure; only the first counts.

        :param asked: a signal ends it, which no process of the run has sent
        """
        if self._reasons.setdefault(name, reason) is reason and asked:
            self._asked.append(name)

    def over(self) -> None:
        """Take that the run is over: to end is in order from now on, and to go on is not."""
        self._over = True

    def ended(self, name: str, code: int) -> None:
        """Take the exit code of a process; below zero: minus the signal that killed it."""
        self._codes[name] = code

    @property
    def all_ended(self) -> bool:
        """Whether nothing runs any more."""
        return self._codes.keys() == self._processes.keys()

    @property
    def complete(self) -> bool:
        """Whether all required ROS nodes have ended; servers go on until they are asked to end."""
        return not any(
            p.is_ros and name not in self._codes and self._needs(p)
            for name, p in self._processes.items()
        )

    @property
    def cause_known(self) -> bool:
        """Whether a process failed on its own account, not because the run was aborted."""
        return any(self._codes[name] != EXIT_ABORTED for name in self._failed())

    @property
    def clock_done(self) -> bool:
        """Whether the clock, the last of the plan, has ended in order: results are complete."""
        return self._codes.get(next(reversed(self._processes))) == 0

    @property
    def some_ended(self) -> bool:
        """Whether a required process has ended, be it without an error."""
        return any(self._ended_early(name) for name in self._codes)

    @property
    def some_failed(self) -> bool:
        """Whether a required process has ended with an error."""
        return bool(self._failed())

    def failure(self) -> str | None:
        """One line about the required process that failed; None if none has.

        The cause is a process that was killed, or that failed without having been asked to end;
        of several the one that comes first in the plan, because the others depend on it.
        """
        failed = self._failed()
        causes = [name for name in failed if self._codes[name] != EXIT_ABORTED]
        return self._describe((causes or failed)[0]) if failed else None

    def asked(self) -> str | None:
        """One line about the first required process that a signal ends; None: there is none.

        That is the cause of all else: neither its end nor that of others has to be awaited.
        """
        needed = (name for name in self._asked if self._needs(self._processes[name]))
        return next((self._reasons[name] for name in needed), None)

    def early(self) -> str | None:
        """One line about a required process that ended though others still run.

        Once the run is over it is about those that still run.
        """
        if self.complete or self.clock_done:
            return None
        if self._over:
            return self._late()
        for name in self._codes:
            process = self._processes[name]
            if self._ended_early(name):
                hint = "" if process.package else "; does it call run_controller(law)?"
                turn = self._turn(name)
                where = f" in the turn of '{turn}'" if turn else ""
                return (
                    f"process '{name}'{process.note} ended before the run was over{where}: "
                    f"{self._last_line(name)}{hint}"
                )
        return None

    def _late(self) -> str:
        *nodes, clock = (
            name
            for name, process in self._processes.items()
            if process.is_ros and name not in self._codes and self._needs(process)
        )
        # The clock waits for the others.
        names = ", ".join(f"'{name}'{self._processes[name].note}" for name in nodes or [clock])
        return f"{names} still ran {EARLY_S:.0f} s after others had ended; the run itself was over"

    def early_leaves(self) -> list[tuple[str, str]]:
        """(participant, how its process failed) of those the run can spare; each one once."""
        found = []
        for name, process in self._processes.items():
            failed = self._codes.get(name, 0) != 0 and not self._needs(process)
            if failed and name not in self._reported:
                self._reported.add(name)
                how = self._describe(name)
                found += [(participant, how) for participant in process.participants]
        return found

    def _ended_early(self, name: str) -> bool:
        """Whether a process has ended that is needed to the end, as far as its code tells."""
        process = self._processes[name]
        return self._needs(process) and not (process.leaves and self._codes[name] == 0)

    def _needs(self, process: Process) -> bool:
        """Whether the run cannot go on without a process."""
        named = self._named() if process.participants else None
        if named is None:
            return process.required
        return any(participant in named for participant in process.participants)

    def _failed(self) -> list[str]:
        return [
            name
            for name, process in self._processes.items()
            if self._codes.get(name, 0) != 0 and self._needs(process)
        ]

    def _describe(self, name: str) -> str:
        code, process = self._codes[name], f"process '{name}'{self._processes[name].note}"
        if turn := self._turn(name):
            turn = f" in the turn of '{turn}'"
        if -code in OWN_SIGNALS and (crash := self._crash(name, -code)):
            return f"{crash} (process '{name}')"
        if -code in OWN_SIGNALS and name in self._last_lines:
            return (
                f"{process} was killed by {signal.Signals(-code).name}{turn}; its last line: "
                f"{self._last_line(name).strip()}"
            )
        if code < 0:
            return f"{process} was killed by {signal.Signals(-code).name}{turn}"
        if name in self._reasons:
            return self._reasons[name]
        if code == EXIT_HUNG:
            return f"{process} hung in the middleware while it gave up a node, and was ended"
        return f"{process} ended with exit code {code}{turn}: {self._last_line(name)}"

    def _last_line(self, name: str) -> str:
        return self._last_lines.get(name, "it printed nothing")
