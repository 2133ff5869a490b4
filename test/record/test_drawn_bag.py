# SPDX-License-Identifier: Apache-2.0
"""A bag that shows the scene: clock, transforms and markers at fixed simulated times."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from rosbags.interfaces import ConnectionExtRosbag2, QosDurability
from rosbags.rosbag2 import Reader
from rosbags.typesys import Stores, get_typestore

from ros2_cosim.documents.installed import share_file
from ros2_cosim.interfaces.catalogue import DEFAULT
from ros2_cosim.kernel.errors import ConfigurationError
from ros2_cosim.record.bag_reader import read_bag
from ros2_cosim.record.results import open_sink
from ros2_cosim.record.summary import read_summary
from ros2_cosim.run.bringup import RunRequest, bring_up
from ros2_cosim.run.start import start
from ros2_cosim.scenario.schema import load_scenario
from ros2_cosim.scenario.system import build_graph

PLATOON = share_file("config/platoon.yaml")
MS = 1_000_000
DERIVED = {
    "/clock",
    "/tf",
    "/visualization/road",
    "/visualization/obstacles",
    "/visualization/scene",
}
FRAMES = """
include: {platoon}
scene: {{map: {scene}/highway.xodr}}
bag: {{scene: 40ms, exclude: [/visualization/road]}}
participants:
  frames:
    model: transforms
    period: 100ms
    inputs: {{odometry/leader: world.odometry/leader}}
    outputs:
      tf: {{type: tf2_msgs/msg/TFMessage, topic: /tf}}
