# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The file of a checkpoint: where a run stood, with all that is needed to go on from there.

A zip archive with three files. ``checkpoint.json`` says when and of what, with the whole scenario;
``states`` holds the state of each model, and ``messages`` all that was sent so far, in its order,
both in msgpack. From the messages the kernel gets back everything that is its own: queues, stamps,
activations, trace and bag. A file of a stranger is data: nothing in it is run, and its size is
bounded before it is unpacked.
"""

from __future__ import annotations

import json
import os
import shutil
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import Any, Literal, NamedTuple

import msgpack
from pydantic import Field

from ros2_cosim.core.documents.archives import MAX_BYTES, opened_archive
from ros2_cosim.core.documents.files import cause_of
from ros2_cosim.core.documents.plain_data import json_value
from ros2_cosim.core.documents.settings import Section, read_section
from ros2_cosim.core.kernel.errors import ConfigurationError, RunError, StorageError
from ros2_cosim.core.kernel.time import format_ns

_HEADER, _STATES, _MESSAGES = "checkpoint.json", "states", "messages"
#: So many bytes of what was sent are kept in memory, the rest in a file without a name.
_IN_MEMORY = 64 << 20
#: In the place of a port: the entry says when the participant wants to be activated next.
NEXT_TIME = -1


def checkpoint_name(time_ns: int) -> str:
    """Name of the file of the checkpoint at a time."""
    return f"checkpoint-{_seconds(time_ns)}s.ckpt"


def _seconds(time_ns: int) -> str:
    whole, rest = divmod(time_ns, 1_000_000_000)
    return f"{whole}.{rest:09}".rstrip("0").rstrip(".")


class Entry(NamedTuple):
    """What one activation did: it sent a message, or chose its next time.

    ``participant`` and ``port`` are numbers in the order of the scenario; ``activation`` counts
    those of the participant from 1. ``data`` are the bytes of the message, or the time [ns].
    """

    participant: int
    port: int
    activation: int
    data: bytes | int | None


class Stop(Section):
    """A participant has asked for the end of the run."""

    time_ns: int
    reason: str


class Header(Section):
    """What a checkpoint says of itself."""

    format: Literal[1] = 1
    time_ns: int = Field(gt=0)
    version: str
    #: Participant -> hash of its trace so far.
    traces: dict[str, str]
    stops: dict[str, Stop] = {}
    scenario: dict[str, Any]


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint that has been read.

    :ivar states: participant -> state of its model
    """

    path: Path
    header: Header
    states: Mapping[str, Any]

    def entries(self) -> Iterator[Entry]:
        """All that was done so far, in its order; read while it is requested.

        :raises ConfigurationError: the file is damaged
        """
        with (
            opened_archive(self.path, ConfigurationError) as archive,
            _opened(archive, _MESSAGES, self.path) as file,
        ):
            for found in msgpack.Unpacker(file, use_list=False):
                if not (
                    type(found) is tuple
                    and len(found) == 4
                    and all(type(number) is int for number in found[:3])
                    and type(found[3]) in (bytes, int, type(None))
                ):
                    raise ConfigurationError(f"{self.path}: found an entry that no checkpoint has")
                yield Entry(*found)


def read_checkpoint(path: Path) -> Checkpoint:
    """Read a checkpoint, all but its messages.

    :raises ConfigurationError: it is not there, damaged, too large, or no checkpoint
    """
    with opened_archive(path, ConfigurationError) as archive:
        with _opened(archive, _HEADER, path) as file:
            data = json_value(file.read())
        with _opened(archive, _STATES, path) as file:
            states = msgpack.unpackb(file.read())
    header = read_section(Header, data, origin=f"{path} is not a checkpoint")
    if not isinstance(states, dict) or states.keys() != header.traces.keys():
        raise ConfigurationError(f"{path}: found states of other participants than its scenario's")
    return Checkpoint(path, header, states)


def _opened(archive: zipfile.ZipFile, name: str, path: Path) -> Any:
    try:
        return archive.open(name)
    except KeyError:
        raise ConfigurationError(
            f"{path}: no checkpoint: there is no '{name}' in the archive"
        ) from None


class History:
    """What a run has done so far, for its checkpoints.

    :param directory: where it is put when it is large; the file there has no name
    """

    def __init__(self, directory: Path) -> None:
        self._file = SpooledTemporaryFile(max_size=_IN_MEMORY, dir=str(directory))
        self._pack = msgpack.Packer().pack

    def add(self, entry: Entry) -> None:
        """Take one entry, the next in order.

        :raises StorageError: there is no room for it
        """
        try:
            self._file.write(self._pack(tuple(entry)))
        except OSError as error:
            raise StorageError(f"checkpoint: {cause_of(error)}") from None

    def close(self) -> None:
        """Forget everything."""
        self._file.close()

    def write(self, path: Path, header: Header, states: Mapping[str, Any]) -> None:
        """Write a checkpoint of now, in one go.

        :raises RunError: a state is not plain data, or all of it is too much
        :raises StorageError: there is no room for it
        """
        packed = _packed(states)
        text = json.dumps(header.model_dump(mode="json"), allow_nan=False).encode()
        size = self._file.tell()
        if size + len(packed) + len(text) > MAX_BYTES:
            raise RunError(
                f"{path.name}: found {size} bytes of messages until "
                f"{format_ns(header.time_ns)}; a checkpoint holds at most {MAX_BYTES} in all"
            )
        part = path.with_name(f".{path.name}.{os.getpid()}.part")
        try:
            # The compression by itself is as fast as a disk at its lowest level.
            with zipfile.ZipFile(
                part, "w", compression=zipfile.ZIP_DEFLATED, compresslevel=1
            ) as archive:
                # Without a time of the clock: equal checkpoints are equal files.
                archive.writestr(_entry(_HEADER), text)
                archive.writestr(_entry(_STATES), packed)
                self._file.seek(0)
                with archive.open(_entry(_MESSAGES), "w") as target:
                    shutil.copyfileobj(self._file, target, 1 << 20)
            part.replace(path)
        except OSError as error:
            raise StorageError(f"{path}: {cause_of(error)}") from None
        finally:
            with suppress(OSError):
                part.unlink(missing_ok=True)
            self._file.seek(0, os.SEEK_END)


def _entry(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name)
    entry.compress_type = zipfile.ZIP_DEFLATED
    return entry


def _packed(states: Mapping[str, Any]) -> bytes:
    pieces = [msgpack.Packer().pack_map_header(len(states))]
    for name, state in states.items():
        try:
            pieces += [msgpack.packb(name), msgpack.packb(state)]
        except (TypeError, ValueError, OverflowError) as error:
            raise RunError(
                f"participant '{name}': its model saves what is not plain data (numbers, texts, "
                f"bytes, lists and mappings): {error}"
            ) from None
    return b"".join(pieces)
