# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Writes a run's messages as a rosbag2 bag (a directory with ``metadata.yaml`` and MCAP files).

The bag depends on the messages alone, not on the order in which they arrived: they are
written sorted by (stamp, topic, sequence number), in chunks of one second of simulated time
(or 1 MiB), and log time is what ``/clock`` shows: the start of the run and the stamp. Where a file
ends and the next one begins (:class:`BagForm`) follows from stamps and plain sizes, too, and not
from what a compressor makes of them. Two runs with the same messages therefore leave the same
bytes.

A chunk is handed to the operating system when :meth:`BagWriter.advance` passes its end. A
process that is killed leaves its last file without index, complete up to the last such chunk;
:func:`ros2_cosim.core.record.recovery.recover` makes a proper bag of it.

When the disk is full, or the file may not grow, the bag is closed at once: with as many of its
chunks as leave room for the index.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Final, NamedTuple

from ros2_cosim.core.documents.files import cause_of
from ros2_cosim.core.kernel.errors import ConfigurationError, StorageError
from ros2_cosim.core.kernel.time import FOREVER, format_ns
from ros2_cosim.core.messages.catalogue import DEFAULT, Catalogue
from ros2_cosim.core.messages.definitions import (
    jazzy_texts,
    key_of,
    recorded,
    types_in,
    used_types,
)
from ros2_cosim.core.record.bag_metadata import (
    LIBRARY,
    METADATA_FILE,
    SCENARIO_KEY,
    START_KEY,
    TRACE_KEY,
    BagTopic,
    FileFacts,
    StoredTopic,
    file_facts,
    finish_file,
    mcap_path,
    offered_profiles,
    write_metadata,
)
from ros2_cosim.core.record.mcap import MESSAGE_BYTES, McapChannel, McapWriter, Schema
from ros2_cosim.core.record.waiting import WaitingRoom

CHUNK_NS = 1_000_000_000
CHUNK_BYTES = 1 << 20
PENDING = 4096
"""Number of messages that are collected before they are sorted, unless a chunk ends."""


class BagForm(NamedTuple):
    """How the messages are laid in files.

    A file holds the messages of one stretch of ``split_ns`` of simulated time [ns], counted from 0,
    and of them at most ``split_bytes``, before compression; a larger message has its own file.
    """

    #: Of chunks: ``zstd``, ``lz4``, or empty for none.
    compression: str = ""
    split_bytes: int | None = None
    split_ns: int | None = None


ONE_FILE: Final = BagForm()


class TypeDescription(NamedTuple):
    """A message type: definition text with those of all parts, and RIHS01 hash."""

    text: str
    hash: str


def describe_types(
    type_names: Iterable[str], catalogue: Catalogue = DEFAULT
) -> dict[str, TypeDescription]:
    """Describe message types, those of the catalogue and all standard ones of ROS 2 Jazzy.

    A standard type has the text of Jazzy, whatever is installed.

    :raises ConfigurationError: a type is known to neither
    """
    result = {}
    for name in sorted(set(type_names)):
        texts = definitions_of(name, catalogue)
        known = recorded("descriptions").get(key_of(texts))
        result[name] = TypeDescription(*known) if known else described_anew(name, texts)
    return result


def definitions_of(name: str, catalogue: Catalogue) -> dict[str, str]:
    """Full name -> definition of a type and of all that it is built of, as they are described."""
    texts: dict[str, str] = {}
    pending = [name]
    while pending:
        part = pending.pop()
        if part not in texts:
            texts[part] = jazzy_texts().get(part) or catalogue.definitions(part)[part]
            pending += used_types(part, texts[part])
    return texts


def described_anew(name: str, texts: Mapping[str, str]) -> TypeDescription:
    """The description of a message type, made by ``rosbags``.

    :param texts: full name -> definition of this type, and of all that it is built of
    """
    from rosbags.typesys import Stores, get_typestore

    store = get_typestore(Stores.EMPTY)
    for part, text in texts.items():
        # To register a type would make a class of it, for messages that are decoded.
        store.fielddefs.update(types_in(text, part))
    return TypeDescription(store.generate_msgdef(name, ros_version=2)[0], store.hash_rihs01(name))


