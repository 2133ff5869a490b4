# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Several participants in one process, in one thread or several, each with its own node.

Those of one thread hand messages to each other by calls (:mod:`~ros2_cosim.ros.node.courses`); one
in its own thread stops, leaves or fails as if it were alone, and what it had on ROS goes with
it. The main thread has the signals and learns how each of them ended.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Sequence
from functools import partial
from queue import Empty, SimpleQueue
from threading import Thread
from typing import NamedTuple, Protocol

from ros2_cosim.core.kernel.errors import RunError, begun_elsewhere
from ros2_cosim.ros.node.courses import Course, Traveller, run_alone, run_together
from ros2_cosim.ros.node.session import Session

#: So long [ns] the others may take to learn from the clock that one of them has failed.
_AFTERMATH_NS = 5_000_000_000
_POLL_S = 0.1


class Member(NamedTuple):
    """A participant of the process: ``course`` makes its course.

    ``required`` gives whether the run ends with its failure, once there is one.
    """

    name: str
    session: Session
    course: Callable[[], Course]
    required: Callable[[], bool]


class Ending(NamedTuple):
    """How a participant ended: with an error, or in order, perhaps to begin anew."""

    member: Member
    again: bool = False
    error: BaseException | None = None


class Threads(Protocol):
    """The threads of the participants of a process."""

    def start(self, name: str, body: Callable[[Callable[[Ending], None]], None]) -> None:
        """Run ``body`` in its own thread; it is called with what takes its endings."""

    def next_ending(self, seconds: float) -> Ending | None:
        """The next ending of a participant; None: none ends within ``seconds``."""


class SystemThreads:
    """Threads of the operating system."""

    def __init__(self) -> None:
        self._done: SimpleQueue[Ending] = SimpleQueue()

    def start(self, name: str, body: Callable[[Callable[[Ending], None]], None]) -> None:
        """Run ``body``, which raises nothing, in its own thread."""
        Thread(target=body, args=(self._done.put,), name=name).start()

    def next_ending(self, seconds: float) -> Ending | None:
        """The next ending of a participant; None: none ends within ``seconds``."""
        try:
            return self._done.get(timeout=seconds)
        except Empty:
            return None


def run_members(
    process: Session,
    bunches: Sequence[Sequence[Member]],
    on_failure: Callable[[str, bool, BaseException], None],
    threads: Threads,
    on_turn: Callable[[str], None] = lambda name: None,
) -> list[Ending]:
    """Run all participants of a process to their ends; each closes its session itself.

    Signals of the process reach all of them. When one fails that the run cannot do without, the
    clock ends the others as it ends those in other processes; if it does not, they are stopped.

    :param process: the session that gets the signals, and waits for a bunch of several
    :param bunches: the participants of each thread; one of these bunches at most has several
    :param on_failure: called in this thread when a participant has failed on its own account:
        its name, whether it is required, and the error
    :param threads: in which they run
    :param on_turn: called in a thread of several with the name of each one before it goes on, and
        with an empty one before they wait
    :returns: how they ended, in this order
    """
    members = [member for bunch in bunches for member in bunch]
    for bunch in bunches:
        if len(bunch) > 1:
            body = partial(_run_together, process, bunch, on_turn)
        else:
            body = partial(_run, bunch[0])
        threads.start(bunch[0].name, body)
    endings: list[Ending] = []
    deadline: int | None = None
    while len(endings) < len(members):
        ending = threads.next_ending(_POLL_S)
        if ending is not None:
            endings.append(ending)
            error, member = ending.error, ending.member
            if error is not None and not begun_elsewhere(error):
                required = member.required()
                on_failure(member.name, required, error)
                if required and deadline is None:
                    # The clock does not learn of any other error.
                    patience = _AFTERMATH_NS if isinstance(error, RunError) else 0
                    deadline = process.timer() + patience
        number = process.stop_signal
        if number is None and deadline is not None and process.timer() > deadline:
            number = signal.SIGTERM
        if number is not None:
            for member in members:
                member.session.stop(number)
    return endings


def _run(member: Member, tell: Callable[[Ending], None]) -> None:
    try:
        with member.session:
            ending = Ending(member, again=run_alone(member.session, member.course()))
    except BaseException as error:  # an error ends the participant alone
        ending = Ending(member, error=error)
    tell(ending)


def _run_together(
    process: Session,
    bunch: Sequence[Member],
    on_turn: Callable[[str], None],
    tell: Callable[[Ending], None],
) -> None:
    going = {member.name: member for member in bunch}

    def ended(traveller: Traveller, again: bool, error: BaseException | None) -> None:
        tell(Ending(going.pop(traveller.name), again, error))

    travellers = [Traveller(member.name, member.session, member.course()) for member in bunch]
    try:
        run_together(process, travellers, ended, on_turn)
    except BaseException as error:  # what ends the thread ends all of it
        for member in going.values():
            tell(Ending(member, error=error))
