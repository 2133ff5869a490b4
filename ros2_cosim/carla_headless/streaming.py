# SPDX-License-Identifier: Apache-2.0
"""The streaming port: subscribers per stream, length-prefixed messages, slow readers.

A client connects, sends the stream id (u32) and from then on only receives. A subscriber
whose backlog exceeds ``CONGESTED_BYTES`` is *congested*: in synchronous mode the server holds
the next tick until it has caught up (or is dropped after ``PATIENCE_S`` without any progress),
in asynchronous mode it misses messages.

A client asks for a stream's token before it connects. From then until its connection has
arrived the subscription is *announced*; synchronous ticks wait for that as well (at most
``ANNOUNCED_NS``), so that a sensor misses nothing of the tick after ``listen``.
"""

from __future__ import annotations

import logging
import socket
import struct
from collections.abc import Callable
from time import monotonic, monotonic_ns

from ros2_cosim.sockets.endpoints import Listener, TcpConnection
from ros2_cosim.sockets.reactor import Reactor

CONGESTED_BYTES = 4 * 1024 * 1024
PATIENCE_S = 10.0
ANNOUNCED_NS = 2_000_000_000

_LENGTH = struct.Struct("<I")
_logger = logging.getLogger(__name__)


class _Subscriber:
    """One stream connection; belongs to a stream once its 4 bytes have arrived."""

    def __init__(self, server: StreamServer, reactor: Reactor, sock: socket.socket) -> None:
        self._server = server
        self._received = b""
        self.stream_id: int | None = None
        self.congested_since: float | None = None
        self.unread_then = 0
        self.connection = TcpConnection(reactor, sock, self._data, self._closed, self._drained)

    def _data(self, data: bytes) -> None:
        self._received += data
        if len(self._received) > _LENGTH.size:  # a client never sends more
            self.connection.close()
        elif len(self._received) == _LENGTH.size:
            self.stream_id = _LENGTH.unpack(self._received)[0]
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
        self.on_relief: Callable[[], None] = lambda: None

    def wanted(self, stream_id: int) -> bool:
        """Whether a client listens to the stream."""
        return bool(self.subscribers.get(stream_id))

    def publish(self, stream_id: int, message: bytes, wait: bool) -> None:
        """Send ``message`` to every subscriber; without ``wait`` congested ones miss it."""
        subscribers = self.subscribers.get(stream_id)
        if not subscribers:
            return
        framed = _LENGTH.pack(len(message)) + message
        for subscriber in tuple(subscribers):
            if wait or subscriber.connection.backlog <= CONGESTED_BYTES:
                subscriber.connection.send(framed)

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
        return bool(self._announced) or self.congested()

    def congested(self) -> bool:
        """True while a subscriber has more than ``CONGESTED_BYTES`` to read."""
        return any(s.connection.backlog > CONGESTED_BYTES for s in self._connections)

    def drop_stuck(self) -> None:
        """Drop congested subscribers that have read nothing for ``PATIENCE_S``."""
        now = monotonic()
        for subscriber in tuple(self._connections):
            # The kernel takes from the backlog in large pieces: a slow reader's progress
            # shows only together with what waits in there.
            unread = subscriber.connection.unread
            if subscriber.connection.backlog <= CONGESTED_BYTES:
                subscriber.congested_since = None
            elif subscriber.congested_since is None or unread != subscriber.unread_then:
                subscriber.congested_since = now
            elif now - subscriber.congested_since > PATIENCE_S:
                _logger.warning(
                    "stream %s: subscriber dropped, it has read nothing for %.0f s",
                    subscriber.stream_id,
                    PATIENCE_S,
                )
                subscriber.connection.close()
            subscriber.unread_then = unread
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
