# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Sockets that never block: listeners, TCP connections with a bounded backlog, UDP sockets."""

from __future__ import annotations

import fcntl
import ipaddress
import select
import socket
import struct
import termios
from collections import deque
from collections.abc import Callable
from time import monotonic

from ros2_cosim.core.sockets.inherited import INHERITED
from ros2_cosim.core.sockets.peers import ADMISSION
from ros2_cosim.core.sockets.reactor import Reactor

#: One callback reads at most this much, so that other sockets get their turn [bytes].
READ_SIZE = 256 * 1024
#: A connection whose peer leaves more than this unread is closed [bytes].
MAX_BACKLOG = 256 * 1024 * 1024
_ACCEPT_PAUSE_NS = 100_000_000


def open_listener(host: str, port: int) -> socket.socket:
    """A listening TCP socket that does not block; port 0 takes a free one.

    It takes over a socket that the starter of this process has bound for it.

    :param host: an IPv4 or IPv6 address, or a name
    :raises OSError: the address cannot be used
    """
    return _bound(socket.SOCK_STREAM, host, port)


def open_udp(host: str, port: int, receive_buffer: int | None = None) -> socket.socket:
    """A bound UDP socket that does not block; port 0 takes a free one.

    It takes over a socket that the starter of this process has bound for it.

    :param receive_buffer: size of the operating system's queue [bytes]; None keeps its default
    :raises OSError: the address cannot be used
    """
    sock = _bound(socket.SOCK_DGRAM, host, port)
    if receive_buffer is not None:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
    return sock


def address_towards(host: str, port: int) -> str:
    """The IPv4 address of this machine from which it sends to a host.

    :raises OSError: no way leads there
    """
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect((host, port))  # sends nothing
        return str(probe.getsockname()[0])


def is_local(host: str) -> bool:
    """Whether this machine can listen on an IPv4 address."""
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
            sock.bind((host, 0))
    except OSError:
        return False
    return True


