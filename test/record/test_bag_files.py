# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Bags in several files, with compressed chunks: the same bytes, and readable after a kill."""

from __future__ import annotations

import os
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import yaml
from rosbags.rosbag2 import Reader
from support.toy_bags import MS, TOPICS, TYPES, Given, content, file_size_limit, run_messages

from ros2_cosim.core.kernel.errors import ProtocolError, StorageError
from ros2_cosim.core.record import bag as bag_module
from ros2_cosim.core.record.bag import BagForm, BagWriter
from ros2_cosim.core.record.bag_metadata import LIBRARY, mcap_path
from ros2_cosim.core.record.bag_reader import is_complete, read_bag, storage_files, topic_types
from ros2_cosim.core.record.mcap_reader import Chunk, Metadata, scan
from ros2_cosim.core.record.recovery import recover

SCENARIO = '{"name":"toy"}'
FORMS = {
    "time": BagForm(split_ns=700 * MS),
    "size": BagForm("zstd", split_bytes=30_000),
    "both": BagForm("lz4", split_bytes=30_000, split_ns=1300 * MS),
}


def write(path: Path, messages: list[Given], form: BagForm, step: int = 1) -> Path:
    """Write a bag; the order of arrival within each ``step`` messages is turned round."""
    writer = BagWriter(path, TOPICS, custom_data={"seed": "1"}, form=form, scenario=SCENARIO)
    with writer:
        for at in range(0, len(messages), step):
            writer.advance(messages[at].stamp)
            for message in reversed(messages[at : at + step]):
                writer.write(*message)
    return path


def with_rosbags(bag: Path) -> list[tuple[str, str, int, bytes]]:
    with Reader(bag) as reader:
        return [(c.topic, c.msgtype, stamp, bytes(data)) for c, stamp, data in reader.messages()]


def expected(messages: list[Given]) -> list[tuple[str, str, int, bytes]]:
    return [(m.topic, TYPES[m.topic], m.stamp, m.data) for m in messages]


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_several_files_have_every_message_in_its_order(tmp_path: Path, form: BagForm) -> None:
    messages = run_messages()
    bag = write(tmp_path / "bag", messages, form)
    assert len(storage_files(bag)) > 2
    assert [tuple(m) for m in read_bag(bag)] == expected(messages) == with_rosbags(bag)
    stretch = [m.data for m in read_bag(bag, 650 * MS, 2010 * MS)]
    assert stretch == [m.data for m in messages if 650 * MS <= m.stamp < 2010 * MS]
    assert {topic: found.type_name for topic, found in topic_types(bag).items()} == TYPES
    about = yaml.safe_load((bag / "metadata.yaml").read_text())["rosbag2_bagfile_information"]
    names = [path.name for path in storage_files(bag)]
    assert about["relative_file_paths"] == [file["path"] for file in about["files"]] == names
    assert sum(file["message_count"] for file in about["files"]) == len(messages)
    assert about["message_count"] == len(messages)
    assert about["duration"] == {"nanoseconds": 2990 * MS}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("step", [3, 57, 1000])
def test_files_and_chunks_end_where_the_content_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: BagForm, step: int
) -> None:
    monkeypatch.setattr(bag_module, "CHUNK_BYTES", 5000)
    monkeypatch.setattr(bag_module, "PENDING", 7)
    messages = run_messages()
    one = write(tmp_path / "one" / "bag", messages, form)
    assert content(write(tmp_path / "other" / "bag", messages, form, step)) == content(one)


def stamps_of(path: Path) -> list[int]:
    return [m.stamp for part, _ in scan(path) if isinstance(part, Chunk) for m in part.content]


def test_a_file_has_one_stretch_of_time(tmp_path: Path) -> None:
    bag = write(tmp_path / "bag", run_messages(), FORMS["time"])
    for number, path in enumerate(storage_files(bag)):
        stamps = stamps_of(path)
        assert number * 700 * MS == min(stamps)
        assert max(stamps) < (number + 1) * 700 * MS


@pytest.mark.parametrize("compression", ["", "zstd", "lz4"])
def test_a_file_has_at_most_so_much(tmp_path: Path, compression: str) -> None:
    """The same messages with and without compression."""
    messages = [Given("/leader/odometry", k * MS, k, bytes(900)) for k in range(100)]
    messages.insert(50, Given("/leader/odometry", 49 * MS, 99, bytes(50_000)))
    bag = write(tmp_path / "bag", messages, BagForm(compression, split_bytes=30_000))
    counts = [len(stamps_of(path)) for path in storage_files(bag)]
    # 32 of 900 bytes and a head each; the large one is alone.
    assert counts == [32, 18, 1, 32, 18]


