# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Reads MCAP files in sequence, as :class:`ros2_cosim.core.record.mcap.McapWriter` writes them.

``rosbags`` reads bags by their index, of which it keeps more than a kilobyte in memory for each
second of a run; and it cannot read a file that was cut off. In sequence, one chunk is in memory.
"""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from ros2_cosim.core.kernel.errors import ProtocolError
from ros2_cosim.core.record.mcap import (
    CHANNEL,
    CHUNK,
    CHUNK_HEAD,
    DATA_END,
    FOOTER,
    HEADER,
    MAGIC,
    MESSAGE,
    METADATA,
    RECORD,
    SCHEMA,
    McapChannel,
    Schema,
)
from ros2_cosim.core.record.unpacking import unpack_chunk

#: A larger record is taken for rubbish at the end of a cut file.
MAX_RECORD = 1 << 30
#: The header holds two short texts.
_MAX_HEADER = 4096

#: The name of a compression and a size take no more.
_PACKING_BYTES = 32

_MESSAGE_HEAD = struct.Struct("<HIQQ")


class Message(NamedTuple):
    """A message; ``stamp`` in nanoseconds."""

    channel: int
    seq: int
    stamp: int
    data: bytes


class Chunk(NamedTuple):
    """A whole chunk: its place in the file, and what is in it."""

    place: int
    content: tuple[Schema | McapChannel | Message, ...]
    #: ``zstd``, ``lz4``, or empty.
    compression: str


class Metadata(NamedTuple):
    """A metadata record: its place in the file, its name, and what it says."""

    place: int
    name: str
    values: dict[str, str]


class End(NamedTuple):
    """The data end here: the file is whole, up to its index."""


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


def library_of(path: Path) -> str:
    """The library that has written a file; empty if its header does not say."""
    with path.open("rb") as file:
        if file.read(len(MAGIC)) != MAGIC:
            return ""
        lead = file.read(RECORD.size)
        if len(lead) < RECORD.size:
            return ""
        opcode, size = RECORD.unpack(lead)
        if opcode != HEADER or size > _MAX_HEADER:
            return ""
        try:
            fields = _Fields(file.read(size))
            fields.text()  # the profile
            return fields.text()
        except (ProtocolError, struct.error):
            return ""


def is_finished(path: Path) -> bool:
    """Whether a file ends as the format says: index and footer have been written."""
    with path.open("rb") as file:
        file.seek(0, os.SEEK_END)
        file.seek(max(len(MAGIC), file.tell() - len(MAGIC)))  # it begins with the same bytes
        return file.read() == MAGIC


def scan(
    path: Path, start: int | None = None, stop: int | None = None
) -> Iterator[tuple[Schema | McapChannel | Chunk | Metadata | End | None, int]]:
    """Read the data of a file in sequence; ends without ``End`` where the file was cut off.

    Only whole records count, and of chunks only those whose checksum is right.

    :param start, stop: chunks without a stamp in between are passed over; None: no limit
    :returns: declarations, chunks, metadata, and None for other records; with the place behind each
    :raises ProtocolError: this is not an MCAP file, or it is damaged elsewhere than at its end
    """
    with path.open("rb") as file:
        if file.read(len(MAGIC)) != MAGIC:
            raise ProtocolError(f"{path} is not an MCAP file")
        while True:
            place = file.tell()
            lead = file.read(RECORD.size)
            if len(lead) < RECORD.size:
                return
            opcode, size = RECORD.unpack(lead)
            if opcode in (DATA_END, FOOTER):
                yield End(), place
                return  # what follows the data repeats schemas and channels
            if size > MAX_RECORD:
                return
            body = file.read(size)
            if len(body) < size:
                return
            try:
                if opcode == CHUNK and _is_outside(body, start, stop):
                    yield None, file.tell()
                elif opcode == CHUNK:
                    compression, content = _unpacked(body)
                    yield Chunk(place, tuple(_scan_chunk(content)), compression), file.tell()
                elif opcode == METADATA:
                    fields = _Fields(body)
                    yield Metadata(place, fields.text(), fields.text_map()), file.tell()
                else:
                    part = _parse(opcode, body)
                    yield None if isinstance(part, Message) else part, file.tell()
            except (ProtocolError, struct.error) as error:
                raise ProtocolError(f"{path}, byte {file.tell() - size}: {error}") from None


def _is_outside(body: bytes, start: int | None, stop: int | None) -> bool:
    """Whether a chunk has no stamp in a stretch of time."""
    first, last, _, _ = CHUNK_HEAD.unpack_from(body)
    return (start is not None and last < start) or (stop is not None and first >= stop)


def _unpacked(body: bytes) -> tuple[str, bytes]:
    """How a chunk is compressed, and its plain content."""
    _, _, size, crc = CHUNK_HEAD.unpack_from(body)
    fields = _Fields(body[CHUNK_HEAD.size : CHUNK_HEAD.size + _PACKING_BYTES])
    compression = fields.text()
    start = CHUNK_HEAD.size + 4 + len(compression.encode()) + 8
    if fields.number("Q") != len(body) - start:
        raise ProtocolError("sizes of a chunk do not agree")
    content = unpack_chunk(compression, body[start:], size)
    if len(content) != size:
        raise ProtocolError("sizes of a chunk do not agree")
    if crc and zlib.crc32(content) != crc:
        raise ProtocolError("checksum of a chunk is wrong")
    return compression, content


def _scan_chunk(content: bytes) -> Iterator[Schema | McapChannel | Message]:
    at = 0
    while at < len(content):
        opcode, length = RECORD.unpack_from(content, at)
        at += RECORD.size
        if length > len(content) - at:
            raise ProtocolError("record runs over the end of its chunk")
        part = _parse(opcode, content[at : at + length])
        if part is not None:
            yield part
        at += length


def _parse(opcode: int, body: bytes) -> Schema | McapChannel | Message | None:
    if opcode == MESSAGE:
        channel, seq, stamp, _ = _MESSAGE_HEAD.unpack_from(body)
        return Message(channel, seq, stamp, body[_MESSAGE_HEAD.size :])
    if opcode == SCHEMA:
        fields = _Fields(body)
        number, name, encoding = fields.number("H"), fields.text(), fields.text()
        # That of a protobuf message is not a text, and nothing here reads it.
        return Schema(number, name, encoding, "" if encoding == "protobuf" else fields.text())
    if opcode == CHANNEL:
        fields = _Fields(body)
        return McapChannel(
            fields.number("H"),
            fields.number("H"),
            fields.text(),
            fields.text(),
            fields.text_map(),
        )
    return None