def is_loopback(host: str) -> bool:
    """Whether an address, or a name, is that of this machine alone."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _bound(kind: socket.SocketKind, host: str, port: int) -> socket.socket:
    name = "tcp" if kind == socket.SOCK_STREAM else "udp"
    _ = ADMISSION.hosts  # a wrong list is refused before anything listens
    inherited = INHERITED.take(name, host, port)
    sock = inherited or socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, kind)
    try:
        if inherited is None:
            if kind == socket.SOCK_STREAM:
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            sock.bind((host, port))
        if kind == socket.SOCK_STREAM:
            sock.listen(128)
        sock.setblocking(False)
    except OverflowError as error:  # a port number that does not exist
        sock.close()
        raise OSError(str(error)) from None
    except BaseException:
        sock.close()
        raise
    return sock


def send_all(sock: socket.socket, data: bytes, timeout_s: float) -> None:
    """Send ``data`` completely on a socket that does not block, waiting where it is full.

    :raises TimeoutError: the peer has not taken it within ``timeout_s``
    :raises OSError: the connection is broken
    """
    rest = memoryview(data)
    until = None
    while rest:
        try:
            rest = rest[sock.send(rest) :]
        except BlockingIOError:
            if until is None:
                until = monotonic() + timeout_s
                poller = select.poll()
                poller.register(sock, select.POLLOUT)
            if not poller.poll(max(0.0, until - monotonic()) * 1000):
                raise TimeoutError(
                    f"the other side has not taken {len(data)} bytes within {timeout_s:g} s"
                ) from None


class TcpConnection:
    """One TCP connection with an outgoing backlog; it never blocks.

    :param reactor: serves the connection
    :param sock: a connected socket, which the connection owns from now on
    :param on_data: called with what has arrived, at most ``READ_SIZE`` bytes at once
    :param on_close: called once, when the connection is closed from either side
    :param on_drained: called when the whole backlog has left
    :param max_backlog: see ``MAX_BACKLOG``
    :ivar backlog: bytes that wait here for the socket
    :ivar overrun: whether it was closed since the peer left too much unread
    """

    def __init__(
        self,
        reactor: Reactor,
        sock: socket.socket,
        on_data: Callable[[bytes], None],
        on_close: Callable[[], None],
        on_drained: Callable[[], None] | None = None,
        max_backlog: int = MAX_BACKLOG,
    ) -> None:
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._reactor = reactor
        self._sock = sock
        self._on_data = on_data
        self._on_close = on_close
        self._on_drained = on_drained
        self._outgoing: deque[bytes | memoryview] = deque()
        self._reading = True
        self._max_backlog = max_backlog
        self.backlog = 0
        self.overrun = False
        self.open = True
        self._update_watch()

    def send(self, data: bytes | memoryview) -> None:
        """Send now as far as the socket takes it, keep the rest until it is writable."""
        if not self.open:
            return
        if not self._outgoing:
            try:
                sent = self._sock.send(data)
            except BlockingIOError:
                sent = 0
            except OSError:
                self.close()
                return
            if sent == len(data):
                return
            data = memoryview(data)[sent:]
        if self.backlog + len(data) > self._max_backlog:
            self.overrun = True
            self.close()
            return
        self._outgoing.append(data)
        self.backlog += len(data)
        self._update_watch()

    @property
    def unread(self) -> int:
        """Bytes sent that the peer's machine has not taken: backlog and the system's queue."""
        if not self.open:
            return 0
        queued = fcntl.ioctl(self._sock, termios.TIOCOUTQ, bytes(4))
        return self.backlog + int(struct.unpack("i", queued)[0])

    def pause_reading(self, paused: bool) -> None:
        """Stop (or resume) taking bytes from the peer."""
        if self._reading == paused and self.open:
            self._reading = not paused
            self._update_watch()

    def close(self) -> None:
        """Close the connection and report it once."""
        if self.open:
            self.open = False
            self._reactor.forget(self._sock)
            self._sock.close()
            self._outgoing.clear()
            self.backlog = 0
            self._on_close()

    def _update_watch(self) -> None:
        self._reactor.watch(
            self._sock,
            self._read if self._reading else None,
            self._write if self._outgoing else None,
        )

    def _read(self) -> None:
        try:
            data = self._sock.recv(READ_SIZE)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if data:
            self._on_data(data)
        else:
            self.close()

    def _write(self) -> None:
        while self._outgoing:
            data = self._outgoing[0]
            try:
                sent = self._sock.send(data)
            except BlockingIOError:
                return
            except OSError:
                self.close()
                return
            self.backlog -= sent
            if sent < len(data):
                self._outgoing[0] = memoryview(data)[sent:]
                return
            self._outgoing.popleft()
        self._update_watch()
        if self._on_drained:
            self._on_drained()


class Listener:
    """A listening TCP socket that hands accepted sockets to a callback.

    Those of other users of this machine are closed (:mod:`ros2_cosim.core.sockets.peers`).

    :ivar port: the port in use
    :raises OSError: the address cannot be used
    """

    def __init__(
        self,
        reactor: Reactor,
        host: str,
        port: int,
        on_accept: Callable[[socket.socket], object],
    ) -> None:
        self._reactor = reactor
        self._on_accept = on_accept
        self._sock = open_listener(host, port)
        self._open = True
        self.port: int = self._sock.getsockname()[1]
        reactor.watch(self._sock, self._accept)

    def close(self) -> None:
        """Stop listening."""
        self._open = False
        self._reactor.forget(self._sock)
        self._sock.close()

    def _accept(self) -> None:
        try:
            sock, _ = self._sock.accept()
        except BlockingIOError:  # the peer gave up
            return
        except OSError:  # no descriptors are left: the socket stays ready, so try again later
            self._reactor.forget(self._sock)
            self._reactor.call_later(_ACCEPT_PAUSE_NS, self._resume)
            return
        if ADMISSION.admits(sock):
            self._on_accept(sock)
        else:
            sock.close()

    def _resume(self) -> None:
        if self._open:
            self._reactor.watch(self._sock, self._accept)
