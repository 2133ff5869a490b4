# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The server: RPC and streaming ports around one simulation, in one thread except for sensors."""

from __future__ import annotations

import logging
import socket
from collections import deque
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from time import monotonic_ns

from ros2_cosim.core.documents.files import cause_of
from ros2_cosim.core.kernel.errors import ConnectionFailedError, ProtocolError
from ros2_cosim.core.sockets.endpoints import Listener, TcpConnection
from ros2_cosim.core.sockets.reactor import Reactor
from ros2_cosim.world.headless.dispatch import UnknownMethodError
from ros2_cosim.world.headless.limits import DEFAULT_RATE_HZ
from ros2_cosim.world.headless.maps import MapLibrary
from ros2_cosim.world.headless.methods import ALL
from ros2_cosim.world.headless.outsiders import RUN_CLIENT
from ros2_cosim.world.headless.rpc_channel import (
    RpcDecoder,
    RpcRequest,
    encode_error,
    encode_response,
)
from ros2_cosim.world.headless.simulation import Simulation
from ros2_cosim.world.headless.streaming import StreamServer

_STUCK_CHECK_NS = 1_000_000_000
#: The time for a client to read a frame before it receives what depends on that frame.
_READING_NS = 20_000_000
# Calls that may have to wait, and the place of the parent among the arguments of the last one.
_TICKING = ("tick_cue", "apply_batch")
_MOUNTING, _PARENT = "spawn_actor_with_parent", 2
# After a load the client drops its episode, asks for the new one and subscribes to it.
_LOADING, _SUBSCRIBING = "load_new_episode", "get_sensor_token"
_RENEWING = frozenset(("version", "get_episode_info", _SUBSCRIBING))
#: The time for a client to renew its episode, and how many calls of its other threads wait.
_RENEWAL_NS = 2_000_000_000
_MAX_HELD = 1000
#: How long a load takes at most because a traffic manager, which drives, has not called.
_STOPPING_NS = 500_000_000
_logger = logging.getLogger(__name__)


class _RpcClient:
    """One RPC connection: requests are answered in their order, except after a load.

    The client that has loaded a map has no episode until it has asked for the new one. Its traffic
    manager, in its own thread, breaks down where it looks at the episode meanwhile. So what
    other threads of this client call is answered when the episode is there; and where there is a
    traffic manager, the load is answered when such a call waits (a load of CARLA takes seconds).
    """

    def __init__(self, server: Server, reactor: Reactor, sock: socket.socket) -> None:
        self._server = server
        self._reactor = reactor
        self._held: deque[RpcRequest] | None = None
        #: The answer to a load, as long as it waits.
        self._loaded = b""
        #: Whether it is the client of a run, which reads no answer that nothing waits for.
        self._is_of_run = False
        self._decoder = RpcDecoder()
        self._pending: deque[RpcRequest] = deque()
        self._sock = sock
        self.connection = TcpConnection(reactor, sock, self._data, self._closed)

    def _data(self, data: bytes) -> None:
        try:
            for request in self._decoder.feed(data):
                self._pending.append(request)
        except ProtocolError as error:
            _logger.warning("%s; connection closed", error)
            self.connection.close()
            return
        self.proceed()

    def proceed(self) -> None:
        """Answer waiting requests, until one has to wait: see ``Server.must_wait``."""
        while self._pending and self.connection.open:
            request = self._pending[0]
            if self._held is not None and request.method not in _RENEWING:
                self._held.append(self._pending.popleft())
                self._tell_loaded()
                if len(self._held) >= _MAX_HELD:
                    self._release(self._held)
                continue
            if self._server.must_wait(request):
                self._server.waiting[self] = None
                self.connection.pause_reading(True)
                return
            self._pending.popleft()
            self._answer(request)
        self.connection.pause_reading(False)

    def _answer(self, request: RpcRequest) -> None:
        world = self._server.simulation.world
        episode = world.episode
        answer = self._call(request)
        if request.method == _LOADING and world.episode != episode:
            held = self._held = deque()
            self._server.renewing[self] = None
            self._reactor.call_later(_STOPPING_NS + _RENEWAL_NS, lambda: self._resume(held))
            if self._server.simulation.traffic_managers:
                self._loaded = answer
                self._reactor.call_later(_STOPPING_NS, self._tell_loaded)
                return
        # A client keeps a record of each call until its answer comes, also of an asynchronous one,
        # whose answer it then ignores: without answers its memory would grow with every call.
        if answer:
            self.connection.send(answer)
        if request.method == _SUBSCRIBING and self._held is not None:
            self._release(self._held)

    def _tell_loaded(self) -> None:
        if self._loaded:
            answer, self._loaded = self._loaded, b""
            self.connection.send(answer)

    def _resume(self, held: deque[RpcRequest]) -> None:
        """Go on with calls that still wait."""
        if held is self._held:
            self._release(held)
            self.proceed()

    def _release(self, held: deque[RpcRequest]) -> None:
        self._held = None
        self._server.renewing.pop(self, None)
        self._pending.extendleft(reversed(held))

    def _call(self, request: RpcRequest) -> bytes:
        """The answer to a request; empty: the client would not read it."""
        simulation = self._server.simulation
        simulation.outsiders.note(self._sock, request.method, simulation.world.frame)
        try:
            result = ALL.call(simulation, request.method, request.arguments)
            if request.asynchronous and self._is_of_run:
                return b""
            self._is_of_run = self._is_of_run or request.method == RUN_CLIENT
            return encode_response(request.id, result)
        except UnknownMethodError as error:
            _logger.warning("%s", error)
            return encode_error(request.id, str(error))
        except Exception as error:  # a fault of this server must not end the world of all clients
            _logger.exception("fault in '%s'", request.method)
            return encode_error(request.id, f"fault in the server: {error!r}")

    def _closed(self) -> None:
        if self.connection.overrun:
            _logger.warning("RPC client dropped: it does not read its answers")
        self._pending.clear()
        self._held, self._loaded = None, b""
        self._server.simulation.outsiders.forget(self._sock)
        self._server.forget(self)


