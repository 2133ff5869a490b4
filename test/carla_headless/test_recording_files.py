# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Recordings that a client of the server names may be any file: each is read or refused."""

from __future__ import annotations

import os
import struct
from pathlib import Path

import pytest
from support.headless_process import HIGHWAY

from ros2_cosim.world.headless.recording import MAGIC, Recorder, Recording
from ros2_cosim.world.headless.recording_texts import file_info
from ros2_cosim.world.headless.replayer import Replayer
from ros2_cosim.world.headless.wire_types import Transform, Vector
from ros2_cosim.world.headless.world import CallError, World

_NAN = float("nan")
_ADD, _POSITION, _DELETE, _FRAME_START, _FRAME_END = 2, 6, 3, 0, 1
_FRAME = struct.pack("<Qdd", 1, 0.05, 0.0)
#: Its description follows.
_CAR = struct.pack("<IB6fI", 7, 1, 100.0, 525.0, 0.0, 0.0, 0.0, 0.0, 3)


def text(value: bytes) -> bytes:
    return struct.pack("<H", len(value)) + value


def packet(kind: int, content: bytes) -> bytes:
    return struct.pack("<BI", kind, len(content)) + content


def rows(*entries: bytes) -> bytes:
    return struct.pack("<H", len(entries)) + b"".join(entries)


def frame(kind: int, content: bytes) -> bytes:
    parts = ((_FRAME_START, _FRAME), (kind, content), (_FRAME_END, b""))
    return b"".join(packet(*part) for part in parts)


def recording(path: Path, content: bytes, *, date: int = 0) -> Path:
    head = struct.pack("<H", 1) + text(MAGIC.encode()) + struct.pack("<q", date) + text(b"highway")
    path.write_bytes(head + content)
    return path


#: What a packet holds, and why it is broken.
BROKEN = {
    "a place that is not a number": (_POSITION, rows(struct.pack("<I6f", 7, _NAN, *[0.0] * 5))),
    "an actor at no place": (
        _ADD,
        rows(struct.pack("<IB6fI", 7, 1, *[_NAN] * 6, 3) + text(b"vehicle.audi.a2") + b"\0\0"),
    ),
    "attributes that are cut off": (_ADD, rows(_CAR + text(b"vehicle.audi.a2") + b"\1\0")),
    "more entries than there are": (_DELETE, struct.pack("<HI", 3, 1)),
    "a name that is not text": (_ADD, rows(_CAR + text(b"\xff") + b"\0\0")),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_packet_is_told(tmp_path: Path, name: str) -> None:
    path = recording(tmp_path / "a.log", frame(*BROKEN[name]))
    with pytest.raises(CallError, match="is broken at byte"):
        list(Recording(str(path)).frames())
    world = World(HIGHWAY.read_text(encoding="utf-8"), 0.05)
    with pytest.raises(CallError, match="is broken at byte"):
        Replayer(Recording(str(path)), world, 0.0, 0.0, ignore_hero=False)


@pytest.mark.parametrize("date", [-1, 1 << 40, (1 << 63) - 1, -(1 << 63)])
def test_a_date_that_cannot_be_written_is_no_recording(tmp_path: Path, date: int) -> None:
    path = recording(tmp_path / "a.log", frame(_DELETE, rows()), date=date)
    with pytest.raises(CallError, match="is not a CARLA recorder"):
        file_info(Recording(str(path)), everything=True)


def test_the_last_date_can_be_written(tmp_path: Path) -> None:
    path = recording(tmp_path / "a.log", frame(_DELETE, rows()), date=253_402_214_400)
    assert "Date: 12/3" in file_info(Recording(str(path)), everything=True)


def test_a_pipe_keeps_nothing_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(CallError, match="pipes and devices are not read"):
        Recording(str(tmp_path / "pipe"))
    world = World(HIGHWAY.read_text(encoding="utf-8"), 0.05)
    with pytest.raises(CallError, match="it is not overwritten"):
        Recorder(str(tmp_path / "pipe"), "highway", world)


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    world = World(HIGHWAY.read_text(encoding="utf-8"), 0.05)
    world.spawn("vehicle.tesla.model3", Transform(Vector(100.0, 5.25, 0.0)))
    recorder = Recorder(str(tmp_path / "a.log"), "highway", world)
    world.tick()
    recorder.frame(world)
    recorder.close()
    first, second = Recording(str(tmp_path / "a.log")).frames()
    spectator, added = first.added
    assert spectator.description.id == "spectator"
    assert added.description.id == "vehicle.tesla.model3"
    assert second.places.keys() == {spectator.id, added.id}