def test_compressed_chunks_are_smaller(tmp_path: Path) -> None:
    sizes = {
        method: mcap_path(write(tmp_path / (method or "none"), run_messages(9), BagForm(method)))
        .stat()
        .st_size
        for method in ("", "lz4", "zstd")
    }
    assert sizes["zstd"] < sizes["lz4"] < sizes[""]


def test_each_file_tells_its_scenario(tmp_path: Path) -> None:
    bag = write(tmp_path / "bag", run_messages(), FORMS["both"])
    for path in storage_files(bag):
        found = {part.name: part.values for part, _ in scan(path) if isinstance(part, Metadata)}
        assert found[LIBRARY] == {"seed": "1", "scenario_json": SCENARIO}
        assert f"- path: {path.name}" in found["rosbag2"]["serialized_metadata"]
    about = yaml.safe_load((bag / "metadata.yaml").read_text())["rosbag2_bagfile_information"]
    assert about["custom_data"] == {"seed": "1"}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("cut", [1, 400, 9_000, -8, 0])
def test_a_killed_run_leaves_a_bag_of_its_whole_chunks(
    tmp_path: Path, form: BagForm, cut: int
) -> None:
    """When the writer is stopped, and the last file cut by so much; 0 and less: to so much."""
    messages = run_messages()
    bag = tmp_path / "bag"
    writer = BagWriter(bag, TOPICS, custom_data={"seed": "1"}, form=form, scenario=SCENARIO)
    for message in messages:
        writer.advance(message.stamp)
        writer.write(*message)
    last = storage_files(bag)[-1]
    os.truncate(last, max(0, last.stat().st_size - cut) if cut > 0 else -cut)
    whole = sum(len(stamps_of(path)) for path in storage_files(bag)[:-1])
    count = recover(bag)
    assert len(messages) > count >= whole > 0
    assert is_complete(bag)
    assert [tuple(m) for m in read_bag(bag)] == expected(messages[:count]) == with_rosbags(bag)
    about = yaml.safe_load((bag / "metadata.yaml").read_text())["rosbag2_bagfile_information"]
    assert about["custom_data"] == {"seed": "1"}
    before = content(bag)
    (bag / "metadata.yaml").unlink()
    assert recover(bag) == count
    assert content(bag) == before


def test_a_recovered_bag_is_that_of_a_shorter_run(tmp_path: Path) -> None:
    messages = run_messages()
    short = [m for m in messages if m.stamp < 1400 * MS]
    closed = write(tmp_path / "closed" / "bag", short, FORMS["time"])
    bag = tmp_path / "bag"
    writer = BagWriter(
        bag, TOPICS, custom_data={"seed": "1"}, form=FORMS["time"], scenario=SCENARIO
    )
    for message in short:
        writer.write(*message)
    writer.advance(1400 * MS)
    recover(bag)
    assert content(bag) == content(closed)


@pytest.mark.parametrize("room", [24_000, 27_000, 33_000])
def test_without_room_the_bag_keeps_what_is_there(tmp_path: Path, room: int) -> None:
    messages = [Given("/leader/odometry", k * 10 * MS, k, bytes(k)) for k in range(300)]
    bag = tmp_path / "bag"
    with file_size_limit(room), pytest.raises(StorageError, match="it holds the messages up to"):
        write(bag, messages, FORMS["time"])
    assert is_complete(bag)
    found = [m.data for m in read_bag(bag)]
    assert found == [m.data for m in messages[: len(found)]] != []
    assert with_rosbags(bag) == [tuple(m) for m in read_bag(bag)]


