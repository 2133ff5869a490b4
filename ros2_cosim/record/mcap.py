# SPDX-License-Identifier: Apache-2.0
"""The MCAP container format: writing a file with chunks and index, reading one in sequence.

Format: https://mcap.dev/spec. Everything written is a function of the arguments alone (no
time of day, no library version, no compression), so equal content gives equal bytes. A
chunk reaches the operating system as soon as it is closed: after a crash of the process
everything up to there can be read back in sequence.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from ros2_cosim.kernel.errors import ProtocolError

MAGIC = b"\x89MCAP0\r\n"
MAX_RECORD = 1 << 30

HEADER = 0x01
FOOTER = 0x02
SCHEMA = 0x03
CHANNEL = 0x04
MESSAGE = 0x05
CHUNK = 0x06
MESSAGE_INDEX = 0x07
CHUNK_INDEX = 0x08
STATISTICS = 0x0B
METADATA = 0x0C
METADATA_INDEX = 0x0D
SUMMARY_OFFSET = 0x0E
DATA_END = 0x0F

_RECORD = struct.Struct("<BQ")
_MESSAGE = struct.Struct("<BQHIQQ")
_MESSAGE_BODY = struct.Struct("<HIQQ")
_CHUNK = struct.Struct("<QQQI")


class Schema(NamedTuple):
    """A message type: ``encoding`` names the language of ``text``."""

    id: int
    name: str
    encoding: str
    text: str


class Channel(NamedTuple):
    """A topic of one message type."""

    id: int
    schema: int
    topic: str
    encoding: str
    metadata: Mapping[str, str]


class Message(NamedTuple):
    """One message as it lies in a file; ``stamp`` in nanoseconds."""

    channel: int
    seq: int
    stamp: int
    data: bytes


class _ChunkEntry(NamedTuple):
    """What the summary says of one chunk."""

    start: int
    end: int
    offset: int
    length: int
    index_offsets: dict[int, int]
    index_length: int
    size: int


class McapWriter:
    """Writes one MCAP file; messages are to come in the order of their stamps.

    :param path: file to create (an existing one is an error)
    :raises OSError: the file cannot be created or written
    """

    def __init__(self, path: Path, *, profile: str, library: str) -> None:
        self._file = path.open("xb", buffering=0)
        self._offset = 0
        self._schemas: list[Schema] = []
        self._channels: list[Channel] = []
        self._chunks: list[_ChunkEntry] = []
        self._chunk = bytearray()
        self._index: dict[int, list[int]] = {}
        self._start = self._end = 0
        self.counts: dict[int, int] = {}
        self.first_stamp: int | None = None
        self.last_stamp = 0
        self._write(MAGIC + record(HEADER, text(profile) + text(library)))

    @property
    def chunk_size(self) -> int:
        """Bytes in the open chunk."""
        return len(self._chunk)

    def add_schema(self, schema: Schema) -> None:
        """Declare a message type."""
        self._schemas.append(schema)
        self._write(_schema_record(schema))

    def add_channel(self, channel: Channel) -> None:
        """Declare a topic; its schema must be there."""
        self._channels.append(channel)
        self.counts[channel.id] = 0
        self._write(_channel_record(channel))

    def write(self, channel: int, seq: int, stamp: int, data: bytes) -> None:
        """Add a message to the open chunk."""
        chunk = self._chunk
        entries = self._index.get(channel)
        if entries is None:
            entries = self._index[channel] = []
        if not chunk:
            self._start = stamp
        self._end = stamp
        entries.append(stamp)
        entries.append(len(chunk))
        chunk += _MESSAGE.pack(MESSAGE, 22 + len(data), channel, seq & 0xFFFFFFFF, stamp, stamp)
        chunk += data

    def close_chunk(self) -> None:
        """Hand the open chunk and its index to the operating system."""
        if not self._chunk:
            return
        size = len(self._chunk)
        head = _CHUNK.pack(self._start, self._end, size, zlib.crc32(self._chunk)) + text("")
        head += struct.pack("<Q", size)
        offset = self._offset
        length = _RECORD.size + len(head) + size
        index = bytearray()
        index_offsets: dict[int, int] = {}
        for channel in sorted(self._index):
            entries = self._index[channel]
            index_offsets[channel] = offset + length + len(index)
            body = struct.pack(f"<HI{len(entries)}Q", channel, 8 * len(entries), *entries)
            index += record(MESSAGE_INDEX, body)
            self.counts[channel] += len(entries) // 2
        lead = _RECORD.pack(CHUNK, len(head) + size) + head
        self._write(b"".join((lead, self._chunk, index)))
        self._chunks.append(
            _ChunkEntry(self._start, self._end, offset, length, index_offsets, len(index), size)
        )
        if self.first_stamp is None:
            self.first_stamp = self._start
        self.last_stamp = self._end
        self._chunk.clear()
        self._index.clear()

    def close(self, metadata: Mapping[str, Mapping[str, str]]) -> None:
        """Write the last chunk, metadata records, index and footer; close the file."""
        self.close_chunk()
        metadata_index = bytearray()
        for name in sorted(metadata):
            block = record(METADATA, text(name) + text_map(metadata[name]))
            metadata_index += record(
                METADATA_INDEX, struct.pack("<QQ", self._offset, len(block)) + text(name)
            )
            self._write(block)
        self._write(record(DATA_END, bytes(4)))
        groups = (
            (SCHEMA, b"".join(map(_schema_record, self._schemas))),
            (CHANNEL, b"".join(map(_channel_record, self._channels))),
            (CHUNK_INDEX, b"".join(map(_chunk_index_record, self._chunks))),
            (METADATA_INDEX, bytes(metadata_index)),
            (STATISTICS, self._statistics(len(metadata))),
        )
        start = self._offset
        summary = bytearray()
        offsets = bytearray()
        for opcode, block in groups:
            if block:
                place = struct.pack("<BQQ", opcode, start + len(summary), len(block))
                offsets += record(SUMMARY_OFFSET, place)
                summary += block
        lead = _RECORD.pack(FOOTER, 20) + struct.pack("<QQ", start, start + len(summary))
        crc = zlib.crc32(b"".join((summary, offsets, lead)))
        self._write(b"".join((summary, offsets, lead, struct.pack("<I", crc), MAGIC)))
        self._file.close()

    def abandon(self) -> None:
        """Close the file as it is: without the open chunk, index and footer."""
        self._file.close()

    def _statistics(self, metadata_count: int) -> bytes:
        body = struct.pack(
            "<QHIIIIQQI",
            sum(self.counts.values()),
            len(self._schemas),
            len(self._channels),
            0,
            metadata_count,
            len(self._chunks),
            self.first_stamp or 0,
            self.last_stamp,
            10 * len(self.counts),
        )
        for channel in sorted(self.counts):
            body += struct.pack("<HQ", channel, self.counts[channel])
        return record(STATISTICS, body)

    def _write(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[self._file.write(view) :]
        self._offset += len(data)


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
    return _RECORD.pack(opcode, len(body)) + body


def _schema_record(schema: Schema) -> bytes:
    body = struct.pack("<H", schema.id) + text(schema.name) + text(schema.encoding)
    return record(SCHEMA, body + text(schema.text))


def _channel_record(channel: Channel) -> bytes:
    body = struct.pack("<HH", channel.id, channel.schema)
    body += text(channel.topic) + text(channel.encoding) + text_map(channel.metadata)
    return record(CHANNEL, body)


def _chunk_index_record(chunk: _ChunkEntry) -> bytes:
    body = struct.pack("<QQQQ", chunk.start, chunk.end, chunk.offset, chunk.length)
    body += struct.pack("<I", 10 * len(chunk.index_offsets))
    for channel, offset in chunk.index_offsets.items():
        body += struct.pack("<HQ", channel, offset)
    body += struct.pack("<Q", chunk.index_length) + text("")
    return record(CHUNK_INDEX, body + struct.pack("<QQ", chunk.size, chunk.size))


class _Fields:
    """Takes the fields of one record off its bytes."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def number(self, code: str) -> int:
        (value,) = struct.unpack_from("<" + code, self._data, self._at)
        self._at += struct.calcsize(code)
        return int(value)

    def raw(self) -> bytes:
        size = self.number("I")
        if size > len(self._data) - self._at:
            raise ProtocolError("text runs over the end of its record")
        self._at += size
        return self._data[self._at - size : self._at]

    def text(self) -> str:
        try:
            return self.raw().decode()
        except UnicodeDecodeError:
            raise ProtocolError("text is not valid UTF-8") from None

    def text_map(self) -> dict[str, str]:
        inner = _Fields(self.raw())
        result: dict[str, str] = {}
        while inner._at < len(inner._data):
            key = inner.text()
            result[key] = inner.text()
        return result


