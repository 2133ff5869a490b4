# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Reads bags: those of this suite, and any other of rosbag2 (MCAP or SQLite)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from itertools import count, takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ros2_cosim.compiled import stamp_of
from ros2_cosim.core.documents.files import cause_of
from ros2_cosim.core.documents.one_line import one_line
from ros2_cosim.core.documents.plain_data import read_mapping
from ros2_cosim.core.kernel.errors import ConfigurationError, ProtocolError
from ros2_cosim.core.record.bag_metadata import LIBRARY, METADATA_FILE, START_KEY, mcap_path
from ros2_cosim.core.record.mcap import McapChannel, Schema
from ros2_cosim.core.record.mcap_reader import (
    Chunk,
    End,
    Message,
    Metadata,
    is_finished,
    library_of,
    scan,
)
from ros2_cosim.core.record.unpacking import bound_library, uncompressed, unpack_message

if TYPE_CHECKING:
    from rosbags.rosbag2 import Reader


class BagMessage(NamedTuple):
    """One recorded message: ``stamp`` in nanoseconds, ``data`` in CDR.

    In a bag of this suite the stamp counts from the start of the run, else as in the bag.
    """

    topic: str
    type_name: str
    stamp: int
    data: bytes


class TopicType(NamedTuple):
    """The message type of a topic, and its definition with those of all parts (ROS ``.msg``).

    The definition is empty where a bag has none.
    """

    type_name: str
    definition: str


def topic_types(bag: Path) -> dict[str, TopicType]:
    """The topics of a complete bag, those without messages included; no message is read.

    :raises ConfigurationError, ProtocolError: as :func:`read_bag`
    """
    _check_complete(bag)
    return _listed(bag)[1] if _is_own(bag) else _other_types(bag)


def read_bag(bag: Path, start: int | None = None, stop: int | None = None) -> Iterator[BagMessage]:
    """The messages of a complete bag in recorded order; one chunk at a time is in memory.

    :param start, stop: the first stamp that is wanted, and the one behind the last; None: all
    :raises ConfigurationError: there is no bag at ``bag``, it is not complete, or its metadata is
        malformed or too large
    :raises ProtocolError: the bag is damaged
    """
    _check_complete(bag)
    if not _is_own(bag):
        yield from _read_other(bag, start, stop)
        return
    for path in _listed(bag)[0]:
        yield from _read_own(path, start, stop)


def read_growing(
    bag: Path, start: int | None = None, stop: int | None = None
) -> Iterator[BagMessage]:
    """The messages of a bag of this suite that a run may still be writing, up to its last chunk.

    :param start, stop: see :func:`read_bag`
    :raises ProtocolError: the bag is damaged
    """
    for path in storage_files(bag):
        yield from _read_own(path, start, stop, growing=True)


def _check_complete(bag: Path) -> None:
    if not (bag / METADATA_FILE).is_file():
        find_storage(bag)
        raise ConfigurationError(
            f"the bag at {bag} is not complete: {METADATA_FILE} is missing; was its run killed? "
            "'cosim report' with its directory completes it"
        )
    check_undamaged(bag)


def check_undamaged(bag: Path) -> None:
    """Check that a bag of this suite that was closed still ends as it did then.

    Metadata is written last: a file without its end lost it afterwards.

    :raises ProtocolError: a file was cut off
    """
    if (bag / METADATA_FILE).is_file() and _is_own(bag):
        for path in storage_files(bag):
            if not is_finished(path):
                raise ProtocolError(
                    f"{path} is damaged: cut off after its run had closed it (its "
                    f"{METADATA_FILE} is there)"
                )


def recorded_until(bag: Path) -> int:
    """The last stamp [ns] in a complete bag, by its metadata; 0: it holds no message.

    It counts from the start of the run.

    :raises ConfigurationError: its metadata is malformed
    """
    about = _about(bag)
    try:
        if not about["message_count"]:
            return 0
        first = about["starting_time"]["nanoseconds_since_epoch"]
        start = int((about["custom_data"] or {}).get(START_KEY, 0))
        return int(first) + int(about["duration"]["nanoseconds"]) - start
    except (AttributeError, KeyError, TypeError, ValueError):
        raise ConfigurationError(f"{bag / METADATA_FILE} tells no times") from None


