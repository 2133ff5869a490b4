# SPDX-License-Identifier: Apache-2.0
"""Writes a run's messages as a rosbag2 bag (a directory with ``metadata.yaml`` and MCAP file).

The bag depends on the messages alone, not on the order in which they arrived: they are
written sorted by (stamp, topic, sequence number), in chunks of one second of simulated time
(or 1 MiB), and log time is simulated time. Two runs with the same messages therefore leave
the same bytes.

A chunk is handed to the operating system when :meth:`BagWriter.advance` passes its end. A
process that is killed leaves a file without index, complete up to the last such chunk;
:func:`ros2_cosim.record.recovery.recover` makes a proper bag of it.

When the disk is full, or the file may not grow, the bag is closed at once: with as many of its
chunks as leave room for the index.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

import yaml
from rosbags.typesys import Stores, get_types_from_msg, get_typestore

from ros2_cosim.documents.files import cause_of, write_atomically
from ros2_cosim.interfaces.catalogue import DEFAULT, Catalogue
from ros2_cosim.interfaces.protocol import HISTORY_DEPTH
from ros2_cosim.kernel.errors import CausalityError, ConfigurationError, StorageError
from ros2_cosim.kernel.time import format_ns
from ros2_cosim.record.mcap import Channel, McapWriter, Schema

CHUNK_NS = 1_000_000_000
CHUNK_BYTES = 1 << 20
PENDING = 4096
"""So many messages are collected before they are sorted, unless a chunk's end is reached."""

METADATA_FILE = "metadata.yaml"
LIBRARY = "ros2_cosim"
_FOREVER = {"sec": 9223372036, "nsec": 854775807}


class Qos(NamedTuple):
    """The offered quality of service that a bag states for a topic; by default that of a run."""

    depth: int = HISTORY_DEPTH
    reliable: bool = True
    transient_local: bool = False


class BagTopic(NamedTuple):
    """A topic to record."""

    name: str
    type_name: str
    qos: Qos = Qos()


class StoredTopic(NamedTuple):
    """A topic as it is in the file: the number of its channel, and the hash of its type."""

    channel: int
    topic: BagTopic
    type_hash: str


class TypeDescription(NamedTuple):
    """A message type: definition text with those of all parts, and RIHS01 hash."""

    text: str
    hash: str


def describe_types(
    type_names: Iterable[str], catalogue: Catalogue = DEFAULT
) -> dict[str, TypeDescription]:
    """Describe message types, those of the catalogue and all standard ones of ROS 2 Jazzy.

    :raises ConfigurationError: a type is known to neither
    """
    store = get_typestore(Stores.ROS2_JAZZY)
    result: dict[str, TypeDescription] = {}
    for name in sorted(set(type_names)):
        if name not in store.types:
            for part, text in catalogue.definitions(name).items():
                if part not in store.types:
                    store.register(get_types_from_msg(text, part))
        text, _ = store.generate_msgdef(name, ros_version=2)
        result[name] = TypeDescription(text, store.hash_rihs01(name))
    return result


