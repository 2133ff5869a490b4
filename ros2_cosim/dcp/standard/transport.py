# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Sockets as DCP uses them: framed TCP connections and UDP sockets, for both sides.

On TCP each PDU follows its length (uint32, little endian, without these four bytes); on UDP
one datagram is one PDU.
"""

from __future__ import annotations

import errno
import socket
import struct
import sys
from collections import deque
from collections.abc import Iterator
from contextlib import suppress

from ros2_cosim.core.documents.files import cause_of
from ros2_cosim.core.sockets.endpoints import open_udp, send_all
from ros2_cosim.core.sockets.peers import ADMISSION, Senders
from ros2_cosim.dcp.standard.errors import DcpPeerLostError

PREFIX = struct.Struct("<I")
READ_SIZE = 65536
SEND_TIMEOUT_S = 10.0
MAX_FRAME = 16 * 1024 * 1024
MAX_DATAGRAM = 65535
MAX_DATAGRAMS = 64
"""Datagrams read in one go, so that other sockets get their turn."""
MAX_SEGMENTS, MAX_SEGMENT = 16, 1200
"""Datagrams sent with one call, and their greatest size (a path's usual limit is above)."""
_RECEIVE_BUFFER = 1 << 20
_SOL_UDP, _UDP_SEGMENT = 17, 103
_SEGMENT = struct.Struct("=H")
_can_segment = sys.platform == "linux"
_LOOPBACK = "127."
_has_quick_acknowledgements = sys.platform == "linux"


class FrameReader:
    """Cuts a byte stream into PDUs.

    :param limit: longest PDU accepted
    """

    def __init__(self, limit: int = MAX_FRAME) -> None:
        self.limit = limit
        self._rest = bytearray()
        self._needed = 4

    @property
    def waiting(self) -> int:
        """Bytes of a PDU that has not arrived completely."""
        return len(self._rest)

    def feed(self, data: bytes) -> list[bytes]:
        """PDUs that are complete with ``data``, in order; an announced length of 0 gives b"".

        :raises DcpPeerLostError: the length prefix is not believable, so that the stream
            cannot be followed any further
        """
        if self._rest:
            self._rest += data
            if len(self._rest) < self._needed:
                return []
            data = bytes(self._rest)
            self._rest.clear()
        frames = []
        at, end = 0, len(data)
        self._needed = 4
        while end - at >= 4:
            (length,) = PREFIX.unpack_from(data, at)
            if length > self.limit:
                raise DcpPeerLostError(f"a PDU of {length} bytes was announced on the connection")
            stop = at + 4 + length
            if stop > end:
                self._needed = 4 + length
                break
            frames.append(data[at + 4 : stop])
            at = stop
        if at < end:
            self._rest += data[at:]
        return frames


class TcpLink:
    """One TCP connection that carries PDUs; never blocks when reading.

    Writes are collected by :meth:`post` and leave together at :meth:`flush`, so that the
    answers to one request travel in one segment. Other programs write each PDU alone and leave
    Nagle's algorithm on: then the next one waits for the acknowledgement of this one, which the
    operating system delays by 40 ms unless something is written in return. A side that was seen
    to send again before it got anything is therefore acknowledged before this one waits for more
    (:meth:`acknowledge`); what has been written by then says it already.

    :ivar peer: address and port of the other side, and ``host`` the address alone
    :ivar arrived: PDUs that were read and are not handled yet, the oldest first
    """

    def __init__(self, sock: socket.socket, limit: int = MAX_FRAME) -> None:
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.sock = sock
        self.peer = _peer(sock)
        self.host = self.peer[0]
        self.reader = FrameReader(limit)
        self.arrived: deque[bytes] = deque()
        self.alive = True
        self._waiting: list[bytes] = []
        #: What has come has not been answered by a write; this was so when something came again.
        self._unanswered = self._sends_again = False

    def fileno(self) -> int:
        """Number of the socket, for polling."""
        return self.sock.fileno()

    def post(self, data: bytes) -> None:
        """Queue one PDU."""
        self._waiting += PREFIX.pack(len(data)), data

    @property
    def has_waiting(self) -> bool:
        """Whether something is queued."""
        return bool(self._waiting)

    def flush(self) -> None:
        """Send what was queued.

        :raises DcpPeerLostError: the other side is gone or does not read
        """
        if self._waiting:
            data = b"".join(self._waiting)
            self._waiting.clear()
            self.write(data)

    def send(self, data: bytes) -> None:
        """Send one PDU at once, after what was queued."""
        self.post(data)
        self.flush()

    def write(self, data: bytes) -> None:
        """Send raw bytes completely."""
        if not self.alive:
            raise DcpPeerLostError("the connection is closed")
        self._unanswered = False
        try:
            send_all(self.sock, data, SEND_TIMEOUT_S)
        except OSError as error:
            self.alive = False
            raise DcpPeerLostError(cause_of(error)) from None

    def read(self) -> list[bytes]:
        """PDUs that have arrived.

        :raises DcpPeerLostError: the other side closed the connection or broke the framing
        """
        try:
            data = self.sock.recv(READ_SIZE)
        except BlockingIOError:
            return []
        except OSError as error:
            self.alive = False
            raise DcpPeerLostError(cause_of(error)) from None
        if not data:
            self.alive = False
            raise DcpPeerLostError("the connection was closed")
        self._sends_again = self._sends_again or self._unanswered
        self._unanswered = True
        try:
            return self.reader.feed(data)
        except DcpPeerLostError:
            self.alive = False
            raise

    def acknowledge(self) -> None:
        """Tell the other side now what has arrived, if it may wait for that.

        To be called after :meth:`read`, before this side waits.
        """
        waits = self._unanswered and self._sends_again
        if waits and self.alive and _has_quick_acknowledgements:
            # Not a lasting state: the system returns to delays by itself.
            with suppress(OSError):  # the connection has ended; the next read tells
                self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)

    def close(self) -> None:
        """Close the connection."""
        self.alive = False
        with suppress(OSError):
            self.sock.close()


