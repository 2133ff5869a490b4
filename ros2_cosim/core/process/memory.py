# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The memory of a process that takes part in runs: undisturbed within one, given back after it."""

from __future__ import annotations

import atexit
import ctypes
import gc
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from ros2_cosim.core.kernel.loading import has_code_of_others

_libc = ctypes.CDLL(None)
#: Objects that are made before the collector looks for garbage, 700 as Python has it.
_OBJECTS = 10_000
#: The same until it has looked once: imports make nearly as many, and hardly any garbage. So many
#: lie between two looks at the younger generations at any time.
_AT_START = 200_000


def collect_less_often() -> None:
    """Have the collector of this process look for garbage less often: a program starts sooner."""
    gc.set_threshold(_AT_START, *gc.get_threshold()[1:])
    if _has_started not in gc.callbacks:
        gc.callbacks.append(_has_started)


def _has_started(phase: str = "", info: object = None) -> None:
    """From now on the collector looks as often as in the midst of a program."""
    if gc.get_threshold()[0] == _AT_START:  # a run may have set another one
        gc.set_threshold(_OBJECTS, *gc.get_threshold()[1:])
        gc.callbacks.remove(_has_started)


def leave_memory_as_it_is() -> None:
    """At its end this process takes nothing apart that is in use: its memory goes with it.

    The interpreter looks for garbage three times when it ends, and takes apart each class and each
    function, in a fifth of the time of a short run. Code of this project closes what it opens;
    other code may trust in the interpreter to close its files, and rclpy to close its nodes.
    """
    atexit.register(_leave_as_it_is)


def _leave_as_it_is() -> None:
    if _is_own():
        gc.freeze()


def _is_own() -> bool:
    """Whether nothing that others have written trusts in the interpreter to close it."""
    return not has_code_of_others() and "rclpy" not in sys.modules


def end_at_once(code: int) -> None:
    """Have this process end with a code and its modules as they are, after all else at its end."""
    _code[:] = [code]


_code: list[int] = []


@atexit.register
def _end_at_once() -> None:
    """As the first one that is registered this is the last one that is called."""
    if _code and _is_own():
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(_code[0])


@contextmanager
def settled_memory() -> Iterator[None]:
    """The objects of the beginning stay to the end: the garbage collector passes over them.

    It would look again and again at a hundred thousand objects of models and libraries, each time
    in the middle of a step.
    """
    _has_started()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def forget_former_run() -> None:
    """Free what a run has left, when the next one is about to begin in this process.

    What is left refers to itself. The collector would wait for more of it, and find nothing new
    among what :func:`settled_memory` has hidden; the allocator of the C library keeps free pages
    between others, so that a process grows with each run.
    """
    gc.collect()
    try:
        trim = _libc.malloc_trim
    except AttributeError:  # another C library than GNU's
        return
    trim(0)
