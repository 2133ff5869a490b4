# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The live view for Foxglove: what a real viewer gets, and that no viewer changes a run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from rosbags.typesys import Stores, get_typestore
from typer.testing import CliRunner

from ros2_cosim.cli.main import app
from ros2_cosim.core.documents.run_files import FOXGLOVE_LAYOUT
from ros2_cosim.core.kernel.address import Address
from ros2_cosim.core.kernel.errors import ConfigurationError, ConnectionFailedError
from ros2_cosim.core.realtime.run_control import Command, Request
from ros2_cosim.core.record.bag_reader import read_bag
from ros2_cosim.core.record.history import APART_NS, KEPT, KEPT_BYTES, KEPT_LATCHED, TopicHistory
from ros2_cosim.core.run.bringup import bring_up
from ros2_cosim.core.run.inproc import InprocRun, run_inproc
from ros2_cosim.core.run.request import RunRequest
from ros2_cosim.core.scenario.schema import Scenario, load_scenario
from ros2_cosim.core.scenario.views import MARKER_TOPICS

pytest.importorskip("foxglove", reason="the extra live is not installed")
pytest.importorskip("tornado", reason="the extra sweep is not installed")

from support.foxglove_viewer import Viewer

CONFIG = Path(__file__).resolve().parents[2] / "config"
SECOND = 1_000_000_000
STORE = get_typestore(Stores.ROS2_JAZZY)


def platoon() -> Scenario:
    return load_scenario(CONFIG / "platoon.yaml", ["duration=3s"])


@contextmanager
def shown(scenario: Scenario, output: Path, **options: Any) -> Iterator[tuple[InprocRun, str]]:
    """A run that stands at its begin, and where it is shown."""
    lines: list[str] = []
    request = RunRequest(scenario, shape="inproc", out=output, foxglove="0", **options)
    with ExitStack() as stack:
        prepared = stack.enter_context(bring_up(request))
        run = stack.enter_context(InprocRun(prepared, tell=lines.append))
        (line,) = lines
        yield run, line.split()[-1]


def until(time_ns: int) -> Request:
    return Request(Command.UNTIL, time_ns=time_ns)


def everything(viewer: Viewer) -> None:
    """Subscribe to all topics, and wait until the server knows."""
    # The road is there before the run: when it comes, all others have been heard of, too.
    road = "/visualization/road"
    viewer.subscribe(*sorted(viewer.channels, key=lambda topic: topic == road))
    viewer.until(lambda: viewer.messages[road])


def test_a_viewer_gets_what_is_recorded_with_its_definitions(tmp_path: Path) -> None:
    with shown(platoon(), tmp_path / "out") as (run, url), Viewer(url) as viewer:
        viewer.until(lambda: viewer.channels)
        assert viewer.server["name"] == "ros2_cosim: platoon"
        assert viewer.server["supportedEncodings"] == ["cdr"]
        everything(viewer)
        # The server waits for no viewer when it ends: this one has all but the last step by then.
        run.request(until(3 * SECOND - 10_000_000))
        newest = 3 * SECOND - 20_000_000
        viewer.until(
            lambda: any(stamp >= newest for stamp, _ in viewer.messages["/leader/odometry"])
        )
        run.finish()
        viewer.until(lambda: False)
    assert viewer.gone
    recorded: dict[str, list[tuple[int, bytes]]] = {}
    kinds: dict[str, str] = {}
    for message in read_bag(tmp_path / "out" / "bag"):
        recorded.setdefault(message.topic, []).append((message.stamp, message.data))
        kinds[message.topic] = message.type_name
    assert len(recorded["/leader/odometry"]) > 250
    for topic, kind in kinds.items():
        assert sorted(viewer.messages[topic]) == sorted(recorded[topic]), topic
        channel = viewer.channels[topic]
        assert (channel["encoding"], channel["schemaEncoding"]) == ("cdr", "ros2msg")
        assert channel["schemaName"] == kind
    assert "float64 x" in viewer.channels["/leader/odometry"]["schema"]
    clock = [
        STORE.deserialize_cdr(m, "rosgraph_msgs/msg/Clock") for _, m in viewer.messages["/clock"]
    ]
    assert clock[-1].clock.sec == 3 and clock[-1].clock.nanosec == 0
    assert viewer.times[-1] == 3 * SECOND


def test_the_scene_is_drawn_for_a_viewer_that_comes_late(tmp_path: Path) -> None:
    with shown(platoon(), tmp_path / "out") as (run, url):
        run.request(until(2 * SECOND))
        with Viewer(url) as viewer:
            viewer.until(lambda: viewer.channels)
            viewer.subscribe()
            needed = {*MARKER_TOPICS, "/tf", "/static_objects", "/leader/odometry"}
            viewer.until(lambda: all(viewer.messages[topic] for topic in needed))
            run.request(until(2 * SECOND + 100_000_000))
            newest = 2 * SECOND + 90_000_000
            viewer.until(lambda: viewer.messages["/leader/odometry"][-1][0] == newest)
        run.finish()
    stamps = [stamp for stamp, _ in viewer.messages["/leader/odometry"]]
    past = [stamp for stamp in stamps if stamp < 2 * SECOND]
    # A curve of the past, and the newest place; then everything.
    assert past[:-1] == list(range(0, 2 * SECOND, APART_NS))
    assert past[-1] == 2 * SECOND - 10_000_000
    assert stamps[len(past) :] == list(range(2 * SECOND, newest + 1, 10_000_000))
    assert [stamp for stamp, _ in viewer.messages["/static_objects"]] == [0]
    pictures = {
        topic: STORE.deserialize_cdr(
            viewer.messages[topic][-1][1], viewer.channels[topic]["schemaName"]
        )
        for topic in (*MARKER_TOPICS, "/tf")
    }
    found = {
        topic: {marker.ns for marker in pictures[topic].markers if marker.action == 0}
        for topic in MARKER_TOPICS
    }
    assert found["/visualization/road"] == {"road surface", "lane lines"}
    assert found["/visualization/obstacles"] >= {"obstacles"}
    assert found["/visualization/scene"] >= {"vehicles", "labels", "platoon gaps", "sensor cones"}
    frames = [t.child_frame_id for t in pictures["/tf"].transforms]
    assert frames == ["follower1/base_link", "follower2/base_link", "leader/base_link"]
    scene = pictures["/visualization/scene"].markers
    assert scene[0].action == 3  # all others go first
    assert all(marker.header.frame_id == "map" for marker in scene)