"""
STORE = get_typestore(Stores.ROS2_JAZZY)


def run(out: Path, *changes: str, scenario: Path = PLATOON) -> list[str]:
    """Run 2 s of a scenario; its notes."""
    request = RunRequest(scenario, shape="inproc", out=out, set=("duration=2s", *changes))
    with bring_up(request) as prepared:
        start(prepared)
        return prepared.notes()


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("drawn") / "out"
    run(out, "bag.scene=40ms")
    return out


@pytest.fixture(scope="module")
def messages(drawn: Path) -> dict[str, list[tuple[int, bytes]]]:
    """(stamp, message), by topic."""
    found: dict[str, list[tuple[int, bytes]]] = {}
    for message in read_bag(drawn / "bag"):
        found.setdefault(message.topic, []).append((message.stamp, message.data))
    return found


def test_time_transforms_and_markers_are_there_at_multiples_of_the_period(
    messages: dict[str, list[tuple[int, bytes]]],
) -> None:
    times = list(range(0, 2000 * MS, 40 * MS))
    for topic in ("/clock", "/tf", "/visualization/scene"):
        assert [stamp for stamp, _ in messages[topic]] == times, topic
    for stamp, data in messages["/clock"]:
        clock: Any = STORE.deserialize_cdr(data, "rosgraph_msgs/msg/Clock")
        assert clock.clock.sec * 10**9 + clock.clock.nanosec == stamp
    assert [stamp for stamp, _ in messages["/visualization/road"]] == [0]
    assert [stamp for stamp, _ in messages["/visualization/obstacles"]] == [0]


def test_the_transforms_are_those_of_the_odometries(
    messages: dict[str, list[tuple[int, bytes]]],
) -> None:
    stamp, data = messages["/tf"][-1]
    found: Any = STORE.deserialize_cdr(data, "tf2_msgs/msg/TFMessage")
    places = {t.child_frame_id: t.transform.translation for t in found.transforms}
    assert len(places) == 3
    for name in ("leader", "follower1", "follower2"):
        odometry = dict(messages[f"/{name}/odometry"])[stamp]
        truth = DEFAULT.codec("nav_msgs/msg/Odometry").decode(odometry)[2]
        place = places[f"{name}/base_link"]
        assert (place.x, place.y, place.z) == (truth.x, truth.y, truth.z)


def test_each_picture_begins_by_deleting_the_one_before(
    messages: dict[str, list[tuple[int, bytes]]],
) -> None:
    for topic in DERIVED - {"/clock", "/tf"}:
        for stamp, data in messages[topic]:
            array: Any = STORE.deserialize_cdr(data, "visualization_msgs/msg/MarkerArray")
            actions = [marker.action for marker in array.markers]
            assert actions[0] == 3 and set(actions[1:]) == {0}, topic
            for marker in array.markers:
                time = marker.header.stamp
                assert (marker.header.frame_id, time.sec * 10**9 + time.nanosec) == ("map", stamp)


def test_what_a_viewer_gets_late_is_latched(drawn: Path) -> None:
    with Reader(drawn / "bag") as reader:
        latched = {
            connection.topic
            for connection in reader.connections
            if isinstance(connection.ext, ConnectionExtRosbag2)
            and connection.ext.offered_qos_profiles[0].durability is QosDurability.TRANSIENT_LOCAL
        }
    assert latched & DERIVED == {"/visualization/road", "/visualization/obstacles"}
    assert (drawn / "view.rviz").is_file() and (drawn / "foxglove.json").is_file()


def test_the_trace_and_all_other_messages_are_those_of_a_run_without(
    drawn: Path, messages: dict[str, list[tuple[int, bytes]]], tmp_path: Path
) -> None:
    run(tmp_path / "plain")
    plain: dict[str, list[tuple[int, bytes]]] = {}
    for message in read_bag(tmp_path / "plain" / "bag"):
        plain.setdefault(message.topic, []).append((message.stamp, message.data))
    assert {t: m for t, m in messages.items() if t not in DERIVED} == plain
    assert read_summary(tmp_path / "plain").trace_sha256 == read_summary(drawn).trace_sha256


@pytest.mark.parametrize("seed", range(4))
def test_the_bytes_do_not_depend_on_the_order_of_arrival(
    seed: int, drawn: Path, tmp_path: Path
) -> None:
    numbers: dict[str, Iterator[int]] = defaultdict(count)
    given = [
        (m.stamp, m.topic, next(numbers[m.topic]), m.data)
        for m in read_bag(drawn / "bag")
        if m.topic not in DERIVED
    ]
    scenario = load_scenario(drawn / "scenario.json")
    stream = random.Random(seed)
    sink = open_sink(tmp_path, scenario, build_graph(scenario), record=True)
    for part in _stretches(given, stream):
        for stamp, topic, number, data in part:
            sink.write(topic, stamp, number, data)
        sink.advance(min((m[0] for m in given if m[0] > part[-1][0]), default=0))
    sink.conclude(read_summary(drawn).trace_sha256)
    sink.close()
    name = Path("bag") / "bag_0.mcap"
    assert (tmp_path / name).read_bytes() == (drawn / name).read_bytes()


def _stretches(given: list[Any], stream: random.Random) -> Iterator[list[Any]]:
    """Stretches of simulated time of many lengths, shuffled but for their last message."""
    left = sorted(given)
    while left:
        end = left[0][0] + stream.choice((0, 10, 70, 400)) * MS
        part = [m for m in left if m[0] <= end]
        left = left[len(part) :]
        last = part.pop()
        stream.shuffle(part)
        yield [*part, last]


def test_a_topic_that_the_scenario_has_is_left_to_it(tmp_path: Path) -> None:
    (tmp_path / "frames.yaml").write_text(FRAMES.format(platoon=PLATOON, scene=PLATOON.parent))
    scenario = load_scenario(tmp_path / "frames.yaml")
    sink = open_sink(tmp_path, scenario, build_graph(scenario), record=True)
    sink.close()
    with Reader(tmp_path / "bag") as reader:
        topics = [connection.topic for connection in reader.connections]
    assert topics.count("/tf") == 1
    assert "/clock" in topics and "/visualization/road" not in topics


def test_what_cannot_be_drawn_is_said(tmp_path: Path) -> None:
    notes = run(
        tmp_path / "out", "bag.scene=100ms", scenario=share_file("config/car_following.yaml")
    )
    assert notes == ["bag.scene: nothing is drawn: scenario 'car_following' has no scene.vehicles"]
    topics = {message.topic for message in read_bag(tmp_path / "out" / "bag")}
    assert topics & DERIVED == {"/clock"}


def test_a_period_that_makes_no_sense_is_refused() -> None:
    for value in ("0s", "1us", "soon"):
        with pytest.raises(ConfigurationError, match=r"bag\.scene"):
            load_scenario(PLATOON, [f"bag.scene={value}"])