def _discard(_data: bytes) -> None:
    """What a connection to the reserved port sends."""


class Server:
    """A CARLA-compatible server on three TCP ports."""

    def __init__(
        self,
        maps: MapLibrary,
        host: str,
        port: int,
        *,
        seed: int = 0,
        rate_hz: float = DEFAULT_RATE_HZ,
        has_scenery: bool = False,
        is_plain: bool = False,
    ) -> None:
        """Bind the ports and load the first map.

        CARLA's third port is that of secondary servers, which render for the first one. Here it
        is held, so that a second server cannot mix with this one, and its connections are silent.

        :param port: RPC port, streaming uses the next one, then the reserved one; 0 takes any
            free ports
        :param seed: of what the server draws where a client names no seed of its own
        :param rate_hz: steps per second while no client has set ``fixed_delta_seconds``
        :param has_scenery: whether sensors see scenery beside the roads
        :param is_plain: pictures have neither shadows nor grain of surfaces
        :raises ConnectionFailedError: if a port cannot be bound
        :raises ConfigurationError: if the map is not usable
        """
        self._reactor = Reactor()
        self._clients: dict[_RpcClient, None] = {}
        self.waiting: dict[_RpcClient, None] = {}
        self.renewing: dict[_RpcClient, None] = {}
        self._reserved_clients: dict[TcpConnection, None] = {}
        bound = ExitStack()
        try:
            with bound:
                self._rpc = Listener(self._reactor, host, port, self._accept)
                bound.callback(self._rpc.close)
                self._streams = StreamServer(self._reactor, host, port + 1 if port else 0)
                bound.callback(self._streams.close)
                self._reserved = Listener(
                    self._reactor, host, port + 2 if port else 0, self._accept_reserved
                )
                bound.pop_all()
        except (OSError, OverflowError) as error:
            self._reactor.close()
            raise ConnectionFailedError(
                f"cannot listen at {host}, ports {port} to {port + 2}: {cause_of(error)}"
            ) from None
        self._relieving = False
        self._streams.on_relief = self._schedule_relief
        self.port = self._rpc.port
        try:
            self.simulation = Simulation(
                maps,
                self._streams.port,
                self._publish,
                self._wanted,
                seed=seed,
                step_s=1.0 / rate_hz,
                has_scenery=has_scenery,
                is_plain=is_plain,
            )
            self.simulation.on_token = self._streams.announce
        except BaseException:
            self.close()
            raise
        self._due_ns = 0
        self._free_running = False
        self.simulation.on_settings = self._start_free_run
        self._start_free_run()
        self._reactor.call_later(_STUCK_CHECK_NS, self._check_streams)

    def every(self, period_ns: int, callback: Callable[[], None]) -> None:
        """Call something again and again in the thread of the server, from now on."""

        def call() -> None:
            callback()
            self._reactor.call_later(period_ns, call)

        self._reactor.call_later(0, call)

    def run(self) -> None:
        """Serve until ``stop``."""
        self._reactor.run()

    def stop(self) -> None:
        """Make ``run`` return; may be called from any thread."""
        self._reactor.stop()

    def stopping_on_signals(self, tell: Callable[[int], None]) -> AbstractContextManager[None]:
        """While this block runs, SIGTERM and SIGINT stop the server.

        :param tell: called with the number of the signal
        """

        def stop(number: int) -> None:
            tell(number)
            self.stop()

        return self._reactor.handling(stop)

    def close(self) -> None:
        """Close all ports and connections."""
        for client in tuple(self._clients):
            client.connection.close()
        for connection in tuple(self._reserved_clients):
            connection.close()
        self._rpc.close()
        self._streams.close()
        self._reserved.close()
        self._reactor.close()

    def must_wait(self, request: RpcRequest) -> bool:
        """Whether a request has to wait.

        A tick does while it would be missed by a client or run ahead of one. In asynchronous mode
        what is mounted on an actor comes after a frame with that actor, as in CARLA, which works on
        calls between frames: the client starts a walker's controller where the newest frame shows
        the walker, and breaks down where that is nowhere.
        """
        synchronous = self.simulation.settings.synchronous_mode
        if request.method in _TICKING:
            return synchronous and self._streams.must_wait()
        if request.method != _MOUNTING or len(request.arguments) <= _PARENT:
            return False
        parent = request.arguments[_PARENT]
        return (
            not synchronous and isinstance(parent, int) and self.simulation.world.is_unseen(parent)
        )

    def forget(self, client: _RpcClient) -> None:
        """Remove a closed connection."""
        self._clients.pop(client, None)
        self.waiting.pop(client, None)
        self.renewing.pop(client, None)

    def _accept(self, sock: socket.socket) -> None:
        client = _RpcClient(self, self._reactor, sock)
        self._clients[client] = None

    def _accept_reserved(self, sock: socket.socket) -> None:
        def closed() -> None:
            self._reserved_clients.pop(connection, None)

        connection = TcpConnection(self._reactor, sock, _discard, closed)
        self._reserved_clients[connection] = None

    def _wanted(self, stream_id: int) -> bool:
        """Whether what a stream would have is worth computing: not, if all would miss it."""
        if self.simulation.settings.synchronous_mode:
            return self._streams.wanted(stream_id)
        return self._streams.takes(stream_id)

    def _publish(self, stream_id: int, message: bytes) -> None:
        wait = self.simulation.settings.synchronous_mode
        self._streams.publish(stream_id, message, wait)

    def _schedule_relief(self) -> None:
        # Not at once: relief may come up in the middle of a tick's own publishing.
        if self.waiting and not self._relieving:
            self._relieving = True
            self._reactor.call_later(0, self._relief)

    def _relief(self) -> None:
        self._relieving = False
        waiting, self.waiting = self.waiting, {}
        for client in waiting:
            client.proceed()

    def _check_streams(self) -> None:
        self._streams.drop_stuck()
        self._reactor.call_later(_STUCK_CHECK_NS, self._check_streams)

    def _start_free_run(self) -> None:
        self._schedule_relief()
        if not (self._free_running or self.simulation.settings.synchronous_mode):
            self._free_running = True
            self._due_ns = monotonic_ns()
            self._reactor.call_later(0, self._free_run)

    def _free_run(self) -> None:
        """In asynchronous mode one step per step time; catches up by at most one step."""
        simulation = self.simulation
        self._free_running = not simulation.settings.synchronous_mode
        if self._free_running:
            # No frame comes while a client drops its episode: the thread that reads one would keep
            # the old episode, which then ends the subscription to the new one.
            if not self.renewing:
                simulation.tick()
            if self.waiting:
                self._reactor.call_later(_READING_NS, self._relief)
            step_ns = round(simulation.world.step_s * 1e9)
            self._due_ns = max(self._due_ns + step_ns, monotonic_ns() - step_ns)
            self._reactor.call_at(self._due_ns, self._free_run)
