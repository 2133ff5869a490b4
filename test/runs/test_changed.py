# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Runs of other processes in which a user changes parameters and switches faults."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from runs.cosim_process import PLATOON, Running, left_processes, user_environment
from support.controlled_run import Controlled

from ros2_cosim.core.kernel.time import parse_duration
from ros2_cosim.core.run.inproc import run_inproc
from ros2_cosim.core.run.replay import prepare_replay
from ros2_cosim.core.scenario.schema import load_scenario

pytest.importorskip("rclpy", reason="needs rclpy, which make setup installs")

GAP = "participants.cacc1.parameters.time_gap"
LATE = "faults.late.active"
FAULT = "{late: {port: cacc2.objects, kind: delay, delay: 200ms, active: false}}"
SECOND = 1_000_000_000


def test_a_run_that_was_changed_by_hand_is_repeated(tmp_path: Path) -> None:
    """By a scenario that declares what was recorded; and a run that begins anew is unchanged."""
    output = tmp_path / "out"
    sets = ["--set", "duration=3s", "--set", f"faults={FAULT}"]
    with user_environment(tmp_path / "log") as environment:
        arguments = (PLATOON, "--shape", "composed", "--out", output, "--paused", "--no-bag", *sets)
        with Running(environment, *arguments) as running:
            run = Controlled(environment, running)
            run.wait_for_run()
            assert f"{GAP}: 0.6" in run.control("changes").splitlines()
            assert run.control("until", "1s") == "paused at 1s"
            assert run.control("change", f"{GAP}=1.3") == f"{GAP}: 1.3 from 1s on"
            told = json.loads(run.control("change", f"{LATE}=true", "--at", "2s", "--json"))
            assert told == {"success": True, "message": f"{LATE}: true from 2s on"}
            early = run.command("control", "change", f"{LATE}=false", "--at", "500ms")
            assert early.code == 1
            assert early.error() == (
                "cosim: control change: at: found 500ms; participants may have passed that, "
                "allowed is a time from 1s on"
            )
            wrong = run.command("control", "change", f"{GAP}=-1")
            assert "allowed is a number above 0" in wrong.error()
            # What was made last for a time before the others.
            assert run.control("until", "1500ms") == "paused at 1.5s"
            assert run.control("change", f"{GAP}=0.9").endswith("from 1.5s on")
            known = json.loads(run.control("changes", "--json"))
            values = {each["path"]: each["value"] for each in known}
            assert (values[GAP], values[LATE]) == (0.9, True)
            run.control("reset")
            run.wait_for_run()
            assert f"{GAP}: 0.6" in run.control("changes").splitlines()
            run.end("resume")
            result = running.result()
        assert result.code == 3, result  # the platoon does not stand yet
        assert left_processes(environment) == []
    made = json.loads((output / "changes.json").read_text())["changes"]
    assert [(each["at"], each["set"], each["to"]) for each in made] == [
        ("1s", GAP, 1.3),
        ("2s", LATE, True),
        ("1.5s", GAP, 0.9),
    ]
    summary = json.loads((output / "summary.json").read_text())
    told = summary["changes"]
    assert [(each["time_s"], each["to"]) for each in told] == [(1.0, 1.3), (2.0, True), (1.5, 0.9)]
    for each in told:
        assert each["by"].startswith("/cosim/control: cosim control of "), each
        assert each["by"].endswith(f"uid {os.getuid()})"), each
    # It ended where it was reset.
    scenario, _, former = prepare_replay(output)
    shorter = scenario.model_copy(update={"duration": round(former.sim_time_s * 1e9)})
    again = run_inproc(shorter, tmp_path / "again", record=False)
    assert again.trace_sha256 == former.trace_sha256
    assert not (output / "again-1" / "changes.json").exists()
    plain = load_scenario(PLATOON, sets[1::2])
    anew = json.loads((output / "again-1" / "summary.json").read_text())
    assert "changes" not in anew
    assert run_inproc(plain, tmp_path / "plain", record=False).trace_sha256 == anew["trace_sha256"]


