# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Completes a bag that a killed process left behind: the last of its MCAP files is cut off.

``rosbags`` needs the index at the end of a file. Here a file is read in sequence, as
:class:`ros2_cosim.core.record.mcap.McapWriter` writes it; then the writer goes on where the last
whole chunk ends, and closes it. Nothing is copied: that a disk is full may be why the file is cut
off.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ros2_cosim.core.documents.plain_data import parse_value
from ros2_cosim.core.kernel.errors import ConfigurationError, ProtocolError
from ros2_cosim.core.record.bag_metadata import (
    LIBRARY,
    SCENARIO_KEY,
    BagTopic,
    FileFacts,
    Qos,
    StoredTopic,
    file_facts,
    finish_file,
    write_metadata,
)
from ros2_cosim.core.record.bag_reader import (
    check_undamaged,
    find_storage,
    is_complete,
    read_bag,
    storage_files,
)
from ros2_cosim.core.record.mcap import MAGIC, Existing, McapChannel, McapWriter, Schema
from ros2_cosim.core.record.mcap_reader import Chunk, End, Message, Metadata, is_finished, scan


def recover(bag: Path) -> int:
    """Make a proper bag of one whose writer was killed; a complete one is left alone.

    The result is what the writer would have left if it had been closed after the last chunk
    that reached the file.

    :returns: number of messages in the bag
    :raises ConfigurationError: there is no bag at ``bag``
    :raises ProtocolError: a file is not of a bag of this suite, damaged elsewhere than at its
        end, or cut off after the bag was closed
    :raises OSError: there is no room for the index
    """
    if is_complete(bag):
        return sum(1 for _ in read_bag(bag))
    find_storage(bag)
    check_undamaged(bag)
    paths = storage_files(bag)
    first = content = _Content(paths[0])
    files: list[FileFacts] = []
    for number, path in enumerate(paths):
        if number:
            # The last one may just have been created: not even its first bytes are there then.
            content = _Content(path if path.stat().st_size >= len(MAGIC) else None)
        if number and not content.places and path == paths[-1]:
            path.unlink()
        elif content.has_end and is_finished(path):
            files.append(content.facts())
        else:
            files.append(_completed(path, content, first.topics(), first.custom_data))
    write_metadata(bag, files, first.topics(), first.custom_data)
    return sum(sum(facts.counts.values()) for facts in files)


def _completed(
    path: Path, content: _Content, topics: list[StoredTopic], custom_data: dict[str, str]
) -> FileFacts:
    """Go on behind the last whole chunk of a file, and close it."""
    # The index of the last chunk may lack: that chunk is written once more.
    places = content.places[:-1]
    end = content.places[-1] if content.places else content.declared_to
    existing = Existing(
        list(content.schemas.values()),
        list(content.channels.values()),
        places,
        end,
        content.metadata,
    )
    mcap = McapWriter(
        path, profile="ros2", library=LIBRARY, compression=content.compression, existing=existing
    )
    try:
        for message in content.last:
            mcap.write(message.channel, message.seq, message.stamp, message.data)
        mcap.close_chunk()
        finish_file(path, mcap, topics, custom_data)
        return file_facts(mcap)
    finally:
        mcap.close()


@dataclass
class _Content:
    """What is whole in a storage file; nothing of one that is not written yet (None)."""

    path: Path | None
    schemas: dict[int, Schema] = field(default_factory=dict)
    channels: dict[int, McapChannel] = field(default_factory=dict)
    #: Metadata records in front of the chunks: (place, length, name).
    metadata: list[tuple[int, int, str]] = field(default_factory=list)
    custom_data: dict[str, str] = field(default_factory=dict)
    #: Where the declarations end.
    declared_to: int = len(MAGIC)
    places: list[int] = field(default_factory=list)
    #: The messages of the last chunk, and how it is compressed.
    last: list[Message] = field(default_factory=list)
    compression: str = ""
    counts: Counter[int] = field(default_factory=Counter)
    first: int | None = None
    has_end: bool = False

    def __post_init__(self) -> None:
        if self.path is not None:
            self._read(self.path)

    def _read(self, path: Path) -> None:
        is_closing = False
        for part, behind in scan(path):
            if isinstance(part, Metadata):
                if part.name != LIBRARY:
                    is_closing = True
                    continue
                self.metadata.append((part.place, behind - part.place, part.name))
                self.custom_data |= part.values
                self.custom_data.pop(SCENARIO_KEY, None)
            elif isinstance(part, Schema):
                self.schemas[part.id] = part
            elif isinstance(part, McapChannel):
                self.channels[part.id] = part
            elif isinstance(part, Chunk):
                self._take(path, part)
            elif isinstance(part, End):
                self.has_end = True
            if not self.places and not is_closing:
                self.declared_to = behind

    def _take(self, path: Path, chunk: Chunk) -> None:
        self.places.append(chunk.place)
        self.last = _messages(path, chunk, self.channels)
        self.compression = chunk.compression
        self.counts.update(message.channel for message in self.last)
        if self.first is None and self.last:
            self.first = self.last[0].stamp

    def facts(self) -> FileFacts:
        """What is in it."""
        return FileFacts(self.first, self.last[-1].stamp if self.last else 0, self.counts)

    def topics(self) -> list[StoredTopic]:
        """Its topics, in the order of their channels.

        :raises ProtocolError: a type is not declared, or a quality of service is not readable
        """
        return _topics(self.schemas, self.channels)


def _messages(path: Path, chunk: Chunk, channels: Mapping[int, McapChannel]) -> list[Message]:
    """The messages of a chunk, which holds nothing else."""
    messages = []
    for part in chunk.content:
        if not isinstance(part, Message):
            raise ProtocolError(f"{path}: declarations in a chunk; only bags of cosim are read")
        if part.channel not in channels:
            raise ProtocolError(f"{path}: message of channel {part.channel}, not declared")
        messages.append(part)
    return messages


def _topics(
    schemas: Mapping[int, Schema], channels: Mapping[int, McapChannel]
) -> list[StoredTopic]:
    found = []
    for number, channel in sorted(channels.items()):
        if channel.schema not in schemas:
            raise ProtocolError(f"topic {channel.topic}: its type is not declared")
        topic = BagTopic(channel.topic, schemas[channel.schema].name, _read_qos(channel))
        found.append(StoredTopic(number, topic, channel.metadata.get("topic_type_hash", "")))
    return found


def _read_qos(channel: McapChannel) -> Qos:
    try:
        (profile,) = parse_value(channel.metadata["offered_qos_profiles"], "QoS")
        return Qos(
            depth=profile["depth"],
            reliable=profile["reliability"] == "reliable",
            transient_local=profile["durability"] == "transient_local",
        )
    except (KeyError, ValueError, TypeError, ConfigurationError):
        raise ProtocolError(f"topic {channel.topic}: its QoS profile is not readable") from None
