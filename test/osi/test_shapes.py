# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""OSI traces are the same bytes in every run shape."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
from runs.cosim_process import PLATOON, cosim, user_environment

pytest.importorskip("osi3", reason="the extra 'osi' is not installed")

INPUTS = ", ".join(
    f"odometry/{name}: world.odometry/{name}" for name in ("leader", "follower1", "follower2")
)
LIVE = (
    f"participants.osi={{model: osi_ground_truth, period: 100ms, inputs: {{{INPUTS}}}, parameters: "
    "{host: leader}, outputs: {ground_truth: {type: std_msgs/msg/UInt8MultiArray, topic: /osi}}}"
)
WISHES = ("--set", "duration=2s", "--set", "bag.exports.osi={}", "--set", LIVE)
#: The vehicles do not stand by then: the verdicts are not met.
NOT_MET = 3


def traces(directory: Path, shape: str) -> dict[str, str]:
    """File name -> hash, of the platoon in a shape; and the hash of its messages."""
    output = directory / shape
    with user_environment(directory / "ros-log") as environment:
        result = cosim(environment, PLATOON, "--shape", shape, "--out", output, *WISHES, anew=True)
        assert result.code == NOT_MET, result
    files = sorted((output / "osi").iterdir())
    summary = json.loads((output / "summary.json").read_text())
    trace = {"trace": summary["trace_sha256"]}
    return trace | {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


@pytest.mark.slow
def test_traces_are_the_same_in_every_shape(tmp_path: Path) -> None:
    found = {shape: traces(tmp_path, shape) for shape in ("inproc", "composed", "ros")}
    assert len(found["inproc"]) == 7
    assert found["composed"] == found["inproc"]
    assert found["ros"] == found["inproc"]
