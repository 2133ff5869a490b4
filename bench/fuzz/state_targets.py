# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Fuzz targets of files from which something goes on: checkpoints, recordings of a server."""

from __future__ import annotations

import tempfile
import zipfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from bench.fuzz.dcp_targets import CONFIG
from bench.fuzz.target import Target, as_file
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.loading import data_only
from ros2_cosim.core.record.checkpoint import read_checkpoint
from ros2_cosim.core.run.branch import check_branch, scenario_of
from ros2_cosim.core.run.bringup import bring_up
from ros2_cosim.core.run.inproc import InprocRun
from ros2_cosim.core.run.request import RunRequest
from ros2_cosim.world.headless.recording import MAGIC, Recorder, Recording
from ros2_cosim.world.headless.recording_texts import blocked, collisions, file_info
from ros2_cosim.world.headless.replayer import Replayer
from ros2_cosim.world.headless.wire_types import Rotation, Transform, Vector
from ros2_cosim.world.headless.world import CallError, World

_MEMBERS = ("checkpoint.json", "states", "messages")
#: Between the members of a checkpoint in an input: mutations reach what an archive packs.
_BETWEEN = b"\n==\n"
#: A recording is replayed so many steps.
_STEPS = 5


def _read_checkpoint(data: bytes) -> None:
    """The members of a checkpoint, as ``--branch`` reads them; nothing goes on from it."""
    members = data.split(_BETWEEN, len(_MEMBERS) - 1)
    with as_file(b"", "a.ckpt") as path, data_only():
        with zipfile.ZipFile(path, "w") as archive:
            for name, content in zip(_MEMBERS, members, strict=False):
                archive.writestr(name, content)
        for _ in read_checkpoint(path).entries():
            pass
        check_branch(path, scenario_of(path, ()))


def _checkpoint_seeds() -> Iterator[bytes]:
    """Of a short run of the project's own."""
    with tempfile.TemporaryDirectory() as directory:
        request = RunRequest(
            CONFIG / "car_following.yaml",
            set=("duration=40ms",),
            shape="inproc",
            out=Path(directory) / "run",
            record=False,
            checkpoints=(20_000_000,),
        )
        with bring_up(request) as prepared, InprocRun(prepared) as run:
            run.finish()
            (path,) = prepared.output.glob("*.ckpt")
        with zipfile.ZipFile(path) as archive:
            yield _BETWEEN.join(archive.read(name) for name in _MEMBERS)


@cache
def _road() -> str:
    return (CONFIG / "highway.xodr").read_text(encoding="utf-8")


def _read_recording(data: bytes) -> None:
    """A recording: its texts, and its first steps in a world."""
    with as_file(data, "a.log") as path:
        recording = Recording(str(path))
        for everything in (False, True):
            file_info(recording, everything).encode()
        collisions(recording, "a", "a").encode()
        blocked(recording, 0.0, 1e9).encode()
        replayer = Replayer(recording, World(_road(), 0.05), 0.0, 0.0, ignore_hero=False)
        for _ in range(_STEPS):
            if not replayer.step(0.05):
                break
        replayer.stop(keep=True)


def _recording_seeds() -> Iterator[bytes]:
    """Two cars and a walker for three steps, one of them destroyed."""
    world = World(_road(), 0.05)
    cars = [
        world.spawn("vehicle.tesla.model3", Transform(Vector(x, 5.25, 0.0), Rotation()))
        for x in (100.0, 130.0)
    ]
    world.spawn("walker.pedestrian.0001", Transform(Vector(110.0, 9.0, 1.0), Rotation()))
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "a.log"
        recorder = Recorder(str(path), "highway", world)
        for step in range(3):
            if step == 1:
                world.destroy(cars[1].id)
            world.tick()
            recorder.frame(world)
        recorder.close()
        data = path.read_bytes()
    yield data
    yield data[: len(data) * 2 // 3]


TARGETS = (
    Target(
        "checkpoint",
        _read_checkpoint,
        _checkpoint_seeds,
        (ConfigurationError,),
        words=(
            _BETWEEN,
            b'"faults": {}',
            b'"port": ',
            b'"stops": {}',
            b"\xc1",
            b"\xdd\xff\xff\xff",
        ),
        longest=32768,
    ),
    Target(
        "carla_recording",
        _read_recording,
        _recording_seeds,
        (CallError,),
        words=(MAGIC.encode(), b"\xff" * 8, b"\0\0\xc0\x7f", b"vehicle.audi.a2", b"role_name"),
        longest=8192,
    ),
)
