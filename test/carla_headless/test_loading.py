# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What a client goes through when it loads a map: its episode, its other threads, its traffic."""

from __future__ import annotations

import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgpack
from support.headless_process import TOWN, start_server

PROGRAM = Path(__file__).with_name("traffic_on_several_maps.py")
#: Longer than any machine needs [s].
HANG_S = 280
_SIZE = struct.Struct("<I")
# Sensor header, then the number of the episode.
_HEADER_BYTES, _EPISODE = 48, struct.Struct("<Q")


def _ask(sock: socket.socket, *calls: tuple[Any, ...]) -> None:
    """Send calls in one piece, numbered from 0."""
    sock.sendall(
        b"".join(
            msgpack.packb([0, number, method, [[False], *arguments]])
            for number, (method, *arguments) in enumerate(calls)
        )
    )


def _answers(sock: socket.socket) -> Iterator[tuple[int, Any]]:
    unpacker = msgpack.Unpacker()
    while True:
        for _, number, error, result in unpacker:
            assert error is None
            yield number, result[0]
        unpacker.feed(sock.recv(65536))


def _connect(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=60)


def test_calls_of_other_threads_wait_until_the_client_has_its_new_episode(server_port: int) -> None:
    with _connect(server_port) as sock:
        _ask(
            sock,
            ("get_episode_info",),
            ("load_new_episode", "", True, 65535),
            ("get_episode_settings",),  # as the thread of a traffic manager asks
            ("version",),
            ("get_episode_info",),
            ("get_sensor_token", 1),
            ("get_episode_info",),
        )
        answers = _answers(sock)
        seen = [next(answers) for _ in range(7)]
        assert [number for number, _ in seen] == [0, 1, 3, 4, 5, 2, 6]
        results = dict(seen)
        before, after = results[0][1][0], results[6][1][0]
        assert after == before + 1
        # The one that has loaded sees the change in a snapshot.
        assert results[4][1][0] == before


def test_a_load_is_over_when_the_traffic_manager_of_the_client_has_stopped(
    server_port: int,
) -> None:
    """In the midst of its step it would look at an episode that the client has dropped."""
    with _connect(server_port) as sock:
        answers = _answers(sock)
        _ask(sock, ("add_traffic_manager_running", ["127.0.0.1", 8000]))
        next(answers)
        try:
            began = time.monotonic()
            _ask(sock, ("load_new_episode", "", True, 65535))
            next(answers)
            assert time.monotonic() - began > 0.4  # no call has come
            _ask(sock, ("get_episode_info",), ("get_sensor_token", 1))
            assert [next(answers)[0] for _ in range(2)] == [0, 1]
            # Here one comes: it is answered when the episode is there.
            _ask(
                sock,
                ("load_new_episode", "", True, 65535),
                ("get_episode_settings",),
                ("get_episode_info",),
                ("get_sensor_token", 1),
            )
            assert [next(answers)[0] for _ in range(4)] == [0, 2, 3, 1]
        finally:
            _ask(sock, ("destroy_traffic_manager", 8000))


def test_no_frame_comes_between_the_load_and_the_next_subscription(server_port: int) -> None:
    with _connect(server_port) as sock:
        answers = _answers(sock)
        _ask(sock, ("get_episode_info",))
        token = next(answers)[1][1][1][0]
        with _connect(int.from_bytes(token[4:6], "little")) as stream:
            stream.sendall(token[:4])
            assert _episode_of_next(stream) == 1
            _ask(sock, ("load_new_episode", "", True, 65535))
            next(answers)
            stream.settimeout(0.3)
            episodes = []
            try:
                while True:
                    episodes.append(_episode_of_next(stream))
            except TimeoutError:
                pass
            assert set(episodes) <= {1}
            stream.settimeout(60)
            _ask(sock, ("get_episode_info",), ("get_sensor_token", 1))
            assert next(answers)[1][1][0] == 1
            assert _episode_of_next(stream) == 2


def test_a_client_that_never_renews_is_answered_and_the_world_goes_on(server_port: int) -> None:
    with _connect(server_port) as sock:
        answers = _answers(sock)
        _ask(sock, ("load_new_episode", "", True, 65535), ("get_available_maps",))
        assert [next(answers)[0] for _ in range(2)] == [0, 1]
        with _connect(server_port) as other:
            others = _answers(other)
            _ask(other, ("get_episode_info",), ("get_episode_info",))
            assert [next(others)[1][1][0] for _ in range(2)] == [1, 2]


def test_a_traffic_manager_drives_on_every_map_that_is_loaded() -> None:
    """It stayed on the roads of the map before, or ended the program: the client's own threads."""
    process, port = start_server("--map", str(TOWN.with_name("circuit.xodr")), first=TOWN)
    command = [sys.executable, str(PROGRAM), str(port), "town", "circuit", "town"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=HANG_S, check=False)
    process.terminate()
    _, messages = process.communicate(timeout=60)
    lines = [line.split() for line in done.stdout.splitlines() if not line.startswith("WARNING")]
    assert [line[0] for line in lines] == ["town", "circuit", "town"], done.stdout + done.stderr
    for _, cars, way, farthest in lines:
        assert int(cars) >= 3
        assert float(way) > 10.0
        assert float(farthest) < 2.5
    assert process.returncode == 0 and "Traceback" not in messages, messages


def _episode_of_next(stream: socket.socket) -> int:
    size = _SIZE.unpack(_exactly(stream, _SIZE.size))[0]
    episode: int = _EPISODE.unpack_from(_exactly(stream, size), _HEADER_BYTES)[0]
    return episode


def _exactly(stream: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        part = stream.recv(size - len(data))
        assert part, "stream ended"
        data += part
    return data