def test_a_file_that_cannot_begin_leaves_those_before_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As if the disk were full when the third file begins."""
    messages = run_messages()
    whole = BagWriter._declare
    files: list[object] = []

    def declare(self: BagWriter, mcap: object) -> None:
        files.append(mcap)
        if len(files) == 3:
            raise OSError(28, "No space left on device")
        whole(self, mcap)  # type: ignore[arg-type]

    monkeypatch.setattr(BagWriter, "_declare", declare)
    with pytest.raises(StorageError, match=r"No space left .* up to 1\.39"):
        write(tmp_path / "bag", messages, FORMS["time"])
    found = [tuple(m) for m in read_bag(tmp_path / "bag")]
    assert found == expected([m for m in messages if m.stamp < 1400 * MS])
    assert len(storage_files(tmp_path / "bag")) == 2


def test_a_file_that_cannot_be_finished_leaves_none_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As if the disk were full until the file that follows is taken back."""
    messages = run_messages()
    whole = bag_module.finish_file
    tried: list[Path] = []

    def finish(path: Path, *rest: Any) -> None:
        tried.append(path)
        if len(tried) == 2:
            raise OSError(28, "No space left on device")
        whole(path, *rest)

    monkeypatch.setattr(bag_module, "finish_file", finish)
    bag = tmp_path / "bag"
    with pytest.raises(StorageError, match=r"No space left .* up to 1\.39") as caught:
        write(bag, messages, FORMS["time"])
    # The error keeps the objects of its calls; the room on the disk is free all the same.
    targets = [
        os.readlink(entry) for entry in Path("/proc/self/fd").iterdir() if entry.is_symlink()
    ]
    assert not any(target.startswith(str(bag)) for target in targets), caught.value
    found = [tuple(m) for m in read_bag(bag)]
    assert found == expected([m for m in messages if m.stamp < 1400 * MS])
    assert len(storage_files(bag)) == 2


@pytest.mark.parametrize("number", [0, 1, 4])
def test_a_file_that_is_missing_is_named(tmp_path: Path, number: int) -> None:
    bag = write(tmp_path / "bag", run_messages(), FORMS["time"])
    mcap_path(bag, number).unlink()
    with pytest.raises(ProtocolError, match=rf"bag_{number}\.mcap"):
        list(read_bag(bag))


@pytest.mark.parametrize("names", [None, "bag_0.mcap", [7], ["bag_0.mcap", 7]])
def test_a_bag_has_to_name_its_files(tmp_path: Path, names: Any) -> None:
    metadata = write(tmp_path / "bag", run_messages(), FORMS["time"]) / "metadata.yaml"
    content = yaml.safe_load(metadata.read_text())
    content["rosbag2_bagfile_information"]["relative_file_paths"] = names
    metadata.write_text(yaml.safe_dump(content))
    with pytest.raises(ProtocolError, match=r"metadata.yaml names no files \('relative_file_pat"):
        list(read_bag(tmp_path / "bag"))


@pytest.mark.parametrize("method", ["zstd", "lz4"])
def test_a_damaged_chunk_is_refused_with_its_place(tmp_path: Path, method: str) -> None:
    bag = write(tmp_path / "bag", run_messages(), BagForm(method))
    path = mcap_path(bag)
    plain = path.read_bytes()
    places = [part.place for part, _ in scan(path) if isinstance(part, Chunk)]
    for at in range(places[1] + 60, places[1] + 500, 37):
        data = bytearray(plain)
        data[at] ^= 0xFF
        path.write_bytes(data)
        with pytest.raises(ProtocolError, match=r"bag_0\.mcap, byte \d+: "):
            list(read_bag(bag))
    path.write_bytes(plain.replace(method.encode(), method[::-1].encode()))
    with pytest.raises(ProtocolError, match="allowed are zstd and lz4"):
        list(read_bag(bag))


def test_files_do_not_overlap(tmp_path: Path) -> None:
    bag = write(tmp_path / "bag", run_messages(), FORMS["size"])
    stamps = [stamps_of(path) for path in storage_files(bag)]
    assert all(a[-1] <= b[0] for a, b in pairwise(stamps))


def test_a_last_file_that_is_no_part_of_the_bag_is_not_dropped(tmp_path: Path) -> None:
    """Of a file that had just been created there are less than its first eight bytes."""
    bag = tmp_path / "bag"
    writer = BagWriter(bag, TOPICS, form=FORMS["time"])
    messages = run_messages(1)
    for message in messages:
        writer.advance(message.stamp)
        writer.write(*message)
    last = storage_files(bag)[-1]
    last.write_bytes(b"no bag!!")
    with pytest.raises(ProtocolError, match=rf"{last.name} is not an MCAP file"):
        recover(bag)
    last.write_bytes(b"no bag!")
    recover(bag)
    assert not last.exists()
    assert [tuple(m) for m in read_bag(bag)] == expected(
        [m for m in messages if m.stamp < 700 * MS]
    )
