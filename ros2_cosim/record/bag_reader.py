# SPDX-License-Identifier: Apache-2.0
"""Reads bags: those of this suite, and any other of rosbag2 (MCAP or SQLite)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from ros2_cosim.documents.plain_data import read_mapping
from ros2_cosim.kernel.errors import ConfigurationError, ProtocolError
from ros2_cosim.record.bag import METADATA_FILE, mcap_path


class BagMessage(NamedTuple):
    """One recorded message: ``stamp`` in simulated nanoseconds, ``data`` in CDR."""

    topic: str
    type_name: str
    stamp: int
    data: bytes


def read_bag(bag: Path) -> Iterator[BagMessage]:
    """All messages of a complete bag in recorded order; one chunk at a time is in memory.

    :raises ConfigurationError: there is no bag at ``bag``, it is not complete, or its metadata is
        malformed or too large
    :raises ProtocolError: the bag is damaged
    """
    from rosbags.rosbag2 import Reader, ReaderError

    if not (bag / METADATA_FILE).is_file():
        find_storage(bag)
        raise ConfigurationError(
            f"the bag at {bag} is not complete: {METADATA_FILE} is missing; was its run killed?"
        )
    # The library reads it with a parser that knows no bounds.
    read_mapping(bag / METADATA_FILE, "bag")
    try:
        with Reader(bag) as reader:
            for connection, stamp, data in reader.messages():
                yield BagMessage(connection.topic, connection.msgtype, stamp, bytes(data))
    except ReaderError as error:
        raise ProtocolError(f"{bag}: {error}") from None
    except Exception as error:
        # What a damaged file makes the library raise has no common class.
        raise ProtocolError(f"{bag} is damaged: {error!r}") from None


def is_complete(bag: Path) -> bool:
    """Whether the bag was closed properly: metadata and index are there."""
    from rosbags.rosbag2 import Reader

    try:
        with Reader(bag):
            return mcap_path(bag).is_file()
    except Exception:  # as above: no common class
        return False


def find_storage(bag: Path) -> Path:
    """The storage file of a bag of this suite, complete or not.

    :raises ConfigurationError: it is not there
    """
    path = mcap_path(bag)
    if not path.is_file():
        raise ConfigurationError(f"no bag at {bag}: {path.name} is missing")
    return path
