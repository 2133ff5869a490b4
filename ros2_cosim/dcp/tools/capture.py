# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Captured traffic: files and network interfaces, IPv4 packets, reassembled TCP streams.

libpcap reads the packets; what it gives becomes single PDUs. What is not DCP (another port,
another protocol, an unknown first byte) is left out silently: a capture holds all kinds of traffic.
"""

from __future__ import annotations

import select
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from ros2_cosim.dcp.standard.errors import CaptureError
from ros2_cosim.dcp.standard.pdu import LAYOUTS

MAX_STREAM_PDU = 1 << 20
MAX_GAP_SEGMENTS = 256
"""Segments kept while an earlier one of their stream is missing; then it is given up."""
_LINK_HEADERS = {1: 14, 12: 0, 228: 0, 113: 16, 0: 4, 276: 20}
"""Bytes before the IPv4 header by link type: Ethernet, raw, Linux cooked, BSD loopback."""
ETHERNET = 1
_UDP, _TCP = 17, 6


class Captured(NamedTuple):
    """One PDU on the wire: seconds, where from, where to, ``"UDP"`` or ``"TCP"``, its bytes."""

    time: float
    source: tuple[str, int]
    target: tuple[str, int]
    transport: str
    data: bytes


def read_file(path: Path) -> Iterator[Captured]:
    """The PDUs in a pcap or pcapng file, in the order in which they were complete.

    :raises CaptureError: its format or its link type is not supported, or it is cut off
    :raises OSError: it cannot be opened
    """
    # By its number: libpcap takes the name "-" for the standard input.
    with (
        path.open("rb") as file,
        _libpcap(str(path)) as library,
        library.open_offline(f"/dev/fd/{file.fileno()}") as capture,
    ):
        yield from _pdus(capture, str(path))


def read_interface(name: str) -> Iterator[Captured]:
    """The PDUs on a network interface, without an end.

    :raises CaptureError: there is none of that name, its link type is not supported, or the rights
        are missing
    """
    place = f"interface {name}"
    with _libpcap(place) as library, library.create(name) as capture:
        capture.set_immediate_mode(True)
        capture.activate()
        capture.setnonblock(True)  # its own waiting does not end with Ctrl-C
        yield from _pdus(capture, place)


@contextmanager
def _libpcap(place: str) -> Iterator[Any]:
    """The library; what it raises becomes an error that names the place."""
    try:
        import cypcap
    except ImportError as error:
        raise CaptureError(
            f"{place}: cypcap, which reads packets, cannot be imported ({error}); install it by: "
            "pip install cypcap==0.6.3"
        ) from None
    try:
        yield cypcap
    except cypcap.Error as error:
        rights = error.code == cypcap.ErrorCode.PERM_DENIED
        cause = "needs the rights of root; a proxy does without" if rights else error.msg
        raise CaptureError(f"{place}: {cause}") from None


def _pdus(capture: Any, place: str) -> Iterator[Captured]:
    link = capture.datalink()
    if link not in _LINK_HEADERS:
        raise CaptureError(f"{place}: link type {link} is not supported")
    decoder = PacketDecoder()
    for header, packet in capture:
        if header is None:  # nothing has arrived
            select.select([capture.get_selectable_fd()], [], [])
        else:
            yield from decoder.feed(header.ts, packet, link)


def is_pdu(data: bytes) -> bool:
    """Whether these bytes can be a PDU: a known type and enough of them."""
    layout = LAYOUTS.get(data[0]) if data else None
    return layout is not None and layout.fits(len(data))


@dataclass
class _Stream:
    """One direction of a TCP connection."""

    expected: int | None = None
    rest: bytearray = field(default_factory=bytearray)
    later: dict[int, bytes] = field(default_factory=dict)

    def feed(self, seq: int, payload: bytes, syn: bool) -> list[bytes]:
        """PDUs that are complete with this segment."""
        if syn:
            self.expected = (seq + 1) & 0xFFFFFFFF
            self.rest.clear()
            self.later.clear()
            return []
        if not payload:
            return []
        if self.expected is None:
            self.expected = seq
        ahead = (seq - self.expected) & 0xFFFFFFFF
        if ahead >= 0x80000000:  # (partly) a repetition
            behind = 0x100000000 - ahead
            if behind >= len(payload):
                return []
            payload, seq = payload[behind:], self.expected
        elif ahead:
            self.later[seq] = payload
            if len(self.later) <= MAX_GAP_SEGMENTS:
                return []
            wanted = self.expected
            seq = min(self.later, key=lambda s: (s - wanted) & 0xFFFFFFFF)
            payload = self.later.pop(seq)
            self.rest.clear()
        frames = self._take(seq, payload)
        while self.expected in self.later:
            frames += self._take(self.expected, self.later.pop(self.expected))
        return frames

    def _take(self, seq: int, payload: bytes) -> list[bytes]:
        self.expected = (seq + len(payload)) & 0xFFFFFFFF
        self.rest += payload
        frames = []
        while len(self.rest) >= 5:
            size = int.from_bytes(self.rest[:4], "little")
            if size > MAX_STREAM_PDU or (size and self.rest[4] not in LAYOUTS):
                self.rest.clear()  # no DCP, or the beginning was not captured
                break
            if len(self.rest) < 4 + size:
                break
            frames.append(bytes(self.rest[4 : 4 + size]))
            del self.rest[: 4 + size]
        return [frame for frame in frames if is_pdu(frame)]


class PacketDecoder:
    """Takes link layer packets and gives the PDUs in them."""

    def __init__(self) -> None:
        self._streams: dict[tuple[tuple[str, int], tuple[str, int]], _Stream] = {}

    def feed(self, time: float, packet: bytes, link: int = ETHERNET) -> list[Captured]:
        """PDUs that are complete with this packet."""
        at = _LINK_HEADERS[link]
        if link == ETHERNET and packet[12:14] == b"\x81\x00":
            at += 4  # VLAN tag
        ip = packet[at:]
        if len(ip) < 20 or ip[0] >> 4 != 4 or (ip[6] & 0x1F or ip[7]):
            return []  # no IPv4, or a later fragment
        start, total = (ip[0] & 15) * 4, int.from_bytes(ip[2:4], "big")
        body = ip[start : total or len(ip)]
        hosts = [".".join(map(str, ip[a : a + 4])) for a in (12, 16)]
        if len(body) < 8:
            return []
        ports = struct.unpack_from(">HH", body)
        source, target = (hosts[0], ports[0]), (hosts[1], ports[1])
        if ip[9] == _UDP:
            data = body[8:]
            return [Captured(time, source, target, "UDP", data)] if is_pdu(data) else []
        if ip[9] != _TCP or len(body) < 20:
            return []
        seq = int.from_bytes(body[4:8], "big")
        payload = body[(body[12] >> 4) * 4 :]
        stream = self._streams.setdefault((source, target), _Stream())
        frames = stream.feed(seq, payload, bool(body[13] & 2))
        if body[13] & 5:  # FIN or RST
            self._streams.pop((source, target), None)
        return [Captured(time, source, target, "TCP", frame) for frame in frames]
