# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Connections between a sweep and its workers on this machine: TCP, for programs of one user.

Whatever reaches a port of Dask may run code there. So a sweep's own scheduler and workers talk by
a transport that serves what :mod:`ros2_cosim.core.sockets.peers` admits, and listens to nothing
else: at the accepting side as at the other one, for a port may have changed hands.
"""

from __future__ import annotations

from typing import Any

from distributed.comm.registry import backends
from distributed.comm.tcp import TCP, TCPBackend, TCPConnector, TCPListener
from distributed.node import ServerNode
from tornado.iostream import StreamClosedError
from tornado.tcpclient import TCPClient

from ros2_cosim.core.sockets.peers import ADMISSION

#: Addresses of it are such as ``cosim://127.0.0.1:40123``.
SCHEME = "cosim"
_PREFIX = f"{SCHEME}://"


class _Client(TCPClient):
    """Connects with programs that are admitted."""

    async def connect(self, *arguments: Any, **settings: Any) -> Any:
        """Connect.

        :raises StreamClosedError: what listens there is not admitted
        """
        stream = await super().connect(*arguments, **settings)
        if not ADMISSION.admits_server(stream.socket):
            stream.close()
            raise StreamClosedError(PermissionError("it is of another user"))
        return stream


class _Link(TCP):
    prefix = _PREFIX


class _Connector(TCPConnector):
    prefix = _PREFIX
    comm_class = _Link
    client = _Client()


class _Listener(TCPListener):
    prefix = _PREFIX
    comm_class = _Link

    async def _prepare_stream(self, stream: Any, address: str) -> Any:
        """The connection, unless it is not admitted; nothing of it has been read yet."""
        if ADMISSION.admits(stream.socket):
            return stream
        stream.close()
        return None


class _Backend(TCPBackend):
    _connector_class = _Connector
    _listener_class = _Listener


async def dask_setup(server: ServerNode) -> None:
    """Close the HTTP port that a scheduler or worker always opens; it serves no page.

    Called by a server at its start, of which this module is a preload.
    """
    server.http_server.stop()


backends[SCHEME] = _Backend()