class BagWriter:
    """Collects the messages of a run and writes them in their fixed order.

    :param path: directory to create, its parents included
    :param topics: all topics, in any order
    :param custom_data: texts to keep in the bag's metadata (scenario, seed, ...)
    :param left_out: further topics, whose messages are not wanted
    :raises ConfigurationError: a topic is named twice, a type is unknown or the path exists
    """

    def __init__(
        self,
        path: Path,
        topics: Iterable[BagTopic],
        *,
        custom_data: Mapping[str, str] | None = None,
        catalogue: Catalogue = DEFAULT,
        left_out: Iterable[str] = (),
    ) -> None:
        self.path = Path(path)
        self._left_out = frozenset(left_out)
        self._topics = tuple(sorted(topics))
        self._custom_data = dict(custom_data or {})
        self._ids = {topic.name: number for number, topic in enumerate(self._topics, start=1)}
        if len(self._ids) != len(self._topics):
            names = [topic.name for topic in self._topics]
            twice = sorted({name for name in names if names.count(name) > 1})
            raise ConfigurationError(f"bag {path}: topics named twice: {', '.join(twice)}")
        self._types = describe_types((topic.type_name for topic in self._topics), catalogue)
        try:
            self.path.mkdir(parents=True)
        except FileExistsError:
            raise ConfigurationError(f"bag {path} exists already") from None
        self._pending: list[tuple[int, int, int, bytes]] = []
        self._complete_to = 0
        self._chunk_end = 0
        self._closed = False
        self._failure: StorageError | None = None
        try:
            self._mcap = McapWriter(mcap_path(self.path), profile="ros2", library=LIBRARY)
            self._declare()
        except OSError as error:
            raise StorageError(f"bag {self.path}: {cause_of(error)}") from None

    def write(self, topic: str, stamp_ns: int, seq: int, data: bytes) -> None:
        """Take one message, in CDR.

        :raises CausalityError: its stamp lies before a time already passed by ``advance``
        :raises ConfigurationError: the topic was not declared
        """
        if stamp_ns < self._complete_to:
            raise CausalityError(
                f"bag {self.path}: message {seq} of {topic} is stamped {stamp_ns} ns, but "
                f"all messages before {self._complete_to} ns were declared complete"
            )
        try:
            self._pending.append((stamp_ns, self._ids[topic], seq, data))
        except KeyError:
            if topic in self._left_out:
                return
            raise ConfigurationError(f"bag {self.path}: topic {topic} was not declared") from None

    def advance(self, time_ns: int) -> None:
        """Declare complete: all messages with a stamp before ``time_ns`` have been written.

        :raises StorageError: they cannot be written; the bag is closed, with what is on the disk
        """
        if self._failure is not None:
            raise self._failure
        if time_ns > self._complete_to:
            self._complete_to = time_ns
            if time_ns >= self._chunk_end or len(self._pending) > PENDING:
                try:
                    self._drain(time_ns)
                except OSError as error:
                    raise self._given_up(error) from None

    def close(self) -> None:
        """Write what is left, the index and the metadata file; a second call does nothing.

        :raises StorageError: not all of it can be written; the bag is closed all the same
        """
        if self._closed:
            return
        try:
            self._drain(None)
            self._mcap.close_chunk()
            self._finish()
        except OSError as error:
            raise self._given_up(error) from None
        finally:
            self._closed = True
            self._mcap.close()

    def _finish(self) -> None:
        topics = [
            StoredTopic(self._ids[topic.name], topic, self._types[topic.type_name].hash)
            for topic in self._topics
        ]
        finish_bag(self.path, self._mcap, topics, self._custom_data)

    def _given_up(self, error: OSError) -> StorageError:
        """Close the bag with what is in its file, and say what that is."""
        self._closed = True
        self._pending.clear()
        self._mcap.drop_open_chunk()
        kept = "nothing of it is readable"
        while True:
            try:
                self._finish()
            except OSError:
                if not self._mcap.chunks:
                    break
                self._mcap.drop_last_chunk()
            else:
                time = format_ns(self._mcap.last_stamp)
                kept = f"it holds the messages up to {time}" if self._mcap.chunks else "it is empty"
                break
        self._mcap.close()
        self._failure = StorageError(f"bag {self.path}: {cause_of(error)}; {kept}")
        return self._failure

    def __enter__(self) -> BagWriter:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _declare(self) -> None:
        schema_ids = {name: number for number, name in enumerate(sorted(self._types), start=1)}
        for name, number in schema_ids.items():
            self._mcap.add_schema(Schema(number, name, "ros2msg", self._types[name].text))
        for topic in self._topics:
            metadata = {
                "offered_qos_profiles": _to_yaml([_qos(topic.qos)]),
                "topic_type_hash": self._types[topic.type_name].hash,
            }
            self._mcap.add_channel(
                Channel(
                    self._ids[topic.name], schema_ids[topic.type_name], topic.name, "cdr", metadata
                )
            )

    def _drain(self, time_ns: int | None) -> None:
        """Write all messages before ``time_ns`` and close the chunks that are full by then."""
        pending = self._pending
        pending.sort()
        stop = len(pending) if time_ns is None else bisect_left(pending, (time_ns,))
        mcap = self._mcap
        write = mcap.write
        for stamp, topic, seq, data in pending[:stop]:
            if stamp >= self._chunk_end or mcap.chunk_size >= CHUNK_BYTES:
                mcap.close_chunk()
                self._chunk_end = (stamp // CHUNK_NS + 1) * CHUNK_NS
            write(topic, seq, stamp, data)
        del pending[:stop]
        if time_ns is not None and time_ns >= self._chunk_end:
            mcap.close_chunk()


def finish_bag(
    bag: Path,
    mcap: McapWriter,
    topics: Sequence[StoredTopic],
    custom_data: Mapping[str, str],
) -> None:
    """Write the index behind the chunks of a bag, and its metadata file.

    :param topics: all topics, in the order of their channels
    :raises OSError: there is no room for them
    """
    information = _information(bag, mcap, topics, custom_data)
    mcap.finish({"rosbag2": {"serialized_metadata": _to_yaml(information)}})
    text = _to_yaml({"rosbag2_bagfile_information": information})
    write_atomically(bag / METADATA_FILE, text)


def _information(
    bag: Path,
    mcap: McapWriter,
    topics: Sequence[StoredTopic],
    custom_data: Mapping[str, str],
) -> dict[str, Any]:
    """The content of the metadata file, as rosbag2 has it."""
    first = mcap.first_stamp
    duration = {"nanoseconds": mcap.last_stamp - first if first is not None else 0}
    start = {"nanoseconds_since_epoch": first if first is not None else 2**63 - 1}
    total = sum(mcap.counts.values())
    name = mcap_path(bag).name
    return {
        "version": 9,
        "storage_identifier": "mcap",
        "duration": duration,
        "starting_time": start,
        "message_count": total,
        "topics_with_message_count": [
            {
                "topic_metadata": {
                    "name": topic.name,
                    "type": topic.type_name,
                    "serialization_format": "cdr",
                    "offered_qos_profiles": [_qos(topic.qos)],
                    "type_description_hash": type_hash,
                },
                "message_count": mcap.counts[channel],
            }
            for channel, topic, type_hash in topics
        ],
        "compression_format": "",
        "compression_mode": "",
        "relative_file_paths": [name],
        "files": [
            {
                "path": name,
                "starting_time": start,
                "duration": duration,
                "message_count": total,
            }
        ],
        "custom_data": dict(custom_data) or None,
        "ros_distro": "jazzy",
    }


def mcap_path(bag: Path) -> Path:
    """The one storage file of a bag, named as rosbag2 would."""
    return bag / f"{bag.name}_0.mcap"


def _qos(qos: Qos) -> dict[str, Any]:
    return {
        "history": "keep_last",
        "depth": qos.depth,
        "reliability": "reliable" if qos.reliable else "best_effort",
        "durability": "transient_local" if qos.transient_local else "volatile",
        "deadline": _FOREVER,
        "lifespan": _FOREVER,
        "liveliness": "automatic",
        "liveliness_lease_duration": _FOREVER,
        "avoid_ros_namespace_conventions": False,
    }


class _PlainDumper(yaml.SafeDumper):
    """YAML without anchors: equal parts are written out each time."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _to_yaml(content: Any) -> str:
    return yaml.dump(content, Dumper=_PlainDumper, sort_keys=False, allow_unicode=True)
