# SPDX-License-Identifier: Apache-2.0
"""Parameters that change, and faults that are switched, while a run goes on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from ros2_cosim.cli.main import app
from ros2_cosim.kernel.errors import ConfigurationError
from ros2_cosim.realtime.run_control import Command, Request
from ros2_cosim.record.summary import Summary
from ros2_cosim.run.bringup import RunRequest, bring_up
from ros2_cosim.run.inproc import InprocRun
from ros2_cosim.run.replay import prepare_replay
from ros2_cosim.run.start import run_request
from ros2_cosim.scenario.scenario_error import ScenarioError

CONFIG = Path(__file__).resolve().parents[2] / "config"
CAR_FOLLOWING = CONFIG / "car_following.yaml"
GAIN = "participants.driving.parameters.gain"
FAULT = (
    "{front: {port: driving.front, kind: bias, field: objects.distance, offset: 5.0, "
    "active: false}}"
)
SECOND = 1_000_000_000


def run(out: Path, *overrides: str, shape: str = "inproc") -> Summary:
    set_ = ("duration=5s", *overrides)
    return run_request(RunRequest(CAR_FOLLOWING, set=set_, shape=shape, out=out, record=False))


def changed_by_hand(out: Path, *changes: tuple[int, str, Any]) -> Summary:
    """A run in which a user changes something at simulated times [s]."""
    overrides = ("duration=5s", f"faults={FAULT}")
    request = RunRequest(CAR_FOLLOWING, set=overrides, shape="inproc", out=out, record=False)
    with bring_up(request) as prepared, InprocRun(prepared) as driven:
        for time_s, path, to in changes:
            driven.request(Request(Command.UNTIL, time_ns=time_s * SECOND))
            assert driven.change(path, to) == time_s * SECOND
        return driven.finish()


def test_a_run_that_was_changed_by_hand_is_repeated(tmp_path: Path) -> None:
    """By replay, and by a scenario that declares the same; another run differs."""
    changes = ((1, GAIN, 0.5), (2, "faults.front.active", True), (3, "faults.front.active", False))
    first = changed_by_hand(tmp_path / "first", *changes)
    scenario, _, former = prepare_replay(tmp_path / "first")
    again = run_request(RunRequest(scenario, shape="inproc", out=tmp_path / "again", record=False))
    assert first.trace_sha256 == former.trace_sha256 == again.trace_sha256
    declared = run(
        tmp_path / "declared",
        f"faults={FAULT}",
        f"changes=[{{at: 3s, set: faults.front.active, to: false}}, "
        f"{{at: 1s, set: {GAIN}, to: 0.5}}, {{at: 2s, set: faults.front.active, to: true}}]",
    )
    assert declared.trace_sha256 == first.trace_sha256
    without = changed_by_hand(tmp_path / "without")
    only = changed_by_hand(tmp_path / "only", changes[0])
    assert len({first.trace_sha256, without.trace_sha256, only.trace_sha256}) == 3
    assert first.figures is not None
    acted = first.figures["driving"]["fault.front"]
    assert 0 < acted < 60
    result = CliRunner().invoke(app, ["replay", str(tmp_path / "first"), "--json"])
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert found["equal"] and found["trace_sha256"] == [first.trace_sha256] * 2


def test_a_run_without_changes_leaves_no_record(tmp_path: Path) -> None:
    """One of an earlier run in the directory is removed."""
    changed_by_hand(tmp_path / "out", (1, GAIN, 0.5))
    assert (tmp_path / "out" / "changes.json").exists()
    changed_by_hand(tmp_path / "out")
    assert not (tmp_path / "out" / "changes.json").exists()


@pytest.mark.parametrize(
    ("path", "to", "said"),
    [
        ("participants.driving.parameters.nothing", 1, "allowed during a run are partici"),
        ("participants.absent.parameters.gain", 1, "allowed during a run are participants.driving"),
        ("seed", 1, "set: found 'seed'; allowed during a run are"),
        (GAIN, "much", "participants.driving.parameters.gain: found 'much'"),
        ("faults.front.active", 1, "faults.front.active: found 1; allowed is true or false"),
    ],
)
def test_what_may_not_be_changed(tmp_path: Path, path: str, to: Any, said: str) -> None:
    """It is refused in words, and the run goes on as it was."""
    with pytest.raises(ConfigurationError, match=said):
        changed_by_hand(tmp_path / "out", (1, path, to))


def test_changes_that_are_wrong_are_found_by_check(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match=r"changes.0.set: found 'duration'; allowed during"):
        run(tmp_path / "out", "changes=[{at: 1s, set: duration, to: 3s}]")


def test_a_declared_change_acts_the_same_in_processes(tmp_path: Path, ros_domain: int) -> None:
    changes = f"changes=[{{at: 1s, set: {GAIN}, to: 0.5}}]"
    traces = {
        run(tmp_path / shape, changes, shape=shape).trace_sha256 for shape in ("inproc", "ros")
    }
    assert len(traces) == 1
    assert run(tmp_path / "none").trace_sha256 not in traces
