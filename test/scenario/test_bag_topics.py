# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What the bag of a run has: its topics, its files, and its scenario."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path

import pytest
import yaml
from rosbags.rosbag2 import Reader

from ros2_cosim.core.documents.settings import Section
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.model import Model
from ros2_cosim.core.kernel.participant import Step
from ros2_cosim.core.record.bag_metadata import LIBRARY
from ros2_cosim.core.record.bag_reader import read_bag, storage_files, topic_types
from ros2_cosim.core.record.mcap_reader import Metadata, scan
from ros2_cosim.core.record.summary import read_summary
from ros2_cosim.core.run.replay_into import replay_into
from ros2_cosim.core.run.request import RunRequest
from ros2_cosim.core.run.start import run_request
from ros2_cosim.core.scenario.portable import portable_text
from ros2_cosim.core.scenario.scenario_error import ScenarioError
from ros2_cosim.core.scenario.schema import load_scenario, make_scenario
from ros2_cosim.dcp.master.cosimulation import SlaveSettings

CAR_FOLLOWING = Path(__file__).resolve().parents[2] / "config" / "car_following.yaml"
LEFT_OUT = "bag={topics: [/ego/*, /*_sensor/*], exclude: [/rear_sensor/*]}"


def recorded(out: Path, *overrides: str) -> str:
    set_ = ("duration=1s", *overrides)
    return run_request(RunRequest(CAR_FOLLOWING, set=set_, shape="inproc", out=out)).trace_sha256


def test_a_bag_has_the_topics_that_are_wanted(tmp_path: Path) -> None:
    """Their messages are those of the bag with all topics, and the trace is the same."""
    assert recorded(tmp_path / "some", LEFT_OUT) == recorded(tmp_path / "all")
    wanted = {"/ego/control", "/ego/odometry", "/front_sensor/objects"}
    assert set(topic_types(tmp_path / "some" / "bag")) == wanted
    everything = [m for m in read_bag(tmp_path / "all" / "bag") if m.topic in wanted]
    assert list(read_bag(tmp_path / "some" / "bag")) == everything != []


def test_a_bag_without_an_input_is_not_replayed_into_its_participant(tmp_path: Path) -> None:
    recorded(tmp_path / "some", LEFT_OUT)
    with pytest.raises(ConfigurationError, match="'rear' reads /rear_sensor/objects, which is not"):
        replay_into(tmp_path / "some" / "bag", ["driving"], None)


def test_a_pattern_that_matches_nothing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match=r"bag.exclude.0: found '/nix', which no topic matches"):
        recorded(tmp_path / "out", "bag={exclude: [/nix]}")


FORM = ("bag.compression=zstd", "bag.split={duration: 300ms, size: 100kB}")


def test_a_bag_in_files_has_the_same_messages(tmp_path: Path) -> None:
    """With the trace of the run whose bag is one file; what is replayed into does not mind."""
    assert recorded(tmp_path / "files", *FORM) == recorded(tmp_path / "one")
    found = list(read_bag(tmp_path / "files" / "bag"))
    assert found == list(read_bag(tmp_path / "one" / "bag"))
    assert len(storage_files(tmp_path / "files" / "bag")) >= 4
    with Reader(tmp_path / "files" / "bag") as reader:
        assert reader.message_count == len(found)
    assert replay_into(tmp_path / "files" / "bag", ["driving"], None).equal


def scenario_in(bag: Path) -> dict[str, str]:
    about = yaml.safe_load((bag / "metadata.yaml").read_text())["rosbag2_bagfile_information"]
    (own,) = (
        part.values
        for part, _ in scan(storage_files(bag)[0])
        if isinstance(part, Metadata) and part.name == LIBRARY
    )
    text = own.pop("scenario_json")
    trace = read_summary(bag.parent).trace_sha256
    assert own | {"trace_sha256": trace} == about["custom_data"]
    assert own["scenario_sha256"] == sha256(text.encode()).hexdigest()
    return own | {"text": text}


def test_a_bag_tells_its_scenario_and_nothing_of_the_machine(tmp_path: Path) -> None:
    recorded(tmp_path / "out", "simulator.timeout_s=11", "watchdog_s=31")
    recorded(tmp_path / "again")
    recorded(tmp_path / "other", "seed=2")
    own, again, other = (scenario_in(tmp_path / n / "bag") for n in ("out", "again", "other"))
    assert own == again
    assert own["scenario_sha256"] != other["scenario_sha256"]
    data = json.loads(own["text"])
    assert "base_directory" not in data and "simulator" not in data
    assert str(CAR_FOLLOWING.parent) not in own["text"]
    # It is the scenario: run again, it has the same trace.
    (tmp_path / "scenario.json").write_text(own["text"])
    data["base_directory"] = str(CAR_FOLLOWING.parent)
    request = RunRequest(make_scenario(data, "bag"), shape="inproc", out=tmp_path / "third")
    assert run_request(request).trace_sha256 == recorded(tmp_path / "fourth")


class DoorParameters(Section):
    """Of a model of a user: a port is here a side of a ship, a host a person."""

    port: str
    host: str = "Ada"
    places: dict[str, SlaveSettings] = {}


class Door(Model):
    Parameters = DoorParameters

    def activate(self, step: Step) -> dict[str, object]:
        return {}


def test_of_parameters_only_what_is_declared_to_be_a_place_is_left_out() -> None:
    def text(**parameters: object) -> str:
        door = {"model": "scenario.test_bag_topics:Door", "period": "10ms"}
        door["parameters"] = parameters
        data = {"name": "ship", "duration": "1s", "participants": {"door": door}}
        return portable_text(make_scenario(data, "ship"))

    assert text(port="left") == text(port="left") != text(port="right")
    assert text(port="left", host="Eve") != text(port="left", host="Bob")
    slave = {"description": "a.dcpx", "host": "10.0.0.1", "port": 1}
    here, there = (
        text(port="left", places={"a": slave}),
        text(port="left", places={"a": slave | {"host": "10.0.0.2", "port": 2}}),
    )
    assert here == there != text(port="left", places={"a": slave | {"description": "b.dcpx"}})
    assert "10.0.0" not in here
    platoon = CAR_FOLLOWING.with_name("platoon.yaml")
    changed = load_scenario(platoon, ["participants.world.parameters.dcp.port=7777"])
    assert portable_text(changed) == portable_text(load_scenario(platoon))


@pytest.mark.parametrize(
    ("override", "text"),
    [
        ("bag.compression=gzip", "bag.compression: found 'gzip'; allowed is 'none', 'zstd' or"),
        ("bag.split.size=5 apples", "bag.split.size: found '5 apples'; allowed is a whole number"),
        (
            "bag.split.size=1kB",
            "bag.split.size: found '1kB'; allowed is a number of at least 65536",
        ),
        ("bag.split.duration=1ms", "bag.split.duration: found '1ms'; allowed is a number of at"),
        ("bag.split.minutes=1", "bag.split.minutes"),
        ("bag.split=60s", "bag.split: found '60s'"),
    ],
)
def test_a_wrong_form_is_refused_in_one_line(override: str, text: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        load_scenario(CAR_FOLLOWING, [override])
    assert text in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("size", "number"),
    [("100MB", 10**8), ("1.5 GiB", 3 * 2**29), ("100kB", 100_000), (65_536, 65_536)],
)
def test_sizes_are_numbers_of_bytes(size: object, number: int) -> None:
    scenario = load_scenario(CAR_FOLLOWING, [f"bag.split.size={size}"])
    assert scenario.bag.split.size == number
