# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The bag: readable by an independent reader, byte-identical, and there after a kill."""

from __future__ import annotations

import json
import os
import random
import resource
import signal
import subprocess
import sys
import tracemalloc
from pathlib import Path

import pytest
import yaml
from rosbags.interfaces import QosDurability
from rosbags.rosbag2 import Reader
from rosbags.typesys import Stores, get_types_from_msg, get_typestore
from support.toy_bags import (
    MS,
    TOPICS,
    TYPES,
    Given,
    content,
    file_size_limit,
    run_messages,
)

from ros2_cosim.core.kernel.errors import (
    CausalityError,
    ConfigurationError,
    ProtocolError,
    StorageError,
)
from ros2_cosim.core.kernel.time import format_ns
from ros2_cosim.core.messages import catalogue
from ros2_cosim.core.messages.protocol import HISTORY_DEPTH
from ros2_cosim.core.record import bag as bag_module
from ros2_cosim.core.record.bag import BagWriter, describe_types
from ros2_cosim.core.record.bag_metadata import BagTopic, mcap_path
from ros2_cosim.core.record.bag_reader import is_complete, read_bag, read_growing
from ros2_cosim.core.record.mcap import CHANNEL, CHUNK, MAGIC, RECORD
from ros2_cosim.core.record.mcap_reader import Chunk, scan
from ros2_cosim.core.record.recovery import recover


def write(path: Path, messages: list[Given], shuffle: int | None = None, step: int = 40) -> Path:
    """Write a bag; ``shuffle`` seeds the order of arrival within each step [ms]."""
    stream = random.Random(shuffle)
    with BagWriter(path, TOPICS, custom_data={"scenario": "toy"}) as writer:
        last = messages[-1].stamp
        for start in range(0, last + 1, step * MS):
            part = [m for m in messages if start <= m.stamp < start + step * MS]
            if shuffle is not None:
                stream.shuffle(part)
            for message in part:
                writer.write(*message)
            writer.advance(start + step * MS)
    return path


def test_rosbags_reads_back_every_message(tmp_path: Path) -> None:
    messages = run_messages()
    bag = write(tmp_path / "bag", messages)
    store = get_typestore(Stores.ROS2_JAZZY)
    with Reader(bag) as reader:
        found = [(c.topic, stamp, bytes(data)) for c, stamp, data in reader.messages()]
        assert sorted(found) == sorted((m.topic, m.stamp, m.data) for m in messages)
        assert [stamp for _, stamp, _ in found] == [m.stamp for m in messages]
        by_topic = {c.topic: c for c in reader.connections}
        assert by_topic["/leader/odometry"].msgcount == 300
        assert by_topic["/collisions"].msgcount == 0
        (profile,) = by_topic["/static_objects"].ext.offered_qos_profiles
        assert profile.durability is QosDurability.TRANSIENT_LOCAL
        assert profile.depth == HISTORY_DEPTH  # what the writers keep
        # A bag that is played has the topics of the run's nodes, with ROS's prefix in the network.
        assert not profile.avoid_ros_namespace_conventions
        for connection in reader.connections:  # definitions in the bag suffice to decode
            if connection.msgtype not in store.types:
                store.register(get_types_from_msg(connection.msgdef.data, connection.msgtype))
        connection, _, data = next(reader.messages([by_topic["/static_objects"]]))
        decoded = store.deserialize_cdr(data, connection.msgtype)
        assert decoded.objects[0].x == 300.0
        assert store.hash_rihs01(connection.msgtype) == connection.digest
        assert reader.duration == messages[-1].stamp + 1


@pytest.mark.parametrize("step", [10, 70, 1700])
def test_the_order_of_arrival_does_not_change_a_byte(tmp_path: Path, step: int) -> None:
    messages = run_messages()
    plain = content(write(tmp_path / "a" / "bag", messages))
    assert content(write(tmp_path / "b" / "bag", messages, shuffle=step, step=step)) == plain
    assert set(plain) == {"metadata.yaml", "bag_0.mcap"}


