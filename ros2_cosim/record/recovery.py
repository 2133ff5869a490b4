# SPDX-License-Identifier: Apache-2.0
"""Completes a bag that a killed process left behind: an MCAP file that is cut off.

``rosbags`` needs the index at the end of a file. Here a file is read in sequence, as
:class:`ros2_cosim.record.mcap.McapWriter` writes it; then the writer goes on where the last whole
chunk ends, and closes it. Nothing is copied: that a disk is full may be why the file is cut off.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import yaml

from ros2_cosim.kernel.errors import ProtocolError
from ros2_cosim.record.bag import LIBRARY, BagTopic, Qos, StoredTopic, finish_bag
from ros2_cosim.record.bag_reader import find_storage, is_complete, read_bag
from ros2_cosim.record.mcap import (
    CHANNEL,
    CHUNK,
    CHUNK_HEAD,
    DATA_END,
    FOOTER,
    MAGIC,
    MESSAGE,
    RECORD,
    SCHEMA,
    Channel,
    Existing,
    McapWriter,
    Schema,
)

#: A larger record is taken for rubbish at the end of a cut file.
MAX_RECORD = 1 << 30

_MESSAGE_HEAD = struct.Struct("<HIQQ")


class _Message(NamedTuple):
    channel: int
    seq: int
    stamp: int
    data: bytes


class _Chunk(NamedTuple):
    """A whole chunk: its place in the file, and what is in it."""

    place: int
    content: tuple[Schema | Channel | _Message, ...]


def recover(bag: Path) -> int:
    """Make a proper bag of one whose writer was killed; a complete one is left alone.

    The result is what the writer would have left had it been closed after the last chunk
    that reached the file. Custom data was not written yet and is missing.

    :returns: number of messages in the bag
    :raises ConfigurationError: there is no bag at ``bag``
    :raises ProtocolError: the file is not a bag of this suite, or damaged elsewhere than at its end
    :raises OSError: there is no room for the index
    """
    if is_complete(bag):
        return sum(1 for _ in read_bag(bag))
    path = find_storage(bag)
    schemas: dict[int, Schema] = {}
    channels: dict[int, Channel] = {}
    places: list[int] = []
    last: list[_Message] = []
    end = len(MAGIC)
    for part, behind in _scan(path):
        if isinstance(part, Schema):
            schemas[part.id] = part
        elif isinstance(part, Channel):
            channels[part.id] = part
        elif isinstance(part, _Chunk):
            places.append(part.place)
            last = _messages(path, part, channels)
        if not places:
            end = behind
    # The index of the last chunk may lack: that chunk is written once more.
    end = places.pop() if places else end
    existing = Existing(list(schemas.values()), list(channels.values()), places, end)
    mcap = McapWriter(path, profile="ros2", library=LIBRARY, existing=existing)
    try:
        for message in last:
            mcap.write(message.channel, message.seq, message.stamp, message.data)
        mcap.close_chunk()
        finish_bag(bag, mcap, _topics(schemas, channels), {})
        return sum(mcap.counts.values())
    finally:
        mcap.close()


def _messages(path: Path, chunk: _Chunk, channels: Mapping[int, Channel]) -> list[_Message]:
    """The messages of a chunk, which holds nothing else."""
    messages = []
    for part in chunk.content:
        if not isinstance(part, _Message):
            raise ProtocolError(f"{path}: declarations in a chunk; only bags of cosim are read")
        if part.channel not in channels:
            raise ProtocolError(f"{path}: message of channel {part.channel}, not declared")
        messages.append(part)
    return messages


def _topics(schemas: Mapping[int, Schema], channels: Mapping[int, Channel]) -> list[StoredTopic]:
    found = []
    for number, channel in sorted(channels.items()):
        if channel.schema not in schemas:
            raise ProtocolError(f"topic {channel.topic}: its type is not declared")
        topic = BagTopic(channel.topic, schemas[channel.schema].name, _read_qos(channel))
        found.append(StoredTopic(number, topic, channel.metadata.get("topic_type_hash", "")))
    return found


def _read_qos(channel: Channel) -> Qos:
    try:
        (profile,) = yaml.safe_load(channel.metadata["offered_qos_profiles"])
        return Qos(
            depth=profile["depth"],
            reliable=profile["reliability"] == "reliable",
            transient_local=profile["durability"] == "transient_local",
        )
    except (KeyError, ValueError, TypeError, yaml.YAMLError):
        raise ProtocolError(f"topic {channel.topic}: its QoS profile is not readable") from None


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


def _scan(path: Path) -> Iterator[tuple[Schema | Channel | _Chunk | None, int]]:
    """Read the data of a file in sequence; ends silently where the file was cut off.

    Only whole records count, and of chunks only those whose checksum is right.

    :returns: declarations, chunks, and None for other records; with the place behind each
    :raises ProtocolError: this is no MCAP file, or it holds compressed chunks
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
            if size > MAX_RECORD or opcode in (DATA_END, FOOTER):
                return  # what follows the data repeats schemas and channels
            body = file.read(size)
            if len(body) < size:
                return
            try:
                if opcode == CHUNK:
                    yield _Chunk(place, tuple(_scan_chunk(body))), file.tell()
                else:
                    part = _parse(opcode, body)
                    yield None if isinstance(part, _Message) else part, file.tell()
            except (ProtocolError, struct.error) as error:
                raise ProtocolError(f"{path}, byte {file.tell() - size}: {error}") from None


def _scan_chunk(body: bytes) -> Iterator[Schema | Channel | _Message]:
    _, _, size, crc = CHUNK_HEAD.unpack_from(body)
    fields = _Fields(body[CHUNK_HEAD.size :])
    compression = fields.text()
    if compression:
        raise ProtocolError(f"chunk is compressed ({compression}), only plain ones are read")
    start = CHUNK_HEAD.size + 4 + 8
    if fields.number("Q") != size or len(body) != start + size:
        raise ProtocolError("sizes of a chunk do not agree")
    if crc and zlib.crc32(memoryview(body)[start:]) != crc:
        raise ProtocolError("checksum of a chunk is wrong")
    at = start
    while at < len(body):
        opcode, length = RECORD.unpack_from(body, at)
        at += RECORD.size
        if length > len(body) - at:
            raise ProtocolError("record runs over the end of its chunk")
        part = _parse(opcode, body[at : at + length])
        if part is not None:
            yield part
        at += length


def _parse(opcode: int, body: bytes) -> Schema | Channel | _Message | None:
    if opcode == MESSAGE:
        channel, seq, stamp, _ = _MESSAGE_HEAD.unpack_from(body)
        return _Message(channel, seq, stamp, body[_MESSAGE_HEAD.size :])
    if opcode == SCHEMA:
        fields = _Fields(body)
        return Schema(fields.number("H"), fields.text(), fields.text(), fields.text())
    if opcode == CHANNEL:
        fields = _Fields(body)
        return Channel(
            fields.number("H"),
            fields.number("H"),
            fields.text(),
            fields.text(),
            fields.text_map(),
        )
    return None
