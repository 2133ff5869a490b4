# SPDX-License-Identifier: Apache-2.0
"""Reads the bags of this suite, and completes one that a killed process left behind."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from ros2_cosim.interfaces.catalogue import DEFAULT, Catalogue
from ros2_cosim.kernel.errors import ConfigurationError, ProtocolError
from ros2_cosim.record.bag import METADATA_FILE, BagTopic, BagWriter, Qos, mcap_path
from ros2_cosim.record.mcap import Channel, Message, Schema, scan


class BagMessage(NamedTuple):
    """One recorded message: ``stamp`` in simulated nanoseconds, ``data`` in CDR."""

    topic: str
    type_name: str
    stamp: int
    seq: int
    data: bytes


def read_bag(bag: Path) -> Iterator[BagMessage]:
    """All messages of a bag in recorded order; a bag that lacks its index is read as well.

    :raises ConfigurationError: there is no bag of this suite at ``bag``
    :raises ProtocolError: the file is damaged elsewhere than at its end
    """
    path = _storage(bag)
    types: dict[int, str] = {}
    topics: dict[int, tuple[str, str]] = {}
    for part in scan(path):
        if isinstance(part, Message):
            if part.channel not in topics:
                raise ProtocolError(f"{path}: message of channel {part.channel}, not declared")
            topic, type_name = topics[part.channel]
            yield BagMessage(topic, type_name, part.stamp, part.seq, part.data)
        elif isinstance(part, Schema):
            types[part.id] = part.name
        elif isinstance(part, Channel):
            topics[part.id] = part.topic, types.get(part.schema, "")


def is_complete(bag: Path) -> bool:
    """Whether the bag was closed properly (index and metadata are there)."""
    if not (bag / METADATA_FILE).is_file() or not mcap_path(bag).is_file():
        return False
    last: Any = 0
    for part in scan(mcap_path(bag)):
        last = part
    return last is None


def recover(bag: Path, *, catalogue: Catalogue = DEFAULT) -> int:
    """Make a proper bag of one whose writer was killed; a complete one is left alone.

    The result is what the writer would have left had it been closed after the last chunk
    that reached the file. Custom data was not written yet and is missing.

    :returns: number of messages in the bag
    :raises ConfigurationError: there is no bag at ``bag``
    :raises ProtocolError: the file is not a bag of this suite
    """
    if is_complete(bag):
        return sum(1 for _ in read_bag(bag))
    types: dict[int, str] = {}
    topics: list[BagTopic] = []
    for part in scan(_storage(bag)):
        if isinstance(part, Schema):
            types[part.id] = part.name
        elif isinstance(part, Channel):
            topics.append(BagTopic(part.topic, types[part.schema], _read_qos(part)))
    # Same directory name, so that the storage file gets the same name.
    workplace = bag.with_name(bag.name + ".recovery")
    shutil.rmtree(workplace, ignore_errors=True)
    count = 0
    with BagWriter(workplace / bag.name, topics, catalogue=catalogue) as writer:
        for message in read_bag(bag):
            writer.write(message.topic, message.stamp, message.seq, message.data)
            writer.advance(message.stamp)
            count += 1
    for part_path in (mcap_path(workplace / bag.name), workplace / bag.name / METADATA_FILE):
        part_path.replace(bag / part_path.name)
    shutil.rmtree(workplace)
    return count


def _storage(bag: Path) -> Path:
    path = mcap_path(bag)
    if not path.is_file():
        raise ConfigurationError(f"no bag at {bag}: {path.name} is missing")
    return path


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
