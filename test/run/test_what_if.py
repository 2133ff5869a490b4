# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What-if replays: another model from a time on, with the loop closed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from ros2_cosim.cli.main import app
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.record.summary import read_summary
from ros2_cosim.core.run.request import RunRequest
from ros2_cosim.core.run.start import run_request
from ros2_cosim.core.scenario.check import check_scenario
from ros2_cosim.core.scenario.schema import load_scenario

PLATOON = Path(__file__).resolve().parents[2] / "config" / "platoon.yaml"


@pytest.fixture(scope="module")
def platoon(tmp_path_factory) -> Path:
    """Two seconds of the platoon."""
    out = tmp_path_factory.mktemp("runs") / "platoon"
    run_request(RunRequest(PLATOON, set=("duration=2s",), shape="inproc", out=out))
    return out


def cosim(*arguments: object):
    return CliRunner().invoke(app, ["replay", *map(str, arguments)])


@pytest.mark.parametrize(
    "substitute", ["cacc1=cacc_controller", "v2v=v2v_channel", "world=carla_world"]
)
def test_the_unchanged_participant_gives_the_recorded_trace(platoon, tmp_path, substitute):
    out = tmp_path / "out"
    done = cosim(platoon, "--substitute", substitute, "--from", "1s", "--out", out, "--json")
    assert done.exit_code == 0, done.stdout + done.stderr
    assert json.loads(done.stdout)["equal"]
    assert read_summary(out).trace_sha256 == read_summary(platoon).trace_sha256


def test_another_law_changes_the_run_from_its_time_on(platoon, tmp_path):
    out = tmp_path / "out"
    arguments = ["--substitute", "cacc1=rajamani_acc", "--from", "1s", "--out", out]
    done = cosim(platoon / "bag", *arguments, "--json")
    assert done.exit_code == 0, done.stdout + done.stderr
    found = json.loads(done.stdout)
    assert found["first"]["time_ns"] == 1_000_000_000
    assert found["first"]["topic"] == "/follower1/control"
    # The loop is closed: the vehicle moves otherwise, and its follower with it.
    topics = {name for name, counts in found["counts"]["topics"].items() if counts["different"]}
    assert {"/follower1/odometry", "/follower2/odometry", "/platoon_status"} <= topics
    assert not topics & {"/leader/odometry", "/static_objects"}
    # The directory has a scenario that says all: it is repeated, in shape composed, too.
    assert cosim(out, "--out", tmp_path / "again").exit_code == 0


def test_a_model_of_ones_own_takes_over(platoon, tmp_path):
    out = tmp_path / "out"
    arguments = ["--substitute", "v2v=support.replay_models:Silent", "--from", "1s", "--out", out]
    done = cosim(platoon, *arguments, "--json")
    assert done.exit_code == 0, done.stdout + done.stderr
    counts = json.loads(done.stdout)["counts"]["topics"]["/v2v/leader_to_follower1"]
    # Half of the messages; those that were on their way at 1 s still arrive.
    assert 0 < counts["b"] < counts["a"] and counts["missing_in_b"] == counts["a"] - counts["b"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--substitute", "cacc9=x", "--from", "1s"], "--substitute cacc9=x: no such participant"),
        (["--substitute", "cacc1", "--from", "1s"], "allowed is PARTICIPANT=MODEL"),
        (["--substitute", "cacc1=rajamani_acc", "--from", "3s"], "the run ended at 2s; allowed is"),
        (["--substitute", "cacc1=rajamani_acc"], "--substitute and --from belong together"),
        (
            ["--substitute", "v2v=object_sensor", "--from", "1s"],
            "participants.v2v.substitute: participants.v2v.parameters",
        ),
    ],
)
def test_what_does_not_fit_is_one_error(platoon, tmp_path, arguments, said):
    done = cosim(platoon, *arguments, "--out", tmp_path / "out")
    assert done.exit_code in (1, 2)
    assert said in " ".join(done.stderr.replace("│", " ").split())


def test_a_scenario_may_declare_it(tmp_path):
    law = "participants.cacc1.substitute={model: cacc_controller, from: 1s, parameters: {law: x}}"
    with pytest.raises(ConfigurationError, match=r"participants\.cacc1\.substitute: .*missing"):
        check_scenario(load_scenario(PLATOON, [law]))
    vds = "participants.cacc1.substitute={model: dcp_master, from: 1s, parameters: {slaves: {}}}"
    with pytest.raises(ConfigurationError, match=r"participants\.cacc1\.substitute"):
        check_scenario(load_scenario(PLATOON, [vds]))
