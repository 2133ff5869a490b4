# SPDX-License-Identifier: Apache-2.0
"""An end for a process that cannot end.

Fast DDS can block for ever while nodes are given up (its listener and its discovery wait for each
other; see its issues 6502 and 6513), with Python's lock held: then nothing but the kernel can end
the process.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

#: Giving up a node takes some hundredths of a second.
LIMIT_S = 20.0
_lock = Lock()
_going_on: list[None] = []


@contextmanager
def limited_teardown() -> Iterator[None]:
    """The process is killed by SIGALRM if the body takes too long; any thread may enter it.

    Nobody in this process may have a handler for that signal.
    """
    with _lock:
        _going_on.append(None)
        # One timer for all threads: who comes later prolongs it, the last one stops it.
        signal.setitimer(signal.ITIMER_REAL, LIMIT_S)
    try:
        yield
    finally:
        with _lock:
            _going_on.pop()
            if not _going_on:
                signal.setitimer(signal.ITIMER_REAL, 0.0)
