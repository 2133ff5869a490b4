# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A scenario with message types of its own: built for ROS, and with one trace in every shape."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from runs.cosim_process import ROOT, cosim, user_environment
from support.message_build import build_messages, set_variables

from ros2_cosim.core.record.bag_reader import read_bag
from ros2_cosim.core.record.summary import read_summary
from ros2_cosim.core.scenario.check import check_scenario
from ros2_cosim.core.scenario.scenario_error import ScenarioError
from ros2_cosim.core.scenario.schema import load_scenario

SUPPORT = ROOT / "test" / "support"
SCENARIO = SUPPORT / "own_types.yaml"
PACKAGES = SUPPORT / "message_packages"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    """What ``cosim messages build --json`` answers."""
    return build_messages(PACKAGES, tmp_path_factory.mktemp("prefix"))


@pytest.fixture
def environment(built: dict[str, object], tmp_path: Path) -> Iterator[dict[str, str]]:
    """That of a user who has set the variables that the command names."""
    with user_environment(tmp_path / "logs") as found:
        variables = built["variables"]
        assert isinstance(variables, dict)
        set_variables(found, variables)
        yield found


def test_the_built_types_are_listed(built: dict[str, object]) -> None:
    (package,) = built["packages"]  # type: ignore[misc]
    assert (package["name"], package["version"]) == ("survey_msgs", "0.4.0")
    assert package["types"] == [f"survey_msgs/msg/{n}" for n in ("Corner", "Survey", "Total")]


def test_one_trace_and_one_bag_in_every_shape(environment: dict[str, str], tmp_path: Path) -> None:
    traces, bags = {}, {}
    for shape in ("inproc", "composed", "ros"):
        out = tmp_path / shape
        result = cosim(environment, SCENARIO, "--shape", shape, "--out", out)
        assert result.code == 0, result
        traces[shape] = read_summary(out).trace_sha256
        bags[shape] = (out / "bag" / "bag_0.mcap").read_bytes()
    assert len(set(traces.values())) == 1, traces
    assert bags["ros"] == bags["composed"]
    counts = dict.fromkeys(("/survey", "/cloud", "/total"), 0)
    for message in read_bag(tmp_path / "ros" / "bag"):
        if message.topic in counts:
            counts[message.topic] += 1
    assert counts == {"/survey": 10, "/cloud": 10, "/total": 10}


def test_types_that_are_not_built_are_refused_with_the_command() -> None:
    scenario = load_scenario(SCENARIO)
    check_scenario(scenario, "inproc")
    with pytest.raises(ScenarioError) as refused:
        check_scenario(scenario, "composed")
    assert len(refused.value.faults) == 2
    ports = ("surveyor.outputs.survey", "adder.outputs.total")
    for fault, port in zip(refused.value.faults, ports, strict=True):
        assert f"participants.{port}.type: found survey_msgs/msg/" in fault
        assert "cosim messages build DIRECTORY_OF_SURVEY_MSGS" in fault
