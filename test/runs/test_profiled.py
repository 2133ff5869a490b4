# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Where the time of a run went, in every shape: it has a name, and so has each hop."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from runs.cosim_process import PLATOON, cosim, left_processes, user_environment

from ros2_cosim.core.record.spans import SENT, read_spans
from ros2_cosim.core.record.summary import read_summary
from ros2_cosim.core.run.request import RunRequest
from ros2_cosim.core.run.start import run_request

SECOND = ("duration=1s",)
#: As the issue on speed demands.
NAMED = 0.95


def profile_of(output: Path, trace: str) -> dict[str, Any]:
    """The profile, after what holds in every shape."""
    summary = read_summary(output)
    assert summary.trace_sha256 == trace
    found: dict[str, Any] = json.loads((output / "profile.json").read_text())
    assert set(found) == {
        "scenario", "wall_s", "steps", "explained_share", "participants", "processes", "hops",
        "critical_path",
    }  # fmt: skip
    assert found["steps"] == summary.steps == 100
    # In ``ros`` the loop over the participants of a thread has no spans: on a busy machine it may
    # be stopped there as long as anywhere else.
    assert found["explained_share"] >= (NAMED if summary.shape != "ros" else 0.0)
    assert sum(part["share"] for part in found["critical_path"]) == pytest.approx(1.0, abs=0.01)
    counts = {name: part["activations"] for name, part in found["participants"].items()}
    assert counts == {p.name: p.activations for p in summary.participants if p.name in counts}
    assert "Critical path of a step" in (output / "report.html").read_text()
    return found


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> str:
    output = tmp_path_factory.mktemp("plain")
    request = RunRequest(PLATOON, shape="inproc", set=SECOND, out=output, record=False)
    return run_request(request).trace_sha256


def test_in_one_process(tmp_path: Path, trace: str) -> None:
    run_request(RunRequest(PLATOON, shape="inproc", set=SECOND, out=tmp_path / "out", profile=True))
    found = profile_of(tmp_path / "out", trace)
    assert set(found["processes"]) == {"inproc"}
    assert set(found["participants"]["world"]) == {
        "read", "compute", "serialise", "send", "record", "activations"
    }  # fmt: skip
    assert found["hops"] == []


@pytest.mark.parametrize("shape", ["composed", "ros"])
def test_with_a_slave_behind_a_hop(tmp_path: Path, trace: str, shape: str) -> None:
    output = tmp_path / "out"
    with user_environment(tmp_path / "log") as environment:
        words = ("--shape", shape, "--set", *SECOND, "--profile", "--out", output)
        cosim(environment, PLATOON, *words)  # the verdict of the platoon needs more than a second
        assert left_processes(environment) == []
    found = profile_of(output, trace)
    processes, participants = found["processes"], found["participants"]
    assert "world_slave" in processes and processes["world_slave"]["simulator"] > 0.0
    assert participants["world"]["wait"] > 0.0 and "other process" not in participants["world"]
    master = "composed" if shape == "composed" else "world"
    # Each step asks once, for the step and for its outputs, and outputs and states are one answer.
    # How many waits these messages end depends on the machine: an answer may be there before the
    # wait.
    for source, target, messages in ((master, "world_slave", 1), ("world_slave", "world", 1)):
        spans = read_spans(output / "profile" / f"{source}.spans").spans
        assert sum(s.kind == SENT and s.name == target for s in spans) >= messages * 99
