# SPDX-License-Identifier: Apache-2.0
"""A single-threaded event loop: sockets, timers and a stop request from signal handlers."""

from __future__ import annotations

import contextlib
import fcntl
import heapq
import itertools
import selectors
import socket
import struct
import termios
import time
from collections import deque
from collections.abc import Callable

_RECEIVE_BYTES = 256 * 1024
_ACCEPT_PAUSE_S = 0.1


class EventLoop:
    """Calls back when sockets are ready or timers expire, until ``stop`` is called."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self._timers: list[tuple[float, int, Callable[[], None]]] = []
        self._timer_ids = itertools.count()
        self._running = True
        self._wake_receiver, self._wake_sender = socket.socketpair()
        self._wake_receiver.setblocking(False)
        self._wake_sender.setblocking(False)
        self.watch(self._wake_receiver, self._drain_wake)

    @property
    def wake_descriptor(self) -> int:
        """For ``signal.set_wakeup_fd``: a byte written here makes the loop turn once."""
        return self._wake_sender.fileno()

    def watch(
        self,
        sock: socket.socket,
        on_readable: Callable[[], None] | None,
        on_writable: Callable[[], None] | None = None,
    ) -> None:
        """Call back when ``sock`` can be read or written; replaces an earlier watch."""
        events = (selectors.EVENT_READ if on_readable else 0) | (
            selectors.EVENT_WRITE if on_writable else 0
        )
        watched = sock in self._selector.get_map()
        if not events:
            if watched:
                self._selector.unregister(sock)
        elif watched:
            self._selector.modify(sock, events, (on_readable, on_writable))
        else:
            self._selector.register(sock, events, (on_readable, on_writable))

    def call_later(self, delay: float, callback: Callable[[], None]) -> None:
        """Call ``callback`` once, ``delay`` wall-clock seconds from now."""
        entry = (time.monotonic() + delay, next(self._timer_ids), callback)
        heapq.heappush(self._timers, entry)

    def run(self) -> None:
        """Serve until ``stop``; callbacks that raise end the loop with their exception."""
        while self._running:
            timeout = None
            if self._timers:
                timeout = max(0.0, self._timers[0][0] - time.monotonic())
            for key, mask in self._selector.select(timeout):
                on_readable, on_writable = key.data
                if mask & selectors.EVENT_WRITE and on_writable:
                    on_writable()
                if mask & selectors.EVENT_READ and on_readable:
                    on_readable()
            now = time.monotonic()
            while self._timers and self._timers[0][0] <= now:
                heapq.heappop(self._timers)[2]()

    def stop(self) -> None:
        """End ``run`` after the current turn; may be called from a signal handler."""
        self._running = False
        with contextlib.suppress(OSError):  # a full wake buffer wakes the loop as well
            self._wake_sender.send(b"\0")

    def close(self) -> None:
        """Release the loop's own descriptors."""
        self._selector.close()
        self._wake_receiver.close()
        self._wake_sender.close()

    def _drain_wake(self) -> None:
        with contextlib.suppress(OSError):
            self._wake_receiver.recv(4096)


class Connection:
    """One accepted TCP connection with an outgoing backlog; never blocks."""

    def __init__(
        self,
        loop: EventLoop,
        sock: socket.socket,
        on_data: Callable[[bytes], None],
        on_close: Callable[[], None],
        on_drained: Callable[[], None] | None = None,
    ) -> None:
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._loop = loop
        self._sock = sock
        self._on_data = on_data
        self._on_close = on_close
        self._on_drained = on_drained
        self._outgoing: deque[bytes] = deque()
        self._reading = True
        self.backlog = 0
        self.open = True
        self._update_watch()

    def send(self, data: bytes) -> None:
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
            data = data[sent:]
        self._outgoing.append(data)
        self.backlog += len(data)
        self._update_watch()

    @property
    def unread(self) -> int:
        """Bytes sent that the peer's machine has not taken: backlog and the kernel's queue."""
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
            self._loop.watch(self._sock, None)
            self._sock.close()
            self._outgoing.clear()
            self.backlog = 0
            self._on_close()

    def _update_watch(self) -> None:
        self._loop.watch(
            self._sock,
            self._read if self._reading else None,
            self._write if self._outgoing else None,
        )

    def _read(self) -> None:
        if not self.open:
            return
        try:
            data = self._sock.recv(_RECEIVE_BYTES)
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
                self._outgoing[0] = data[sent:]
                return
            self._outgoing.popleft()
        self._update_watch()
        if self._on_drained:
            self._on_drained()


class Listener:
    """A listening TCP socket that hands accepted sockets to a callback."""

    def __init__(
        self, loop: EventLoop, host: str, port: int, on_accept: Callable[[socket.socket], None]
    ) -> None:
        """Bind and listen.

        :raises OSError: if the address cannot be bound
        """
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._loop = loop
        self._on_accept = on_accept
        self._sock = socket.socket(family, socket.SOCK_STREAM)
        try:
            self._sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            self._sock.bind((host, port))
            self._sock.listen(128)
        except BaseException:
            self._sock.close()
            raise
        self._sock.setblocking(False)
        self._open = True
        self.port: int = self._sock.getsockname()[1]
        loop.watch(self._sock, self._accept)

    def close(self) -> None:
        """Stop listening."""
        self._open = False
        self._loop.watch(self._sock, None)
        self._sock.close()

    def _accept(self) -> None:
        try:
            sock, _ = self._sock.accept()
        except OSError:  # the peer gave up, or no descriptors are left: try again later
            self._loop.watch(self._sock, None)
            self._loop.call_later(_ACCEPT_PAUSE_S, self._resume)
            return
        self._on_accept(sock)

    def _resume(self) -> None:
        if self._open:
            self._loop.watch(self._sock, self._accept)