def scan(path: Path) -> Iterator[Schema | Channel | Message | None]:
    """Read a file in sequence, index or not; ends silently where the file was cut off.

    Only whole records count, and of chunks only those whose checksum is right. The last
    thing yielded is None if, and only if, the file was closed properly.

    :raises ProtocolError: this is no MCAP file, or it holds compressed chunks
    """
    with path.open("rb") as file:
        if file.read(len(MAGIC)) != MAGIC:
            raise ProtocolError(f"{path} is not an MCAP file")
        in_data = True
        while True:
            lead = file.read(_RECORD.size)
            if len(lead) < _RECORD.size:
                return
            opcode, size = _RECORD.unpack(lead)
            if size > MAX_RECORD:
                return
            body = file.read(size)
            if len(body) < size:
                return
            if opcode == FOOTER:
                if file.read(len(MAGIC)) == MAGIC:
                    yield None
                return
            if opcode == DATA_END:
                in_data = False  # what follows repeats schemas and channels
            if not in_data:
                continue
            try:
                if opcode == CHUNK:
                    yield from _scan_chunk(body)
                else:
                    yield from _parse(opcode, body)
            except (ProtocolError, struct.error) as error:
                raise ProtocolError(f"{path}, byte {file.tell() - size}: {error}") from None


def _scan_chunk(body: bytes) -> Iterator[Schema | Channel | Message]:
    _, _, size, crc = _CHUNK.unpack_from(body)
    fields = _Fields(body[_CHUNK.size :])
    compression = fields.text()
    if compression:
        raise ProtocolError(f"chunk is compressed ({compression}), only plain ones are read")
    start = _CHUNK.size + 4 + 8
    if fields.number("Q") != size or len(body) != start + size:
        raise ProtocolError("sizes of a chunk do not agree")
    if crc and zlib.crc32(memoryview(body)[start:]) != crc:
        raise ProtocolError("checksum of a chunk is wrong")
    at = start
    while at < len(body):
        opcode, length = _RECORD.unpack_from(body, at)
        at += _RECORD.size
        if length > len(body) - at:
            raise ProtocolError("record runs over the end of its chunk")
        yield from _parse(opcode, body[at : at + length])
        at += length


def _parse(opcode: int, body: bytes) -> Iterator[Schema | Channel | Message]:
    if opcode == MESSAGE:
        channel, seq, stamp, _ = _MESSAGE_BODY.unpack_from(body)
        yield Message(channel, seq, stamp, body[_MESSAGE_BODY.size :])
    elif opcode == SCHEMA:
        fields = _Fields(body)
        yield Schema(fields.number("H"), fields.text(), fields.text(), fields.text())
    elif opcode == CHANNEL:
        fields = _Fields(body)
        yield Channel(
            fields.number("H"),
            fields.number("H"),
            fields.text(),
            fields.text(),
            fields.text_map(),
        )
