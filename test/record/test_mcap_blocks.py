# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""How records are joined for the disk, and what an MCAP file is made of."""

from __future__ import annotations

import struct
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ros2_cosim.core.record.mcap import (
    MESSAGE_BYTES,
    McapChannel,
    McapWriter,
    Schema,
    _batches,
    record,
    text,
    text_map,
)
from ros2_cosim.core.record.packing import pack

MIB = 1 << 20


def test_records_are_joined_until_a_block_has_a_mebibyte() -> None:
    assert list(_batches([])) == []
    assert list(_batches([b"a", b"", b"bc"])) == [b"abc"]
    one_less = b"x" * (MIB - 1)
    assert list(_batches([one_less, b"y", b"z"])) == [one_less + b"y", b"z"]
    assert list(_batches([one_less, b"y"])) == [one_less + b"y"]
    assert [len(block) for block in _batches([one_less, b"yy", one_less])] == [MIB + 1, MIB - 1]


def test_records_are_those_of_the_specification() -> None:
    """https://mcap.dev/spec: an opcode, 8 bytes of length; texts and maps have 4, little-endian."""
    assert text("ä") == b"\x02\x00\x00\x00\xc3\xa4"
    pairs = text("a") + text("") + text("b") + text("1")
    assert text_map({"b": "1", "a": ""}) == b"\x13\x00\x00\x00" + pairs
    assert record(0x0F, b"\x01\x02\x03\x04") == b"\x0f\x04\0\0\0\0\0\0\0\x01\x02\x03\x04"


def written(path: Path, compression: str = "") -> bytes:
    """Two chunks of two topics, a third topic without messages, and metadata on both sides."""
    mcap = McapWriter(path, profile="ros2", library="me", compression=compression)
    mcap.add_metadata("before", {"a": "b"})
    mcap.add_schema(Schema(7, "T", "ros2msg", "int8 x"))
    for number, topic in enumerate(("/one", "/two", "/three"), 1):
        mcap.add_channel(McapChannel(number, 7, topic, "cdr", {}))
    mcap.write(2, 0, 10, b"aa")
    mcap.write(1, 2**32 + 5, 11, b"bbb")
    mcap.write(2, 1, 12, b"c")
    mcap.close_chunk()
    mcap.close_chunk()
    mcap.write(1, 6, 20, b"dd")
    mcap.close_chunk()
    mcap.finish({"behind": {"c": "d"}})
    mcap.close()
    return path.read_bytes()


def parts(data: bytes, start: int, end: int) -> Iterator[tuple[int, int, bytes]]:
    """Opcode, place and body of each record."""
    while start < end:
        opcode, size = struct.unpack_from("<BQ", data, start)
        yield opcode, start, data[start + 9 : start + 9 + size]
        start += 9 + size
    assert start == end


def body_at(data: bytes, place: int) -> bytes:
    return next(parts(data, place, place + 9 + struct.unpack_from("<Q", data, place + 1)[0]))[2]


@pytest.mark.parametrize("compression", ["", "zstd"])
def test_the_index_leads_to_every_message(tmp_path: Path, compression: str) -> None:
    """By the specification alone: footer, summary, chunk indexes, message indexes, messages."""
    data = written(tmp_path / "x.mcap", compression)
    magic = b"\x89MCAP0\r\n"
    assert data[:8] == data[-8:] == magic
    footer = len(data) - 8 - 29
    assert struct.unpack_from("<BQ", data, footer) == (0x02, 20)
    summary, offsets, crc = struct.unpack_from("<QQI", data, footer + 9)
    assert zlib.crc32(data[summary:-12]) == crc
    found: dict[int, list[bytes]] = {}
    for opcode, _, body in parts(data, summary, offsets):
        found.setdefault(opcode, []).append(body)
    assert {opcode: len(bodies) for opcode, bodies in found.items()} == {
        0x03: 1, 0x04: 3, 0x08: 2, 0x0D: 2, 0x0B: 1,
    }  # fmt: skip
    # Groups lie one behind the other, each of one kind of record.
    at = summary
    for opcode, _, body in parts(data, offsets, footer):
        assert opcode == 0x0E
        kind, start, length = struct.unpack("<BQQ", body)
        assert start == at and {o for o, _, _ in parts(data, start, start + length)} == {kind}
        at += length
    assert at == offsets
    statistics = struct.unpack_from("<QHIIIIQQI", found[0x0B][0])
    assert statistics == (4, 1, 3, 0, 2, 2, 10, 20, 30)
    counts = [struct.unpack_from("<HQ", found[0x0B][0], 46 + 10 * n) for n in range(3)]
    assert counts == [(1, 2), (2, 2), (3, 0)]
    names = []
    for body in found[0x0D]:
        place, length = struct.unpack_from("<QQ", body)
        assert data[place] == 0x0C and len(body_at(data, place)) + 9 == length
        names.append(body[20:])
    assert names == [b"before", b"behind"]
    messages = [message for body in found[0x08] for message in indexed(data, body, compression)]
    assert messages == [(1, 5, 11, b"bbb"), (2, 0, 10, b"aa"), (2, 1, 12, b"c"), (1, 6, 20, b"dd")]


