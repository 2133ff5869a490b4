# SPDX-License-Identifier: Apache-2.0
"""A TCP connection that carries PDUs: what leaves when, and how its end shows."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator

import pytest
from support.patience import HANG_S

from ros2_cosim.dcp.wire.errors import DcpPeerLostError
from ros2_cosim.dcp.wire.transport import FrameReader, TcpLink

Ends = tuple[TcpLink, socket.socket]


@pytest.fixture
def ends() -> Iterator[Ends]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        near = socket.create_connection(listener.getsockname())
        far, _ = listener.accept()
        far.settimeout(HANG_S)
        link = TcpLink(near)
        with far:
            yield link, far
        link.close()


def test_pdus_leave_together_and_at_once(ends: Ends) -> None:
    """Each has its length in front, of four bytes; no algorithm holds them back."""
    link, far = ends
    assert link.sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) == 1
    assert (link.host, link.has_waiting) == ("127.0.0.1", False)
    link.post(b"ab")
    link.post(b"c")
    assert link.has_waiting
    link.flush()
    assert not link.has_waiting
    assert far.recv(100) == b"\x02\0\0\0ab\x01\0\0\0c"
    link.send(b"d")
    assert far.recv(100) == b"\x01\0\0\0d"


def test_nothing_is_written_to_a_connection_that_has_ended(ends: Ends) -> None:
    link, far = ends
    assert link.read() == []
    far.close()
    link.sock.setblocking(True)  # the end is waited for
    with pytest.raises(DcpPeerLostError, match="the connection was closed"):
        link.read()
    assert not link.alive
    with pytest.raises(DcpPeerLostError, match="^the connection is closed$"):
        link.send(b"x")


@pytest.mark.parametrize("ended", ["broken", "reset"])
def test_a_connection_that_cannot_be_read_has_ended(ends: Ends, ended: str) -> None:
    link, far = ends
    if ended == "broken":
        far.sendall(b"\xff\xff\xff\xff")
    else:
        far.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        far.close()
    link.sock.setblocking(True)
    with pytest.raises(DcpPeerLostError, match="announced|reset"):
        link.read()
    assert not link.alive


def test_a_stream_is_cut_at_the_lengths_whatever_comes_together() -> None:
    reader = FrameReader(8)
    assert reader.feed(b"\x02\0\0\0ab\x03\0") == [b"ab"]
    assert reader.feed(b"\0\0cd") == []
    assert reader.feed(b"e\x01\0\0\0f\0\0\0\0") == [b"cde", b"f", b""]
    assert reader.feed(b"\x08\0\0\0" + bytes(8)) == [bytes(8)]
    with pytest.raises(DcpPeerLostError):
        reader.feed(b"\x09\0\0\0")