def origin_of(bag: Path) -> dict[str, Any]:
    """What a bag of this suite says of its run: scenario and seed; empty of one that does not.

    :raises ConfigurationError: its metadata is malformed
    """
    about = _about(bag) if (bag / METADATA_FILE).is_file() else None
    found = about.get("custom_data") if isinstance(about, dict) else None
    return dict(found) if isinstance(found, dict) else {}


def start_of(bag: Path) -> int:
    """What ROS's clock showed at the start of the run of a bag [ns]; 0 for one of others.

    :raises ProtocolError: the bag is damaged
    """
    return _begun(mcap_path(bag)) if _is_own(bag) else 0


def _is_own(bag: Path) -> bool:
    """Whether this suite has written a bag."""
    first = mcap_path(bag)
    return first.is_file() and library_of(first) == LIBRARY


def storage_files(bag: Path) -> list[Path]:
    """The storage files of a bag of this suite, complete or not, in their order."""
    return list(takewhile(Path.is_file, (mcap_path(bag, number) for number in count())))


def _about(bag: Path) -> Any:
    """What the metadata of a bag says about it; its own dictionary, if it is well-formed.

    :raises ConfigurationError: it is not there, malformed or too large
    """
    path = bag / METADATA_FILE
    return _read_about(path, *(stamp_of(path) if path.is_file() else ()))


@lru_cache(maxsize=1)
def _read_about(path: Path, *stamp: int) -> Any:
    """The same; a page about a run asks several times for what does not change meanwhile."""
    return read_mapping(path, "bag").get("rosbag2_bagfile_information")


def _listed(bag: Path) -> tuple[list[Path], dict[str, TopicType]]:
    """The storage files of a complete bag of this suite, and the topics that the first declares.

    Each file that its metadata names is there.
    """
    about = _about(bag)
    names = about.get("relative_file_paths") if isinstance(about, dict) else None
    found = storage_files(bag)
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ProtocolError(f"{bag / METADATA_FILE} names no files ('relative_file_paths')")
    there = [path.name for path in found]
    if names != there:
        lacking = next((name for name in names if name not in there), None)
        raise ProtocolError(
            f"{bag} is damaged: {one_line(lacking)} is missing"
            if lacking is not None
            else f"{bag} is damaged: {METADATA_FILE} does not name {', '.join(there)} in this order"
        )
    return found, _checked_topics(bag, found, about)


def _checked_topics(bag: Path, files: list[Path], about: Any) -> dict[str, TopicType]:
    """The topics, which are those of the metadata: no checksum guards their declarations."""
    try:
        told = [entry["topic_metadata"] for entry in about["topics_with_message_count"]]
        named = {topic["name"]: topic["type"] for topic in told}
    except (KeyError, TypeError):
        raise ProtocolError(f"{bag / METADATA_FILE} is damaged: it names no topics") from None
    first: dict[str, TopicType] = {}
    for path in files:
        topics = _declared(path)
        first = first or topics
        declared = {name: topic.type_name for name, topic in topics.items()}
        if declared != named:
            other = min(str(name) for name, _ in declared.items() ^ named.items())
            raise ProtocolError(
                f"{path} is damaged: topic {one_line(other)} is not as {METADATA_FILE} has it"
            )
    return first


def _declared(path: Path) -> dict[str, TopicType]:
    """The topics of a file that this suite has written: they are declared before all chunks."""
    schemas: dict[int, Schema] = {}
    found: dict[str, TopicType] = {}
    for part, _ in scan(path):
        if isinstance(part, Schema):
            schemas[part.id] = part
        elif isinstance(part, McapChannel):
            if part.schema not in schemas:
                raise ProtocolError(f"{path}: topic {part.topic}: its type is not declared")
            schema = schemas[part.schema]
            found[part.topic] = TopicType(schema.name, schema.text)
        elif isinstance(part, (Chunk, End)):
            return found
    return found


