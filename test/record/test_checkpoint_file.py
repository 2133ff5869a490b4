# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The file of a checkpoint: what is written comes back, and what is none is refused."""

from __future__ import annotations

import json
import random
import tracemalloc
import zipfile
from pathlib import Path
from typing import Any

import msgpack
import pytest

from ros2_cosim.core.kernel.errors import ConfigurationError, RunError, StorageError
from ros2_cosim.core.record import checkpoint as module
from ros2_cosim.core.record.checkpoint import (
    Entry,
    Header,
    History,
    Stop,
    checkpoint_name,
    read_checkpoint,
)

HEADER = Header(
    time_ns=1_500_000_000,
    version="0.1.0",
    traces={"a": "11", "b": "22"},
    stops={"b": Stop(time_ns=7, reason="enough")},
    scenario={"name": "toy"},
)
STATES = {"a": {"x": [1, 2.5]}, "b": b"\x00\xff"}
ENTRIES = [Entry(0, 0, 1, b"one"), Entry(1, -1, 1, 20_000_000), Entry(0, 1, 2, None)]


@pytest.mark.parametrize(
    ("time_ns", "name"),
    [
        (1_000_000_000, "checkpoint-1s.ckpt"),
        (1_500_000_000, "checkpoint-1.5s.ckpt"),
        (20_000_000, "checkpoint-0.02s.ckpt"),
        (10_000_000_001, "checkpoint-10.000000001s.ckpt"),
    ],
)
def test_a_file_is_called_by_its_time(time_ns: int, name: str) -> None:
    assert checkpoint_name(time_ns) == name


def test_what_is_written_comes_back_and_the_history_goes_on(tmp_path: Path) -> None:
    history = History(tmp_path)
    for entry in ENTRIES[:2]:
        history.add(entry)
    first, second = tmp_path / "one.ckpt", tmp_path / "two.ckpt"
    history.write(first, HEADER, STATES)
    # The next entry is added at the end, though all was read for the file.
    history.add(ENTRIES[2])
    history.write(second, HEADER, STATES)
    history.close()
    found = read_checkpoint(first)
    assert (found.path, found.header, found.states) == (first, HEADER, STATES)
    assert list(found.entries()) == ENTRIES[:2]
    assert list(read_checkpoint(second).entries()) == ENTRIES
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one.ckpt", "two.ckpt"]


def test_equal_checkpoints_are_equal_files(tmp_path: Path) -> None:
    for name in ("one", "two"):
        history = History(tmp_path)
        history.add(ENTRIES[0])
        history.write(tmp_path / name, HEADER, STATES)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    with zipfile.ZipFile(tmp_path / "one") as archive:
        assert [(i.filename, i.compress_type) for i in archive.infolist()] == [
            ("checkpoint.json", zipfile.ZIP_DEFLATED),
            ("states", zipfile.ZIP_DEFLATED),
            ("messages", zipfile.ZIP_DEFLATED),
        ]


def test_a_checkpoint_has_a_largest_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Messages, states and header count together; an entry of three small numbers has 9 bytes."""
    history = History(tmp_path)
    history.add(ENTRIES[0])
    header = len(json.dumps(HEADER.model_dump(mode="json")).encode())
    states = len(msgpack.packb(STATES))
    path = tmp_path / "x.ckpt"
    monkeypatch.setattr(module, "MAX_BYTES", 9 + header + states)
    history.write(path, HEADER, STATES)
    path.unlink()
    monkeypatch.setattr(module, "MAX_BYTES", 9 + header + states - 1)
    allowed = f"a checkpoint holds at most {9 + header + states - 1} in all"
    with pytest.raises(RunError, match=rf"x.ckpt: found 9 bytes .* until 1.5s; {allowed}$"):
        history.write(path, HEADER, STATES)
    assert list(tmp_path.iterdir()) == []


def test_a_long_history_is_written_in_little_memory(tmp_path: Path) -> None:
    """5 MB are copied in pieces; of each there is a compressed copy too."""
    history = History(tmp_path)
    for number in range(10):
        history.add(Entry(0, number, 1, random.Random(number).randbytes(500_000)))
    tracemalloc.start()
    try:
        history.write(tmp_path / "x", HEADER, STATES)
        assert tracemalloc.get_traced_memory()[1] < 6_000_000
    finally:
        tracemalloc.stop()


def test_a_state_that_is_no_plain_data_is_refused(tmp_path: Path) -> None:
    for bad in ({1, 2}, 1 << 64, object()):
        with pytest.raises(RunError, match="'b': its model saves what is not plain data"):
            History(tmp_path).write(tmp_path / "x", HEADER, {"a": 1, "b": bad})
    assert list(tmp_path.iterdir()) == []


def test_without_a_place_nothing_is_left(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match=r"missing/x: No such file or directory"):
        History(tmp_path).write(tmp_path / "missing" / "x", HEADER, STATES)


def archive_of(path: Path, **changes: Any) -> Path:
    """A checkpoint with other bytes for some of its files; None leaves one out."""
    content = {
        "header": HEADER.model_dump_json().encode(),
        "states": msgpack.packb(STATES),
        "messages": b"",
        **changes,
    }
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in content.items():
            if data is not None:
                archive.writestr("checkpoint.json" if name == "header" else name, data)
    return path


@pytest.mark.parametrize(
    "entry",
    [
        [0, 0, 1],
        [0, 0, 1, b"", b""],
        [0, 0, "1", b""],
        [0, True, 1, b""],
        [None, 0, 1, b""],
        [0, 0, 1, "text"],
        [0, 0, 1, 1.5],
        [0, 0, 1, [1]],
        {"participant": 0},
        7,
    ],
)
def test_an_entry_has_three_numbers_and_bytes_or_a_time(tmp_path: Path, entry: Any) -> None:
    packed = msgpack.packb([1, 2, 3, None]) + msgpack.packb(entry)
    read = read_checkpoint(archive_of(tmp_path / "x", messages=packed)).entries()
    assert next(read) == (1, 2, 3, None)
    with pytest.raises(ConfigurationError, match="x: found an entry that no checkpoint has"):
        next(read)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"header": None}, "there is no 'checkpoint.json' in the archive"),
        ({"states": None}, "there is no 'states' in the archive"),
        ({"states": msgpack.packb({"a": 1})}, "found states of other participants"),
        ({"states": msgpack.packb(["a", "b"])}, "found states of other participants"),
        ({"header": b"{}"}, "is not a checkpoint: time_ns: missing"),
        (
            {"header": HEADER.model_copy(update={"time_ns": 0}).model_dump_json()},
            "is not a checkpoint: time_ns",
        ),
    ],
)
def test_what_is_no_checkpoint_is_refused(
    tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigurationError, match=message):
        read_checkpoint(archive_of(tmp_path / "x", **changes))


def test_a_checkpoint_without_its_messages_is_refused_when_they_are_read(tmp_path: Path) -> None:
    found = read_checkpoint(archive_of(tmp_path / "x", messages=None))
    with pytest.raises(ConfigurationError, match="there is no 'messages' in the archive"):
        list(found.entries())
