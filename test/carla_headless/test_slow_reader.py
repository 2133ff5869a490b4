# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Readers that do not read: synchronous ticks wait while they read; others go on."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgpack
import pytest
from support.headless_process import HIGHWAY

from ros2_cosim.world.headless import simulation, streaming
from ros2_cosim.world.headless.maps import MapLibrary
from ros2_cosim.world.headless.server import Server
from ros2_cosim.world.headless.wire_types import Transform, Vector

_ACTORS = 300  # make a snapshot of about 36 kB
_SYNCHRONOUS = [True, False, [True, 0.01], True, 0.01, 10, 0.0, True, 3e3, 2e3, True]


class _Caller:
    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=60)
        self._unpacker = msgpack.Unpacker()

    def send(self, method: str, *arguments: Any) -> None:
        self.socket.sendall(msgpack.packb([0, 1, method, [[False], *arguments]]))

    def answer(self) -> Any:
        while True:
            for message in self._unpacker:
                return message[3][0][1]
            data = self.socket.recv(1 << 20)
            assert data
            self._unpacker.feed(data)

    def call(self, method: str, *arguments: Any) -> Any:
        self.send(method, *arguments)
        return self.answer()


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setattr(streaming, "CONGESTED_BYTES", 100_000)
    # A reader on a busy machine is slow, not stuck.
    monkeypatch.setattr(streaming, "PATIENCE_S", 120.0)
    server = Server(MapLibrary([Path(HIGHWAY)]), "127.0.0.1", 0)
    for i in range(_ACTORS):
        place = Transform(Vector(10.0 + 2.0 * i, 5.25, 0.0))
        server.simulation.world.spawn("static.prop.trafficcone01", place)
    thread = threading.Thread(target=server.run)
    thread.start()
    yield server
    server.stop()
    thread.join()
    server.close()


def _subscribe(caller: _Caller) -> socket.socket:
    token = caller.call("get_sensor_token", 1)[0]
    port = int.from_bytes(token[4:6], "little")
    stream = socket.socket()
    # Room for several messages: with less the kernel drops segments when this process is
    # slow, and the pace is that of TCP's retransmission timer.
    stream.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
    stream.settimeout(60)
    stream.connect(("127.0.0.1", port))
    stream.sendall(token[:4])
    return stream


def _frames(stream: socket.socket, last: int) -> list[int]:
    found = []
    with stream.makefile("rb", 1 << 20) as reader:
        while not found or found[-1] < last:
            size = struct.unpack("<I", reader.read(4))[0]
            found.append(struct.unpack_from("<8xQ", reader.read(size))[0])
    return found


def test_a_slow_reader_misses_no_frame(server: Server) -> None:
    caller, other = _Caller(server.port), _Caller(server.port)
    first = caller.call("set_episode_settings", _SYNCHRONOUS)
    stream = _subscribe(caller)
    for _ in range(400):  # 14 MB: far more than the buffers take
        caller.send("tick_cue")
    assert other.call("version") == "0.9.16"  # no other client waits
    frames = _frames(stream, first + 400)
    assert frames == list(range(first + 1, first + 401))
    assert [caller.answer() for _ in range(400)] == frames


def test_a_reader_that_never_reads_holds_nothing_up(server: Server) -> None:
    caller = _Caller(server.port)
    first = caller.call("set_episode_settings", _SYNCHRONOUS)
    stream = _subscribe(caller)
    # 28 MB; patience would end after two minutes, more than the sockets here wait.
    for _ in range(800):
        caller.send("tick_cue")
    assert [caller.answer() for _ in range(800)] == list(range(first + 1, first + 801))
    # What it has left unread is kept.
    assert _frames(stream, first + 800) == list(range(first + 1, first + 801))
    stream.close()


def test_a_stuck_reader_is_dropped(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streaming, "PATIENCE_S", 1.5)
    caller = _Caller(server.port)
    caller.call("set_episode_settings", _SYNCHRONOUS)
    stream = _subscribe(caller)
    for _ in range(400):
        caller.send("tick_cue")
    answers = [caller.answer() for _ in range(400)]
    assert answers == list(range(answers[0], answers[0] + 400))
    stream.close()


def test_asynchronous_mode_skips_messages_for_a_slow_reader(server: Server) -> None:
    caller = _Caller(server.port)
    fast = [True, 0.0005]
    stream = _subscribe(caller)
    caller.call("set_episode_settings", [False, False, fast, *_SYNCHRONOUS[3:]])
    watcher = _subscribe(caller)
    latest = _frames(watcher, caller.call("tick_cue") + 300)[-1]
    frames = _frames(stream, latest)
    assert frames == sorted(set(frames))
    assert len(frames) < frames[-1] - frames[0] + 1


def test_nothing_is_computed_for_readers_that_would_miss_it(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    packed: list[int] = []
    pack = simulation.pack_world

    def counted(*arguments: Any) -> bytes:
        packed.append(arguments[0])
        return pack(*arguments)

    monkeypatch.setattr(simulation, "pack_world", counted)
    caller = _Caller(server.port)
    stream = _subscribe(caller)
    caller.call("set_episode_settings", [False, False, [True, 0.0005], *_SYNCHRONOUS[3:]])
    # It reads nothing: at some time the buffers are full, and the world goes on without snapshots.
    looks = []
    for _ in range(100):
        frame = caller.call("tick_cue")
        while caller.call("tick_cue") < frame + 100:
            pass
        looks.append(len(packed))
        if looks[-2:-1] == looks[-1:]:
            break
    assert looks[0] > 0 and looks[-1] == looks[-2]
    stream.close()