def _read_own(
    path: Path, start: int | None, stop: int | None, *, growing: bool = False
) -> Iterator[BagMessage]:
    """The messages of a file that this suite has written: they lie in their order.

    :param growing: it need not be whole
    """
    schemas: dict[int, str] = {}
    topics: dict[int, tuple[str, str]] = {}
    whole_to = 0
    begun = _begun(path)
    shown = (None if limit is None else limit + begun for limit in (start, stop))
    for part, behind in scan(path, *shown):
        whole_to = behind
        if isinstance(part, Chunk):
            for message in part.content:
                if not isinstance(message, Message) or message.channel not in topics:
                    raise ProtocolError(f"{path}: the chunk at byte {part.place} is damaged")
                stamp = message.stamp - begun
                if (start is None or stamp >= start) and (stop is None or stamp < stop):
                    yield BagMessage(*topics[message.channel], stamp, message.data)
        elif isinstance(part, Schema):
            schemas[part.id] = part.name
        elif isinstance(part, McapChannel):
            topics[part.id] = part.topic, schemas.get(part.schema, "")
        elif isinstance(part, End):
            return
    if not growing:
        raise ProtocolError(f"{path} is damaged: cut off behind byte {whole_to}")


def _begun(path: Path) -> int:
    """When the run of a file of this suite starts, as ROS counts [ns].

    :raises ProtocolError: the file says something else than a time
    """
    for part, _ in scan(path):
        if isinstance(part, Metadata) and part.name == LIBRARY:
            found = part.values.get(START_KEY, "0")
            if not found.isdecimal() or len(found) > _MOST_DIGITS:
                raise ProtocolError(f"{path}: {START_KEY}: found '{found[:60]}', not a time")
            return int(found)
        if isinstance(part, (Schema, Chunk, End)):
            break
    return 0


#: Of a time in nanoseconds.
_MOST_DIGITS = 19


def _read_other(bag: Path, start: int | None, stop: int | None) -> Iterator[BagMessage]:
    """The messages of any bag of rosbag2, by its index."""
    with _opened(bag) as (reader, is_packed):
        for connection, stamp, data in reader.messages(start=start, stop=stop):
            content = unpack_message(bytes(data)) if is_packed else bytes(data)
            yield BagMessage(connection.topic, connection.msgtype, stamp, content)


def _other_types(bag: Path) -> dict[str, TopicType]:
    """The topics of any bag of rosbag2."""
    from rosbags.interfaces import MessageDefinitionFormat

    found: dict[str, TopicType] = {}
    with _opened(bag) as (reader, _):
        for connection in reader.connections:
            is_msg = connection.msgdef.format is MessageDefinitionFormat.MSG
            text = connection.msgdef.data if is_msg else ""
            found.setdefault(connection.topic, TopicType(connection.msgtype, text))
    return found


@contextmanager
def _opened(bag: Path) -> Iterator[tuple[Reader, bool]]:
    """Any bag of rosbag2, open, and whether its messages are compressed.

    What goes wrong with it is a :class:`ProtocolError`.
    """
    from rosbags.rosbag2 import Reader, ReaderError

    # The library reads it with a parser that has no bounds.
    metadata = read_mapping(bag / METADATA_FILE, "bag")
    bound_library()
    try:
        with uncompressed(bag, metadata) as (plain, is_packed), Reader(plain) as reader:
            yield reader, is_packed
    except ProtocolError as error:
        raise ProtocolError(f"{bag}: {error}") from None
    except ReaderError as error:
        raise ProtocolError(f"{bag}: {one_line(error)}") from None
    except OSError as error:
        raise ProtocolError(f"{bag}: {one_line(cause_of(error))}") from None
    except Exception as error:
        # The errors that the library raises on a damaged file have no common class.
        raise ProtocolError(f"{bag} is damaged: {one_line(repr(error))}") from None


def is_complete(bag: Path) -> bool:
    """Whether the bag was closed properly: metadata and index are there."""
    if not mcap_path(bag).is_file():
        return False
    if _is_own(bag):
        return (bag / METADATA_FILE).is_file() and all(map(is_finished, storage_files(bag)))
    try:
        with _opened(bag):
            return True
    except (ConfigurationError, ProtocolError):
        return False


def find_storage(bag: Path) -> Path:
    """The first storage file of a bag of this suite, complete or not.

    :raises ConfigurationError: it is not there
    """
    path = mcap_path(bag)
    if not path.is_file():
        raise ConfigurationError(f"no bag at {bag}: {path.name} is missing")
    return path