def test_viewers_that_are_slow_or_vanish_change_nothing(tmp_path: Path) -> None:
    alone = run_inproc(platoon(), tmp_path / "alone")
    with shown(platoon(), tmp_path / "out") as (run, url):
        slow, vanishing = Viewer(url), Viewer(url)
        for viewer in (slow, vanishing):
            viewer.until(lambda: viewer.channels)  # noqa: B023
            everything(viewer)
        run.request(until(SECOND))
        vanishing.vanish()
        summary = run.finish()
        slow.vanish()
    assert summary.trace_sha256 == alone.trace_sha256
    for path in sorted((tmp_path / "alone" / "bag").iterdir()):
        assert path.read_bytes() == (tmp_path / "out" / "bag" / path.name).read_bytes()


def test_it_needs_no_bag_and_no_scene_and_writes_the_layout(tmp_path: Path) -> None:
    scenario = load_scenario(CONFIG / "car_following.yaml", ["duration=1s"])
    with (
        shown(scenario, tmp_path / "out", record=False) as (run, url),
        Viewer(url) as viewer,
    ):
        viewer.until(lambda: viewer.channels)
        viewer.subscribe()
        run.request(until(SECOND // 2))
        viewer.until(lambda: viewer.messages["/clock"])
        run.finish()
    assert not viewer.channels.keys() & set(MARKER_TOPICS)
    assert not (tmp_path / "out" / "bag").exists()
    assert not (tmp_path / "out" / FOXGLOVE_LAYOUT).exists()  # there is no vehicle to follow
    with shown(platoon(), tmp_path / "platoon") as (run, url):
        assert (tmp_path / "platoon" / FOXGLOVE_LAYOUT).exists()


def test_what_is_kept_of_a_topic_is_bounded() -> None:
    history = TopicHistory()
    for number in range(10_000):
        history.add(number * APART_NS // 2, b"%d" % number)
    kept = history.messages()
    assert len(kept) == KEPT + 1  # the newest one lies between two that are kept
    assert kept[-1] == (9_999 * APART_NS // 2, b"9999")
    assert kept[0][0] == kept[-2][0] - (KEPT - 1) * APART_NS
    large = TopicHistory()
    for number in range(10):
        large.add(number * APART_NS, bytes(KEPT_BYTES // 2))
    assert [stamp for stamp, _ in large.messages()] == [8 * APART_NS, 9 * APART_NS]
    latched = TopicHistory(latched=True)
    for number in range(KEPT_LATCHED + 5):
        latched.add(0, b"%d" % number)
    assert [data for _, data in latched.messages()][:2] == [b"5", b"6"]
    assert len(latched.messages()) == KEPT_LATCHED


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("8765", ("127.0.0.1", 8765)),
        (":0", ("127.0.0.1", 0)),
        ("0.0.0.0:9000", ("0.0.0.0", 9000)),
        ("[::1]:9000", ("::1", 9000)),
    ],
)
def test_addresses(text: str, address: tuple[str, int]) -> None:
    assert Address.of(text, "--foxglove") == address


@pytest.mark.parametrize("text", ["", "here", "70000", "localhost:", "1:2:x", "-1", "²"])
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(
        ConfigurationError, match=r"--foxglove: found '.*'; allowed is \[HOST:\]PORT"
    ):
        Address.of(text, "--foxglove")


def test_a_port_that_is_taken_is_one_line(tmp_path: Path) -> None:
    with shown(platoon(), tmp_path / "first") as (_, url):
        taken = url.rpartition(":")[2]
        request = RunRequest(platoon(), shape="inproc", out=tmp_path / "b", foxglove=taken)
        with bring_up(request) as prepared, pytest.raises(ConnectionFailedError) as error:
            InprocRun(prepared)
    assert f"--foxglove: cannot listen at 127.0.0.1:{taken}: " in str(error.value)
    assert "\n" not in str(error.value)


def test_a_missing_extra_is_one_sentence_with_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ros2_cosim.core.documents.extras.find_spec", lambda name: None)
    arguments = ["run", str(CONFIG / "platoon.yaml"), "--shape", "inproc", "--foxglove", "0"]
    done = CliRunner().invoke(app, [*arguments, "--out", str(tmp_path / "out")])
    assert done.exit_code == 1
    assert done.stderr == (
        "cosim: --foxglove needs foxglove, which is not installed; run 'make setup EXTRAS=live'\n"
    )
    assert not (tmp_path / "out").exists()
