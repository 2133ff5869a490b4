# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Whether a foreign node runs callbacks in several threads, seen from outside.

The barrier shows that the callbacks of one thread have returned. Of a node with a multi-threaded
executor, or with its own threads, it shows nothing, and the node need not say what it is. The
system counts for each thread how often it has been given a processor: of a node that runs its
callbacks one after the other one thread runs during an activation, and those of the middleware.

Of a process with several nodes, such as a container, each node is a participant. What the threads
of one do for their own adapter must not count for another: the adapters take turns
(:func:`turn_at`), and what is still on its way to rest when a turn begins is waited for.
"""

from __future__ import annotations

import fcntl
import os
import re
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Final

_PROC = Path("/proc")
#: Fast DDS names its threads, with this in front.
_MIDDLEWARE = "dds."
#: Those of Cyclone DDS (eclipse-cyclonedds/cyclonedds, 5041f356, src/core/ddsi/src/q_init.c); those
#: of another middleware count as the node's.
_CYCLONE = frozenset("dq.builtins dq.user fsm gc lease recv recvMC recvUC tev xmit.user".split())
#: Those of Zenoh end in a number (eclipse-zenoh/zenoh, 29b3e63, seen in a node).
_ZENOH = re.compile(r"(acc|app|net|rx|tx)-[0-9]+")
#: So many activations are looked at from the first one on, later each of so many: a look takes
#: some tenths of a millisecond.
_FIRST_LOOKS = 20
LATER_LOOKS = 10
#: In the status of a thread that runs, or waits for a processor.
_RUNS = "\nState:\tR"
#: A thread of the middleware that has no name follows changes of the ROS graph: it may run in a
#: few activations, least of all in half of them.
_LEAST_LOOKS = 3
#: A thread that is not at rest in any of so many looks, each some tenths of a millisecond after
#: the last one, never is.
_LOOKS_AT_REST = 5_000
_LOOK_AGAIN_S = 0.0002
#: The same before an activation is looked at; a thread that computes for longer counts.
_LOOKS_FOR_REST = 500
#: The adapter that locks this file has the turn at a process. Other users cannot open it.
_TURN = "/proc/{}/environ"
#: A wait without an end, as the kernel shows its limit: no pointer to one, or -1 ms.
_NO_POINTER = ("0x0",)
_NO_NUMBER = ("0xffffffff", "0xffffffffffffffff")
#: Machine -> number of a system call that may wait for a limited time -> which argument, from 1 on,
#: is the limit, and what it is where there is none.
_WAITS: Final[dict[str, dict[str, tuple[int, tuple[str, ...]]]]] = {
    "x86_64": {
        "202": (4, _NO_POINTER),  # futex
        "7": (3, _NO_NUMBER),  # poll
        "271": (3, _NO_POINTER),  # ppoll
        "23": (5, _NO_POINTER),  # select
        "270": (5, _NO_POINTER),  # pselect6
        "232": (4, _NO_NUMBER),  # epoll_wait
        "281": (4, _NO_NUMBER),  # epoll_pwait
        "441": (4, _NO_POINTER),  # epoll_pwait2
        "35": (1, _NO_POINTER),  # nanosleep
        "230": (3, _NO_POINTER),  # clock_nanosleep
    },
    "aarch64": {
        "98": (4, _NO_POINTER),
        "73": (3, _NO_POINTER),
        "72": (5, _NO_POINTER),
        "22": (4, _NO_NUMBER),
        "441": (4, _NO_POINTER),
        "101": (1, _NO_POINTER),
        "115": (3, _NO_POINTER),
    },
}

#: Machine -> system calls that sleep, as lists; Python sleeps by select or clock_nanosleep.
_SLEEPS: Final[dict[str, tuple[list[str], ...]]] = {
    "x86_64": (["35"], ["230"], ["23"], ["270"]),
    "aarch64": (["101"], ["115"], ["72"]),
}


class ThreadWatch:
    """Counts the activations in which a process ran several threads that are its own.

    :param pids: the processes of the node; empty: they cannot be seen
    :param later: after the first activations, number of activations from one look to the next
    :param few: whether few activations count: two are enough, if all of them ran several threads
    """

    def __init__(self, pids: Iterable[int], later: int = LATER_LOOKS, *, few: bool = False) -> None:
        self._pids, self._later = tuple(pids), later
        self._least, self._most_alone = (2, 0.0) if few else (_LEAST_LOOKS, 0.5)
        self._activations = 0
        self._looks = 0
        self._several = 0
        self._first_ns: int | None = None
        self._before: dict[tuple[int, str], int] = {}
        #: Whether a thread was seen that does not come to rest: nothing waits for it again.
        self._restless = False
        #: The threads that have been seen to run in this activation.
        self._ran: set[tuple[int, str]] = set()
        self._looking = False

    @property
    def looks(self) -> bool:
        """Whether this activation is one of those that are looked at."""
        return self._looking

    @property
    def sees(self) -> bool:
        """Whether there is a process to look at."""
        return bool(self._pids)

    def begin(self) -> None:
        """An activation begins."""
        self._activations += 1
        self._looking = self._activations <= _FIRST_LOOKS or self._activations % self._later == 0
        self._ran.clear()
        self.resume()

    def pause(self) -> None:
        """What runs until :meth:`resume` does not count."""
        if self._looking:
            self._ran |= self._since()

    def resume(self) -> None:
        """What runs from now on counts.

        A thread that has done its work, and has not gone to sleep yet, is waited for: a busy
        machine may give it a processor for that much later.
        """
        if not self._looking:
            return
        for _ in range(_LOOKS_FOR_REST):
            shown = self._statuses()
            self._before = {place: _switches(status) for place, status in shown.items()}
            if self._restless or not any(_RUNS in status for status in shown.values()):
                return
            time.sleep(_LOOK_AGAIN_S)
        self._restless = True

    def end(self, time_ns: int, *, counts: bool = True) -> None:
        """The activation that has begun ends.

        :param time_ns: its simulated time
        :param counts: whether it is one of those that are counted
        """
        self.pause()
        if not counts:
            return
        ran = [pid for pid, _ in self._ran]
        if not ran:
            return
        self._looks += 1
        if len(ran) > len(set(ran)):
            self._several += 1
            self._first_ns = time_ns if self._first_ns is None else self._first_ns

    def several_since(self) -> int | None:
        """The simulated time [ns] of the first activation in several threads; None: in one."""
        alone = self._looks - self._several
        enough = self._several >= self._least and alone <= self._most_alone * self._looks
        return self._first_ns if enough else None

    def _since(self) -> set[tuple[int, str]]:
        shown, before = self._statuses(), self._before
        return {place for place, status in shown.items() if _switches(status) != before.get(place)}

    def _statuses(self) -> dict[tuple[int, str], str]:
        """(process, thread) -> what the system says of it."""
        return {
            (pid, thread): _shown(pid, "task", thread, "status")
            for pid in self._pids
            for thread in _own_threads(pid)
        }


@contextmanager
def turn_at(pids: Iterable[int], check: Callable[[], None]) -> Iterator[None]:
    """Be the only adapter that has a process do something, among all on this machine.

    :param pids: the processes; none: there is nothing to wait for
    :param check: called while another one has the turn; what it raises ends the wait
    """
    with ExitStack() as held:
        for pid in sorted(pids):
            try:
                turn = held.enter_context(open(_TURN.format(pid), "rb"))
            except OSError:  # it has ended, or is another user's: it cannot be seen
                continue
            while True:
                with suppress(BlockingIOError):
                    fcntl.flock(turn, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                check()
                time.sleep(_LOOK_AGAIN_S)
        yield


def processes_of_session(leader: int) -> list[int]:
    """The processes of the session that a process has begun: itself, and what it has started."""
    found = []
    for pid in _pids():
        with suppress(OSError):  # it has ended
            if os.getsid(pid) == leader:
                found.append(pid)
    return sorted(found)


def has_loaded(pids: Iterable[int], library: str) -> bool:
    """Whether one of these processes has loaded a library; no, if that cannot be seen.

    :param library: file name, without a version
    """
    return any(f"/{library}" in _shown(pid, "maps") for pid in pids)


def own_clockwork(pids: Iterable[int], check: Callable[[], None]) -> str:
    """Whether a node that has nothing to do waits for a limited time only, as one with a timer of
    the wall clock does, or one that polls. Empty: all processes wait until something comes.

    The first thread of each process is looked at, which is the one that runs the callbacks.

    :param pids: the processes of the node
    :param check: called again and again; what it raises ends the look
    """
    waits = _WAITS.get(os.uname().machine, {})
    for pid in pids:
        for _ in range(_LOOKS_AT_REST):
            call = _system_call(pid, str(pid))
            if call != ["running"]:
                break
            check()
            time.sleep(_LOOK_AGAIN_S)
        else:
            return "never rests"
        if not call or not waits:
            return "does not show on this machine what it waits for"
        if call[0] in waits:
            limit, none = waits[call[0]]
            if call[limit] not in none:
                return "has a timer of the wall clock, or looks for messages now and then"
    return ""


def sleeps(pids: Iterable[int]) -> bool:
    """Whether a thread of a node that has answered that its callbacks are done sleeps for a time.

    A callback in another thread does, which waits between the steps of a goal.

    :param pids: the processes of the node
    """
    calls = _SLEEPS.get(os.uname().machine, ())
    threads = [(pid, thread) for pid in pids for thread in _own_threads(pid)]
    return any(_system_call(pid, thread)[:1] in calls for pid, thread in threads)


def _system_call(pid: int, thread: str) -> list[str]:
    """Number and arguments of the system call that a thread of a process is in.

    ``running`` while it computes; empty: it is not to be seen.
    """
    return _shown(pid, "task", thread, "syscall").split()


def process_of_endpoint(gid: bytes, own_gid: bytes) -> int | None:
    """The process of this machine that has made a DDS endpoint; None: it cannot be found out.

    :param gid: of the endpoint; Fast DDS begins it with two bytes of its vendor, two of the
        machine and the lower two of the process id
    :param own_gid: of an endpoint of this process
    """
    if gid[:4] != own_gid[:4]:
        return None
    low = int.from_bytes(gid[4:6], "little")
    found = [pid for pid in _pids() if pid & 0xFFFF == low and _has_middleware(pid)]
    return found[0] if len(found) == 1 else None


def _shown(*place: str | int) -> str:
    """What the system shows of a process; nothing of one that has ended, or is another user's."""
    try:
        return _PROC.joinpath(*map(str, place)).read_text(errors="replace")
    except OSError:
        return ""


def _pids() -> list[int]:
    return [int(entry.name) for entry in _PROC.iterdir() if entry.name.isdigit()]


def _has_middleware(pid: int) -> bool:
    return any(_is_middleware(pid, thread) for thread in _threads(pid))


def _own_threads(pid: int) -> list[str]:
    """The threads of a process that the middleware has not made."""
    return [t for t in _threads(pid) if not _is_middleware(pid, t)]


def _is_middleware(pid: int, thread: str) -> bool:
    name = _name(pid, thread).strip()
    return name.startswith(_MIDDLEWARE) or name in _CYCLONE or bool(_ZENOH.fullmatch(name))


def _threads(pid: int) -> list[str]:
    try:
        return os.listdir(_PROC / str(pid) / "task")
    except OSError:
        return []  # it has ended


def _name(pid: int, thread: str) -> str:
    return _shown(pid, "task", thread, "comm")


def _switches(status: str) -> int:
    """How often a thread has given its processor away, by itself or not."""
    return sum(int(line.split()[1]) for line in status.splitlines() if "ctxt_switches:" in line)