def indexed(data: bytes, body: bytes, compression: str) -> Iterator[tuple[int, int, int, bytes]]:
    """Channel, number, stamp and content of the messages of a chunk, as its index has them."""
    first, last, place, length, size = struct.unpack_from("<QQQQI", body)
    chunk = body_at(data, place)
    assert data[place] == 0x06 and length == 9 + len(chunk)
    assert struct.unpack_from("<QQ", chunk) == (first, last)
    plain, crc = struct.unpack_from("<QI", chunk, 16)
    assert chunk[28:].startswith(text(compression))
    packed_at = 28 + 4 + len(compression) + 8
    content = chunk[packed_at:]
    if compression:
        from backports import zstd

        content = zstd.decompress(content)
    assert (len(content), zlib.crc32(content)) == (plain, crc)
    index_length = struct.unpack_from("<Q", body, 36 + size)[0]
    assert body[36 + size + 8 :] == text(compression) + struct.pack(
        "<QQ", len(chunk) - packed_at, plain
    )
    behind = list(parts(data, place + length, place + length + index_length))
    places = [struct.unpack_from("<HQ", body, 36 + at) for at in range(0, size, 10)]
    assert [(struct.unpack_from("<H", part)[0], at) for _, at, part in behind] == places
    assert {opcode for opcode, _, _ in behind} == {0x07}
    stamps = []
    for _, _, part in behind:
        channel, entries = struct.unpack_from("<HI", part)
        assert len(part) == 6 + entries
        for at in range(6, len(part), 16):
            stamp, offset = struct.unpack_from("<QQ", part, at)
            opcode, length, found, number, log, sent = struct.unpack_from(
                "<BQHIQQ", content, offset
            )
            assert (opcode, found, log, sent) == (0x05, channel, stamp, stamp)
            stamps.append(stamp)
            yield channel, number, stamp, content[offset + 31 : offset + 9 + length]
    assert (min(stamps), max(stamps)) == (first, last)


def test_a_file_without_messages_has_no_times(tmp_path: Path) -> None:
    mcap = McapWriter(tmp_path / "x.mcap", profile="ros2", library="me")
    mcap.close_chunk()
    assert (mcap.chunks, mcap.first_stamp, mcap.last_stamp) == (0, None, 0)
    mcap.finish({})
    mcap.close()
    data = (tmp_path / "x.mcap").read_bytes()
    summary, offsets = struct.unpack_from("<QQ", data, len(data) - 28)
    ((opcode, _, body),) = parts(data, summary, offsets)
    assert (opcode, body) == (0x0B, bytes(46))
    # Of the groups that a summary may have, it names the one that is there.
    (group,) = parts(data, offsets, len(data) - 8 - 29)
    assert (group[0], group[2]) == (0x0E, struct.pack("<BQQ", 0x0B, summary, 9 + 46))


def test_chunks_can_be_taken_back(tmp_path: Path) -> None:
    """As long as the last one is dropped, the file is what it was before."""
    mcap = McapWriter(tmp_path / "x.mcap", profile="ros2", library="me")
    mcap.add_channel(McapChannel(1, 0, "/one", "cdr", {}))
    for stamp in (10, 20):
        mcap.write(1, stamp, stamp, b"x" * stamp)
        mcap.close_chunk()
    assert (mcap.chunks, mcap.counts, mcap.first_stamp, mcap.last_stamp) == (2, {1: 2}, 10, 20)
    mcap.finish({})
    mcap.drop_last_chunk()
    assert (mcap.chunks, mcap.counts, mcap.first_stamp, mcap.last_stamp) == (1, {1: 1}, 10, 10)
    mcap.finish({"a": {}})
    mcap.finish({})
    once = (tmp_path / "x.mcap").read_bytes()
    mcap.drop_last_chunk()
    assert (mcap.chunks, mcap.counts, mcap.first_stamp, mcap.last_stamp) == (0, {1: 0}, None, 0)
    mcap.write(1, 10, 10, b"x" * 10)
    mcap.finish({})
    assert mcap.chunk_size == 31 + 10
    mcap.drop_open_chunk()
    assert mcap.chunk_size == 0
    mcap.close()
    other = McapWriter(tmp_path / "y.mcap", profile="ros2", library="me")
    other.add_channel(McapChannel(1, 0, "/one", "cdr", {}))
    other.write(1, 10, 10, b"x" * 10)
    other.close_chunk()
    other.finish({})
    other.close()
    assert (tmp_path / "y.mcap").read_bytes() == once


def test_methods_of_compression_are_those_of_mcap() -> None:
    data = b"abc" * 1000
    assert pack("", data) is data
    assert pack("zstd", data)[:4] == bytes.fromhex("28b52ffd")
    assert pack("lz4", bytearray(data))[:4] == bytes.fromhex("04224d18")
    assert pack("zstd", data) == pack("zstd", bytearray(data))


@given(
    sizes=st.lists(st.integers(0, 90), max_size=30),
    before=st.integers(0, 35),
    largest=st.integers(1, 900),
    room=st.integers(0, 2500),
)
def test_many_messages_are_written_as_one_by_one(
    sizes: list[int], before: int, largest: int, room: int
) -> None:
    """Until the chunk ends by time or size, or the next one does not fit into the file."""
    messages = [(n, 1 + n % 2, n, bytes([n]) * size) for n, size in enumerate(sizes)]
    with tempfile.TemporaryDirectory() as directory:
        files = []
        for name in ("once", "each"):
            mcap = McapWriter(Path(directory) / name, profile="ros2", library="me")
            mcap.add_schema(Schema(7, "T", "ros2msg", "int8 x"))
            for number in (1, 2):
                mcap.add_channel(McapChannel(number, 7, f"/{number}", "cdr", {}))
            files.append(mcap)
        once, each = files
        at, left = once.write_while(messages, 0, len(messages), before, largest, room)
        expected, free = 0, room
        for stamp, channel, seq, data in messages:
            size = MESSAGE_BYTES + len(data)
            if stamp >= before or each.chunk_size >= largest or size > free:
                break
            each.write(channel, seq, stamp, data)
            expected, free = expected + 1, free - size
        assert (at, left) == (expected, free)
        for mcap in files:
            mcap.close_chunk()
            mcap.finish({})
            mcap.close()
        assert (Path(directory) / "once").read_bytes() == (Path(directory) / "each").read_bytes()
