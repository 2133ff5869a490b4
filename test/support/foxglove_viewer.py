# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A viewer of a run, as Foxglove is one: speaks the protocol over a real WebSocket.

It reads while :meth:`Viewer.until` waits, and not in between: then it is a slow one. The library
is that of the extra ``sweep`` (Dask's).
"""

from __future__ import annotations

import asyncio
import json
import struct
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any

from support.foxglove_protocol import PROTOCOL
from support.patience import HANG_S
from tornado.httpclient import HTTPRequest
from tornado.websocket import WebSocketClientConnection, websocket_connect


class Viewer:
    """One viewer; use as a context manager.

    :ivar server: what the server says of itself
    :ivar channels: topic -> what is announced of it
    :ivar messages: topic -> (log time [ns], message) of all that has been read
    :ivar times: the times [ns] that the server has told
    :ivar gone: the server has ended the connection
    """

    def __init__(self, url: str) -> None:
        self.server: dict[str, Any] = {}
        self.channels: dict[str, dict[str, Any]] = {}
        self.messages: dict[str, list[tuple[int, bytes]]] = {}
        self.times: list[int] = []
        self.gone = False
        self._topics: dict[int, str] = {}
        self._loop = asyncio.new_event_loop()
        self._socket: WebSocketClientConnection = self._loop.run_until_complete(_connected(url))

    def __enter__(self) -> Viewer:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.vanish()

    def vanish(self) -> None:
        """End without a word."""
        if not self._loop.is_closed():
            stream = self._socket.protocol and self._socket.protocol.stream
            if stream:
                stream.close()
            self._loop.run_until_complete(asyncio.sleep(0))
            self._loop.close()

    def subscribe(self, *topics: str) -> None:
        """Ask for topics that have been announced; by default for all."""
        wanted = []
        for topic in topics or self.channels:
            number = self.channels[topic]["id"]
            self._topics[number] = topic
            self.messages.setdefault(topic, [])
            wanted.append({"id": number, "channelId": number})
        text = json.dumps({"op": "subscribe", "subscriptions": wanted})
        self._loop.run_until_complete(self._send(text))

    def until(self, condition: Callable[[], object]) -> None:
        """Read until a condition holds, or the server ends the connection."""
        deadline = time.monotonic() + HANG_S
        while not condition() and not self.gone:
            left = deadline - time.monotonic()
            self._read(self._loop.run_until_complete(asyncio.wait_for(self._message(), left)))

    async def _send(self, text: str) -> None:
        await self._socket.write_message(text)

    async def _message(self) -> str | bytes | None:
        return await self._socket.read_message()

    def _read(self, message: str | bytes | None) -> None:
        if message is None:
            self.gone = True
        elif isinstance(message, bytes):
            if message[0] == 1:
                number, stamp = struct.unpack_from("<IQ", message, 1)
                self.messages[self._topics[number]].append((stamp, message[13:]))
            elif message[0] == 2:
                self.times.append(struct.unpack_from("<Q", message, 1)[0])
        else:
            told = json.loads(message)
            if told["op"] == "serverInfo":
                self.server = told
            elif told["op"] == "advertise":
                self.channels |= {channel["topic"]: channel for channel in told["channels"]}


async def _connected(url: str) -> WebSocketClientConnection:
    return await websocket_connect(HTTPRequest(url), subprotocols=[PROTOCOL])
