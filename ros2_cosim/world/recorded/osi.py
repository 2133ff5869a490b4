# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Road users of a trace of ASAM OSI: the moving objects of its GroundTruth.

A single-channel trace (``.osi``) is a sequence of messages, each behind its length in four bytes,
little-endian; a multi-channel trace is an MCAP file. Source: package ``osi-python``, 3.8.0,
``osi3trace/osi_trace.py`` and ``osi3/osi_object_pb2.pyi``.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from math import isfinite
from pathlib import Path
from typing import Any, Final

from ros2_cosim.core.documents.extras import need_extra
from ros2_cosim.core.documents.files import cause_of, open_ordinary
from ros2_cosim.core.documents.one_line import one_line
from ros2_cosim.core.kernel.errors import ConfigurationError, ProtocolError
from ros2_cosim.core.kernel.exactmath import sincos
from ros2_cosim.core.record.mcap import McapChannel, Schema
from ros2_cosim.core.record.mcap_reader import Chunk, End, Message, scan
from ros2_cosim.core.scene.simulator import Size
from ros2_cosim.world.recorded.tracks import Kind, RecordedRow, RecordingRequest, Tracks

#: Largest message [bytes]: a ground truth with the lanes of a town has some hundred kilobytes.
_MAX_MESSAGE: Final = 1 << 26
_GROUND_TRUTH: Final = "osi3.GroundTruth"
_LENGTH: Final = struct.Struct("<I")
_SECOND: Final = 10**9
#: Types of vehicles (``VehicleClassification.Type``) -> kinds; others are things of unknown kind.
_VEHICLES: Final[dict[int, Kind]] = {
    2: "car",
    3: "car",
    4: "car",
    5: "car",
    6: "van",
    7: "truck",
    8: "truck",
    9: "truck",
    10: "motorcycle",
    11: "bicycle",
    12: "bus",
    16: "truck",
}
_VEHICLE: Final = 2
_PEDESTRIAN: Final = 3


def read_osi(request: RecordingRequest) -> Tracks:
    """Read the moving objects of a trace of GroundTruth messages.

    :raises ConfigurationError: ``osi-python`` is not installed, or the file is not a trace
    """
    place = f"{request.where}: {request.path}"
    need_extra("osi", ("osi3",), f"{request.where}: a trace of OSI")
    from google.protobuf.message import DecodeError
    from osi3.osi_groundtruth_pb2 import GroundTruth

    tracks = Tracks(place)
    number = 0
    try:
        frames = _multi if request.path.suffix == ".mcap" else _single
        for number, data in enumerate(frames(request.path), start=1):
            _take(GroundTruth.FromString(data), tracks, f"{place}, message {number}")
    except OSError as error:
        raise ConfigurationError(f"{place}: {cause_of(error)}") from None
    except DecodeError as error:
        raise ConfigurationError(
            f"{place}, message {number}: found no GroundTruth: {one_line(error)}"
        ) from None
    except ProtocolError as error:
        raise ConfigurationError(f"{request.where}: {error}") from None
    if not number:
        raise ConfigurationError(f"{place}: found no message; allowed are those of GroundTruth")
    return tracks


def _single(path: Path) -> Iterator[bytes]:
    with open_ordinary(path) as file:
        while head := file.read(_LENGTH.size):
            size = _LENGTH.unpack(head)[0] if len(head) == _LENGTH.size else _MAX_MESSAGE + 1
            if size > _MAX_MESSAGE:
                raise OSError(0, f"found a message of more than {_MAX_MESSAGE} bytes")
            data = file.read(size)
            if len(data) < size:
                raise OSError(0, "found a message that is cut off")
            yield data


def _multi(path: Path) -> Iterator[bytes]:
    """The messages of the first channel of ground truths."""
    schemas: dict[int, str] = {}
    wanted: int | None = None
    for part, _ in scan(path):
        for each in part.content if isinstance(part, Chunk) else (part,):
            if isinstance(each, Schema):
                schemas[each.id] = each.name
            elif isinstance(each, McapChannel) and schemas.get(each.schema) == _GROUND_TRUTH:
                wanted = each.id if wanted is None else wanted
            elif isinstance(each, Message) and each.channel == wanted:
                yield each.data
        if isinstance(part, End):
            return
    raise OSError(0, "found a file that is cut off")


def _take(truth: Any, tracks: Tracks, place: str) -> None:
    time = truth.timestamp.seconds * _SECOND + truth.timestamp.nanos
    for moving in truth.moving_object:
        base = moving.base
        size = base.dimension
        track = tracks.track(
            str(moving.id.value), _kind(moving), Size(size.length, size.width, size.height)
        )
        position, yaw = base.position, base.orientation.yaw
        vx = vy = None
        if base.HasField("velocity"):
            sine, cosine = sincos(yaw)
            vx = cosine * base.velocity.x + sine * base.velocity.y
            vy = cosine * base.velocity.y - sine * base.velocity.x
        # A position is that of the centre of the box.
        z = position.z - 0.5 * size.height
        row = RecordedRow(time, position.x, position.y, z, yaw, vx, vy)
        if not all(isfinite(value) for value in row if value is not None):
            raise ConfigurationError(
                f"{place}: moving object {track.name}: found {tuple(row)}; allowed are finite "
                "numbers"
            )
        tracks.add(track, row)


def _kind(moving: Any) -> Kind:
    if moving.type == _PEDESTRIAN:
        return "pedestrian"
    if moving.type == _VEHICLE:
        return _VEHICLES.get(moving.vehicle_classification.type, "unknown")
    return "unknown"
