# SPDX-License-Identifier: Apache-2.0
"""Services in simulated time, handled messages and what is sent within a step, in every shape."""

from __future__ import annotations

import copy
import json
from pathlib import Path

import pytest
from runs.cosim_process import ROOT, cosim, left_processes, user_environment
from support.service_models import SCENARIO

from ros2_cosim.record.bag_reader import read_bag
from ros2_cosim.run.inproc import run_inproc
from ros2_cosim.scenario.schema import make_scenario


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> str:
    directory = tmp_path_factory.mktemp("reference")
    return run_inproc(make_scenario(SCENARIO, "calls"), directory).trace_sha256


@pytest.mark.parametrize("shape", ["composed", "ros"])
def test_the_trace_is_that_of_the_reference(shape: str, reference: str, tmp_path: Path) -> None:
    data = copy.deepcopy(SCENARIO)
    for name in ("early", "listener"):  # the others in processes of their own
        data["participants"][name]["process"] = "shared"
    file = tmp_path / "calls.json"
    file.write_text(json.dumps(data), encoding="utf-8")
    with user_environment(tmp_path / "ros") as environment:
        environment["PYTHONPATH"] += f":{ROOT / 'test'}"
        result = cosim(environment, file, "--shape", shape, "--out", tmp_path / "out")
        assert result.code == 0, result
        assert not left_processes(environment)
    summary = json.loads((tmp_path / "out" / "summary.json").read_text(encoding="utf-8"))
    assert summary["trace_sha256"] == reference
    assert summary["repeatable"]
    topics = {message.topic for message in read_bag(tmp_path / "out" / "bag")}
    assert {"/first/sum/request", "/first/sum/answer", "/second/sum/request"} <= topics
