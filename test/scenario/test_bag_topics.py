# SPDX-License-Identifier: Apache-2.0
"""Which topics the bag of a run has."""

from __future__ import annotations

from pathlib import Path

import pytest

from ros2_cosim.kernel.errors import ConfigurationError
from ros2_cosim.record.bag_reader import read_bag, topic_types
from ros2_cosim.run.bringup import RunRequest
from ros2_cosim.run.replay_into import replay_into
from ros2_cosim.run.start import run_request
from ros2_cosim.scenario.scenario_error import ScenarioError

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
