# SPDX-License-Identifier: Apache-2.0
"""Completes a bag that a killed process left behind: an MCAP file that is cut off.

``rosbags`` needs the index at the end of a file. Here a file is read in sequence, as
:class:`ros2_cosim.record.mcap.McapWriter` writes it; then the writer goes on where the last whole
chunk ends, and closes it. Nothing is copied: that a disk is full may be why the file is cut off.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ros2_cosim.documents.plain_data import parse_value
from ros2_cosim.kernel.errors import ConfigurationError, ProtocolError
from ros2_cosim.record.bag import LIBRARY, BagTopic, Qos, StoredTopic, finish_bag
from ros2_cosim.record.bag_reader import find_storage, is_complete, read_bag
from ros2_cosim.record.mcap import MAGIC, Channel, Existing, McapWriter, Schema
from ros2_cosim.record.mcap_reader import Chunk, Message, scan


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
    last: list[Message] = []
    end = len(MAGIC)
    for part, behind in scan(path):
        if isinstance(part, Schema):
            schemas[part.id] = part
        elif isinstance(part, Channel):
            channels[part.id] = part
        elif isinstance(part, Chunk):
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


def _messages(path: Path, chunk: Chunk, channels: Mapping[int, Channel]) -> list[Message]:
    """The messages of a chunk, which holds nothing else."""
    messages = []
    for part in chunk.content:
        if not isinstance(part, Message):
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
        (profile,) = parse_value(channel.metadata["offered_qos_profiles"], "QoS")
        return Qos(
            depth=profile["depth"],
            reliable=profile["reliability"] == "reliable",
            transient_local=profile["durability"] == "transient_local",
        )
    except (KeyError, ValueError, TypeError, ConfigurationError):
        raise ProtocolError(f"topic {channel.topic}: its QoS profile is not readable") from None
