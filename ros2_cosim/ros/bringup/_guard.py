# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The program of :class:`ros2_cosim.ros.bringup.guard.Guard`: ends a run whose starter has gone.

Run as a file, with a mark as its argument, by a bare interpreter: it imports nothing else of this
package. It reads the starter's pipe to its end. Without a word before that the starter was killed:
the processes of its run are those that have inherited the mark in their environment, whatever
session or parent they have by now.
"""

from __future__ import annotations

import os
import signal
import sys
import time

#: So long [s] they may take to end in order. What is left after that, frozen or deaf, is killed.
GRACE_S = 3.0
#: So long [s] it looks for processes that were being started meanwhile.
_LAST_LOOK_S = 2.0
_POLL_S = 0.1
#: Number and interval [s] of its looks at a process that seems to have no environment.
_LOOKS = 5
_LOOK_S = 0.01


def marked(mark: bytes) -> list[int]:
    """Process ids of living processes with ``mark`` (``NAME=value``) in their environment."""
    found = []
    for entry in os.listdir("/proc"):
        if not entry.isdigit() or int(entry) == os.getpid():
            continue
        try:
            if mark in _environment("/proc/" + entry).split(b"\0"):
                found.append(int(entry))
        except OSError:
            continue  # it has ended, or belongs to another user
    return found


def _environment(process: str) -> bytes:
    """The environment of a process in the words of the kernel; empty if it has none."""
    for _ in range(_LOOKS):
        with open(process + "/environ", "rb") as file:
            content = file.read()
        if content:
            return content
        # In the middle of exec() the environment is empty. It has none at all if it has ended, or
        # is a thread of the kernel: neither has a program.
        os.readlink(process + "/exe")
        time.sleep(_LOOK_S)
    return b""


def send(pids: list[int], number: int) -> None:
    """Send a signal to processes that may have ended."""
    for pid in pids:
        try:
            os.kill(pid, number)
        except OSError:
            continue


def end_all(mark: bytes) -> None:
    """End all processes of the run: in order if they can, by force if not."""
    deadline = time.monotonic() + GRACE_S
    pids = marked(mark)
    # The kernel has asked those that the starter has started itself (core/process/processes.py),
    # but not those of ``ros2 launch``, and not what they have started.
    send(pids, signal.SIGTERM)
    # A process that is stopped could not end.
    send(pids, signal.SIGCONT)
    while marked(mark) and time.monotonic() < deadline:
        time.sleep(_POLL_S)
    deadline += _LAST_LOOK_S
    while (pids := marked(mark)) and time.monotonic() < deadline:
        send(pids, signal.SIGKILL)
        time.sleep(_POLL_S)


def main() -> None:
    """Wait for the end of the starter."""
    if not os.read(0, 1):
        end_all(os.fsencode(sys.argv[1]))


if __name__ == "__main__":
    main()