def test_full_chunks_split_at_the_same_places(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bag_module, "CHUNK_BYTES", 5000)
    monkeypatch.setattr(bag_module, "PENDING", 7)
    messages = run_messages()
    plain = content(write(tmp_path / "a" / "bag", messages))
    assert content(write(tmp_path / "b" / "bag", messages, shuffle=1, step=300)) == plain
    with Reader(tmp_path / "a" / "bag") as reader:
        assert [m[1] for m in reader.messages()] == [m.stamp for m in messages]


@pytest.mark.parametrize("chunk_bytes", [bag_module.CHUNK_BYTES, 3000])
def test_messages_come_back_in_their_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chunk_bytes: int
) -> None:
    monkeypatch.setattr(bag_module, "CHUNK_BYTES", chunk_bytes)
    messages = run_messages()
    bag = write(tmp_path / "bag", messages)
    assert [tuple(m) for m in read_bag(bag)] == [
        (m.topic, TYPES[m.topic], m.stamp, m.data) for m in messages
    ]
    assert is_complete(bag)


def test_a_large_bag_is_not_held_in_memory(tmp_path: Path) -> None:
    size = 100_000
    with BagWriter(tmp_path / "bag", TOPICS) as writer:
        for k in range(640):  # 64 MB
            writer.advance(k * 10 * MS)
            writer.write("/leader/odometry", k * 10 * MS, k, bytes(size))
    tracemalloc.start()
    try:
        assert sum(len(message.data) for message in read_bag(tmp_path / "bag")) == 640 * size
        assert tracemalloc.get_traced_memory()[1] < 16 << 20
    finally:
        tracemalloc.stop()


def test_a_bag_without_its_end_is_named(tmp_path: Path) -> None:
    bag = write(tmp_path / "bag", run_messages())
    (bag / "metadata.yaml").unlink()
    assert not is_complete(bag)
    with pytest.raises(ConfigurationError, match=r"not complete: metadata\.yaml is missing"):
        list(read_bag(bag))


def test_metadata_has_the_form_of_rosbag2(tmp_path: Path) -> None:
    bag = write(tmp_path / "bag", run_messages())
    metadata = yaml.safe_load((bag / "metadata.yaml").read_text())["rosbag2_bagfile_information"]
    assert metadata["version"] == 9
    assert metadata["custom_data"] == {"scenario": "toy"}
    assert metadata["relative_file_paths"] == ["bag_0.mcap"]
    assert metadata["duration"] == {"nanoseconds": 2990 * MS}
    names = [t["topic_metadata"]["name"] for t in metadata["topics_with_message_count"]]
    assert names == sorted(topic.name for topic in TOPICS)


def test_an_empty_bag_is_a_bag(tmp_path: Path) -> None:
    with BagWriter(tmp_path / "bag", TOPICS):
        pass
    with Reader(tmp_path / "bag") as reader:
        assert reader.message_count == 0
    assert list(read_bag(tmp_path / "bag")) == []
    about = yaml.safe_load((tmp_path / "bag" / "metadata.yaml").read_text())
    about = about["rosbag2_bagfile_information"]
    # As rosbag2 writes it: the start is the largest time there is.
    extent = {
        "starting_time": {"nanoseconds_since_epoch": 9_223_372_036_854_775_807},
        "duration": {"nanoseconds": 0},
        "message_count": 0,
    }
    assert {key: about[key] for key in extent} == extent
    assert about["files"] == [{"path": "bag_0.mcap", **extent}]


def test_a_bag_that_grows_is_read_up_to_its_last_chunk(tmp_path: Path) -> None:
    messages = run_messages()
    bag = write(tmp_path / "bag", messages)
    path = mcap_path(bag)
    end = max(behind for part, behind in scan(path) if isinstance(part, Chunk))
    os.truncate(path, end)
    (bag / "metadata.yaml").unlink()
    assert [message.data for message in read_growing(bag)] == [m.data for m in messages]
    found = [message.stamp for message in read_growing(bag, 10 * MS, 30 * MS)]
    assert found == [10 * MS, 20 * MS]


