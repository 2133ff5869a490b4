# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Trace files of ASAM OSI: ``.osi`` for one kind of message, ``.mcap`` for several.

Formats, metadata and names: ASAM OSI 3.8.0, "OSI trace file formats" and "naming conventions"
(doc/architecture of OpenSimulationInterface/open-simulation-interface). All that is written follows
from the messages and the versions of the packages: simulated time begins at 1970-01-01, as that of
ROS, and no time of day is written.

Needs the package ``osi-python`` (extra ``osi``).
"""

from __future__ import annotations

import struct
from pathlib import Path
from types import TracebackType
from typing import Any, Final

import google.protobuf
from mcap.writer import Writer
from mcap_protobuf.schema import register_schema

from ros2_cosim.driving.osi.messages import VERSION_TEXT, time_of

PROTOBUF: Final = google.protobuf.__version__
_ZERO: Final = "19700101T000000Z"
_ZERO_TIME: Final = "1970-01-01T00:00:00Z"
_LENGTH: Final = struct.Struct("<I")
#: The standard's short names of messages.
_KINDS: Final = {"GroundTruth": "gt", "SensorView": "sv", "SensorData": "sd"}
_LIBRARY: Final = "ros2_cosim"


def file_name(kind: str, frames: int, name: str, suffix: str) -> str:
    """The name of a trace file.

    :param kind: short name of its messages, ``multi`` for several
    :param frames: number of its messages, the largest of all channels
    """
    versions = "_".join(text.replace(".", "") for text in (VERSION_TEXT, PROTOBUF))
    return f"{_ZERO}_{kind}_{versions}_{frames}_{name}.{suffix}"


class SingleTrace:
    """A file of one kind of message, each behind its length; it gets its name when it is closed."""

    def __init__(self, directory: Path, kind: str, name: str) -> None:
        self._directory = directory
        self._kind = _KINDS[kind]
        self._name = name
        self._frames = 0
        self._part = directory / f".{self._kind}_{name}.part"
        self._file = self._part.open("wb")

    def write(self, data: bytes) -> None:
        """Add a message."""
        self._file.write(_LENGTH.pack(len(data)))
        self._file.write(data)
        self._frames += 1

    def close(self) -> None:
        """Give the file its name; a second call does nothing."""
        if not self._file.closed:
            self._file.close()
            named = file_name(self._kind, self._frames, self._name, "osi")
            self._part.replace(self._directory / named)


class TraceFiles:
    """All trace files of a run; use as a context manager.

    :param directory: where they are written
    :param name: of the run
    """

    def __init__(self, directory: Path, name: str) -> None:
        self._directory = directory
        self._name = name
        self._single: dict[str, SingleTrace] = {}
        self._channels: dict[str, int] = {}
        self._schemas: dict[str, int] = {}
        self._counts: dict[str, int] = {}
        self._part = directory / ".multi.part"
        self._file = self._part.open("wb")
        self._writer = Writer(self._file)
        self._writer.start(library=_LIBRARY)
        self._writer.add_metadata(
            "net.asam.osi.trace",
            {
                "version": VERSION_TEXT,
                "min_osi_version": VERSION_TEXT,
                "max_osi_version": VERSION_TEXT,
                "min_protobuf_version": PROTOBUF,
                "max_protobuf_version": PROTOBUF,
                "zero_time": _ZERO_TIME,
                "description": name,
                "data_sources": _LIBRARY,
            },
        )

    def write(self, sensor: str, message: Any) -> None:
        """Add a message to the files of its kind.

        :param sensor: the one that it is of; empty: the ground truth
        """
        kind = message.DESCRIPTOR.name
        topic = f"{sensor}/{kind}" if sensor else kind
        data = message.SerializeToString(deterministic=True)
        if topic not in self._channels:
            self._open(topic, sensor, message)
        self._single[topic].write(data)
        time = time_of(message.timestamp)
        self._writer.add_message(self._channels[topic], time, data, time)
        self._counts[topic] += 1

    def _open(self, topic: str, sensor: str, message: Any) -> None:
        kind = message.DESCRIPTOR.name
        name = f"{self._name}_{sensor}" if sensor else self._name
        self._single[topic] = SingleTrace(self._directory, kind, name)
        if kind not in self._schemas:
            self._schemas[kind] = register_schema(self._writer, type(message))
        self._counts[topic] = 0
        self._channels[topic] = self._writer.register_channel(
            topic,
            "protobuf",
            self._schemas[kind],
            {
                "net.asam.osi.trace.channel.osi_version": VERSION_TEXT,
                "net.asam.osi.trace.channel.protobuf_version": PROTOBUF,
            },
        )

    def __enter__(self) -> TraceFiles:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Complete all files with what has come."""
        try:
            for single in self._single.values():
                single.close()
            self._writer.finish()
        finally:
            self._file.close()
        frames = max(self._counts.values(), default=0)
        self._part.replace(self._directory / file_name("multi", frames, self._name, "mcap"))
