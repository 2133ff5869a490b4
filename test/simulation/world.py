# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A world of processes in one thread: one seed decides about time, order and every delay.

Each process is a greenlet: it runs until it waits, and everything that it waits for is an event
of the world. Simulated wall time passes between events only. What happens is a function of the
seed: two worlds with the same seed have the same log.
"""

from __future__ import annotations

import hashlib
import heapq
import random
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple

import greenlet

#: Wall time [ns] at which worlds begin: no 0 that would look like "never".
BEGIN_NS = 1_000_000_000
SECOND = 1_000_000_000


class Killed(BaseException):
    """Unwinds a process that was killed; nothing that it does on the way has an effect."""


class HangError(AssertionError):
    """The world goes on, and the run does not end."""


class Pace(NamedTuple):
    """How fast things are in a world [ns]; means of exponential distributions.

    :ivar step: from one event that a process handles to the next one
    :ivar message: of a message under way
    :ivar discovery: until one side of a new connection knows the other
    :ivar spike: a message, or a process, takes so much longer with probability ``spikes``
    """

    step: int
    message: int
    discovery: int
    spike: int
    spikes: float


class World:
    """Time, order and chance.

    :param seed: decides about everything
    :param pace: how fast things are
    """

    def __init__(self, seed: object, pace: Pace) -> None:
        self.random = random.Random(f"world {seed}")
        self.pace = pace
        self.now = BEGIN_NS
        self.events = 0
        self._agenda: list[tuple[int, int, Callable[[], None]]] = []
        self._added = 0
        self._log = hashlib.blake2b(digest_size=16)
        self.main = greenlet.getcurrent()
        #: The thread whose turn it is; None: the world's own.
        self.thread: Thread | None = None

    def note(self, *what: object) -> None:
        """Add a line to the log."""
        self._log.update(f"{self.now} {what}\n".encode())

    @property
    def digest(self) -> str:
        """What has happened so far, in one number."""
        return self._log.hexdigest()

    def clock(self) -> int:
        """Wall time [ns]."""
        return self.now

    def at(self, time: int, action: Callable[[], None]) -> None:
        """Do something at a time [ns], or now if that has passed."""
        self._added += 1
        heapq.heappush(self._agenda, (max(time, self.now), self._added, action))

    def after(self, delay: int, action: Callable[[], None]) -> None:
        """Do something later."""
        self.at(self.now + delay, action)

    def draw(self, mean: int) -> int:
        """A delay [ns]."""
        delay = int(self.random.expovariate(1.0) * mean) + 1
        if self.random.random() < self.pace.spikes:
            delay += self.random.randrange(self.pace.spike)
        return delay

    def run(self, done: Callable[[], bool], limit_ns: int, most_events: int) -> None:
        """Let everything happen until ``done``.

        :raises HangError: that takes longer than ``limit_ns``, or more than ``most_events``
        """
        agenda = self._agenda
        while not done():
            if not agenda:
                raise HangError("nothing will ever happen again")
            time, _, action = heapq.heappop(agenda)
            if time - BEGIN_NS > limit_ns or self.events > most_events:
                raise HangError(f"no end after {(time - BEGIN_NS) / 1e9:.1f} s, {self.events}")
            self.now = time
            self.events += 1
            action()


class Thread:
    """One thread of a process: a body that waits by :meth:`sleep`.

    :param process: in which it runs
    """

    def __init__(self, process: Process, body: Callable[[], None]) -> None:
        self.process = process
        self._world = process.world
        self._greenlet = greenlet.greenlet(body, parent=process.world.main)
        #: What it waits for; a wake-up with another number comes too late.
        self._wait = 0
        self._is_waiting = False

    def start(self, delay: int) -> None:
        """Start it after a while [ns]."""
        self._world.after(delay, lambda: self._resume(0))

    def sleep(self, delay: int, *, wakeable: bool = False) -> None:
        """Wait [ns]; called by the thread itself.

        :param wakeable: whether :meth:`wake` ends it
        :raises Killed: the process was killed meanwhile
        """
        if self.process.is_dead:
            raise Killed
        self._wait += 1
        number = self._wait
        self._is_waiting = wakeable
        self._world.after(delay, lambda: self._resume(number))
        self._world.main.switch()
        self._is_waiting = False
        if self.process.is_dead:
            raise Killed

    def wake(self) -> None:
        """End a wakeable sleep, after the time that the system takes for that."""
        if self._is_waiting and not self.process.is_dead:
            self._is_waiting = False
            self.look_around()

    def look_around(self) -> None:
        """End a sleep, after the time that the system takes for that."""
        number = self._wait
        self._world.after(self._world.draw(self._world.pace.step), lambda: self._resume(number))

    def unwind(self) -> None:
        """End it, in a process that was killed; nothing that it does on the way has an effect."""
        if self._greenlet:
            self._greenlet.throw(Killed)

    def _resume(self, number: int) -> None:
        process = self.process
        if process.has_ended or number != self._wait:
            return
        if process.is_frozen:
            self._world.at(process.thaws, lambda: self._resume(number))
            return
        self._wait += 1
        self._world.thread = self
        self._greenlet.switch()
        self._world.thread = None


class Process:
    """One process: a body that waits, and may be frozen or killed meanwhile.

    :param body: of its main thread; gives the exit code
    """

    def __init__(self, world: World, name: str, body: Callable[[Process], int]) -> None:
        self.world = world
        self.name = name
        #: Exit code once it has ended; minus the signal that killed it.
        self.code: int | None = None
        self.is_dead = False
        #: Called with the number of a signal; None: the process is not there yet.
        self.on_signal: Callable[[int], None] | None = None
        #: Called once it has ended, however.
        self.on_end: Callable[[], None] = lambda: None
        self._thaws = 0
        self._body = body
        self.main = Thread(self, self._run)
        self._threads = [self.main]

    def start(self, delay: int) -> None:
        """Start it after a while [ns]."""
        self.main.start(delay)

    def start_thread(self, body: Callable[[], None]) -> None:
        """Start a further thread; the main one ends last."""

        def run() -> None:
            with suppress(Killed):
                body()

        thread = Thread(self, run)
        self._threads.append(thread)
        thread.start(self.world.draw(self.world.pace.step))

    @property
    def has_ended(self) -> bool:
        """Whether it is not there any more."""
        return self.code is not None

    @property
    def is_frozen(self) -> bool:
        """Whether it has been stopped for a while."""
        return self.world.now < self._thaws

    def sleep(self, delay: int, *, wakeable: bool = False) -> None:
        """Let the present thread, which is one of its own, wait; see :meth:`Thread.sleep`."""
        if self.is_dead:
            raise Killed
        assert self.world.thread is not None
        self.world.thread.sleep(delay, wakeable=wakeable)

    def wake(self) -> None:
        """End the wakeable sleeps of all threads."""
        for thread in self._threads:
            thread.wake()

    def freeze(self, duration: int) -> None:
        """Stop it (SIGSTOP) for a while [ns]."""
        if not self.has_ended:
            self.world.note("freeze", self.name, duration)
            self._thaws = max(self._thaws, self.world.now + duration)

    def thaw(self) -> None:
        """Let it go on (SIGCONT)."""
        if self.is_frozen:
            self._thaws = 0
            for thread in self._threads:
                # What it waits for may be long past; if not, it looks around too early.
                thread.look_around()

    @property
    def thaws(self) -> int:
        """When it goes on [ns]; in the past unless it is frozen."""
        return self._thaws

    def signal(self, number: int) -> None:
        """Send it a signal that asks it to end; one without a handler for it ends at once."""
        if self.has_ended:
            return
        if self.on_signal is None:
            self.kill(number)
        else:
            self.on_signal(number)

    def kill(self, number: int = 9) -> None:
        """End it at once; called by the world, or by the process itself in the midst of work."""
        if self.has_ended:
            return
        present = self.world.thread
        if present is not None and present.process is not self:
            # Another process does it: the unwinding would not come back there.
            self.world.after(0, lambda: self.kill(number))
            return
        self.world.note("kill", self.name, number)
        self.is_dead = True
        self.code = -number
        if present is not None:
            self.world.after(0, self._unwind)
            self._gone()
            raise Killed
        self._unwind()
        self._gone()

    def _unwind(self) -> None:
        for thread in self._threads:
            thread.unwind()

    def _gone(self) -> None:
        self.world.note("end", self.name, self.code)
        self.on_end()

    def _run(self) -> None:
        try:
            code = self._body(self)
        except Killed:
            return
        if not self.is_dead:
            self.code = code
            self._gone()
