# SPDX-License-Identifier: Apache-2.0
"""Completes a bag that a killed process left behind: an MCAP file that is cut off.

``rosbags`` needs the index at the end of a file. Here a file is read in sequence, as
:class:`ros2_cosim.record.mcap.McapWriter` writes it, and written anew.
"""

from __future__ import annotations

import shutil
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from ros2_cosim.documents.plain_data import parse_value
from ros2_cosim.interfaces.catalogue import DEFAULT, Catalogue
from ros2_cosim.kernel.errors import ConfigurationError, ProtocolError
from ros2_cosim.record.bag import METADATA_FILE, BagTopic, BagWriter, Qos, mcap_path
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


def recover(bag: Path, *, catalogue: Catalogue = DEFAULT) -> int:
    """Make a proper bag of one whose writer was killed; a complete one is left alone.

    The result is what the writer would have left had it been closed after the last chunk
    that reached the file. Custom data was not written yet and is missing.

    :returns: number of messages in the bag
    :raises ConfigurationError: there is no bag at ``bag``
    :raises ProtocolError: the file is not a bag of this suite, or damaged elsewhere than at its end
    """
    if is_complete(bag):
        return sum(1 for _ in read_bag(bag))
    path = find_storage(bag)
    types: dict[int, str] = {}
    topics: dict[int, BagTopic] = {}
    for part in _scan(path):
        if isinstance(part, Schema):
            types[part.id] = part.name
        elif isinstance(part, Channel):
            topics[part.id] = BagTopic(part.topic, types.get(part.schema, ""), _read_qos(part))
    # Same directory name, so that the storage file gets the same name.
    workplace = bag.with_name(bag.name + ".recovery")
    shutil.rmtree(workplace, ignore_errors=True)
    count = 0
    with BagWriter(workplace / bag.name, topics.values(), catalogue=catalogue) as writer:
        for part in _scan(path):
            if isinstance(part, _Message):
                if part.channel not in topics:
                    raise ProtocolError(f"{path}: message of channel {part.channel}, not declared")
                writer.write(topics[part.channel].name, part.stamp, part.seq, part.data)
                writer.advance(part.stamp)
                count += 1
    for part_path in (mcap_path(workplace / bag.name), workplace / bag.name / METADATA_FILE):
        part_path.replace(bag / part_path.name)
    shutil.rmtree(workplace)
    return count


def _read_qos(channel: Channel) -> Qos:
    try:
        (profile,) = parse_value(channel.metadata["offered_qos_profiles"], "QoS")
        return Qos(
            depth=profile["depth"],
            reliable=profile["reliability"] == "reliable",
            transient_local=profile["durability"] == "transient_local",
        )
    except (KeyError, ValueError, TypeError, ConfigurationError):
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


def _scan(path: Path) -> Iterator[Schema | Channel | _Message]:
    """Read the data of a file in sequence; ends silently where the file was cut off.

    Only whole records count, and of chunks only those whose checksum is right.

    :raises ProtocolError: this is no MCAP file, or it holds compressed chunks
    """
    with path.open("rb") as file:
        if file.read(len(MAGIC)) != MAGIC:
            raise ProtocolError(f"{path} is not an MCAP file")
        while True:
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
                    yield from _scan_chunk(body)
                else:
                    yield from _parse(opcode, body)
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
        yield from _parse(opcode, body[at : at + length])
        at += length


def _parse(opcode: int, body: bytes) -> Iterator[Schema | Channel | _Message]:
    if opcode == MESSAGE:
        channel, seq, stamp, _ = _MESSAGE_HEAD.unpack_from(body)
        yield _Message(channel, seq, stamp, body[_MESSAGE_HEAD.size :])
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
