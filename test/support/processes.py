# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Processes found by a variable that they inherit, so that no new session or parent hides them."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from pathlib import Path


def marked_processes(variable: str, mark: str) -> dict[int, str]:
    """Living processes whose environment holds ``variable=mark``: process id -> command line.

    This process itself is left out.
    """
    needle = f"{variable}={mark}".encode()
    found = {}
    for directory in Path("/proc").glob("[0-9]*"):
        try:
            if needle not in (directory / "environ").read_bytes().split(b"\0"):
                continue
            command = (directory / "cmdline").read_bytes().replace(b"\0", b" ").decode().strip()
            state = (directory / "stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            continue  # ended meanwhile, or a process of another user
        if state != "Z" and int(directory.name) != os.getpid():
            found[int(directory.name)] = command
    return found


def children_of(pid: int) -> list[int]:
    """The child processes of a process; none, if it has ended."""
    try:
        text = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii")
    except OSError:
        return []
    return [int(child) for child in text.split()]


def descendants_of(pid: int) -> dict[int, str]:
    """Living children of a process, their children and so on: process id -> command line."""
    found = {}
    for child in children_of(pid):
        with suppress(OSError):
            command = Path(f"/proc/{child}/cmdline").read_bytes().replace(b"\0", b" ").decode()
            found[child] = command.strip()
        found |= descendants_of(child)
    return found


def kill(processes: dict[int, str]) -> None:
    """Kill processes that :func:`marked_processes` found."""
    for pid in processes:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