KILLED = """
import sys, time
from pathlib import Path
from support.toy_bags import TOPICS, run_messages
from ros2_cosim.core.record.bag import BagWriter
writer = BagWriter(Path(sys.argv[1]), TOPICS)
for message in run_messages():
    writer.advance(message.stamp)
    writer.write(*message)
print("ready", flush=True)
time.sleep(60)
"""


def test_what_a_killed_process_wrote_can_be_recovered(tmp_path: Path) -> None:
    bag = tmp_path / "bag"
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(bag)],
        stdout=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()

    expected = [message for message in run_messages() if message.stamp < 2000 * MS]
    assert not is_complete(bag)
    assert recover(bag) == len(expected)
    assert is_complete(bag)
    with Reader(bag) as reader:
        found = [(c.topic, stamp, bytes(data)) for c, stamp, data in reader.messages()]
        assert found == [(m.topic, m.stamp, m.data) for m in expected]
    assert recover(bag) == len(expected)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bag"]


@pytest.mark.parametrize("cut", range(0, 700, 41))
def test_a_file_cut_anywhere_is_recovered_up_to_its_last_whole_chunk(
    tmp_path: Path, cut: int
) -> None:
    whole = run_messages()
    bag = write(tmp_path / "bag", whole)
    path = mcap_path(bag)
    size = path.stat().st_size
    declared = path.read_bytes().index(b"\x06", size // 100)  # behind the declarations
    os.truncate(path, max(declared, size - cut * size // 700 - 1))
    (bag / "metadata.yaml").unlink()  # it is written last
    count = recover(bag)
    messages = list(read_bag(bag))
    assert len(messages) == count
    assert [m.data for m in messages] == [m.data for m in whole[:count]]
    with Reader(bag) as reader:
        assert reader.message_count == count


def test_a_bag_whose_directory_was_renamed_is_read_as_before(tmp_path: Path) -> None:
    """A damaged one too: other readers leave out what a damaged index does not name."""
    bag = write(tmp_path / "bag", run_messages())
    expected = list(read_bag(bag))
    renamed = bag.rename(tmp_path / "renamed")
    assert list(read_bag(renamed)) == expected
    (path,) = renamed.glob("*.mcap")
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(ProtocolError, match="is damaged: cut off after its run had closed it"):
        list(read_bag(renamed))
    (renamed / "metadata.yaml").unlink()
    recover(renamed)
    assert list(read_bag(renamed)) == expected


def test_an_empty_bag_that_lost_its_index_becomes_what_it_was(tmp_path: Path) -> None:
    """What is written behind the chunks is written anew, not once more."""
    bag = tmp_path / "bag"
    BagWriter(bag, TOPICS, custom_data={"scenario": "toy"}).close()
    path = mcap_path(bag)
    whole = path.read_bytes()
    path.write_bytes(whole[:-30])
    (bag / "metadata.yaml").unlink()
    assert recover(bag) == 0
    assert path.read_bytes() == whole


def test_messages_of_no_topic_are_refused_with_their_place(tmp_path: Path) -> None:
    bag = write(tmp_path / "bag", run_messages())
    path = mcap_path(bag)
    data = bytearray(path.read_bytes())
    at = len(MAGIC)
    while (head := RECORD.unpack_from(data, at))[0] != CHUNK:
        if head[0] == CHANNEL:
            data[at + RECORD.size] += 100
        at += RECORD.size + head[1]
    path.write_bytes(data)
    with pytest.raises(ProtocolError, match=f"the chunk at byte {at} is damaged"):
        list(read_bag(bag))
    (bag / "metadata.yaml").unlink()
    with pytest.raises(ProtocolError, match=r"message of channel \d, not declared"):
        recover(bag)


def test_a_damaged_file_is_refused_with_its_place(tmp_path: Path) -> None:
    bag = write(tmp_path / "bag", run_messages())
    path = mcap_path(bag)
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0xFF
    path.write_bytes(data)
    with pytest.raises(ProtocolError, match=r"bag_0\.mcap, byte \d+: checksum"):
        list(read_bag(bag))
    (bag / "metadata.yaml").unlink()
    with pytest.raises(ProtocolError, match=r"bag_0\.mcap, byte \d+: checksum"):
        recover(bag)
    path.write_bytes(b"not a bag")
    with pytest.raises(ProtocolError, match="not an MCAP file"):
        recover(bag)


def test_wrong_use_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="named twice: /collisions"):
        BagWriter(tmp_path / "bag", [*TOPICS, TOPICS[3]])
    with pytest.raises(ConfigurationError, match="toy/msg/Unknown"):
        BagWriter(tmp_path / "bag", [BagTopic("/x", "toy/msg/Unknown")])
    with pytest.raises(ConfigurationError, match="no bag at"):
        list(read_bag(tmp_path / "bag"))
    with BagWriter(tmp_path / "bag", TOPICS) as writer:
        writer.advance(10)
        with pytest.raises(CausalityError, match=r"message 4 of /collisions is stamped 9 ns"):
            writer.write("/collisions", 9, 4, b"")
        with pytest.raises(ConfigurationError, match="topic /other was not declared"):
            writer.write("/other", 10, 0, b"")
    with pytest.raises(ConfigurationError, match="exists already"):
        BagWriter(tmp_path / "bag", TOPICS)


def test_type_hashes_equal_those_of_the_generated_messages() -> None:
    own = pytest.importorskip("ros2_cosim.msg", reason="generated messages are not built")
    site = Path(own.__file__).parents[1]
    described = describe_types(name for name in catalogue.DEFAULT if name.startswith("ros2_cosim/"))
    share = next((p / "share/ros2_cosim/msg" for p in site.parents if (p / "share").is_dir()), site)
    for name, description in described.items():
        path = share / f"{name.rsplit('/', 1)[1]}.json"
        if not path.is_file():
            pytest.skip("type descriptions are not installed")
        hashes = json.loads(path.read_text())["type_hashes"]
        assert {"type_name": name, "hash_string": description.hash} in hashes


@pytest.mark.parametrize("room", [25_000, 40_000, 70_000, 105_000, 106_000])
def test_when_no_more_can_be_written_the_bag_keeps_what_is_there(tmp_path: Path, room: int) -> None:
    messages = run_messages(5)
    whole = mcap_path(write(tmp_path / "whole" / "bag", messages)).stat().st_size
    assert whole > 106_000, "the limits must be too small for all"
    bag = tmp_path / "bag"
    with file_size_limit(room), pytest.raises(StorageError) as caught:
        write(bag, messages)
    text = str(caught.value)
    assert "bag: File too large (limit of the size of a file, ulimit -f); it " in text
    assert is_complete(bag)
    found = [message.data for message in read_bag(bag)]
    assert found == [message.data for message in messages[: len(found)]]
    if found:
        last = messages[len(found) - 1].stamp
        assert text.endswith(f"it holds the messages up to {format_ns(last)}")
        # It could not be more but for the index: a chunk holds a second.
        assert last > (room / whole * 5 - 2.2) * 1e9
    else:
        assert text.endswith("it is empty")
    assert {path.name for path in bag.iterdir()} == {"bag_0.mcap", "metadata.yaml"}


def test_a_bag_without_room_for_its_declarations_says_so(tmp_path: Path) -> None:
    with file_size_limit(500), pytest.raises(StorageError, match=r"ulimit -f\)$"):
        BagWriter(tmp_path / "bag", TOPICS)


def test_standard_types_are_described_as_rosbags_describes_them() -> None:
    store = get_typestore(Stores.ROS2_JAZZY)
    for name, described in describe_types(store.fielddefs).items():
        text, _ = store.generate_msgdef(name, ros_version=2)
        assert described == (text, store.hash_rihs01(name))


def test_a_bag_whose_file_cannot_be_opened_says_so(tmp_path: Path) -> None:
    describe_types(TYPES.values())
    former = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, former[1]))
    try:
        with pytest.raises(StorageError, match="bag: Too many open files"):
            BagWriter(tmp_path / "bag", TOPICS)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, former)


