# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Writes files of the MCAP container format (https://mcap.dev/spec), with chunks and index.

Bags are read by ``rosbags`` (:mod:`ros2_cosim.core.record.bag_reader`). Why it does not write them:

* The caller closes a chunk, which then reaches the operating system in one write: after a crash
  of the process everything up to there can be recovered (:mod:`ros2_cosim.core.record.recovery`).
  The writer of ``rosbags`` 0.11 closes a chunk when it exceeds 1 MiB, and keeps what declares
  the topics in the first one: a run that is killed before has left nothing.
* Everything written is a function of the arguments alone (no time of day, no library version):
  equal content gives equal bytes, those of compressed chunks with equal compressors
  (:mod:`ros2_cosim.core.record.packing`).
* Messages keep their sequence numbers; ``rosbags`` writes 0.

Speed is not a reason: 2.8 us a message here with sorting, 5 us there (CPU time, CDR given).
"""

from __future__ import annotations

import os
import struct
import zlib
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from ros2_cosim.core.kernel.trace import PackedPair
from ros2_cosim.core.record.packing import pack

MAGIC = b"\x89MCAP0\r\n"

HEADER: Final = 0x01
FOOTER: Final = 0x02
SCHEMA: Final = 0x03
CHANNEL: Final = 0x04
MESSAGE: Final = 0x05
CHUNK: Final = 0x06
MESSAGE_INDEX: Final = 0x07
CHUNK_INDEX: Final = 0x08
STATISTICS: Final = 0x0B
METADATA: Final = 0x0C
METADATA_INDEX: Final = 0x0D
SUMMARY_OFFSET: Final = 0x0E
DATA_END: Final = 0x0F

RECORD = struct.Struct("<BQ")
#: How a message begins: sort, length and channel, then its sequence number and twice its stamp.
_MESSAGE: Final = struct.Struct("<BQH").pack
_TIMES: Final = PackedPair(b"", "<IQ")
#: What a message takes in a chunk beside its data.
MESSAGE_BYTES: Final = 31
CHUNK_HEAD = struct.Struct("<QQQI")
_INDEX_HEAD = struct.Struct("<BQHI")
#: Behind the head of a chunk: the name of its compression and the size of its content.
_PACKING_BYTES = 32
_BATCH = 1 << 20


class Schema(NamedTuple):
    """A message type: ``encoding`` names the language of ``text``."""

    id: int
    name: str
    encoding: str
    text: str


class McapChannel(NamedTuple):
    """A topic of one message type."""

    id: int
    schema: int
    topic: str
    encoding: str
    metadata: Mapping[str, str]


class Existing(NamedTuple):
    """What a file holds that is continued: ``end`` is behind the last of the whole ``places``."""

    schemas: Sequence[Schema]
    channels: Sequence[McapChannel]
    places: Sequence[int]
    end: int
    #: (place, length, name) of metadata records.
    metadata: Sequence[tuple[int, int, str]] = ()


class _ChunkEntry(NamedTuple):
    """One chunk with its index, as it lies in the file."""

    start: int
    end: int
    offset: int
    length: int
    #: Bytes of its content, plain and as it is in the file, and the method of compression.
    size: int
    packed: int
    compression: str
    #: Channel -> (place of its message index, number of its messages).
    indexes: dict[int, tuple[int, int]]
    index_length: int


class _Open:
    """The messages of a channel in the open chunk.

    :ivar entries: stamp and place of each
    :ivar head: how a message of ``size`` bytes begins
    """

    __slots__ = ("entries", "head", "size")

    def __init__(self) -> None:
        self.entries: list[int] = []
        self.head = b""
        self.size = -1


class McapWriter:
    """Writes one MCAP file; messages are to come in the order of their stamps.

    What is kept in memory of a chunk that has been written is its place in the file, eight bytes:
    :meth:`finish` makes the index from the file. When the file cannot be written any further (the
    disk is full), it is cut behind the last whole chunk, and can still be finished.

    :param path: file to create (an existing one is an error)
    :param compression: of chunks: ``zstd``, ``lz4``, or empty for none
    :param existing: continue the file at ``path``, which has its declarations and whole chunks
    :raises OSError: the file cannot be created or written
    """

    def __init__(
        self,
        path: Path,
        *,
        profile: str,
        library: str,
        compression: str = "",
        existing: Existing | None = None,
    ) -> None:
        self._file = path.open("r+b" if existing else "x+b", buffering=0)
        self._compression = compression
        self._offset = 0
        self._metadata: list[tuple[int, int, str]] = []
        self._schemas: list[Schema] = []
        self._channels: list[McapChannel] = []
        self._places = array("Q")
        #: Pieces of the open chunk, and how many bytes they are.
        self._chunk: list[bytes] = []
        self._size = 0
        self._index: dict[int, _Open] = {}
        self._start = self._end = 0
        self.counts: dict[int, int] = {}
        self.first_stamp: int | None = None
        self.last_stamp = 0
        #: Where the data end; the index follows.
        self._data_end: int | None = None
        if existing is None:
            self._write(MAGIC + record(HEADER, text(profile) + text(library)))
            return
        self._metadata += existing.metadata
        self._schemas += existing.schemas
        self._channels += existing.channels
        self.counts.update((channel.id, 0) for channel in existing.channels)
        self._offset = existing.end
        self._file.truncate(self._offset)
        for place in existing.places:
            self._count(self._entry(place))

    @property
    def chunk_size(self) -> int:
        """Bytes in the open chunk."""
        return self._size

    @property
    def chunks(self) -> int:
        """Chunks in the file."""
        return len(self._places)

    def add_schema(self, schema: Schema) -> None:
        """Declare a message type."""
        self._schemas.append(schema)
        self._write(_schema_record(schema))

    def add_channel(self, channel: McapChannel) -> None:
        """Declare a topic; its schema must be there."""
        self._channels.append(channel)
        self.counts[channel.id] = 0
        self._write(_channel_record(channel))

    def add_metadata(self, name: str, values: Mapping[str, str]) -> None:
        """Write a metadata record in front of the chunks."""
        self._metadata.append(self._write_metadata(name, values))

    def write(self, channel: int, seq: int, stamp: int, data: bytes) -> None:
        """Add a message to the open chunk."""
        opened = self._index.get(channel)
        if opened is None:
            opened = self._index[channel] = _Open()
        if not self._size:
            self._start = stamp
        self._end = stamp
        opened.entries.append(stamp)
        opened.entries.append(self._size)
        size = len(data)
        if size != opened.size:
            opened.size = size
            opened.head = _MESSAGE(MESSAGE, 22 + size, channel)
        times = _TIMES.of(seq & 0xFFFFFFFF, stamp)
        chunk = self._chunk
        chunk.append(opened.head)
        chunk.append(times)
        chunk.append(times[4:])
        chunk.append(data)
        self._size += MESSAGE_BYTES + size

    def write_while(
        self,
        messages: Sequence[tuple[int, int, int, bytes]],
        at: int,
        stop: int,
        before: int,
        largest: int,
        room: int,
    ) -> tuple[int, int]:
        """Add messages as long as the open chunk takes them.

        :param messages: (stamp, channel, sequence number, bytes)
        :param at, stop: the first of them, and the one behind the last
        :param before: those that are stamped before this [ns] belong to the chunk
        :param largest: a chunk of so many bytes takes no more
        :param room: so many bytes the file takes
        :returns: the first one that was not added, and the room that is left
        """
        while at < stop:
            stamp, channel, seq, data = messages[at]
            size = MESSAGE_BYTES + len(data)
            if stamp >= before or self._size >= largest or size > room:
                break
            self.write(channel, seq, stamp, data)
            room -= size
            at += 1
        return at, room

    def close_chunk(self) -> None:
        """Hand the open chunk and its index to the operating system.

        :raises OSError: it cannot be written; nothing of it is in the file then
        """
        if not self._chunk:
            return
        size = self._size
        plain = b"".join(self._chunk)
        content = pack(self._compression, plain)
        packed = len(content)
        head = CHUNK_HEAD.pack(self._start, self._end, size, zlib.crc32(plain))
        head += text(self._compression) + struct.pack("<Q", packed)
        place = self._offset
        length = RECORD.size + len(head) + packed
        index = bytearray()
        places: dict[int, tuple[int, int]] = {}
        for channel in sorted(self._index):
            entries = self._index[channel].entries
            if not entries:
                continue
            count = len(entries)
            places[channel] = place + length + len(index), count // 2
            index += _INDEX_HEAD.pack(MESSAGE_INDEX, 6 + 8 * count, channel, 8 * count)
            index += struct.pack(f"<{count}Q", *entries)
        lead = RECORD.pack(CHUNK, len(head) + packed) + head
        self._write(b"".join((lead, content, index)))
        self._count(
            _ChunkEntry(
                self._start,
                self._end,
                place,
                length,
                size,
                packed,
                self._compression,
                places,
                len(index),
            )
        )
        self.drop_open_chunk()

    def drop_open_chunk(self) -> None:
        """Forget the messages that are not in the file."""
        self._chunk.clear()
        self._size = 0
        for opened in self._index.values():
            opened.entries.clear()

    def drop_last_chunk(self) -> None:
        """Take the last chunk, and an index behind it, out of the file."""
        self._data_end = None
        dropped = self._entry(self._places.pop())
        for channel, (_, count) in dropped.indexes.items():
            self.counts[channel] -= count
        self._offset = dropped.offset
        self._file.truncate(self._offset)
        if self._places:
            self.last_stamp = self._entry(self._places[-1]).end
        else:
            self.first_stamp, self.last_stamp = None, 0

    def finish(self, metadata: Mapping[str, Mapping[str, str]]) -> None:
        """Write metadata records, index and footer behind the last chunk; may be repeated.

        :raises OSError: they cannot be written; the file ends with its last chunk then
        """
        if self._data_end is not None:
            self._offset = self._data_end
            self._file.truncate(self._offset)
        self._data_end = end = self._offset
        try:
            self._finish(metadata)
        except OSError:
            self._offset = end
            self._file.truncate(end)
            raise

    def close(self) -> None:
        """Close the file as it is; of one that is not finished, the index and the footer lack."""
        self._file.close()

    def _finish(self, metadata: Mapping[str, Mapping[str, str]]) -> None:
        stored = list(self._metadata)
        stored += [self._write_metadata(name, metadata[name]) for name in sorted(metadata)]
        metadata_index = (
            record(METADATA_INDEX, struct.pack("<QQ", place, length) + text(name))
            for place, length, name in stored
        )
        self._write(record(DATA_END, bytes(4)))
        groups: tuple[tuple[int, Iterable[bytes]], ...] = (
            (SCHEMA, map(_schema_record, self._schemas)),
            (CHANNEL, map(_channel_record, self._channels)),
            (CHUNK_INDEX, (_chunk_index_record(self._entry(place)) for place in self._places)),
            (METADATA_INDEX, metadata_index),
            (STATISTICS, [self._statistics(len(stored))]),
        )
        summary = self._offset
        offsets = bytearray()
        crc = 0
        for opcode, records in groups:
            start = self._offset
            for block in _batches(records):
                crc = zlib.crc32(block, crc)
                self._write(block)
            if self._offset > start:
                place = struct.pack("<BQQ", opcode, start, self._offset - start)
                offsets += record(SUMMARY_OFFSET, place)
        lead = RECORD.pack(FOOTER, 20) + struct.pack("<QQ", summary, self._offset)
        crc = zlib.crc32(offsets + lead, crc)
        self._write(b"".join((offsets, lead, struct.pack("<I", crc), MAGIC)))

    def _write_metadata(self, name: str, values: Mapping[str, str]) -> tuple[int, int, str]:
        """Write a metadata record; its place, its length and its name."""
        block = record(METADATA, text(name) + text_map(values))
        place = self._offset
        self._write(block)
        return place, len(block), name

    def _count(self, entry: _ChunkEntry) -> None:
        """Take a chunk that is in the file into account."""
        self._places.append(entry.offset)
        for channel, (_, count) in entry.indexes.items():
            self.counts[channel] += count
        if self.first_stamp is None:
            self.first_stamp = entry.start
        self.last_stamp = entry.end

    def _entry(self, place: int) -> _ChunkEntry:
        """Read from the file what the index says of a chunk."""
        file = self._file.fileno()
        lead = os.pread(file, RECORD.size + CHUNK_HEAD.size + _PACKING_BYTES, place)
        _, body = RECORD.unpack_from(lead)
        start, end, size, _ = CHUNK_HEAD.unpack_from(lead, RECORD.size)
        at = RECORD.size + CHUNK_HEAD.size + 4
        (length,) = struct.unpack_from("<I", lead, at - 4)
        compression = lead[at : at + length].decode()
        (packed,) = struct.unpack_from("<Q", lead, at + length)
        at = behind = place + RECORD.size + body
        index = {}
        while at < self._offset:
            opcode, length, channel, size_of_entries = _INDEX_HEAD.unpack(
                os.pread(file, _INDEX_HEAD.size, at).ljust(_INDEX_HEAD.size, bytes(1))
            )
            if opcode != MESSAGE_INDEX:
                break
            index[channel] = at, size_of_entries // 16
            at += RECORD.size + length
        return _ChunkEntry(
            start, end, place, behind - place, size, packed, compression, index, at - behind
        )

    def _statistics(self, metadata_count: int) -> bytes:
        body = struct.pack(
            "<QHIIIIQQI",
            sum(self.counts.values()),
            len(self._schemas),
            len(self._channels),
            0,
            metadata_count,
            len(self._places),
            self.first_stamp or 0,
            self.last_stamp,
            10 * len(self.counts),
        )
        for channel in sorted(self.counts):
            body += struct.pack("<HQ", channel, self.counts[channel])
        return record(STATISTICS, body)

    def _write(self, data: bytes) -> None:
        """Append to the file all of ``data``, or nothing.

        :raises OSError: it cannot be written
        """
        view = memoryview(data)
        file = self._file.fileno()
        at = self._offset
        try:
            while view:
                written = os.pwrite(file, view, at)
                at += written
                view = view[written:]
        except OSError:
            self._file.truncate(self._offset)
            raise
        self._offset = at


def _batches(records: Iterable[bytes]) -> Iterator[bytes]:
    """Records joined to blocks of some size: one write for each takes long."""
    block = bytearray()
    for each in records:
        block += each
        if len(block) >= _BATCH:
            yield bytes(block)
            block.clear()
    if block:
        yield bytes(block)


def text(value: str) -> bytes:
    """A string as MCAP writes it."""
    raw = value.encode()
    return struct.pack("<I", len(raw)) + raw


def text_map(values: Mapping[str, str]) -> bytes:
    """A map of strings as MCAP writes it, sorted by key."""
    body = b"".join(text(key) + text(values[key]) for key in sorted(values))
    return struct.pack("<I", len(body)) + body


def record(opcode: int, body: bytes) -> bytes:
    """A whole record."""
    return RECORD.pack(opcode, len(body)) + body


def _schema_record(schema: Schema) -> bytes:
    body = struct.pack("<H", schema.id) + text(schema.name) + text(schema.encoding)
    return record(SCHEMA, body + text(schema.text))


def _channel_record(channel: McapChannel) -> bytes:
    body = struct.pack("<HH", channel.id, channel.schema)
    body += text(channel.topic) + text(channel.encoding) + text_map(channel.metadata)
    return record(CHANNEL, body)


def _chunk_index_record(chunk: _ChunkEntry) -> bytes:
    body = struct.pack("<QQQQ", chunk.start, chunk.end, chunk.offset, chunk.length)
    body += struct.pack("<I", 10 * len(chunk.indexes))
    for channel, (place, _) in chunk.indexes.items():
        body += struct.pack("<HQ", channel, place)
    body += struct.pack("<Q", chunk.index_length) + text(chunk.compression)
    return record(CHUNK_INDEX, body + struct.pack("<QQ", chunk.packed, chunk.size))
