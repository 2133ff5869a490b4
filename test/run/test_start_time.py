# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A run may start at any time of ROS's clock: stamps show it, and nothing that is computed does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from rosbags.highlevel import AnyReader
from typer.testing import CliRunner

from bench.start_time import PLAIN, START, START_NS, differences, run_at
from ros2_cosim.cli.main import app
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.record.bag_reader import read_bag, start_of
from ros2_cosim.core.run.request import RunRequest
from ros2_cosim.core.run.start import run_request
from ros2_cosim.core.scenario.schema import load_scenario
from ros2_cosim.lab.report.report_data import load_run

CONFIG = Path(__file__).resolve().parents[2] / "config"
PLATOON = CONFIG / "platoon.yaml"
S = 1_000_000_000
#: Drivers with manoeuvres, a vehicle that joins, lights and traffic, a loss of V2V.
SCENARIOS = {
    "platoon": (PLATOON, "4s"),
    "join": (CONFIG / "library" / "join.yaml", "2s"),
    "cut_in": (CONFIG / "library" / "cut_in.yaml", "2s"),
    "town": (CONFIG / "library" / "town.yaml", "300ms"),
    "car_following": (CONFIG / "car_following.yaml", "2s"),
}


@pytest.fixture(scope="module")
def platoon(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two seconds from the start time on, with the scene in the bag."""
    out = tmp_path_factory.mktemp("start") / "platoon"
    run_at(PLATOON, START, out, "duration=2s", "bag.scene=40ms", checkpoints=(S,))
    return out


@pytest.mark.parametrize("name", SCENARIOS)
def test_nothing_that_is_computed_depends_on_it(name: str, tmp_path: Path) -> None:
    file, length = SCENARIOS[name]
    change = f"duration={length}"
    assert differences(file, tmp_path, change) == []


def test_the_comparison_sees_a_difference(tmp_path: Path) -> None:
    found = differences(PLATOON, tmp_path, "duration=200ms", later=("seed=2",))
    assert found


@pytest.mark.parametrize(
    "written",
    [START, f"{START_NS}ns", {"sec": START_NS // S, "nanosec": START_NS % S}],
    ids=["date", "unit", "stamp"],
)
def test_it_is_written_in_three_ways(written: object) -> None:
    change = f"start_time={json.dumps(written)}"
    assert load_scenario(PLATOON, [change]).start_time == START_NS


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ("1700000000", "a time needs a unit: write 1700000000s"),
        ("-1s", "allowed is a time from 1970-01-01T00:00:00Z to 2038-01-19T03:14:07Z"),
        ("2040-01-01T00:00:00Z", "to 2038-01-19T03:14:07Z"),
        ("2026-01-01", "or a date as 2026-01-31T12:00:00Z"),
        ("2026-02-30T00:00:00Z", "or a date as"),
        ("2026-01-01T00:00:00", "or a date as"),
        ("{sec: 1, nanosec: 1000000000}", "or {sec: 0, nanosec: 0}"),
        ("{sec: 1, nsec: 1}", "or {sec: 0, nanosec: 0}"),
        ("2147483640s", "the run must end before 2147483648s, where the stamps of ROS end"),
    ],
)
def test_what_is_no_time_of_ros_is_refused(written: str, told: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        load_scenario(PLATOON, [f"start_time={written}"])
    assert told in str(refused.value)
    assert "start_time: found" in str(refused.value)


def stamp_of(message: Any) -> int:
    return int(message.sec) * S + int(message.nanosec)


def test_the_bag_shows_it_in_other_tools(platoon: Path) -> None:
    kinds = set()
    with AnyReader([platoon / "bag"]) as reader:
        assert reader.start_time == START_NS
        assert START_NS + 2 * S - 50_000_000 < reader.end_time < START_NS + 2 * S
        for connection, time, data in reader.messages():
            message: Any = reader.deserialize(data, connection.msgtype)
            kinds.add(connection.msgtype)
            if connection.msgtype == "rosgraph_msgs/msg/Clock":
                assert stamp_of(message.clock) == time
            elif connection.msgtype == "tf2_msgs/msg/TFMessage":
                assert {stamp_of(t.header.stamp) for t in message.transforms} == {time}
            elif connection.msgtype == "visualization_msgs/msg/MarkerArray":
                assert {stamp_of(m.header.stamp) for m in message.markers} == {time}
            else:
                assert stamp_of(message.header.stamp) == time
            if connection.msgtype == "ros2_cosim/msg/V2VMessage":
                assert START_NS <= message.generation_time < time
    assert len(kinds) > 8


def test_the_library_of_the_format_reads_the_start(platoon: Path) -> None:
    mcap = pytest.importorskip("mcap.reader", reason="needs the extra osi")
    with (platoon / "bag" / "bag_0.mcap").open("rb") as file:
        summary = mcap.make_reader(file).get_summary()
        assert summary is not None and summary.statistics is not None
        assert summary.statistics.message_start_time == START_NS


def test_own_readers_count_from_the_start(platoon: Path) -> None:
    bag = platoon / "bag"
    assert start_of(bag) == START_NS
    stamps = [message.stamp for message in read_bag(bag)]
    assert stamps[0] == 0 and S < stamps[-1] < 2 * S
    part = [message.stamp for message in read_bag(bag, S, S + 100_000_000)]
    assert part == [stamp for stamp in stamps if S <= stamp < S + 100_000_000]
    data = load_run(platoon)
    assert 1.9 < data.end < 2.1
    for latency in data.latency.values():
        assert 0.0 < min(latency.values) <= max(latency.values) < 1000.0


def test_a_bag_in_parts_is_parted_where_it_is_without(tmp_path: Path) -> None:
    change = ("duration=1300ms", "bag.split.duration=500ms")
    for name, start in (("plain", PLAIN), ("later", START)):
        run_at(PLATOON, start, tmp_path / name, *change)
    parts = [
        [[m.stamp for m in read_bag(tmp_path / name / "bag", 500_000_000, S)][:1],
         sorted(path.name for path in (tmp_path / name / "bag").glob("*.mcap"))]
        for name in ("plain", "later")
    ]  # fmt: skip
    assert parts[0] == parts[1] == [[500_000_000], [f"bag_{number}.mcap" for number in range(3)]]


def test_checkpoints_and_replays_go_on_from_it(platoon: Path, tmp_path: Path) -> None:
    trace = json.loads((platoon / "summary.json").read_text())["trace_sha256"]
    checkpoint = platoon / "checkpoint-1s.ckpt"
    run_request(RunRequest(checkpoint, shape="inproc", out=tmp_path / "branch", branch=checkpoint))
    branch = json.loads((tmp_path / "branch" / "summary.json").read_text())
    assert branch["trace_sha256"] == trace
    other = RunRequest(
        checkpoint, set=("start_time=1s",), shape="inproc", out=tmp_path / "no", branch=checkpoint
    )
    with pytest.raises(ConfigurationError, match="start_time: found another value"):
        run_request(other)
    for words in ([str(platoon)], [str(platoon), "--into", "cacc1"]):
        done = CliRunner().invoke(app, ["replay", *words, "--out", str(tmp_path / words[-1][-5:])])
        assert done.exit_code == 0, done.output
