# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Waiting for a file, also for one whose number is too high for ``select``."""

from __future__ import annotations

import fcntl
import os
import resource
import socket
from collections.abc import Iterator

import pytest

from ros2_cosim.core.sockets.waiting import readable, writable

HIGH = 1500


@pytest.fixture(params=[0, HIGH])
def ends(request: pytest.FixtureRequest) -> Iterator[tuple[socket.socket, socket.socket]]:
    """Two connected sockets; the first has at least that number."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, HIGH + 1), hard))
    near, far = socket.socketpair()
    moved = socket.socket(fileno=fcntl.fcntl(near, fcntl.F_DUPFD_CLOEXEC, request.param))
    near.close()
    with moved, far:
        moved.setblocking(False)
        yield moved, far
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_what_comes_is_noticed(ends: tuple[socket.socket, socket.socket]) -> None:
    near, far = ends
    assert not readable(near, 0.0)
    assert not readable(near, 0.001)
    far.send(b"x")
    assert readable(near, 0.0)
    assert readable(near, None)
    assert readable(near.fileno(), 10.0)


def test_the_end_of_the_other_side_is_noticed(ends: tuple[socket.socket, socket.socket]) -> None:
    near, far = ends
    far.close()
    assert readable(near, 10.0)
    assert near.recv(1) == b""


def test_room_is_noticed(ends: tuple[socket.socket, socket.socket]) -> None:
    near, far = ends
    assert writable(near, 0.0)
    with pytest.raises(BlockingIOError):
        while True:
            near.send(bytes(65536))
    assert not writable(near, 0.001)
    while not writable(near, 0.0):
        assert os.read(far.fileno(), 65536)
