# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Garbage on either port closes that connection only; unknown calls get an error answer."""

from __future__ import annotations

import random
import socket
from typing import Any

import msgpack

from ros2_cosim.world.headless.methods import ALL


def _connect(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=60)


def _call(sock: socket.socket, method: str, *arguments: Any) -> Any:
    sock.sendall(msgpack.packb([0, 1, method, [[False], *arguments]]))
    unpacker = msgpack.Unpacker()
    while True:
        for answer in unpacker:
            return answer
        data = sock.recv(65536)
        assert data, "connection closed instead of an answer"
        unpacker.feed(data)


def _closed(sock: socket.socket) -> bool:
    try:
        while sock.recv(65536):
            pass
    except ConnectionResetError:
        pass
    return True


def test_garbage_closes_its_connection_only(shared_port: int) -> None:
    draws = random.Random(1)
    with _connect(shared_port) as bystander:
        for _ in range(30):
            with _connect(shared_port) as sock:
                try:
                    sock.sendall(b"\xc1" + draws.randbytes(draws.randrange(2000)))
                except ConnectionError:
                    continue
                assert _closed(sock)
        assert _call(bystander, "version") == [1, 1, None, [[1, "0.9.16"]]]


def test_unknown_method_is_an_error_answer(shared_port: int) -> None:
    with _connect(shared_port) as sock:
        kind, _, error, result = _call(sock, "make_coffee")
        assert (kind, result) == (1, None)
        assert "make_coffee" in error
        assert _call(sock, "version")[2] is None


def test_wrong_arguments_are_error_answers_for_every_method(shared_port: int) -> None:
    draws = random.Random(2)
    choices = [None, True, -1, 2**40, 1.5, "x", b"y", [], [1, [2]], {"a": 1}, float("nan")]
    with _connect(shared_port) as sock:
        for name in ALL.names():
            if name in ("load_new_episode", "tick_cue"):
                continue
            for _ in range(4):
                arguments = [draws.choice(choices) for _ in range(draws.randrange(8))]
                assert _call(sock, name, *arguments)[2] is None
        assert _call(sock, "get_weather_parameters")[3][0][0] == 1


def test_asynchronous_calls_are_answered_too(shared_port: int) -> None:
    """CARLA does so, and its client keeps each call until then: it would grow without an end."""
    with _connect(shared_port) as sock:
        calls = ["set_weather_parameters", "set_actor_location", "no_such_method"]
        for number, method in enumerate(calls):
            sock.sendall(msgpack.packb([0, 5 + number, method, [[True]]]))
        unpacker = msgpack.Unpacker()
        answers: list[Any] = []
        while len(answers) < len(calls):
            unpacker.feed(sock.recv(4096))
            answers += unpacker
        assert [answer[:2] for answer in answers] == [[1, 5], [1, 6], [1, 7]]


def test_stream_port_survives_garbage(shared_port: int) -> None:
    with _connect(shared_port) as rpc:
        token = _call(rpc, "get_episode_info")[3][0][1][1][0]
        stream_port = int.from_bytes(token[4:6], "little")
        with _connect(stream_port) as sock:
            sock.sendall(b"12345678")  # a client sends four bytes and then nothing
            assert _closed(sock)
        with _connect(stream_port) as silent, _connect(stream_port) as sock:
            silent.sendall(b"\xff\xff\xff\xff")  # no such stream: stays open and silent
            sock.sendall(token[:4])
            assert int.from_bytes(sock.recv(4, socket.MSG_WAITALL), "little") >= 84
