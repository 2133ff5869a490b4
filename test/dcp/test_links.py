# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A TCP connection that carries PDUs: what leaves when, and how its end shows."""

from __future__ import annotations

import socket
import struct
import sys
from collections.abc import Iterator

import pytest
from support.patience import HANG_S

from ros2_cosim.core.sockets.endpoints import is_loopback
from ros2_cosim.dcp.standard import transport
from ros2_cosim.dcp.standard.errors import DcpPeerLostError
from ros2_cosim.dcp.standard.transport import FrameReader, TcpLink

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
    assert link.alive and not link.sock.getblocking()
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


class Segments:
    """A socket that notes each call: how many bytes its datagrams have."""

    def __init__(self, error: OSError | None = None) -> None:
        self.calls: list[int | tuple[int, ...]] = []
        self.error = error

    def sendto(self, data: bytes, address: object) -> None:
        assert address == "there"
        self.calls.append(len(data))

    def sendmsg(self, parts: list[bytes], extra: object, flags: int, address: object) -> None:
        if self.error is not None:
            raise self.error
        assert (flags, address) == (0, "there")
        assert extra == ((17, 103, struct.pack("=H", len(parts[0]))),)
        self.calls.append(tuple(map(len, parts)))


@pytest.mark.parametrize(
    ("sizes", "calls"),
    [
        ([], []),
        ([7], [7]),
        ([7, 7, 7], [(7, 7, 7)]),
        ([7, 7, 5, 7], [(7, 7, 5), 7]),
        ([5, 7], [5, 7]),
        ([7, 0, 7], [7, 0, 7]),
        ([1200, 1200], [(1200, 1200)]),
        ([1201, 1201], [1201, 1201]),
        ([3] * 17, [(3,) * 16, 3]),
    ],
)
def test_datagrams_of_one_length_leave_with_one_call(
    sizes: list[int], calls: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last one may be shorter; UDP segmentation offload of Linux."""
    assert transport._can_segment is (sys.platform == "linux")
    monkeypatch.setattr(transport, "_can_segment", True)
    sock = Segments()
    transport.send_datagrams(sock, "there", [bytes(size) for size in sizes])  # type: ignore[arg-type]
    assert sock.calls == calls


def test_where_that_is_not_known_each_datagram_has_its_call(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(transport, "_can_segment", True)
    full = Segments(BlockingIOError())
    with pytest.raises(BlockingIOError):
        transport.send_datagrams(full, "there", [b"a", b"b"])  # type: ignore[arg-type]
    assert transport._can_segment
    unable = Segments(OSError(95, "Operation not supported"))
    transport.send_datagrams(unable, "there", [b"a", b"b"])  # type: ignore[arg-type]
    unable.error = None
    transport.send_datagrams(unable, "there", [b"a", b"b"])  # type: ignore[arg-type]
    assert unable.calls == [1, 1, 1, 1]


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("127.0.0.1", "127.9.9.9", True),
        ("127.0.0.1", "10.0.0.1", False),
        ("10.0.0.1", "127.0.0.1", False),
        ("10.0.0.1", "10.0.0.1", True),
        ("10.0.0.1", "10.0.0.2", False),
    ],
)
def test_all_addresses_of_the_loopback_are_one_machine(one: str, other: str, same: bool) -> None:
    assert transport.same_machine(one, other) is same
    local = [is_loopback(host) for host in (one, other, "localhost")]
    assert local == [one.startswith("127"), other.startswith("127"), True]
