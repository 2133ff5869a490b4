# SPDX-License-Identifier: Apache-2.0
"""How a process belongs to its parent (Linux)."""

from __future__ import annotations

import ctypes
import os
import signal

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_PR_GET_CHILD_SUBREAPER = 37
# Loaded here and not where it is used: after a fork, before the new program, nothing may be loaded.
_prctl = ctypes.CDLL(None, use_errno=True).prctl


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
