# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Captured traffic: headers of each layer, files of each byte order, and segments in any order."""

from __future__ import annotations

import os
import struct
import sys
from pathlib import Path

import pytest

from ros2_cosim.dcp.standard.errors import CaptureError
from ros2_cosim.dcp.tools.capture import Captured, PacketDecoder, _Stream, is_pdu, read_file

#: RSP_ack number 7 of slave 1, and STC_do_step number 9 to slave 1 of 3 steps.
ACK = b"\xb0\x07\x00\x01"
STEP = b"\x07\x09\x00\x01\x0b\x03\x00\x00\x00"
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


def decoded(packet: bytes, link: int = 12) -> list[bytes]:
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
        decoder.feed(0.0, ipv4(6, tcp(100, framed(STEP)[:6], flags)), 12)
        # Far away in the sequence: a stream that still knows its place waits for what is between.
        again = decoder.feed(0.0, ipv4(6, tcp(5000, framed(ACK))), 12)
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


PACKET = ipv4(17, udp(ACK))
#: 250 ms after 3 s.
TIME_S, MILLISECONDS = 3.25, 3250
EXPECTED = Captured(TIME_S, FROM, TO, "UDP", ACK)


def pcap_head(link: int = 101, snapshot: int = 65535, order: str = "<", unit: int = 10**6) -> bytes:
    magic = {10**6: 0xA1B2C3D4, 10**9: 0xA1B23C4D}[unit]
    return struct.pack(order + "IHHiIII", magic, 2, 4, 0, 0, snapshot, link)


def record(packet: bytes = PACKET, order: str = "<", unit: int = 10**6) -> bytes:
    return struct.pack(order + "IIII", 3, unit // 4, len(packet), len(packet)) + packet


def block(kind: int, body: bytes, order: str = "<") -> bytes:
    """A block of a pcapng file: its length stands at both ends."""
    body += bytes(-len(body) % 4)
    size = struct.pack(order + "I", len(body) + 12)
    return struct.pack(order + "I", kind) + size + body + size


def section(order: str = "<") -> bytes:
    return block(0x0A0D0D0A, struct.pack(order + "IHHq", 0x1A2B3C4D, 1, 0, -1), order)


def interface(link: int, order: str = "<", digits: int = 6) -> bytes:
    """The description of an interface, with the resolution of its time stamps."""
    resolution = struct.pack(order + "HHB3xHH", 9, 1, digits, 0, 0)
    return block(1, struct.pack(order + "HHI", link, 0, 0) + resolution, order)


def enhanced(packet: bytes, number: int = 0, order: str = "<", digits: int = 6) -> bytes:
    time = MILLISECONDS * 10 ** (digits - 3)
    size = len(packet)
    head = struct.pack(order + "5I", number, time >> 32, time & 0xFFFFFFFF, size, size)
    return block(6, head + packet, order)


def written(path: Path, content: bytes) -> list[Captured]:
    path.write_bytes(content)
    return list(read_file(path))


@pytest.mark.parametrize("order", "<>")
@pytest.mark.parametrize("digits", [6, 9])
def test_files_of_each_byte_order_and_resolution(tmp_path: Path, order: str, digits: int) -> None:
    unit = 10**digits
    path = tmp_path / "a.pcap"
    head = pcap_head(order=order, unit=unit)
    assert written(path, head + record(order=order, unit=unit) * 2) == [EXPECTED] * 2
    head = section(order) + interface(101, order, digits)
    assert written(path, head + enhanced(PACKET, 0, order, digits) * 2) == [EXPECTED] * 2


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
def test_files_of_each_kind_of_link(tmp_path: Path, link: int, header: bytes) -> None:
    path = tmp_path / "a"
    for packet in (header + PACKET, header + ipv4(17, udp(ACK), options=2)):
        assert written(path, pcap_head(link) + record(packet)) == [EXPECTED]
        assert written(path, section() + interface(link) + enhanced(packet)) == [EXPECTED]


def test_a_pcapng_file_of_several_interfaces_and_blocks_of_other_kinds(tmp_path: Path) -> None:
    other = block(0xBAD, b"of another program")
    head = section() + other + interface(228) + interface(228) + other
    packets = enhanced(PACKET) + other + enhanced(PACKET, 1)
    assert written(tmp_path / "a.pcapng", head + packets) == [EXPECTED] * 2


def test_a_file_that_is_cut_off_shows_what_is_before(tmp_path: Path) -> None:
    path = tmp_path / "a.pcap"
    pcap, pcapng = pcap_head() + record(), section() + interface(101) + enhanced(PACKET)
    for content in (pcap, pcapng):
        last = record() if content is pcap else enhanced(PACKET)
        for size in (1, 9, len(last) - 1):
            path.write_bytes(content + last[:size])
            found = read_file(path)
            assert next(found) == EXPECTED
            with pytest.raises(CaptureError, match=rf"^{path}: truncated .*dump file"):
                next(found)


@pytest.mark.parametrize("name", ["Meßfahrt 東.pcap", b"\xff\xfe.pcap", "-", "a b'$(c)\n.pcap"])
def test_a_file_may_have_any_name(
    tmp_path: Path, name: str | bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = Path(name if isinstance(name, str) else os.fsdecode(name))
    with pytest.raises(FileNotFoundError):
        list(read_file(path))
    assert written(path, pcap_head() + record()) == [EXPECTED]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "truncated dump file; tried to read 4 file header bytes, only got 0"),
        (bytes(24), "unknown file format"),
        (b"\n\r\r\n" + bytes(20), "unknown file format"),
        (pcap_head()[:23], "truncated dump file; tried to read 24 file header bytes, only got 19"),
        (pcap_head(2), "link type 2 is not supported"),
        (pcap_head(147), "link type 147 is not supported"),
        (section() + interface(147) + enhanced(b""), "link type 147 is not supported"),
        (
            pcap_head(snapshot=2**32 - 1) + struct.pack("<IIII", 0, 0, 2**31, 0),
            "invalid packet capture length 2147483648, bigger than snaplen of 262144",
        ),
        (
            section() + interface(101) + interface(1) + enhanced(PACKET),
            "an interface has a type 1 different from the type of the first interface",
        ),
        (
            section() + struct.pack("<II", 1, 2**31 - 8),
            "pcapng block size 2147483640 > maximum 16777216",
        ),
        (section(), "the capture file has no Interface Description Blocks"),
    ],
)  # fmt: skip
def test_a_file_that_is_refused_is_named_with_the_reason(
    tmp_path: Path, content: bytes, said: str
) -> None:
    path = tmp_path / "a.pcap"
    with pytest.raises(CaptureError, match=f"^{path}: {said}$"):
        written(path, content)


def test_the_library_that_is_missing_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "cypcap", None)
    said = r"a\.pcap: cypcap, which reads packets, cannot be imported \(.*\); install it by: pip "
    with pytest.raises(CaptureError, match=said):
        written(tmp_path / "a.pcap", pcap_head())


def test_a_datagram_without_data_is_no_pdu_and_a_header_cut_short_no_datagram() -> None:
    """UDP has 8 bytes before its data, TCP 20."""
    assert decoded(ipv4(17, udp(b""))) == []
    for size in range(9):
        assert decoded(ipv4(17, udp(b"")[:size])) == []
    assert decoded(ipv4(17, udp(ACK))) == [ACK]
    for size in (8, 19, 20):
        assert decoded(ipv4(6, tcp(100, b"")[:size])) == []
