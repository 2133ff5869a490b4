# SPDX-License-Identifier: Apache-2.0
"""The process at the other end of a Unix socket, as the operating system knows it."""

from __future__ import annotations

import socket
import struct
from typing import NamedTuple

_UCRED = struct.Struct("iII")


class PeerProcess(NamedTuple):
    """A process (0: it cannot be seen from here), and the user and group that it runs as."""

    process: int
    user: int
    group: int


def peer_of(link: socket.socket) -> PeerProcess:
    """The process that has connected, or listens, at the other end.

    :raises OSError: there is none
    """
    found = link.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _UCRED.size)
    return PeerProcess(*_UCRED.unpack(found))
