# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Framing of the RPC connection: msgpack requests in, msgpack responses out.

No socket here: bytes go in, requests come out. A request is
``[0, id, method, [metadata, argument...]]`` where metadata is ``[asynchronous]``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import msgpack

from ros2_cosim.core.kernel.errors import ProtocolError

MAX_REQUEST_BYTES = 64 * 1024 * 1024  # an OpenDRIVE text of a large town has about 10 MB
MAX_ENTRIES = 1 << 20

REQUEST = 0
RESPONSE = 1


class WireError(RuntimeError):
    """The server has refused a call, does not answer, or has gone."""


class CallRefused(WireError):
    """The server has refused a call."""


class RpcRequest(NamedTuple):
    """One remote call; the caller of an ``asynchronous`` one ignores what the answer says."""

    id: int
    method: str
    arguments: list[Any]
    asynchronous: bool


class RpcDecoder:
    """Cuts a byte stream into requests; holds at most one incomplete request."""

    def __init__(self, max_bytes: int = MAX_REQUEST_BYTES) -> None:
        self._unpacker = msgpack.Unpacker(
            raw=False,
            max_buffer_size=max_bytes,
            max_array_len=MAX_ENTRIES,
            max_map_len=MAX_ENTRIES,
            strict_map_key=False,
        )

    def feed(self, data: bytes) -> Iterator[RpcRequest]:
        """Take received bytes and yield each request that is complete.

        :raises ProtocolError: if the bytes cannot be the protocol; close the connection then
        """
        try:
            self._unpacker.feed(data)
            for message in self._unpacker:
                yield _request(message)
        except ProtocolError:
            raise
        except (ValueError, TypeError, RecursionError, msgpack.exceptions.UnpackException) as error:
            reason = str(error) or type(error).__name__
            raise ProtocolError(f"RPC connection: not a msgpack stream ({reason})") from None


def encode_response(request_id: int, result: Any) -> bytes:
    """Successful response (application errors travel inside ``result``)."""
    packed: bytes = msgpack.packb([RESPONSE, request_id, None, result])
    return packed


def encode_error(request_id: int, message: str) -> bytes:
    """Response to a call that cannot be dispatched at all (for example unknown method)."""
    packed: bytes = msgpack.packb([RESPONSE, request_id, message, None])
    return packed


def _request(message: Any) -> RpcRequest:
    match message:
        case [int(kind), int(request_id), str(method), [[bool(asynchronous)], *arguments]] if (
            kind == REQUEST and 0 <= request_id <= 0xFFFFFFFF
        ):
            return RpcRequest(request_id, method, arguments, asynchronous)
    shown = repr(message)
    raise ProtocolError(f"RPC connection: not a request: {shown[:80]}")
