# SPDX-License-Identifier: Apache-2.0
"""Who is required because somebody said so to a run under way: its death counts accordingly."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest
from runs.cosim_process import HANG_S, Running, left_processes, user_environment
from support.controlled_run import Controlled
from support.held_runs import participant, scenario

from ros2_cosim.tools.summary import read_summary

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
    deadline = time.monotonic() + HANG_S
    while name in running.children():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.parametrize("repeat", [(), ("--repeat", "2")], ids=["once", "twice"])
def test_who_was_spared_may_be_killed(tmp_path: Path, repeat: tuple[str, ...]) -> None:
    file = tmp_path / "system.json"
    file.write_text(json.dumps(system()), encoding="utf-8")
    output = tmp_path / "out"
    with user_environment(tmp_path / "log") as environment:
        with Running(
            environment, file, "--out", output, "--no-bag", "--paused", *repeat
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
    for directory in (output, output / "again-1") if repeat else (output,):
        summary = read_summary(directory)
        assert summary.required == ("extra", "source")
        assert summary.not_repeatable_reason is not None
        assert "process 'reader' was killed by SIGKILL" in summary.not_repeatable_reason
        counts = {p.name: p.activations for p in summary.participants}
        assert counts == {"source": 30, "extra": 15, "reader": 0}


def test_who_has_become_required_ends_the_run_when_it_dies(tmp_path: Path) -> None:
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


def test_names_are_needed(tmp_path: Path) -> None:
    with user_environment(tmp_path / "log") as environment:
        refused = Controlled(environment).command("control", "require")
        assert refused.error() == "cosim: control require: needs the names of participants"
        refused = Controlled(environment).command("control", "until", "1s", "2s")
        assert "it takes one value at most" in refused.error()