def test_a_run_under_way_is_changed_at_a_time_that_all_reach(tmp_path: Path) -> None:
    """It does not stand: the run goes with the wall clock, and is the same again without it."""
    output = tmp_path / "out"
    with user_environment(tmp_path / "log") as environment:
        arguments = (PLATOON, "--shape", "ros", "--out", output, "--paused", "--no-bag")
        with Running(environment, *arguments, "--set", "duration=6s") as running:
            run = Controlled(environment, running)
            run.wait_for_run()
            run.control("rate", "0.05")
            run.control("resume")
            for gap in ("1.3", "0.7", "1.1"):
                assert run.control("change", f"{GAP}={gap}").startswith(f"{GAP}: {gap} from ")
            run.control("rate", "max")
            result = running.result()
        assert result.code == 3, result  # the platoon does not stand yet
    made = json.loads((output / "changes.json").read_text())["changes"]
    assert [each["to"] for each in made] == [1.3, 0.7, 1.1]
    first, second, third = (parse_duration(each["at"]) for each in made)
    assert 0 < first <= second <= third < 6 * SECOND
    scenario, _, former = prepare_replay(output)
    assert (
        run_inproc(scenario, tmp_path / "again", record=False).trace_sha256 == former.trace_sha256
    )


def test_faults_are_added_to_a_run_under_way(tmp_path: Path) -> None:
    """At inputs and outputs of any participant; the run is repeated without processes."""
    output = tmp_path / "out"
    blind = "{port: sensor2.objects, kind: replace, field: objects, value: [], until: 4s}"
    frozen = "{port: world.odometry/leader, kind: freeze, from: 3s, until: 3500ms}"
    noisy = "{port: cacc1.acceleration, kind: noise, field: ax, std: 0.5}"
    late = "{port: cacc2.v2v_leader, kind: delay, delay: 300ms}"
    with user_environment(tmp_path / "log") as environment:
        arguments = (PLATOON, "--shape", "ros", "--out", output, "--paused", "--no-bag")
        with Running(environment, *arguments, "--set", "duration=4500ms") as running:
            run = Controlled(environment, running)
            run.wait_for_run()
            assert run.control("until", "1s") == "paused at 1s"
            told = run.control("change", f"faults.blind={blind}", "--at", "2s")
            assert told.startswith("faults.blind: {") and told.endswith("} from 2s on")
            assert run.control("until", "1500ms") == "paused at 1.5s"
            for name, fault in (("frozen", frozen), ("noisy", noisy), ("late", late)):
                assert run.control("change", f"faults.{name}={fault}").endswith("from 1.5s on")
            listed = run.control("changes").splitlines()
            assert "faults.frozen.active: true" in listed
            again = run.command("control", "change", f"faults.late={late}")
            assert again.code == 1 and "which is there already" in again.error()
            # A fault that was added is switched like others.
            run.control("change", "faults.noisy.active=false", "--at", "2500ms")
            run.end("resume")
            result = running.result()
        assert result.code == 3, result  # the platoon does not stand yet
        assert left_processes(environment) == []
    summary = json.loads((output / "summary.json").read_text())
    acted = {
        name: count
        for figures in summary["figures"].values()
        for name, count in figures.items()
        if name.startswith("fault.")
    }
    assert set(acted) == {"fault.blind", "fault.frozen", "fault.noisy", "fault.late"}
    assert acted["fault.blind"] == acted["fault.frozen"] == 50
    scenario, _, former = prepare_replay(output)
    again_inproc = run_inproc(scenario, tmp_path / "again", record=False)
    assert again_inproc.trace_sha256 == former.trace_sha256
    assert (again_inproc.figures or {})["sensor2"] == summary["figures"]["sensor2"]
