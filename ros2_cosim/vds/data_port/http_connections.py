# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The connections of the data port: whose they are, how many, how long they last, how they end.

uvicorn accepts them, and h11 reads and writes HTTP. To import them takes time, so only a port that
opens does.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import cast

import h11
from uvicorn import Config, Server
from uvicorn.protocols.http.h11_impl import H11Protocol

from ros2_cosim.core.sockets.peers import ADMISSION, user_of
from ros2_cosim.vds.data_port.http_app import HttpApp, headers_of
from ros2_cosim.vds.data_port.routes import error_answer

MAX_CONNECTIONS = 32
#: A connection is closed if no request on it is answered for this time [s].
IDLE_S = 30


class HttpServer(Server):
    """uvicorn's server of an application; it writes no log and trusts no proxy."""

    def __init__(self, app: HttpApp) -> None:
        super().__init__(
            Config(
                app,
                http=HttpConnection,
                loop="asyncio",
                ws="none",
                lifespan="off",
                log_config=None,
                log_level=logging.CRITICAL,
                proxy_headers=False,
                server_header=False,
                backlog=MAX_CONNECTIONS,
                timeout_keep_alive=IDLE_S,
                timeout_graceful_shutdown=1,
            )
        )

    async def serve(self, sockets: list[socket.socket] | None = None) -> None:
        """Serve until ``should_exit``; each connection can have a thread that answers."""
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(MAX_CONNECTIONS))
        await super().serve(sockets)


class HttpConnection(H11Protocol):
    """A connection that the server has accepted."""

    _deadline: asyncio.TimerHandle
    _peer_has_ended = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin, if the peer is admitted; of too many, that with the oldest answer has to go."""
        self.transport = transport
        self._wait()
        link = transport.get_extra_info("socket")
        if not ADMISSION.admits(link):
            transport.abort()
            return
        # asyncio does so only if the listener's socket names its protocol.
        link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.app_state = {"user": user_of(link)}
        others = cast("set[HttpConnection]", self.connections)
        if len(others) >= MAX_CONNECTIONS:
            oldest = min(others, key=lambda each: each._deadline.when())
            others.discard(oldest)
            oldest.transport.abort()
        super().connection_made(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        """End what waits for the connection."""
        self._deadline.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take what has come; after something that is not HTTP all is ignored."""
        if self.conn.their_state is not h11.ERROR:
            super().data_received(data)

    def eof_received(self) -> bool:  # type: ignore[override]
        """Keep the connection for answers that are due, though the peer has stopped sending."""
        self._peer_has_ended = True
        return self._end_request()

    def on_response_complete(self) -> None:
        """Go on with the next request."""
        self._deadline.cancel()
        self._wait()
        super().on_response_complete()
        if self._peer_has_ended and not self._end_request():
            self.transport.close()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is not HTTP, in the words of h11's error, which uvicorn handles here."""
        if self._end_request():
            return  # It is in a body: the request gets its own answer.
        error = cast(h11.RemoteProtocolError, sys.exc_info()[1])
        answer = error_answer(error.error_status_hint, f"HTTP: {error}"[:200])
        headers = headers_of(answer, is_last=True)
        head = h11.Response(status_code=answer.status, headers=headers, reason=b"Refused")
        for event in (head, h11.Data(data=answer.body), h11.EndOfMessage()):
            self.transport.write(self.conn.send(event))
        self.transport.write_eof()  # The peer closes: to do so first would discard the answer.

    def shutdown(self) -> None:
        """End the connection with its server."""
        self.transport.abort()

    def _wait(self) -> None:
        self._deadline = self.loop.call_later(IDLE_S, self.transport.abort)

    def _end_request(self) -> bool:
        """End the body of the request that is not answered yet; whether there is one."""
        if self.cycle is None or self.cycle.response_complete:
            return False
        self.cycle.more_body = False
        self.cycle.message_event.set()
        return True
