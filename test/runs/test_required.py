# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What the system controller requires of a run under way decides whether a death ends it."""

from __future__ import annotations

import json
import os
import signal
from contextlib import ExitStack
from pathlib import Path
from subprocess import Popen
from typing import Any

import pytest
from runs.cosim_process import Running, left_processes, user_environment
from support.controlled_run import Controlled
from support.held_runs import participant, reference, scenario
from support.patience import until

from ros2_cosim.core.record.summary import read_summary
from ros2_cosim.core.run.request import RunOptions
from ros2_cosim.core.scenario.schema import make_scenario
from ros2_cosim.ros.bringup.plan import make_plan
from ros2_cosim.ros.bringup.processes import command_of

pytest.importorskip("rclpy", reason="needs rclpy, which make setup installs")


def system() -> dict[str, Any]:
    return scenario(
        "required",
        "300ms",
        source=participant(period="10ms"),
        extra=participant({"in": "source.out"}, period="20ms", required=False),
        reader=participant({"raw": "source.out", "in": "extra.out"}, period="20ms"),
    )


def kill(running: Running, name: str) -> None:
    """Kill a process of the run and wait until its starter has noticed."""
    pid = running.children()[name]
    os.kill(pid, signal.SIGKILL)
    until(lambda: name not in running.children())


def test_a_spared_participant_may_be_killed(tmp_path: Path) -> None:
    file = tmp_path / "system.json"
    file.write_text(json.dumps(system()), encoding="utf-8")
    output = tmp_path / "out"
    with user_environment(tmp_path / "log") as environment:
        with Running(
            environment, file, "--out", output, "--no-bag", "--paused", "--repeat", "2"
        ) as running:
            run = Controlled(environment, running)
            run.wait_for_run()
            answer = "required: extra, source"
            assert run.control("require", "source", "extra", "source") == answer
            kill(running, "reader")
            run.end("resume")
            result = running.result()
        assert left_processes(environment) == []
    assert result.code == 0, result
    for directory in (output, output / "again-1"):
        summary = read_summary(directory)
        assert summary.required == ("extra", "source")
        assert summary.not_repeatable_reason is not None
        assert "process 'reader' was killed by SIGKILL" in summary.not_repeatable_reason
        counts = {p.name: p.activations for p in summary.participants}
        assert counts == {"source": 30, "extra": 15, "reader": 0}


def test_a_participant_made_required_ends_the_run_when_it_dies(tmp_path: Path) -> None:
    file = tmp_path / "system.json"
    file.write_text(json.dumps(system()), encoding="utf-8")
    with user_environment(tmp_path / "log") as environment:
        arguments = (file, "--out", tmp_path / "out", "--no-bag", "--paused")
        with Running(environment, *arguments) as running:
            run = Controlled(environment, running)
            run.wait_for_run()
            refused = run.command("control", "require", "ghost").error()
            assert refused.startswith("cosim: control require: require: there is no participant")
            run.control("require", "extra", "source", "reader")
            os.kill(running.children()["extra"], signal.SIGKILL)
            error = running.result().error()
        assert left_processes(environment) == []
    assert error == "cosim: process 'extra' was killed by SIGKILL"


def test_a_spared_participant_may_fail_in_a_shared_process(tmp_path: Path) -> None:
    data = system()
    extra = data["participants"]["extra"]
    extra.update(
        model="support.failing_models:Failing",
        parameters={"fail_at_ns": 100_000_000},
        required=True,
    )
    for name in ("extra", "source"):
        data["participants"][name]["process"] = "shared"
    file = tmp_path / "system.json"
    file.write_text(json.dumps(data), encoding="utf-8")
    output = tmp_path / "out"
    with user_environment(tmp_path / "log") as environment:
        with Running(environment, file, "--out", output, "--no-bag", "--paused") as running:
            run = Controlled(environment, running)
            run.wait_for_run()
            run.control("require", "source", "reader")
            run.end("resume")
            result = running.result()
        assert left_processes(environment) == []
    assert result.code == 0, result
    summary = read_summary(output)
    assert "fell over" in str(summary.not_repeatable_reason)
    counts = {p.name: p.activations for p in summary.participants}
    assert (counts["source"], counts["reader"]) == (30, 15)


def test_one_that_comes_freely_is_waited_for_if_it_is_named(tmp_path: Path) -> None:
    data = system()
    data["participants"]["extra"]["mode"] = "autonomous"
    del data["participants"]["extra"]["required"]
    file = tmp_path / "system.json"
    file.write_text(json.dumps(data), encoding="utf-8")
    output = tmp_path / "out"
    by_hand = ("source", "extra")
    plan = make_plan(make_scenario(data, "required"), RunOptions(out=output))
    commands = {process.name: command_of(process) for process in plan}
    with user_environment(tmp_path / "log") as environment, ExitStack() as started:
        options = [word for name in by_hand for word in ("--by-hand", name)]
        with Running(environment, file, "--out", output, "--no-bag", *options) as running:
            run = Controlled(environment, running)
            while run.command("control", "status").code != 0:
                assert not running.has_ended, running.result()
            # Without ``source`` it cannot have begun.
            run.control("require", "extra", "source", "reader")
            for name in by_hand:
                process = started.enter_context(Popen(commands[name], env=environment))
                started.callback(process.kill)
            result = running.result()
    assert result.code == 0, result
    summary = read_summary(output)
    assert summary.repeatable
    assert summary.required == ("extra", "reader", "source")
    assert {p.name: p.entered_s for p in summary.participants} == dict.fromkeys(
        ("extra", "reader", "source"), 0.0
    )
    assert summary.trace_sha256 == reference(tmp_path, data).trace_sha256


def test_names_are_needed(tmp_path: Path) -> None:
    with user_environment(tmp_path / "log") as environment:
        refused = Controlled(environment).command("control", "require")
        assert refused.error() == "cosim: control require: needs the names of participants"
        refused = Controlled(environment).command("control", "until", "1s", "2s")
        assert "it takes one value at most" in refused.error()
