# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""One topic of several writers: merged in the order of stamp, writer and number."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from support import gate_scenarios as scenarios

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.messages.catalogue import DEFAULT as CATALOGUE
from ros2_cosim.core.record.bag_reader import read_bag
from ros2_cosim.core.run.inproc import run_inproc
from ros2_cosim.core.run.request import RunRequest
from ros2_cosim.core.run.start import run_request
from ros2_cosim.core.scenario.check import check_scenario
from ros2_cosim.core.scenario.schema import make_scenario

FLOAT = scenarios.FLOAT


def shared(**second: Any) -> dict[str, Any]:
    """Two sources of one topic, and a reader of both."""
    data: dict[str, Any] = {
        "a": scenarios.source("/n", "10ms"),
        "b": scenarios.source("/n", "15ms"),
    }
    data["b"]["parameters"]["factor"] = -1.0
    for each in data.values():
        each["outputs"]["number"]["shared"] = True
    data["b"]["outputs"]["number"] |= second
    data["sink"] = {
        "model": "support.gate_models:Fold",
        "activation": {"any": ["add", "take"]},
        "inputs": {"add": ["b.number", "a.number"], "take": "a.number"},
        "outputs": {"state": {"type": FLOAT, "topic": "/state", "schedule": "sparse"}},
    }
    return {"name": "shared", "duration": "40ms", "participants": data}


def merged(directory: Path) -> list[tuple[int, str, float]]:
    """Stamp [ms], topic and number of all messages on the topic and on those of its writers."""
    codec = CATALOGUE.codec(FLOAT)
    found = (m for m in read_bag(directory / "bag") if m.topic.startswith("/n"))
    return [(m.stamp // 1_000_000, m.topic, codec.decode(m.data)[2].data) for m in found]


def test_the_topic_has_all_messages_in_their_order(tmp_path: Path) -> None:
    run_inproc(make_scenario(shared(), "shared"), tmp_path)
    found = merged(tmp_path)
    assert {topic for _, topic, _ in found} == {"/n", "/n/a/number", "/n/b/number"}
    topic = [(stamp, number) for stamp, name, number in found if name == "/n"]
    own = [(stamp, "ab".index(name[3]), n) for stamp, name, n in found if name != "/n"]
    assert topic == [(stamp, number) for stamp, _, number in sorted(own)]
    assert len(topic) >= 7


@pytest.mark.slow
@pytest.mark.parametrize("shape", ["composed", "ros"])
def test_every_shape_merges_alike(
    shape: str, ros_domain: int, nothing_left: None, tmp_path: Path
) -> None:
    pytest.importorskip("ros2_cosim.msg", reason="generated messages are not built")
    expected = run_inproc(make_scenario(shared(), "shared"), tmp_path / "expected")
    scenario = make_scenario(shared(), "shared")
    found = run_request(RunRequest(scenario, out=tmp_path / shape, shape=shape))
    assert found.trace_sha256 == expected.trace_sha256
    assert merged(tmp_path / shape) == merged(tmp_path / "expected")


def test_a_writer_alone_needs_no_other(tmp_path: Path) -> None:
    data = shared()
    del data["participants"]["b"], data["participants"]["sink"]
    run_inproc(make_scenario(data, "shared"), tmp_path)
    assert [topic for _, topic, _ in merged(tmp_path)].count("/n") == 4


@pytest.mark.parametrize(
    ("second", "text"),
    [
        ({"type": "std_msgs/msg/Float32"}, "found the types std_msgs/msg/Float32, std_msgs/msg/Fl"),
        ({"shared": False}, "topic /n is written by both"),
        ({"frame_id": "odom"}, "topic /n: its writers have the frames map, odom; allowed is one"),
    ],
)
def test_what_cannot_be_merged_is_refused(second: dict[str, Any], text: str) -> None:
    with pytest.raises(ConfigurationError, match=re.escape(text)):
        check_scenario(make_scenario(shared(**second), "shared"), "ros")


def test_the_name_of_the_merging_participant_is_taken() -> None:
    data = shared()
    data["participants"]["shared_n"] = scenarios.source("/m", "10ms")
    with pytest.raises(ConfigurationError, match="participants.shared_n: is the name of what merg"):
        make_scenario(data, "shared")
