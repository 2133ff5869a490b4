# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Recordings in CARLA's own file format: written while the world runs, read frame by frame.

A file is a header (version, magic, date, map) and packets (kind, size, content). Lengths in it are
centimetres, rotations are roll, pitch, yaw in degrees. Packets of kinds that are not used here are
passed over, so files of a CARLA server are read, too.
"""

from __future__ import annotations

import struct
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path
from typing import Any, BinaryIO, Final, NamedTuple

from ros2_cosim.core.documents.files import cause_of, read_bounded
from ros2_cosim.world.headless import recording_extras
from ros2_cosim.world.headless.actors import Actor, VehicleActor
from ros2_cosim.world.headless.recording_extras import Extras
from ros2_cosim.world.headless.signals import LightActor, SignActor
from ros2_cosim.world.headless.walkers import WalkerActor
from ros2_cosim.world.headless.wire_types import (
    ActorDescription,
    AttributeValue,
    Rotation,
    Transform,
    Vector,
)
from ros2_cosim.world.headless.world import CallError, World

MAGIC: Final = "CARLA_RECORDER"
_VERSION: Final = 1
_CM: Final = 100.0
# A larger packet is a broken file [bytes].
_MAX_PACKET: Final = 64 * 1024 * 1024
# It is read as a whole: some hours of a full town [bytes].
_MAX_FILE: Final = 1 << 30
# Dates behind it cannot be written [s since 1970]: the end of the year 9999, less a day for zones.
_LAST_DATE: Final = 253_402_214_400

# Kinds of packets.
_FRAME_START, _FRAME_END, _ADD, _DELETE, _PARENT, _COLLISION = 0, 1, 2, 3, 4, 5
_POSITION, _LIGHT, _VEHICLE, _WALKER = 6, 7, 8, 9

# Kinds of actors.
OTHER, VEHICLE, WALKER, LIGHT, SIGN, SENSOR = range(6)

_HEAD = struct.Struct("<BI")
_COUNT = struct.Struct("<H")
_TYPE = struct.Struct("<B")
_FRAME = struct.Struct("<Qdd")
_ACTOR = struct.Struct("<IB6fI")
_ID = struct.Struct("<I")
_PAIR = struct.Struct("<II")
_HIT = struct.Struct("<III??")
_PLACE = struct.Struct("<I6f")
_LAMP = struct.Struct("<I?fB")
_DRIVE = struct.Struct("<Ifff?i")
_PACE = struct.Struct("<If")


class Added(NamedTuple):
    """An actor that appears."""

    id: int
    kind: int
    pose: Transform
    description: ActorDescription


class Hit(NamedTuple):
    """A collision of two actors (0: none of the world), and which of them are heroes."""

    id: int
    first: int
    second: int
    first_hero: bool
    second_hero: bool


class Lamp(NamedTuple):
    """A traffic light."""

    id: int
    frozen: bool
    elapsed: float
    state: int


class Drive(NamedTuple):
    """Controls of a vehicle."""

    id: int
    steer: float
    throttle: float
    brake: float
    hand_brake: bool
    gear: int


@dataclass
class RecordedFrame:
    """One frame: number, seconds since the start, and what was seen."""

    number: int
    elapsed: float
    added: list[Added] = field(default_factory=list)
    deleted: list[int] = field(default_factory=list)
    parents: list[tuple[int, int]] = field(default_factory=list)
    hits: list[Hit] = field(default_factory=list)
    places: dict[int, Transform] = field(default_factory=dict)
    lamps: list[Lamp] = field(default_factory=list)
    drives: list[Drive] = field(default_factory=list)
    paces: list[tuple[int, float]] = field(default_factory=list)
    extras: Extras = field(default_factory=Extras)


def recording_path(name: str) -> Path:
    """Where a recording lies: as in CARLA, a name without directories is one of the server's own.

    :raises CallError: the name cannot be that of a file
    """
    if not name or "\0" in name:
        raise CallError("a recording needs a file name")
    return Path(name) if "/" in name else Path.cwd() / name


class Recorder:
    """Writes a recording, one frame for each step of a world."""

    def __init__(self, name: str, map_name: str, world: World, additional: bool = False) -> None:
        """Open the file and write what stands in the world.

        :param additional: write additional data, too (see ``recording_extras``)
        :raises CallError: the file cannot be written, or is another thing than a recording
        """
        self.path = recording_path(name)
        self._known: set[int] = set()
        self._additional = additional
        self._began = time.monotonic()
        self._number = 0
        self._elapsed = 0.0
        self._hits = 0
        self._duration_at = 0
        try:
            if self.path.exists() and not is_recording(self.path):
                raise CallError(f"{self.path} exists and is no recording: it is not overwritten")
            self._file: BinaryIO = self.path.open("wb")
        except OSError as error:
            raise CallError(f"{self.path}: {cause_of(error)}") from None
        self._file.write(struct.pack("<H", _VERSION) + _text(MAGIC))
        self._file.write(struct.pack("<q", int(time.time())) + _text(map_name))
        self.frame(world)

    def close(self) -> None:
        """Complete the file."""
        self._file.close()

    def frame(self, world: World) -> None:
        """Write the world's present state."""
        step = world.step_s if self._number else 0.0
        self._number += 1
        self._elapsed += step
        if self._duration_at:  # the length of a frame is known when the next one begins
            end = self._file.tell()
            self._file.seek(self._duration_at)
            self._file.write(struct.pack("<d", step))
            self._file.seek(end)
        self._duration_at = self._file.tell() + _HEAD.size + 8
        self._packet(_FRAME_START, _FRAME.pack(self._number, -1.0, self._elapsed))
        actors = list(world.actors.values())
        new = [actor for actor in actors if actor.id not in self._known]
        gone = [actor for actor in self._known if actor not in world.actors]
        self._list(_ADD, [_added(actor, world) for actor in new])
        self._list(_DELETE, [_ID.pack(actor) for actor in gone])
        self._list(_PARENT, [_PAIR.pack(a.id, a.parent) for a in new if a.parent])
        self._known.update(actor.id for actor in new)
        self._known.difference_update(gone)
        self._list(_COLLISION, list(self._new_hits(world)))
        moving = [a for a in actors if isinstance(a, (VehicleActor, WalkerActor))]
        for kind, entries in _states(actors, world):
            self._list(kind, entries)
        if self._additional:
            since = time.monotonic() - self._began
            for kind, content in recording_extras.packets(new, moving, since):
                self._packet(kind, content)
        self._packet(_FRAME_END, b"")

    def _new_hits(self, world: World) -> Iterator[bytes]:
        for hit in world.collisions:
            if hit.actor > hit.other and _reported(world, hit.other, hit.actor):
                continue  # the other of the two has reported it
            self._hits += 1
            heroes = (_is_hero(world, hit.actor), _is_hero(world, hit.other))
            yield _HIT.pack(self._hits, hit.actor, hit.other, *heroes)

    def _list(self, kind: int, entries: list[bytes]) -> None:
        if entries:
            self._packet(kind, _COUNT.pack(len(entries)) + b"".join(entries))

    def _packet(self, kind: int, content: bytes) -> None:
        self._file.write(_HEAD.pack(kind, len(content)) + content)


