# SPDX-License-Identifier: Apache-2.0
"""Captured traffic: headers of each layer, files of each byte order, and segments in any order."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from ros2_cosim.dcp.tools.capture import Captured, PacketDecoder, _Stream, is_pdu, read_pcap
from ros2_cosim.dcp.wire.errors import DescriptionError

#: RSP_ack number 7 of slave 1, and STC_do_step number 9 to slave 1 of 3 steps.
ACK = b"\xb0\x07\x00\x01"
STEP = b"\x07\x09\x00\x01\x0b\x03\x00\x00\x00"
#: Head of a file of IPv4 packets.
RAW = bytes.fromhex("d4c3b2a1") + bytes(16) + b"\x65\0\0\0"
FROM, TO = ("10.0.0.1", 4000), ("10.0.0.2", 5000)


def ipv4(
    protocol: int, body: bytes, *, options: int = 0, fragment: int = 0, length: int | None = None
) -> bytes:
    size = 20 + 4 * options + len(body) if length is None else length
    head = struct.pack(">BBHHHBBH", 0x45 + options, 0, size, 0, fragment, 64, protocol, 0)
    return head + bytes([10, 0, 0, 1, 10, 0, 0, 2]) + bytes(4 * options) + body


def udp(data: bytes) -> bytes:
    return struct.pack(">HHHH", 4000, 5000, 8 + len(data), 0) + data


def tcp(seq: int, data: bytes, flags: int = 0x10, options: int = 0) -> bytes:
    head = struct.pack(">HHIIBBHHH", 4000, 5000, seq, 0, (5 + options) << 4, flags, 0, 0, 0)
    return head + bytes(4 * options) + data


def framed(*pdus: bytes) -> bytes:
    return b"".join(struct.pack("<I", len(pdu)) + pdu for pdu in pdus)


def decoded(packet: bytes, link: int = 101) -> list[bytes]:
    found = PacketDecoder().feed(1.5, packet, link)
    assert all(each[:3] == (1.5, FROM, TO) for each in found)
    return [each.data for each in found]


@pytest.mark.parametrize(
    ("data", "is_one"),
    [(ACK, True), (ACK[:-1], False), (ACK + b"\0", False), (b"", False), (b"\xff" * 4, False)],
)
def test_a_pdu_has_a_known_type_and_its_length(data: bytes, is_one: bool) -> None:
    assert is_pdu(data) is is_one
    assert decoded(ipv4(17, udp(data))) == ([data] if is_one else [])


@pytest.mark.parametrize(
    ("link", "header"),
    [
        (1, bytes(12) + b"\x08\x00"),
        (1, bytes(12) + b"\x81\x00\x00\x01\x08\x00"),
        (101, b""),
        (228, b""),
        (113, bytes(16)),
        (0, bytes(4)),
        (276, bytes(20)),
    ],
)
def test_headers_before_the_packet_are_skipped(link: int, header: bytes) -> None:
    assert decoded(header + ipv4(17, udp(ACK)), link) == [ACK]
    assert decoded(header + ipv4(17, udp(ACK), options=2), link) == [ACK]


@pytest.mark.parametrize(
    ("packet", "found"),
    [
        (ipv4(17, udp(ACK))[:19], []),
        (b"\x65" + ipv4(17, udp(ACK))[1:], []),
        (ipv4(17, udp(ACK), fragment=1), []),
        (ipv4(17, udp(ACK), fragment=0x1F00), []),
        (ipv4(17, udp(ACK), fragment=0x4000), [ACK]),
        (ipv4(1, udp(ACK)), []),
        (ipv4(17, udp(ACK)[:7]), []),
        (ipv4(17, udp(b"")), []),
        # Padding behind the packet does not count; a length of 0 is that of the capture.
        (ipv4(17, udp(ACK)) + bytes(9), [ACK]),
        (ipv4(17, udp(ACK), length=0), [ACK]),
        (ipv4(6, tcp(5, framed(ACK))), [ACK]),
        (ipv4(6, tcp(5, framed(ACK), options=3)), [ACK]),
        (ipv4(6, tcp(5, framed(ACK))[:19]), []),
        (ipv4(6, tcp(5, framed(ACK, STEP))), [ACK, STEP]),
    ],
)
def test_what_is_no_ipv4_datagram_or_segment_is_left_out(packet: bytes, found: list[bytes]) -> None:
    assert decoded(packet) == found


def test_the_end_of_a_connection_ends_its_stream() -> None:
    for flags, found in ((0x11, [ACK]), (0x14, [ACK]), (0x12, []), (0x10, [])):
        decoder = PacketDecoder()
        decoder.feed(0.0, ipv4(6, tcp(100, framed(STEP)[:6], flags)), 101)
        # Far away in the sequence: a stream that still knows its place waits for what is between.
        again = decoder.feed(0.0, ipv4(6, tcp(5000, framed(ACK))), 101)
        assert [each.data for each in again] == found


def fed(*segments: tuple[int, bytes], start: int = 0xFFFFFFFE) -> list[bytes]:
    """PDUs of segments by their distance from the start, which is just before the wrap."""
    stream = _Stream()
    assert stream.feed(start, b"", True) == []
    found = []
    for ahead, payload in segments:
        found += stream.feed((start + 1 + ahead) & 0xFFFFFFFF, payload, False)
    return found


WHOLE = framed(ACK, STEP, ACK)


@pytest.mark.parametrize(
    "cuts", [(), (1,), (4,), (5,), (8,), (8, 9), (3, 8, 20), tuple(range(1, len(WHOLE)))]
)
def test_segments_are_put_together_in_any_order(cuts: tuple[int, ...]) -> None:
    ends = (*cuts, len(WHOLE))
    parts = [(begin, WHOLE[begin:end]) for begin, end in zip((0, *cuts), ends, strict=True)]
    assert fed(*parts) == [ACK, STEP, ACK]
    assert fed(*reversed(parts)) == [ACK, STEP, ACK]
    assert fed(*(part for part in parts for _ in range(2))) == [ACK, STEP, ACK]


def test_repetitions_count_once_also_those_that_overlap() -> None:
    assert fed((0, WHOLE[:8]), (0, WHOLE[:8]), (4, WHOLE[4:])) == [ACK, STEP, ACK]
    assert fed((0, WHOLE[:8]), (0, WHOLE[:7]), (8, WHOLE[8:])) == [ACK, STEP, ACK]
    assert fed((0, b""), (0, WHOLE)) == [ACK, STEP, ACK]


def test_what_is_no_dcp_is_left_out_and_does_not_block() -> None:
    too_long = struct.pack("<I", (1 << 20) + 1) + b"\xb0" + bytes(9)
    unknown = struct.pack("<I", 4) + b"\xff\0\0\0"
    empty = struct.pack("<I", 0)
    for wrong in (too_long, unknown):
        assert fed((0, wrong), (len(wrong), framed(ACK))) == [ACK]
    assert fed((0, empty + framed(ACK))) == [ACK]
    wrong_size = struct.pack("<I", 3) + ACK[:3]
    assert fed((0, wrong_size + framed(ACK))) == [ACK]


def test_a_gap_is_given_up_after_256_segments() -> None:
    size = len(framed(ACK))
    later = [(100 + n * size, framed(ACK)) for n in range(256)]
    assert fed(*later) == []
    assert fed(*later, (100 + 256 * size, framed(ACK))) == [ACK] * 257


def test_a_stream_without_a_beginning_begins_where_it_is_seen() -> None:
    stream = _Stream()
    assert stream.feed(77, framed(ACK), False) == [ACK]
    assert stream.feed(77 + 8, framed(ACK), False) == [ACK]


@pytest.mark.parametrize(
    ("magic", "order", "unit"),
    [
        ("d4c3b2a1", "<", 1e-6),
        ("a1b2c3d4", ">", 1e-6),
        ("4d3cb2a1", "<", 1e-9),
        ("a1b23c4d", ">", 1e-9),
    ],
)
def test_files_of_each_byte_order_and_resolution(
    tmp_path: Path, magic: str, order: str, unit: float
) -> None:
    packet = ipv4(17, udp(ACK))
    head = bytes.fromhex(magic) + struct.pack(order + "HHiIII", 2, 4, 0, 0, 65535, 101)
    record = struct.pack(order + "IIII", 3, 250_000, len(packet), len(packet)) + packet
    path = tmp_path / "a.pcap"
    path.write_bytes(head + record * 2)
    expected = Captured(3 + 250_000 * unit, FROM, TO, "UDP", ACK)
    assert list(read_pcap(path)) == [expected] * 2
    for cut in (1, len(packet) + 1, len(record) - 1):
        path.write_bytes((head + record)[:-cut])
        with pytest.raises(DescriptionError, match="the file ends within a packet"):
            list(read_pcap(path))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "no pcap file"),
        (b"\n\r\r\n" + bytes(20), "a pcapng file; convert it: editcap -F pcap a.pcap capture.pcap"),
        (bytes(24), "no pcap file"),
        (bytes.fromhex("d4c3b2a1") + bytes(19), "no pcap file"),
        (bytes.fromhex("d4c3b2a1") + bytes(16) + b"\x02\0\0\0", "link type 2 is not supported"),
        (
            RAW + struct.pack("<IIII", 0, 0, 262145, 0),
            "a packet of 262145 bytes; at most 262144",
        ),
        (
            RAW + struct.pack("<IIII", 0, 0, 262144, 0),
            "the file ends within a packet",
        ),
    ],
)  # fmt: skip
def test_files_that_are_none(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "a.pcap"
    path.write_bytes(content)
    with pytest.raises(DescriptionError, match=said):
        list(read_pcap(path))


def test_a_datagram_without_data_is_no_pdu_and_a_header_cut_short_no_datagram() -> None:
    """UDP has 8 bytes before its data, TCP 20."""
    assert decoded(ipv4(17, udp(b""))) == []
    for size in range(9):
        assert decoded(ipv4(17, udp(b"")[:size])) == []
    assert decoded(ipv4(17, udp(ACK))) == [ACK]
    for size in (8, 19, 20):
        assert decoded(ipv4(6, tcp(100, b"")[:size])) == []
