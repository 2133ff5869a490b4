# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""How a process belongs to its parent, and how it ends at the latest after some time (Linux)."""

from __future__ import annotations

import atexit
import ctypes
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

#: Exit codes of processes of a run: of one that ended because another one failed, and of one that
#: its middleware kept from going on.
EXIT_ABORTED = 3
EXIT_HUNG = 4

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_PR_GET_CHILD_SUBREAPER = 37
_libc = ctypes.CDLL(None, use_errno=True)
# Loaded here and not where it is used: after a fork, before the new program, nothing may be loaded.
_prctl = _libc.prctl


def end_with_parent(parent: int | None = None) -> None:
    """Ask the kernel for SIGTERM when the thread that started this process ends, however it ends.

    May be called in a child between fork and exec (``preexec_fn``).

    :param parent: process id of the parent if the child could have been orphaned before the call:
        it then ends at once, by SIGKILL, since no handler of it can run yet. None: the parent at
        the time of the call
    """
    if parent is None:
        parent = os.getppid()
    _prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    if os.getppid() != parent:  # the parent ended before the request took hold
        os.kill(os.getpid(), signal.SIGKILL)


def adopts_orphans() -> bool:
    """Whether orphans among the descendants of this process become its children."""
    value = ctypes.c_int(0)
    _prctl(_PR_GET_CHILD_SUBREAPER, ctypes.byref(value), 0, 0, 0)
    return bool(value.value)


def set_adopts_orphans(wanted: bool) -> None:
    """Let orphans among the descendants of this process become its children, or not."""
    _prctl(_PR_SET_CHILD_SUBREAPER, int(wanted), 0, 0, 0)


def signal_of(interrupt: BaseException) -> signal.Signals:
    """The signal that an interrupt stands for; a ROS session recognises it by its name."""
    told = interrupt.args[0] if interrupt.args else signal.SIGINT
    if isinstance(told, signal.Signals):
        return told
    return signal.Signals.__members__.get(str(told), signal.SIGTERM)


def ignore_interrupts() -> None:
    """SIGINT has no effect any more: this process has done its work and is about to end.

    Python would otherwise give the signal its default meaning while it tidies up, and a process
    that ended in order would seem to have been killed.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def leave(code: object) -> NoReturn:
    """End this process as the interpreter would, up to its libraries.

    To tidy up their objects takes seconds on a busy machine, and what starts processes may kill
    those that need longer than that.

    :param code: as that of ``SystemExit``
    """
    number = 0 if code is None else 1
    try:
        threading._shutdown()  # type: ignore[attr-defined]
        atexit._run_exitfuncs()
        if isinstance(code, int):
            number = code
        elif code is not None:
            print(code, file=sys.stderr)
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(number)


def run_main(main: Callable[[], object]) -> NoReturn:
    """Run the main function of a program, and leave with its exit code.

    An interrupt that comes out of it ends the program quietly. Those that came while the program
    was imported have ended it at once; from here on they are ``KeyboardInterrupt``.
    """
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    code: object = 1
    try:
        code = main()
    except (SystemExit, KeyboardInterrupt) as left:
        code = left.code if isinstance(left, SystemExit) else 0
    except BaseException:
        traceback.print_exc()
    leave(code)


@contextmanager
def ending_quietly() -> Iterator[None]:
    """Within the body of a program SIGINT ends it with code 0, however often it comes.

    Handlers that the body sets for a while come first.
    """

    def leave(number: int, frame: object) -> None:
        raise SystemExit(0)

    signal.signal(signal.SIGINT, leave)
    try:
        yield
    finally:
        ignore_interrupts()


class ExitTimer:
    """Ends this process with its own exit code after some time, if nothing else does.

    A thread of the C library does it: also where a foreign library hangs that holds Python's lock,
    in which no handler of Python and no thread of Python can run.

    :raises OSError: the system has no timer left
    """

    def __init__(self) -> None:
        self._timer: ctypes.c_void_p | None = None

    def start(self, seconds: float, code: int) -> None:
        """Begin anew; the process ends after ``seconds`` with ``code``."""
        self.cancel()
        event = _SignalEvent()
        # The function is given the value: an int in a union, passed like an int. What _exit ends
        # is the whole process, without any tidying up.
        event.value = code
        event.notify = _SIGEV_THREAD
        event.function = ctypes.cast(_libc._exit, ctypes.c_void_p)
        timer = ctypes.c_void_p()
        if _timer_create(_CLOCK_MONOTONIC, ctypes.byref(event), ctypes.byref(timer)):
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))
        self._timer = timer
        whole = int(seconds)
        due = _TimerTimes(first=_Time(whole, int((seconds - whole) * 1e9)))
        _timer_settime(timer, 0, ctypes.byref(due), None)

    def cancel(self) -> None:
        """Let the process live."""
        if self._timer is not None:
            _timer_delete(self._timer)
            self._timer = None


_SIGEV_THREAD = 2
_CLOCK_MONOTONIC = 1


class _SignalEvent(ctypes.Structure):
    """``struct sigevent`` of the C library, 64 bytes."""

    _fields_ = (
        ("value", ctypes.c_long),
        ("signal", ctypes.c_int),
        ("notify", ctypes.c_int),
        ("function", ctypes.c_void_p),
        ("attributes", ctypes.c_void_p),
        ("rest", ctypes.c_char * 32),
    )


class _Time(ctypes.Structure):
    """``struct timespec``."""

    _fields_ = (("seconds", ctypes.c_long), ("nanoseconds", ctypes.c_long))


class _TimerTimes(ctypes.Structure):
    """``struct itimerspec``."""

    _fields_ = (("interval", _Time), ("first", _Time))


def _of_timers(name: str) -> Any:
    """A function of timers; before glibc 2.34 they are in their own library."""
    try:
        return _libc[name]
    except AttributeError:
        return ctypes.CDLL("librt.so.1", use_errno=True)[name]


_timer_create, _timer_settime, _timer_delete = map(
    _of_timers, ("timer_create", "timer_settime", "timer_delete")
)
