# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A run on two hosts: the trace of one, one error for what fails, and an end in every case."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from runs.cosim_process import Running, cosim, left_processes, user_environment
from support.control_scenarios import chain
from support.far_host import FAR, NEAR, joined_namespace
from support.held_runs import reference

pytest.importorskip("rclpy", reason="needs rclpy, which make setup installs")

#: Another machine that is this one: what would be sent by ssh is started directly.
BESIDE = {"address": "127.0.0.1", "through": "env"}
COSIM = [sys.executable, "-m", "ros2_cosim.cli.main"]
FAILING = "support.failing_models:Failing"


@pytest.fixture
def environment(tmp_path: Path) -> Iterator[dict[str, str]]:
    with user_environment(tmp_path / "logs") as found:
        yield found
        assert left_processes(found) == []


def on_two_hosts(
    host: dict[str, Any], duration: str = "500ms", **controller: Any
) -> dict[str, Any]:
    """The chain with sensor and controller on the host ``lab``."""
    data = {**chain(duration), "hosts": {"lab": host}}
    for name in ("sensor", "controller"):
        data["participants"][name]["host"] = "lab"
    data["participants"]["controller"].update(controller)
    return data


def saved(data: dict[str, Any], tmp_path: Path) -> Path:
    """The scenario as a file."""
    path = tmp_path / "two.json"
    path.write_text(json.dumps(data), encoding="utf-8")
    return path


def check_trace(output: Path, data: dict[str, Any], tmp_path: Path) -> None:
    """The trace is that of one process."""
    summary = json.loads((output / "summary.json").read_text(encoding="utf-8"))
    assert summary["trace_sha256"] == reference(tmp_path, data).trace_sha256
    assert summary["repeatable"] is True
    assert summary["transport"] == "dds"


def test_parts_on_two_other_hosts_are_started_by_the_run(
    environment: dict[str, str], tmp_path: Path
) -> None:
    with joined_namespace() as there:
        data = on_two_hosts({"address": FAR, "through": shlex.join(there)})
        # Three hosts, of which the third has the address of the first.
        data["hosts"]["desk"] = {"address": NEAR, "through": "env"}
        data["participants"]["controller"]["host"] = "desk"
        result = cosim(environment, saved(data, tmp_path), "--out", tmp_path / "out")
    assert result.code == 0, result
    check_trace(tmp_path / "out", data, tmp_path)
    # A profile with a mistake in it is refused as a whole, with a word on the console.
    assert "XMLPARSER" not in result.stdout + result.stderr
    # The secret of the run is in no file.
    part = json.loads((tmp_path / "out" / "host-lab.json").read_text(encoding="utf-8"))
    assert part["environment"] == {}


def test_a_part_that_is_started_by_hand(environment: dict[str, str], tmp_path: Path) -> None:
    data = on_two_hosts({"address": "127.0.0.1", "start": "hand"})
    run = subprocess.Popen(
        [*COSIM, "run", str(saved(data, tmp_path)), "--out", str(tmp_path / "out")],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    with run:
        try:
            assert run.stdout is not None
            said = ""
            while " there with: " not in said:
                said = run.stdout.readline()
                assert said, "the run has ended"
            secret, *words = shlex.split(said.rpartition(" there with: ")[2])
            name, _, value = secret.partition("=")
            assert words[:2] == ["cosim", "join"]
            part = subprocess.run(
                [*COSIM, *words[1:]],
                env={**environment, name: value},
                capture_output=True,
                text=True,
            )
            output, _ = run.communicate()
        finally:
            run.kill()
    assert (part.returncode, part.stdout) == (0, ""), part
    assert run.returncode == 0, output
    check_trace(tmp_path / "out", data, tmp_path)


def test_what_fails_there_is_named_with_its_host(
    environment: dict[str, str], tmp_path: Path
) -> None:
    model = {"model": FAILING, "parameters": {"fail_at_ns": 100_000_000}}
    data = on_two_hosts(BESIDE, "60s", **model)
    result = cosim(environment, saved(data, tmp_path), "--out", tmp_path / "out")
    assert result.code == 1
    # Its own line, or that of the clock, which it has told first.
    assert result.error().startswith(
        ("cosim: host 'lab': controller: ", "cosim: clock: controller")
    )
    assert "ValueError: fell over" in result.error()


def test_the_death_of_the_command_ends_the_part(
    environment: dict[str, str], tmp_path: Path
) -> None:
    path = saved(on_two_hosts(BESIDE, "1h"), tmp_path)
    with Running(environment, path, "--out", tmp_path / "out", "--rate", "20") as running:
        running.wait_until_recorded(tmp_path / "out")
        os.kill(running.pid, signal.SIGKILL)
        running.result()
    # The fixture sees that nothing runs any more, here or there.
