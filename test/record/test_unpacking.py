# SPDX-License-Identifier: Apache-2.0
"""Compressed chunks of foreign bags cannot fill the memory."""

from __future__ import annotations

import struct
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import lz4.frame
import pytest
from backports import zstd

from bench.fuzz.file_targets import foreign_bag
from ros2_cosim.kernel.errors import ProtocolError
from ros2_cosim.record.bag_reader import read_bag
from ros2_cosim.record.mcap import CHUNK, CHUNK_HEAD, MAGIC, RECORD
from ros2_cosim.record.unpacking import LARGEST_CHUNK, unpack_lz4, unpack_zstd

MANY = bytes(50_000_000)
METHODS = [(unpack_zstd, zstd.compress), (unpack_lz4, lz4.frame.compress)]


@pytest.mark.parametrize(("unpack", "pack"), METHODS)
def test_chunks_are_unpacked_to_their_size_only(
    unpack: Callable[[bytes, int], bytes], pack: Callable[[bytes], bytes]
) -> None:
    text = b"some text " * 100
    assert unpack(pack(text), len(text)) == text
    assert unpack(pack(text) + pack(b"more"), len(text) + 4) == text + b"more"
    assert unpack(b"", 0) == b""
    with pytest.raises(ProtocolError, match="cut off"):
        unpack(pack(text)[:-6], len(text))
    with pytest.raises(ProtocolError, match=f"allowed are {LARGEST_CHUNK}"):
        unpack(pack(text), LARGEST_CHUNK + 1)
    bomb = pack(MANY)
    tracemalloc.start()
    try:
        with pytest.raises(ProtocolError, match="more than the 1000 bytes"):
            unpack(bomb, 1000)
        assert tracemalloc.get_traced_memory()[1] < 5_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("method", ["zstd", "lz4"])
def test_a_bag_whose_chunk_holds_more_than_it_says_is_refused(tmp_path: Path, method: str) -> None:
    """The library would unpack the whole of it."""
    bag = tmp_path / "bag"
    foreign_bag("ZSTD")(bag)
    assert sum(1 for _ in read_bag(bag)) == 4
    (storage,) = bag.glob("*.mcap")
    storage.write_bytes(_with_bomb(storage.read_bytes(), method))
    with pytest.raises(ProtocolError, match="more than the"):
        list(read_bag(bag))


def _with_bomb(data: bytes, method: str) -> bytes:
    """The same file, but its chunk holds 50 MB; its index is left out, so that it is read first."""
    at = len(MAGIC)
    while True:
        opcode, size = RECORD.unpack_from(data, at)
        if opcode == CHUNK:
            break
        at += RECORD.size + size
    packed = zstd.compress(MANY) if method == "zstd" else lz4.frame.compress(MANY)
    name = method.encode()
    body = CHUNK_HEAD.pack(0, 9, 1000, 0) + struct.pack("<I", len(name)) + name
    body += struct.pack("<Q", len(packed)) + packed
    end = struct.pack("<BQI", 0x0F, 4, 0)
    footer = struct.pack("<BQQQI", 0x02, 20, 0, 0, 0)
    return data[:at] + RECORD.pack(CHUNK, len(body)) + body + end + footer + MAGIC
