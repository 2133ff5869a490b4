# SPDX-License-Identifier: Apache-2.0
"""Reads bags: those of this suite, and any other of rosbag2 (MCAP or SQLite)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from ros2_cosim.documents.one_line import one_line
from ros2_cosim.documents.plain_data import read_mapping
from ros2_cosim.kernel.errors import ConfigurationError, ProtocolError
from ros2_cosim.record.bag import LIBRARY, METADATA_FILE, mcap_path
from ros2_cosim.record.mcap import Channel, Schema
from ros2_cosim.record.mcap_reader import Chunk, End, Message, is_finished, library_of, scan
from ros2_cosim.record.unpacking import bound_library


class BagMessage(NamedTuple):
    """One recorded message: ``stamp`` in simulated nanoseconds, ``data`` in CDR."""

    topic: str
    type_name: str
    stamp: int
    data: bytes


def read_bag(bag: Path, start: int | None = None, stop: int | None = None) -> Iterator[BagMessage]:
    """The messages of a complete bag in recorded order; one chunk at a time is in memory.

    :param start, stop: the first stamp that is wanted, and the one behind the last; None: all
    :raises ConfigurationError: there is no bag at ``bag``, it is not complete, or its metadata is
        malformed or too large
    :raises ProtocolError: the bag is damaged
    """
    if not (bag / METADATA_FILE).is_file():
        find_storage(bag)
        raise ConfigurationError(
            f"the bag at {bag} is not complete: {METADATA_FILE} is missing; was its run killed?"
        )
    own = mcap_path(bag)
    if own.is_file() and library_of(own) == LIBRARY:
        yield from _read_own(own, start, stop)
    else:
        yield from _read_other(bag, start, stop)


def _read_own(path: Path, start: int | None, stop: int | None) -> Iterator[BagMessage]:
    """The messages of a file that this suite has written: they lie in their order."""
    schemas: dict[int, str] = {}
    topics: dict[int, tuple[str, str]] = {}
    whole_to = 0
    for part, behind in scan(path, start, stop):
        whole_to = behind
        if isinstance(part, Chunk):
            for message in part.content:
                if not isinstance(message, Message) or message.channel not in topics:
                    raise ProtocolError(f"{path}: the chunk at byte {part.place} is damaged")
                stamp = message.stamp
                if (start is None or stamp >= start) and (stop is None or stamp < stop):
                    yield BagMessage(*topics[message.channel], stamp, message.data)
        elif isinstance(part, Schema):
            schemas[part.id] = part.name
        elif isinstance(part, Channel):
            topics[part.id] = part.topic, schemas.get(part.schema, "")
        elif isinstance(part, End):
            return
    raise ProtocolError(f"{path} is damaged: cut off behind byte {whole_to}")


def _read_other(bag: Path, start: int | None, stop: int | None) -> Iterator[BagMessage]:
    """The messages of any bag of rosbag2, by its index."""
    from rosbags.rosbag2 import Reader, ReaderError

    # The library reads it with a parser that knows no bounds.
    read_mapping(bag / METADATA_FILE, "bag")
    bound_library()
    try:
        with Reader(bag) as reader:
            for connection, stamp, data in reader.messages(start=start, stop=stop):
                yield BagMessage(connection.topic, connection.msgtype, stamp, bytes(data))
    except ProtocolError as error:
        raise ProtocolError(f"{bag}: {error}") from None
    except ReaderError as error:
        raise ProtocolError(f"{bag}: {one_line(error)}") from None
    except Exception as error:
        # What a damaged file makes the library raise has no common class.
        raise ProtocolError(f"{bag} is damaged: {one_line(repr(error))}") from None


def is_complete(bag: Path) -> bool:
    """Whether the bag was closed properly: metadata and index are there."""
    own = mcap_path(bag)
    if not own.is_file():
        return False
    if library_of(own) == LIBRARY:
        return (bag / METADATA_FILE).is_file() and is_finished(own)
    from rosbags.rosbag2 import Reader

    bound_library()
    try:
        with Reader(bag):
            return True
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
