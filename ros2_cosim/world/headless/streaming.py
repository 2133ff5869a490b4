# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The streaming port: subscribers per stream, length-prefixed messages, slow readers.

A client connects, sends the stream id (u32) and from then on only receives. A subscriber
whose backlog exceeds ``CONGESTED_BYTES`` is *congested*. In synchronous mode the server holds
the next tick for it as long as it reads: one that has taken nothing for ``GRACE_S`` holds
nothing up, its messages are kept. It is dropped when it has taken nothing for ``PATIENCE_S``, or
leaves more than ``MOST_KEPT_BYTES`` unread. In asynchronous mode a congested one misses messages.

A client asks for a stream's token before it connects. From then until its connection has
arrived the subscription is *announced*; synchronous ticks wait for that as well (at most
``ANNOUNCED_NS``), so that a sensor misses nothing of the tick after ``listen``.
"""

from __future__ import annotations

import logging
import socket
from collections.abc import Callable
from time import monotonic, monotonic_ns

from ros2_cosim.core.sockets.endpoints import Listener, TcpConnection
from ros2_cosim.core.sockets.reactor import Reactor
from ros2_cosim.world.headless.snapshot import LENGTH

CONGESTED_BYTES = 4 * 1024 * 1024
GRACE_S = 0.25
PATIENCE_S = 10.0
MOST_KEPT_BYTES = 128 * 1024 * 1024
_LARGE_BYTES = 64 * 1024
ANNOUNCED_NS = 2_000_000_000

_logger = logging.getLogger(__name__)


class _Subscriber:
    """One stream connection; belongs to a stream once its 4 bytes have arrived."""

    def __init__(self, server: StreamServer, reactor: Reactor, sock: socket.socket) -> None:
        self._server = server
        self._received = b""
        self.stream_id: int | None = None
        self._published = 0
        self._taken = 0
        self._took_at = monotonic()
        self.connection = TcpConnection(
            reactor, sock, self._data, self._closed, self._drained, MOST_KEPT_BYTES
        )

    @property
    def congested(self) -> bool:
        """Whether it has much to read."""
        return self.connection.backlog > CONGESTED_BYTES

    def send(self, message: bytes) -> None:
        """Send a message, or keep it until the subscriber takes it."""
        self._published += len(message)
        self.connection.send(message)

    def idle_s(self) -> float:
        """Seconds for which it has taken nothing of what waits for it, as far as was looked."""
        # The kernel takes from the backlog in large pieces: a slow reader's progress shows only
        # together with what waits in there.
        now, taken = monotonic(), self._published - self.connection.unread
        if taken != self._taken:
            self._taken, self._took_at = taken, now
        return now - self._took_at

    def _data(self, data: bytes) -> None:
        self._received += data
        if len(self._received) > LENGTH.size:  # a client never sends more
            self.connection.close()
        elif len(self._received) == LENGTH.size:
            self.stream_id = LENGTH.unpack(self._received)[0]
            self._server.subscribe(self, self.stream_id)

    def _closed(self) -> None:
        if self.connection.overrun:
            _logger.warning("stream %s: subscriber dropped, it does not read", self.stream_id)
        self._server.forget(self)

    def _drained(self) -> None:
        self._server.drained()


class StreamServer:
    """Publishes messages to the subscribers of streams."""

    def __init__(self, reactor: Reactor, host: str, port: int) -> None:
        """Listen at ``host``:``port``.

        :raises OSError: if the address cannot be bound
        """
        self._reactor = reactor
        self._listener = Listener(reactor, host, port, self._accept)
        self.port = self._listener.port
        self.subscribers: dict[int, list[_Subscriber]] = {}
        self._connections: dict[_Subscriber, None] = {}
        self._announced: list[tuple[int, int]] = []  # stream, latest time of arrival [ns]
        self._looks_again = False
        self.on_relief: Callable[[], None] = lambda: None

    def wanted(self, stream_id: int) -> bool:
        """Whether a client listens to the stream."""
        return bool(self.subscribers.get(stream_id))

    def takes(self, stream_id: int) -> bool:
        """Whether a client would get what is published without ``wait``."""
        return any(not subscriber.congested for subscriber in self.subscribers.get(stream_id, ()))

    def publish(self, stream_id: int, message: bytes, wait: bool) -> None:
        """Send ``message`` to every subscriber; without ``wait`` congested ones miss it."""
        subscribers = self.subscribers.get(stream_id)
        if not subscribers:
            return
        head = LENGTH.pack(len(message))
        # To send a part of its own takes less time than to copy a picture.
        parts = (head, message) if len(message) > _LARGE_BYTES else (head + message,)
        for subscriber in tuple(subscribers):
            if wait or not subscriber.congested:
                for part in parts:
                    subscriber.send(part)

    def announce(self, stream_id: int) -> None:
        """A client is about to subscribe to the stream."""
        latest = monotonic_ns() + ANNOUNCED_NS
        self._announced.append((stream_id, latest))
        self._reactor.call_at(latest, self._expire)

    def subscribe(self, subscriber: _Subscriber, stream_id: int) -> None:
        """Add a subscriber to a stream."""
        self.subscribers.setdefault(stream_id, []).append(subscriber)
        for entry in self._announced:
            if entry[0] == stream_id:
                self._announced.remove(entry)
                break
        self.drained()

    def must_wait(self) -> bool:
        """True while a client would miss a synchronous tick."""
        return bool(self._announced) or self._held()

    def _held(self) -> bool:
        """True while a congested subscriber reads; looks again when it may have stopped."""
        held = 0.0
        for subscriber in self._connections:
            if subscriber.congested:
                held = max(held, GRACE_S - subscriber.idle_s())
        if held > 0.0 and not self._looks_again:
            self._looks_again = True
            self._reactor.call_later(int(held * 1e9) + 1, self._look_again)
        return held > 0.0

    def _look_again(self) -> None:
        self._looks_again = False
        self.drained()

    def drop_stuck(self) -> None:
        """Drop congested subscribers that have taken nothing for ``PATIENCE_S``."""
        for subscriber in tuple(self._connections):
            if subscriber.congested and subscriber.idle_s() > PATIENCE_S:
                _logger.warning(
                    "stream %s: subscriber dropped, it has read nothing for %.0f s",
                    subscriber.stream_id,
                    PATIENCE_S,
                )
                subscriber.connection.close()
        self.drained()

    def drained(self) -> None:
        """Tell the server when ticks need not wait any more."""
        if not self.must_wait():
            self.on_relief()

    def forget(self, subscriber: _Subscriber) -> None:
        """Remove a closed subscriber."""
        self._connections.pop(subscriber, None)
        if subscriber.stream_id is not None:
            others = self.subscribers[subscriber.stream_id]
            others.remove(subscriber)
            if not others:
                del self.subscribers[subscriber.stream_id]
        self.drained()

    def close(self) -> None:
        """Close the port and all connections."""
        self._listener.close()
        for subscriber in tuple(self._connections):
            subscriber.connection.close()

    def _expire(self) -> None:
        now = monotonic_ns()
        self._announced = [entry for entry in self._announced if entry[1] > now]
        self.drained()

    def _accept(self, sock: socket.socket) -> None:
        subscriber = _Subscriber(self, self._reactor, sock)
        self._connections[subscriber] = None
