# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Calls by which programs other than the client of a run have changed its world.

The client of a run says which process it is in. A connection that this process does not hold is
one from outside; the first call of each method on it is kept, with its frame and the user.
"""

from __future__ import annotations

import os
import socket
from typing import Final, NamedTuple

from ros2_cosim.core.sockets.peers import peer_socket, user_of

#: Remote methods by which the client of a run is known, and the changes are requested.
RUN_CLIENT: Final = "cosim_run_client"
OUTSIDE_CHANGES: Final = "cosim_outside_changes"
#: How the names of methods begin that change nothing.
_LOOKING: Final = (
    *("get_", "is_", "are_", "query_", "show_", "cosim_"),
    *("version", "project_point", "cast_ray", "request_file", "copy_opendrive_to_file"),
)
_MOST: Final = 100


class OutsideChange(NamedTuple):
    """A method that was called from outside, how often, and when first [frames of the run]."""

    frame: int
    method: str
    calls: int
    by: str


class Outsiders:
    """Keeps what was changed from outside since the client of a run was known."""

    def __init__(self) -> None:
        self._process = 0
        self._began = 0
        self._found: dict[tuple[socket.socket, str], OutsideChange] = {}
        self._own: dict[socket.socket, bool] = {}

    def begin(self, process: int, frame: int) -> None:
        """A run begins: take its client for known, and the frame for the first."""
        if process != self._process:
            self._own.clear()
        self._process, self._began = process, frame
        self._found.clear()

    def note(self, link: socket.socket, method: str, frame: int) -> None:
        """Take note of a call."""
        if not self._process or method.startswith(_LOOKING):
            return
        own = self._own.get(link)
        if own is None:
            own = self._own[link] = _holds(self._process, link)
        if own:
            return
        known = self._found.get((link, method))
        if known is not None:
            self._found[link, method] = known._replace(calls=known.calls + 1)
        elif len(self._found) < _MOST:
            change = OutsideChange(max(0, frame - self._began), method, 1, user_of(link))
            self._found[link, method] = change

    def forget(self, link: socket.socket) -> None:
        """A connection is closed; what it changed stays."""
        self._own.pop(link, None)

    def changes(self) -> list[OutsideChange]:
        """What was changed, in the order in which it began."""
        return sorted(self._found.values())


def _holds(process: int, link: socket.socket) -> bool:
    """Whether a process holds the other end of a connection within this machine."""
    found = peer_socket(link)
    if found is None:
        return False
    wanted, directory = f"socket:[{found.inode}]", f"/proc/{process}/fd"
    try:
        names = os.listdir(directory)
    except OSError:
        return False
    return any(_target(f"{directory}/{name}") == wanted for name in names)


def _target(path: str) -> str:
    try:
        return os.readlink(path)
    except OSError:  # closed meanwhile
        return ""
