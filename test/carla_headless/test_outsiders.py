# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Calls from outside of a run are kept with method, frame and user, those of its client are not."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from support.patience import HANG_S

from ros2_cosim.core.sockets.peers import own_user
from ros2_cosim.world.headless.outsiders import OutsideChange, Outsiders

CONNECT = "import socket, sys; s = socket.create_connection(('127.0.0.1', int(sys.argv[1])))\n"
WAIT = "print('here', flush=True); sys.stdin.read()"


@contextmanager
def connected() -> Iterator[tuple[socket.socket, socket.socket]]:
    """The server's ends of a connection of this process, and of one of another process."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        with socket.create_connection(("127.0.0.1", port)), listener.accept()[0] as own:
            words = [sys.executable, "-S", "-c", CONNECT + WAIT, str(port)]
            with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
                assert other.stdout is not None
                assert other.stdout.readline()
                with listener.accept()[0] as outside:
                    yield own, outside
                other.communicate(timeout=HANG_S)


def test_what_others_change_is_kept_from_the_begin_of_the_run_on() -> None:
    outsiders = Outsiders()
    with connected() as (own, outside):
        outsiders.note(outside, "spawn_actor", 3)  # no run is known yet
        outsiders.begin(os.getpid(), 10)
        for frame in (10, 12, 13):
            outsiders.note(own, "add_actor_impulse", frame)
            outsiders.note(outside, "get_actors_by_id", frame)
        assert outsiders.changes() == []
        for frame in (12, 13):
            outsiders.note(outside, "add_actor_impulse", frame)
        outsiders.note(outside, "tick_cue", 11)
        assert outsiders.changes() == [
            OutsideChange(1, "tick_cue", 1, own_user()),
            OutsideChange(2, "add_actor_impulse", 2, own_user()),
        ]
        outsiders.begin(os.getpid(), 20)
        assert outsiders.changes() == []


def test_a_connection_is_known_anew_to_the_client_of_the_next_run() -> None:
    outsiders = Outsiders()
    with connected() as (own, _):
        outsiders.begin(1, 0)
        outsiders.note(own, "tick_cue", 1)
        assert [change.method for change in outsiders.changes()] == ["tick_cue"]
        outsiders.begin(os.getpid(), 0)
        outsiders.note(own, "tick_cue", 1)
        assert outsiders.changes() == []


def test_no_program_fills_the_memory() -> None:
    outsiders = Outsiders()
    with connected() as (_, outside):
        outsiders.begin(os.getpid(), 0)
        for number in range(300):
            outsiders.note(outside, f"method{number}", number)
        assert len(outsiders.changes()) == 100