class Recording:
    """A recording that is read."""

    def __init__(self, name: str) -> None:
        """Read the header.

        :raises CallError: the file cannot be read, or is not a recording
        """
        self.path = recording_path(name)
        try:
            self._data = memoryview(read_bounded(self.path, _MAX_FILE))
        except OSError as error:
            raise CallError(f"File {self.path} not found on server ({cause_of(error)})") from None
        try:
            (self.version,) = struct.unpack_from("<H", self._data)
            magic, at = _text_at(self._data, 2)
            (self.date,) = struct.unpack_from("<q", self._data, at)
            self.map_name, self._start = _text_at(self._data, at + 8)
        except (struct.error, UnicodeDecodeError):
            magic = ""
        if magic != MAGIC or not 0 <= self.date <= _LAST_DATE:
            raise CallError(f"File {self.path} is not a CARLA recorder")

    def frames(self) -> Iterator[RecordedFrame]:
        """All frames in their order; ends where the file ends, also in the middle of a frame."""
        at, frame = self._start, None
        while at + _HEAD.size <= len(self._data):
            kind, size = _HEAD.unpack_from(self._data, at)
            at += _HEAD.size
            if size > _MAX_PACKET or at + size > len(self._data):
                break
            content = self._data[at : at + size]
            try:
                if kind == _FRAME_START:
                    number, _, elapsed = _row(_FRAME, content, 0)
                    frame = RecordedFrame(number, elapsed)
                elif kind == _FRAME_END and frame is not None:
                    yield frame
                    frame = None
                elif frame is not None and kind in _READ:
                    _take(frame, kind, content)
                elif frame is not None and kind in recording_extras.KINDS:
                    recording_extras.take(frame.extras, kind, content)
            except (struct.error, UnicodeDecodeError):
                raise CallError(f"File {self.path} is broken at byte {at}") from None
            at += size


def _take(frame: RecordedFrame, kind: int, content: memoryview) -> None:
    """Take what a packet holds of a frame.

    :raises struct.error: it does not hold what it says
    """
    (count,) = _COUNT.unpack_from(content)
    at = _COUNT.size
    if kind == _ADD:
        for _ in range(count):
            added, at = _added_at(content, at)
            frame.added.append(added)
        return
    form = _READ[kind]
    for number in range(count):
        row = _row(form, content, at + number * form.size)
        if kind == _DELETE:
            frame.deleted.append(row[0])
        elif kind == _PARENT:
            frame.parents.append((row[0], row[1]))
        elif kind == _COLLISION:
            frame.hits.append(Hit(*row))
        elif kind == _POSITION:
            frame.places[row[0]] = _transform(row[1:])
        elif kind == _LIGHT:
            frame.lamps.append(Lamp(*row))
        elif kind == _VEHICLE:
            frame.drives.append(Drive(*row))
        else:
            frame.paces.append((row[0], row[1]))