def test_a_cut_file_is_recovered_where_there_is_hardly_room(tmp_path: Path) -> None:
    """The same bytes as with room: nothing is copied."""
    messages = run_messages(5)
    whole = write(tmp_path / "bag", messages)
    path = mcap_path(whole)
    size = path.stat().st_size
    for bag in (tmp_path / "roomy" / "bag", tmp_path / "tight" / "bag"):
        bag.mkdir(parents=True)
        (bag / path.name).write_bytes(path.read_bytes()[: size // 2])
    recover(tmp_path / "roomy" / "bag")
    with file_size_limit(size // 2 + 8000):
        recover(tmp_path / "tight" / "bag")
    assert content(tmp_path / "roomy" / "bag") == content(tmp_path / "tight" / "bag")


def test_memory_does_not_grow_with_a_bag(tmp_path: Path) -> None:
    """The index is made from the file: a chunk that is written leaves eight bytes in memory."""
    data = bytes(40)
    with BagWriter(tmp_path / "bag", TOPICS) as writer:

        def second(k: int) -> None:
            for topic in TYPES:
                writer.write(topic, k * 1000 * MS, k, data)
            writer.advance((k + 1) * 1000 * MS)

        for k in range(100):
            second(k)
        tracemalloc.start()
        try:
            for k in range(100, 2100):
                second(k)
            assert tracemalloc.get_traced_memory()[0] < 100_000
        finally:
            tracemalloc.stop()
    assert sum(1 for _ in read_bag(tmp_path / "bag")) == 2100 * len(TYPES)


def test_memory_does_not_grow_with_a_bag_that_is_read(tmp_path: Path) -> None:
    """A bag of an hour, with few messages: its index is not loaded."""
    with BagWriter(tmp_path / "bag", TOPICS) as writer:
        for k in range(3600):
            for topic in TYPES:
                writer.write(topic, k * 1000 * MS, k, bytes(40))
            writer.advance((k + 1) * 1000 * MS)
    found = read_bag(tmp_path / "bag")
    assert next(found).stamp == 0  # what is imported and cached is there, the metadata file is read
    tracemalloc.start()
    try:
        assert sum(1 for _ in found) == 3600 * len(TYPES) - 1
        assert tracemalloc.get_traced_memory()[1] < 500_000
    finally:
        tracemalloc.stop()


def test_a_stretch_of_a_bag(tmp_path: Path) -> None:
    messages = run_messages(5)
    bag = write(tmp_path / "bag", messages)
    found = [message.data for message in read_bag(bag, 1500 * MS, 3210 * MS)]
    assert found == [m.data for m in messages if 1500 * MS <= m.stamp < 3210 * MS]


def test_a_stretch_that_begins_or_ends_where_a_chunk_does_has_what_is_there(tmp_path: Path) -> None:
    messages = run_messages(5)
    bag = write(tmp_path / "bag", messages)
    (file,) = bag.glob("*.mcap")
    edges = [
        (min(m.stamp for m in part.content), max(m.stamp for m in part.content))
        for part, _ in scan(file)
        if isinstance(part, Chunk)
    ]
    assert len(edges) > 1
    for first, last in edges:
        for start, stop in ((last, last + 1), (first, first + 1), (first - 1, first), (last, None)):
            found = [message.data for message in read_bag(bag, start, stop)]
            end = 10**18 if stop is None else stop
            assert found == [m.data for m in messages if start <= m.stamp < end]


def test_a_whole_bag_that_is_cut_off_is_damaged(tmp_path: Path) -> None:
    bag = write(tmp_path / "bag", run_messages())
    path = mcap_path(bag)
    os.truncate(path, path.stat().st_size // 2)
    with pytest.raises(ProtocolError, match="bag_0.mcap is damaged: cut off after its run"):
        list(read_bag(bag))


def test_bags_of_other_writers_are_read(tmp_path: Path) -> None:
    messages = run_messages()
    bag = write(tmp_path / "bag", messages)
    path = mcap_path(bag)
    data = path.read_bytes()
    assert data.count(b"ros2_cosim", 0, 60) == 1
    path.write_bytes(data.replace(b"ros2_cosim", b"other_tool", 1))
    assert [m.data for m in read_bag(bag)] == [m.data for m in messages]
