# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A bag that shows the scene: clock, transforms and markers at fixed simulated times."""

from __future__ import annotations

import math
import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from rosbags.interfaces import ConnectionExtRosbag2, QosDurability
from rosbags.rosbag2 import Reader
from rosbags.typesys import Stores, get_typestore

from ros2_cosim.core.documents.installed import share_file
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.messages.catalogue import DEFAULT
from ros2_cosim.core.record.bag import BagWriter
from ros2_cosim.core.record.bag_metadata import BagTopic
from ros2_cosim.core.record.bag_reader import read_bag
from ros2_cosim.core.record.drawn_bag import DrawnBag, derived_topics
from ros2_cosim.core.record.results import open_sink
from ros2_cosim.core.record.summary import read_summary
from ros2_cosim.core.run.bringup import bring_up
from ros2_cosim.core.run.request import RunRequest
from ros2_cosim.core.run.start import start
from ros2_cosim.core.scenario.drawing import drawing as drawn_parameters
from ros2_cosim.core.scenario.pictures import Picture
from ros2_cosim.core.scenario.schema import load_scenario
from ros2_cosim.core.scenario.system import build_graph
from ros2_cosim.world.map import RoadNetwork
from ros2_cosim.world.pictures.drawing import Drawing, drawing_of
from ros2_cosim.world.pictures.markers import (
    Cone,
    MarkerBox,
    MarkerData,
    sensor_markers,
    vehicle_markers,
)
from ros2_cosim.world.pictures.road_markers import road_markers

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


#: Constants of visualization_msgs/msg/Marker.
SHAPES = {1: "cube", 4: "line_strip", 5: "line_list", 9: "text", 11: "triangles"}


def shown(data: bytes) -> dict[tuple[str, int], MarkerData]:
    """The markers of a picture, without the one that deletes all others."""
    array: Any = STORE.deserialize_cdr(data, "visualization_msgs/msg/MarkerArray")
    found = {}
    for marker in array.markers[1:]:
        c, s, p, q = marker.color, marker.scale, marker.pose.position, marker.pose.orientation
        found[marker.ns, marker.id] = MarkerData(
            marker.ns,
            marker.id,
            SHAPES[marker.type],
            (c.r, c.g, c.b, c.a),
            (s.x, s.y, s.z),
            (p.x, p.y, p.z),
            (q.x, q.y, q.z, q.w),
            tuple((at.x, at.y, at.z) for at in marker.points),
            marker.text,
        )
    return found


def has(found: dict[tuple[str, int], MarkerData], wanted: Sequence[MarkerData]) -> None:
    assert wanted
    for marker in wanted:
        drawn = found[marker.namespace, marker.id]
        # Colours are numbers of 32 bits.
        assert drawn.colour == pytest.approx(marker.colour, abs=1e-6)
        assert drawn._replace(colour=marker.colour) == marker


def test_the_pictures_have_the_markers_of_road_vehicles_and_sensors(
    drawn: Path, messages: dict[str, list[tuple[int, bytes]]]
) -> None:
    scenario = load_scenario(drawn / "scenario.json")
    ((_, road),) = messages["/visualization/road"]
    about = drawn_parameters(scenario)
    lanes = road_markers(RoadNetwork.from_file(Path(about["road_file"])))
    has(shown(road), lanes)
    assert len(shown(road)) == len(lanes)
    stamp, data = messages["/visualization/scene"][-1]
    cone = Cone(math.radians(about["sensor_fov_deg"]), about["sensor_range_m"])
    for number, name in enumerate(about["vehicles"]):
        odometry = dict(messages[f"/{name}/odometry"])[stamp]
        pose = DEFAULT.codec("nav_msgs/msg/Odometry").decode(odometry)[2]
        box = MarkerBox(about["lengths"][number], about["widths"][number], 1.5)
        has(shown(data), vehicle_markers(number, name, pose, box))
        if name in about["sensors"]:
            has(shown(data), sensor_markers(number, pose, box, cone, None))


def clocks(tmp_path: Path, stamps: Sequence[int], advanced: Sequence[int] = ()) -> list[int]:
    """When the clock is recorded in a bag of messages at some times [ms], every 100 ms."""
    own = BagTopic("/x", "std_msgs/msg/String")
    topics = derived_topics(Picture(), ["/x"])
    assert [topic.name for topic in topics] == ["/clock"]
    sink = DrawnBag(BagWriter(tmp_path, [own, *topics]), Picture(), topics, 100 * MS)
    for seq, stamp in enumerate(stamps):
        sink.write("/x", stamp * MS, seq, b"")
        for ms in advanced:
            if stamp == stamps[-1]:
                sink.advance(ms * MS)
    sink.close()
    sink.close()
    return [m.stamp // MS for m in read_bag(tmp_path) if m.topic == "/clock"]


@pytest.mark.parametrize(
    ("stamps", "times"),
    [
        ([0, 250], [0, 100, 200]),
        ([0, 300], [0, 100, 200, 300]),
        # The run goes on from a checkpoint.
        ([250, 410], [300, 400]),
        ([200, 210], [200]),
        ([201, 299], []),
        ([], []),
    ],
)
def test_the_clock_runs_from_the_first_to_the_last_message(
    tmp_path: Path, stamps: list[int], times: list[int]
) -> None:
    assert clocks(tmp_path / "at the end", stamps) == times
    for advanced in ([10], [300], [301], [1000], [10, 300, 301]):
        assert clocks(tmp_path / str(advanced), stamps, advanced) == times


def test_messages_that_are_not_drawn_are_ignored() -> None:
    scenario = load_scenario(PLATOON)
    drawing = drawing_of(scenario)
    assert isinstance(drawing, Drawing) and "/leader/odometry" in drawing.wanted
    assert list(drawing.draw(0)) == []
    drawing.take("/leader/acceleration", b"")
    assert list(drawing.draw(0)) == []
    # What is damaged draws nothing either, and does not end the run.
    drawing.take("/leader/odometry", b"\0")
    assert list(drawing.draw(0)) == []
    nothing = Picture()
    nothing.take("/x", b"")
    assert list(nothing.begin()) == list(nothing.draw(0)) == []


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