class BagWriter:
    """Collects the messages of a run and writes them in their fixed order.

    :param path: directory to create, its parents included
    :param topics: all topics, in any order
    :param custom_data: texts to keep in the bag's metadata (scenario, seed, ...)
    :param scenario: the scenario of the run as text; each of the files has it as metadata
    :param left_out: further topics, whose messages are not wanted
    :param start_ns: when the run starts, as ROS counts [ns]; stamps count from there
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
        form: BagForm = ONE_FILE,
        scenario: str = "",
        start_ns: int = 0,
    ) -> None:
        self.path = Path(path)
        self._topics = tuple(sorted(topics))
        self._start_ns = start_ns
        self._custom_data = dict(custom_data or {})
        if start_ns:
            self._custom_data[START_KEY] = str(start_ns)
        self._origin = self._custom_data | ({SCENARIO_KEY: scenario} if scenario else {})
        self._form = form
        self._file_end = 0
        self._room = 0
        self._files: list[FileFacts] = []
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
        self._taken = WaitingRoom(str(self.path), self._ids, frozenset(left_out))
        self._chunk_end = 0
        self._closed = False
        self._failure: StorageError | None = None
        try:
            self._mcap = self._new_file(0)
        except OSError as error:
            raise StorageError(f"bag {self.path}: {cause_of(error)}") from None

    def write(self, topic: str, stamp_ns: int, seq: int, data: bytes) -> None:
        """Take one message, in CDR.

        :raises CausalityError: its stamp lies before a time already passed by ``advance``
        :raises ConfigurationError: the topic was not declared
        """
        self._taken.take(topic, stamp_ns + self._start_ns, seq, data)

    def advance(self, time_ns: int) -> None:
        """Declare complete: all messages with a stamp before ``time_ns`` have been written.

        :raises StorageError: they cannot be written; the bag is closed, with what is on the disk
        """
        if self._failure is not None:
            raise self._failure
        time_ns += self._start_ns
        if time_ns > self._taken.complete_to:
            self._taken.complete_to = time_ns
            if time_ns >= self._chunk_end or len(self._taken.waiting) > PENDING:
                try:
                    self._drain(time_ns)
                except OSError as error:
                    raise self._given_up(error) from None

    def conclude(self, trace_sha256: str) -> None:
        """Let the metadata file tell the trace of the run, which is complete."""
        self._custom_data[TRACE_KEY] = trace_sha256

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
        """Complete the bag; a file without messages stays only if it is the only one."""
        topics = self._stored()
        files = list(self._files)
        path = mcap_path(self.path, len(files))
        if self._mcap.chunks or not files:
            finish_file(path, self._mcap, topics, self._custom_data)
            files.append(file_facts(self._mcap))
        else:
            self._mcap.close()
            path.unlink(missing_ok=True)
        write_metadata(self.path, files, topics, self._custom_data)

    def _stored(self) -> list[StoredTopic]:
        return [
            StoredTopic(self._ids[topic.name], topic, self._types[topic.type_name].hash)
            for topic in self._topics
        ]

    def _given_up(self, error: OSError) -> StorageError:
        """Close the bag with what is in its files, and say what that is."""
        self._closed = True
        self._taken.waiting.clear()
        self._mcap.drop_open_chunk()
        kept = "nothing of it is readable"
        if self._files:
            kept = f"its files are whole, but there is no room for {METADATA_FILE}"
        while True:
            try:
                self._finish()
            except OSError:
                if not self._mcap.chunks:
                    break
                self._mcap.drop_last_chunk()
            else:
                has_more = self._mcap.chunks > 0
                last = (
                    self._mcap.last_stamp if has_more or not self._files else self._files[-1].last
                )
                is_empty = not has_more and not self._files
                kept = (
                    "it is empty"
                    if is_empty
                    else f"it holds the messages up to {format_ns(last - self._start_ns)}"
                )
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

    def _new_file(self, number: int) -> McapWriter:
        """Create a storage file with all declarations.

        :raises OSError: it cannot be written; it is not there then, unless it is the first
        """
        path = mcap_path(self.path, number)
        mcap = McapWriter(path, profile="ros2", library=LIBRARY, compression=self._form.compression)
        try:
            self._declare(mcap)
        except OSError:
            mcap.close()
            if number:
                path.unlink()
            raise
        return mcap

    def _declare(self, mcap: McapWriter) -> None:
        if self._origin:
            mcap.add_metadata(LIBRARY, self._origin)
        schema_ids = {name: number for number, name in enumerate(sorted(self._types), start=1)}
        for name, number in schema_ids.items():
            mcap.add_schema(Schema(number, name, "ros2msg", self._types[name].text))
        for topic in self._topics:
            metadata = {
                "offered_qos_profiles": offered_profiles(topic.qos),
                "topic_type_hash": self._types[topic.type_name].hash,
            }
            mcap.add_channel(
                McapChannel(
                    self._ids[topic.name], schema_ids[topic.type_name], topic.name, "cdr", metadata
                )
            )

    def _begin_file(self, stamp: int) -> None:
        """Let the message of this stamp be the first of a file.

        The next file is there before this one is finished: if there is no room for it, this one
        can still give way.
        """
        form = self._form
        if self._mcap.chunks:
            number = len(self._files) + 1
            fresh = self._new_file(number)
            try:
                path = mcap_path(self.path, number - 1)
                finish_file(path, self._mcap, self._stored(), self._custom_data)
            except OSError:
                fresh.close()
                mcap_path(self.path, number).unlink()
                raise
            self._files.append(file_facts(self._mcap))
            self._mcap.close()
            self._mcap = fresh
        self._room = FOREVER if form.split_bytes is None else form.split_bytes
        self._file_end = FOREVER if form.split_ns is None else self._next(stamp, form.split_ns)

    def _drain(self, time_ns: int | None) -> None:
        """Write all messages before ``time_ns`` and close the chunks that are full by then."""
        pending = self._taken.waiting
        pending.sort()
        stop = len(pending) if time_ns is None else bisect_left(pending, (time_ns,))
        at = 0
        while at < stop:
            at, self._room = self._mcap.write_while(
                pending, at, stop, self._chunk_end, CHUNK_BYTES, self._room
            )
            if at < stop:
                stamp, topic, seq, data = pending[at]
                self._begin_chunk(stamp, MESSAGE_BYTES + len(data))
                # The first one of a chunk is in it whatever its size.
                self._mcap.write(topic, seq, stamp, data)
                self._room -= MESSAGE_BYTES + len(data)
                at += 1
        del pending[:stop]
        if time_ns is not None and time_ns >= self._chunk_end:
            self._mcap.close_chunk()

    def _begin_chunk(self, stamp: int, size: int) -> None:
        """Let the message of this stamp and size be the first of a chunk, and of a file if due."""
        self._mcap.close_chunk()
        if stamp >= self._file_end or size > self._room:
            self._begin_file(stamp)
        self._chunk_end = min(self._next(stamp, CHUNK_NS), self._file_end)

    def _next(self, stamp: int, stretch_ns: int) -> int:
        """Where the stretch of time of a stamp ends: they count from the start of the run."""
        return stamp + stretch_ns - (stamp - self._start_ns) % stretch_ns
