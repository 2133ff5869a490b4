# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Framing of the RPC connection: any cut of the byte stream, garbage, limits."""

from __future__ import annotations

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ros2_cosim.core.kernel.errors import ProtocolError
from ros2_cosim.world.headless.rpc_channel import (
    RpcDecoder,
    RpcRequest,
    encode_error,
    encode_response,
)

_SIMPLE = st.none() | st.booleans() | st.integers(-(2**31), 2**32) | st.text() | st.binary()
_VALUES = st.recursive(_SIMPLE, lambda inner: st.lists(inner, max_size=4), max_leaves=10)
_CALLS = st.builds(
    RpcRequest, st.integers(0, 2**32 - 1), st.text(), st.lists(_VALUES, max_size=4), st.booleans()
)


@given(st.lists(_CALLS, max_size=5), st.lists(st.integers(1, 50), min_size=1, max_size=20))
def test_requests_survive_any_cut_of_the_stream(calls: list[RpcRequest], cuts: list[int]) -> None:
    stream = b"".join(
        msgpack.packb([0, c.id, c.method, [[c.asynchronous], *c.arguments]]) for c in calls
    )
    decoder = RpcDecoder()
    found = []
    turn = 0
    while stream:
        size = cuts[turn % len(cuts)]
        turn += 1
        found.extend(decoder.feed(stream[:size]))
        stream = stream[size:]
    assert found == calls


@given(st.binary(max_size=300))
def test_garbage_raises_only_protocol_errors(data: bytes) -> None:
    decoder = RpcDecoder(max_bytes=1 << 16)
    try:
        for request in decoder.feed(data):
            assert isinstance(request, RpcRequest)
    except ProtocolError:
        pass


@pytest.mark.parametrize(
    "message",
    [
        17,
        "text",
        [],
        [1, 1, "version", [[False]]],  # a response
        [2, "version", [[False]]],  # a notification
        [0, 1, "version", []],  # no metadata
        [0, 1, "version", [False]],
        [0, 1, 5, [[False]]],
        [0, -1, "version", [[False]]],
        {"a": 1},
    ],
)
def test_messages_of_other_shapes_are_refused(message: object) -> None:
    with pytest.raises(ProtocolError, match="not a request"):
        list(RpcDecoder().feed(msgpack.packb(message)))


def test_announced_sizes_are_bounded() -> None:
    with pytest.raises(ProtocolError):
        list(RpcDecoder().feed(b"\xdd\xff\xff\xff\xff"))  # an array of 2^32 - 1 entries
    decoder = RpcDecoder(max_bytes=1000)
    with pytest.raises(ProtocolError):
        list(decoder.feed(b"\xdb\x00\xff\xff\xff" + b"x" * 2000))  # a text of 16 MB
    deep = RpcDecoder()
    with pytest.raises(ProtocolError):
        list(deep.feed(b"\x91" * 100_000))


def test_responses_have_the_documented_form() -> None:
    assert msgpack.unpackb(encode_response(7, [[1, 3]])) == [1, 7, None, [[1, 3]]]
    assert msgpack.unpackb(encode_error(7, "no")) == [1, 7, "no", None]
