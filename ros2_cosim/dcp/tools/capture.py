# SPDX-License-Identifier: Apache-2.0
"""Captured traffic: pcap files, IPv4 packets, reassembled TCP streams; yields single PDUs.

What is not DCP (another port, another protocol, an unknown first byte) is left out silently:
a capture holds all kinds of traffic.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from ros2_cosim.dcp.wire.errors import DescriptionError
from ros2_cosim.dcp.wire.pdu import LAYOUTS

MAX_PACKET = 262_144
MAX_STREAM_PDU = 1 << 20
MAX_GAP_SEGMENTS = 256
"""Segments kept while an earlier one of their stream is missing; then it is given up."""
_MAGICS = {
    b"\xd4\xc3\xb2\xa1": ("<", 1e-6),
    b"\xa1\xb2\xc3\xd4": (">", 1e-6),
    b"\x4d\x3c\xb2\xa1": ("<", 1e-9),
    b"\xa1\xb2\x3c\x4d": (">", 1e-9),
}
_PCAPNG = b"\n\r\r\n"
_LINK_HEADERS = {1: 14, 101: 0, 228: 0, 113: 16, 0: 4, 276: 20}
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


def read_pcap(path: Path) -> Iterator[Captured]:
    """The PDUs in a pcap file, in the order in which they were complete.

    :raises DescriptionError: no pcap file, or one that is cut off or of an unknown link type
    """
    decoder = PacketDecoder()
    with path.open("rb") as file:
        head = file.read(24)
        if len(head) < 24 or head[:4] not in _MAGICS:
            kind = "no pcap file"
            if head[:4] == _PCAPNG:
                kind = f"a pcapng file; convert it: editcap -F pcap {path.name} capture.pcap"
            raise DescriptionError(f"{path}: {kind}")
        order, unit = _MAGICS[head[:4]]
        link = struct.unpack(order + "I", head[20:24])[0] & 0xFFFF
        if link not in _LINK_HEADERS:
            raise DescriptionError(f"{path}: link type {link} is not supported")
        record = struct.Struct(order + "IIII")
        while header := file.read(16):
            if len(header) < 16:
                raise DescriptionError(f"{path}: the file ends within a packet")
            seconds, fraction, size, _ = record.unpack(header)
            if size > MAX_PACKET:
                raise DescriptionError(f"{path}: a packet of {size} bytes; at most {MAX_PACKET}")
            packet = file.read(size)
            if len(packet) < size:
                raise DescriptionError(f"{path}: the file ends within a packet")
            yield from decoder.feed(seconds + fraction * unit, packet, link)


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