def _row(form: struct.Struct, content: memoryview, at: int) -> tuple[Any, ...]:
    """Numbers of a packet; all are finite, as those of a call are.

    :raises struct.error: they are not there, or not finite
    """
    row = form.unpack_from(content, at)
    if not all(map(isfinite, row)):
        raise struct.error("a number that is not finite")
    return row


def _added_at(content: memoryview, at: int) -> tuple[Added, int]:
    number, kind, *pose, uid = _row(_ACTOR, content, at)
    name, at = _text_at(content, at + _ACTOR.size)
    (count,) = _COUNT.unpack_from(content, at)
    at += _COUNT.size
    attributes = []
    for _ in range(count):
        (type_,) = _TYPE.unpack_from(content, at)
        key, at = _text_at(content, at + _TYPE.size)
        value, at = _text_at(content, at)
        attributes.append(AttributeValue(key, type_, value))
    description = ActorDescription(uid, name, tuple(attributes))
    return Added(number, kind, _transform(tuple(pose)), description), at


def _text_at(content: memoryview, at: int) -> tuple[str, int]:
    (size,) = _COUNT.unpack_from(content, at)
    end = at + _COUNT.size + size
    if end > len(content):
        raise struct.error("text beyond the end")
    return bytes(content[at + _COUNT.size : end]).decode(), end


_READ: Final = {
    _ADD: _ACTOR,
    _DELETE: _ID,
    _PARENT: _PAIR,
    _COLLISION: _HIT,
    _POSITION: _PLACE,
    _LIGHT: _LAMP,
    _VEHICLE: _DRIVE,
    _WALKER: _PACE,
}


def is_recording(path: Path) -> bool:
    """Whether a file begins as a recording does."""
    start = struct.pack("<H", _VERSION) + _text(MAGIC)
    if not path.is_file():
        return False  # a pipe would keep its reader waiting
    with path.open("rb") as file:
        return file.read(len(start)) == start


def _added(actor: Actor, world: World) -> bytes:
    head = _ACTOR.pack(actor.id, _kind(actor), *_pose(world.pose(actor)), actor.description.uid)
    parts = [head, _text(actor.description.id), _COUNT.pack(len(actor.description.attributes))]
    for attribute in actor.description.attributes:
        parts += [bytes((attribute.type,)), _text(attribute.id), _text(attribute.value)]
    return b"".join(parts)


def _kind(actor: Actor) -> int:
    if isinstance(actor, VehicleActor):
        return VEHICLE
    if isinstance(actor, WalkerActor):
        return WALKER
    if isinstance(actor, LightActor):
        return LIGHT
    if isinstance(actor, SignActor):
        return SIGN
    return SENSOR if actor.blueprint.kind == "sensor" else OTHER


def _states(actors: Sequence[Actor], world: World) -> Iterator[tuple[int, list[bytes]]]:
    """Where actors are and what they do: kind of the packet, entries."""
    placed = (a for a in actors if _kind(a) in (VEHICLE, WALKER, OTHER))
    yield _POSITION, [_PLACE.pack(a.id, *_pose(world.pose(a))) for a in placed]
    yield _LIGHT, [_lamp(a) for a in actors if isinstance(a, LightActor)]
    yield _VEHICLE, [_drive(a) for a in actors if isinstance(a, VehicleActor)]
    walkers = (a for a in actors if isinstance(a, WalkerActor))
    yield _WALKER, [_PACE.pack(a.id, a.control.speed) for a in walkers]


def _lamp(actor: LightActor) -> bytes:
    group = actor.light.group
    return _LAMP.pack(actor.id, group.frozen, group.elapsed_s, actor.light.state)


def _drive(vehicle: VehicleActor) -> bytes:
    throttle, steer, brake, hand_brake, reverse, _, gear = vehicle.control
    return _DRIVE.pack(vehicle.id, steer, throttle, brake, hand_brake, -1 if reverse else gear)


def _is_hero(world: World, number: int) -> bool:
    actor = world.actors.get(number)
    return actor is not None and actor.attribute("role_name") == "hero"


def _reported(world: World, first: int, second: int) -> bool:
    return any(hit.actor == first and hit.other == second for hit in world.collisions)


def _pose(pose: Transform) -> tuple[float, ...]:
    (x, y, z), (pitch, yaw, roll) = pose
    return _CM * x, _CM * y, _CM * z, roll, pitch, yaw


def _transform(numbers: tuple[float, ...]) -> Transform:
    x, y, z, roll, pitch, yaw = numbers
    return Transform(Vector(x / _CM, y / _CM, z / _CM), Rotation(pitch, yaw, roll))


def _text(value: str) -> bytes:
    data = value.encode("utf-8", "replace")[:0xFFFF]
    return _COUNT.pack(len(data)) + data