def _peer(sock: socket.socket) -> tuple[str, int]:
    try:
        host, port = sock.getpeername()[:2]
    except OSError:  # it is gone already; the next read tells
        return "", 0
    return str(host), int(port)


def same_machine(one: str, other: str) -> bool:
    """Whether two IPv4 addresses belong to one machine as far as they tell: all of loopback do."""
    return one == other or (one.startswith(_LOOPBACK) and other.startswith(_LOOPBACK))


def tcp_connect(host: str, port: int, timeout_s: float) -> TcpLink:
    """Connect to a listener.

    :raises OSError: nothing listens there, it does not answer in time, or another user listens
    """
    sock = socket.create_connection((host, port), timeout_s)
    if not ADMISSION.admits_server(sock):
        sock.close()
        raise PermissionError(errno.EACCES, "what listens there is not of this user")
    return TcpLink(sock)


def udp_socket(host: str, port: int) -> socket.socket:
    """A bound UDP socket that never blocks, with room for a burst; port 0 takes a free one.

    :raises OSError: the address cannot be used
    """
    return open_udp(host, port, receive_buffer=_RECEIVE_BUFFER)


def datagrams(sock: socket.socket, senders: Senders) -> Iterator[tuple[bytes, tuple[str, int]]]:
    """What has arrived of senders that are admitted, with their address; not too much at once."""
    for _ in range(MAX_DATAGRAMS):
        try:
            data, address = sock.recvfrom(MAX_DATAGRAM)
        except BlockingIOError:
            return
        except OSError:
            continue  # an ICMP error of an earlier send; the next read tells the rest
        if senders.admits(address):
            yield data, address


def send_datagrams(sock: socket.socket, address: tuple[str, int], pdus: list[bytes]) -> None:
    """Send PDUs to one address, each in its own datagram, with few calls.

    Linux cuts one buffer into datagrams of equal length, of which the last may be shorter
    (UDP segmentation offload); on the wire they look as if they had been sent one by one.
    Where it cannot, they are sent one by one.

    :raises OSError: the operating system refuses to send
    """
    at, end = 0, len(pdus)
    while at < end:
        size, stop = len(pdus[at]), at + 1
        if _can_segment and size <= MAX_SEGMENT:
            while stop < end and stop - at < MAX_SEGMENTS and 0 < len(pdus[stop]) <= size:
                stop += 1
                if len(pdus[stop - 1]) < size:
                    break
        if stop == at + 1:
            sock.sendto(pdus[at], address)
        else:
            _send_segments(sock, address, pdus[at:stop], size)
        at = stop


def _send_segments(
    sock: socket.socket, address: tuple[str, int], pdus: list[bytes], size: int
) -> None:
    global _can_segment
    try:
        sock.sendmsg(pdus, ((_SOL_UDP, _UDP_SEGMENT, _SEGMENT.pack(size)),), 0, address)
    except BlockingIOError:
        raise
    except OSError:  # neither this system nor every network card knows it
        _can_segment = False
        for pdu in pdus:
            sock.sendto(pdu, address)
