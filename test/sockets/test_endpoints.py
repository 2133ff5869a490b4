# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Connections and listeners: nothing is lost, nothing grows without bound, nothing blocks."""

import errno
import hashlib
import socket
import threading
import time
from collections.abc import Iterator

import pytest
from support.patience import HANG_S

from ros2_cosim.core.sockets.endpoints import (
    READ_SIZE,
    Listener,
    TcpConnection,
    open_listener,
    open_udp,
    send_all,
)
from ros2_cosim.core.sockets.reactor import Reactor


@pytest.fixture
def reactor() -> Iterator[Reactor]:
    with Reactor() as made:
        yield made


def soon() -> int:
    return time.monotonic_ns() + int(HANG_S * 1e9)


class Echo:
    """A server that sends everything back."""

    def __init__(self, reactor: Reactor) -> None:
        self.reactor = reactor
        self.connections: list[TcpConnection] = []
        self.closed = 0
        self.sizes: list[int] = []
        self.listener = Listener(reactor, "127.0.0.1", 0, self.accept)

    def accept(self, sock: socket.socket) -> None:
        def data(received: bytes) -> None:
            self.sizes.append(len(received))
            connection.send(received)

        connection = TcpConnection(self.reactor, sock, data, self.close)
        self.connections.append(connection)

    def close(self) -> None:
        self.closed += 1


def test_many_bytes_come_back_unchanged_and_in_bounded_pieces(reactor):
    echo = Echo(reactor)
    data = hashlib.shake_128(b"seed").digest(8_000_000)
    got = bytearray()

    def client() -> None:
        with socket.create_connection(("127.0.0.1", echo.listener.port)) as sock:
            writer = threading.Thread(target=sock.sendall, args=(data,))
            writer.start()
            while len(got) < len(data):
                got.extend(sock.recv(65536))
            writer.join()

    thread = threading.Thread(target=client)
    thread.start()
    assert reactor.run_until(lambda: echo.closed == 1, soon())
    thread.join()
    assert bytes(got) == data
    assert max(echo.sizes) <= READ_SIZE
    assert echo.connections[0].backlog == 0
    echo.listener.close()


def test_a_peer_that_reads_nothing_is_closed_at_the_bound(reactor):
    listener = open_listener("127.0.0.1", 0)
    far = socket.create_connection(listener.getsockname())
    listener.setblocking(True)
    near, _ = listener.accept()
    closed = []
    connection = TcpConnection(
        reactor, near, lambda data: None, lambda: closed.append(1), max_backlog=1_000_000
    )
    for _ in range(100_000):
        connection.send(bytes(10_000))
        assert connection.backlog <= 1_000_000
        if not connection.open:
            break
    assert connection.overrun and closed == [1] and connection.backlog == 0
    assert connection.unread == 0
    connection.send(b"nothing happens")
    connection.close()
    assert closed == [1]
    far.close()
    listener.close()


def test_reading_pauses_and_goes_on(reactor):
    echo = Echo(reactor)
    with socket.create_connection(("127.0.0.1", echo.listener.port)) as sock:
        assert reactor.run_until(lambda: bool(echo.connections), soon())
        echo.connections[0].pause_reading(True)
        sock.sendall(b"later")
        assert not reactor.run_until(lambda: bool(echo.sizes), time.monotonic_ns() + 20_000_000)
        echo.connections[0].pause_reading(False)
        assert reactor.run_until(lambda: bool(echo.sizes), soon())
    echo.listener.close()


def test_a_listener_without_descriptors_tries_again(reactor, monkeypatch):
    accepted = []
    listener = Listener(reactor, "127.0.0.1", 0, accepted.append)
    accept = socket.socket.accept
    failures = iter([OSError(errno.EMFILE, "Too many open files")] * 2)

    def failing(sock: socket.socket):
        for error in failures:
            raise error
        return accept(sock)

    monkeypatch.setattr(socket.socket, "accept", failing)
    turns = 0

    def done() -> bool:
        nonlocal turns
        turns += 1
        return bool(accepted)

    with socket.create_connection(("127.0.0.1", listener.port)):
        assert reactor.run_until(done, soon())
    assert turns < 20  # it pauses, it does not spin
    accepted[0].close()
    listener.close()


def test_a_port_that_is_taken_or_does_not_exist_is_an_oserror():
    with open_listener("127.0.0.1", 0) as taken, pytest.raises(OSError, match="in use"):
        open_listener("127.0.0.1", taken.getsockname()[1])
    with open_udp("127.0.0.1", 0) as taken, pytest.raises(OSError, match="in use"):
        open_udp("127.0.0.1", taken.getsockname()[1])
    for opened in (open_listener, open_udp):
        with pytest.raises(OSError):
            opened("127.0.0.1", 65536)
        with pytest.raises(OSError):
            opened("no host of this name", 0)


def test_udp_has_the_receive_buffer_that_was_asked_for():
    with open_udp("127.0.0.1", 0, receive_buffer=8192) as sock:
        assert sock.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF) == 2 * 8192  # Linux doubles
        with pytest.raises(BlockingIOError):
            sock.recv(1)


def test_send_all_waits_for_a_slow_reader_and_gives_up_on_one_that_stopped():
    near, far = socket.socketpair()
    near.setblocking(False)
    data = hashlib.shake_128(b"seed").digest(4_000_000)
    got = bytearray()

    def read() -> None:
        while len(got) < len(data):
            got.extend(far.recv(65536))

    thread = threading.Thread(target=read)
    thread.start()
    send_all(near, data, 5.0)
    thread.join()
    assert bytes(got) == data
    with pytest.raises(TimeoutError, match="has not taken 4000000 bytes within 0.05 s"):
        send_all(near, data, 0.05)
    far.close()
    with pytest.raises(OSError):
        send_all(near, data, 5.0)
    near.close()
