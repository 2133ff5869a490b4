# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What is compressed in foreign bags can fill neither memory nor disk."""

from __future__ import annotations

import os
import sqlite3
import struct
import tempfile
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import lz4.frame
import pytest
from backports import zstd

from bench.fuzz.file_targets import foreign_bag
from ros2_cosim.core.kernel.errors import ProtocolError
from ros2_cosim.core.messages.cdr import MAX_BYTES
from ros2_cosim.core.record.bag_reader import read_bag, topic_types
from ros2_cosim.core.record.mcap import CHUNK, CHUNK_HEAD, MAGIC, RECORD
from ros2_cosim.core.record.unpacking import (
    LARGEST_CHUNK,
    SMALL_FILE,
    uncompressed,
    unpack_lz4,
    unpack_zstd,
)

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


def _compressed(bag: Path, mode: str, storage: str = "MCAP") -> None:
    """Writes a bag of four messages, compressed as a whole or by messages."""
    from rosbags.rosbag2 import CompressionFormat, CompressionMode, StoragePlugin, Writer
    from rosbags.typesys import Stores, get_typestore

    store = get_typestore(Stores.ROS2_JAZZY)
    text = store.types["std_msgs/msg/String"]
    writer = Writer(bag, version=9, storage_plugin=StoragePlugin[storage])
    writer.set_compression(CompressionMode[mode], CompressionFormat.ZSTD)
    with writer:
        connection = writer.add_connection("/text", "std_msgs/msg/String", typestore=store)
        for stamp in range(4):
            data = store.serialize_cdr(text(f"{stamp}" * 40), "std_msgs/msg/String")
            writer.write(connection, stamp, data)


@pytest.mark.parametrize("storage", ["MCAP", "SQLITE3"])
@pytest.mark.parametrize("mode", ["FILE", "MESSAGE"])
def test_bags_compressed_as_files_or_by_messages_are_read(
    tmp_path: Path, mode: str, storage: str
) -> None:
    bag = tmp_path / "bag"
    _compressed(bag, mode, storage)
    found = list(read_bag(bag, start=1))
    assert [message.stamp for message in found] == [1, 2, 3]
    assert [b"3" * 40 in message.data for message in found] == [False, False, True]
    assert list(topic_types(bag)) == ["/text"]


@pytest.mark.parametrize("times", [1, 2])
def test_a_file_that_becomes_too_large_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, times: int
) -> None:
    """Whatever is in it: it is not unpacked any further; also if it has several frames."""
    bag = tmp_path / "bag"
    _compressed(bag, "FILE")
    (storage,) = bag.glob("*.zstd")
    storage.write_bytes(zstd.compress(bytes(SMALL_FILE)) * times + zstd.compress(b"x"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    tracemalloc.start()
    try:
        with pytest.raises(ProtocolError, match=f"more than {SMALL_FILE} bytes; allowed are 100 "):
            list(read_bag(bag))
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
    finally:
        tracemalloc.stop()
    assert [path.name for path in tmp_path.iterdir()] == ["bag"]


@pytest.mark.parametrize("what", ["more than 67108864 bytes", "is cut off"])
def test_a_message_that_becomes_too_large_or_is_cut_off_is_refused(
    tmp_path: Path, what: str
) -> None:
    bag = tmp_path / "bag"
    _compressed(bag, "MESSAGE", "SQLITE3")
    bad = zstd.compress(bytes(MAX_BYTES + 1)) if "more" in what else zstd.compress(b"x" * 99)[:-3]
    (storage,) = bag.glob("*.db3")
    with sqlite3.connect(storage) as database:
        database.execute("UPDATE messages SET data = ? WHERE timestamp = 2", [bad])
    database.close()
    messages = read_bag(bag)
    assert [next(messages).stamp, next(messages).stamp] == [0, 1]
    with pytest.raises(ProtocolError, match=what):
        next(messages)


def test_a_storage_file_that_is_none_is_refused(tmp_path: Path) -> None:
    bag = tmp_path / "bag"
    _compressed(bag, "FILE")
    (storage,) = bag.glob("*.zstd")
    storage.unlink()
    os.mkfifo(storage)
    with pytest.raises(ProtocolError, match=f"{storage.name} is not an ordinary file"):
        list(read_bag(bag))
    storage.unlink()
    with pytest.raises(ProtocolError, match="missing"):
        list(read_bag(bag))


@pytest.mark.parametrize(
    ("mode", "form"), [("file", "lz4"), ("message", ""), ("none", "zstd"), (None, "zstd")]
)
def test_what_is_packed_in_another_way_is_left_to_the_library(
    tmp_path: Path, mode: str | None, form: str
) -> None:
    (tmp_path / "a.mcap").touch()
    about = {"compression_mode": mode, "compression_format": form}
    about |= {"relative_file_paths": ["a.mcap"]}
    with uncompressed(tmp_path, {"rosbag2_bagfile_information": about}) as found:
        assert found == (tmp_path, False)


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
