# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The courses of participants: what each does between its waits, alone or several in one thread.

A course is a generator: it runs until it has nothing to do and says for how long [s] it can wait.
Alone in its thread a participant waits for itself. Several in one thread wait together: one wake-up
serves all, and what one sends another leads to its activation without any wait between.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import NamedTuple

from rclpy.executors import ExternalShutdownException

from ros2_cosim.core.kernel.errors import Cancelled
from ros2_cosim.core.kernel.time import NEVER
from ros2_cosim.ros.node.lane import SocketLane
from ros2_cosim.ros.node.receipts import Receipts
from ros2_cosim.ros.node.session import Session

#: Gives the longest time to wait [s]; in the end whether the run begins anew. What is raised while
#: it waits is raised in it.
Course = Generator[float, None, bool]


class Traveller(NamedTuple):
    """A participant with its session, and its course."""

    name: str
    session: Session
    course: Course


def run_alone(session: Session, course: Course) -> bool:
    """Run a course to its end, in its own thread.

    :returns: whether the run begins anew
    """
    received: Receipts = session.received
    lane = session.own_lane
    try:
        seconds = next(course)
        while True:
            try:
                if isinstance(lane, SocketLane):
                    wait_on(lane, received, seconds)
                else:
                    session.rest(received.rests)
                    session.wait(seconds, received.first)
            except BaseException as error:  # it is raised again, in the course
                seconds = course.throw(error)
            else:
                seconds = next(course)
    except StopIteration as end:
        return bool(end.value)


def wait_on(lane: SocketLane, received: Receipts, seconds: float) -> None:
    """As :meth:`.Session.rest` and :meth:`.Session.wait`, compiled: each step of a run waits.

    :raises Cancelled: the process was asked to end
    """
    lane.rest(received.rests)
    received.raise_pending()
    if received.first:
        lane.prefer(received.first)
    try:
        lane.spin_once(seconds)
    except ExternalShutdownException:
        raise Cancelled("shutdown") from None
    received.raise_pending()


def run_together(
    waiter: Session,
    travellers: Sequence[Traveller],
    on_end: Callable[[Traveller, bool, BaseException | None], None],
    on_turn: Callable[[str], None] = lambda name: None,
) -> None:
    """Run several courses in one thread, each to its end.

    :param waiter: waits for the sessions of all of them
    :param travellers: in the order in which those run that have something to do
    :param on_end: called with whether the run begins anew, and with the error that ended the course
    :param on_turn: called with the name of each one before it goes on, and with an empty one before
        they wait
    """
    timer = waiter.timer
    going = [_Going(traveller) for traveller in travellers]
    while going:
        busy = True
        while busy:
            busy = False
            now = timer()
            for one in tuple(going):
                if not one.is_due(now):
                    continue
                busy = True
                on_turn(one.traveller.name)
                if not one.go_on(now):
                    going.remove(one)
                    on_end(one.traveller, one.again, one.error)
        on_turn("")
        if going:
            waiter.rest(min([one.received.rests for one in going]))
            try:
                waiter.serve(max(min(one.due for one in going) - timer(), 0) / 1e9)
            except Cancelled as error:
                for one in going:
                    one.pending, one.due = error, NEVER
            woke = timer()
            if not any(one.is_due(woke) for one in going):
                # A service, a handler that is done, or a wake, of any of them.
                for one in going:
                    one.due = woke


class _Going:
    """A course that has not ended."""

    def __init__(self, traveller: Traveller) -> None:
        self.traveller = traveller
        self.received: Receipts = traveller.session.received
        self._course = traveller.course
        #: What is raised before that waits until it can be caught.
        self._has_begun = False
        #: Messages that it had got when it went on the last time.
        self._seen = self.received.handled
        #: It goes on at this time [ns] at the latest.
        self.due = NEVER
        #: What was raised while it waited.
        self.pending: BaseException | None = None
        self.again = False
        self.error: BaseException | None = None

    def is_due(self, now: int) -> bool:
        """Whether there may be something for it to do."""
        received = self.received
        return received.handled != self._seen or now >= self.due or received.has_pending

    def go_on(self, now: int) -> bool:
        """Let it do its work; returns whether it has not ended."""
        received = self.received
        self._seen = received.handled
        try:
            pending = self.pending
            if self._has_begun:
                try:
                    received.raise_pending()
                except Exception as raised:  # it is raised again, in the course
                    pending = raised
            self._has_begun = True
            seconds = next(self._course) if pending is None else self._course.throw(pending)
        except StopIteration as end:
            self.again = bool(end.value)
            return False
        except (Exception, SystemExit) as error:  # it ends the participant alone
            self.error = error
            return False
        self.pending = None
        self.due = now + int(seconds * 1e9)
        return True
