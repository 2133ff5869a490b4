# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Participants that share a process by default: same trace, same graph; what breaks it is named."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from runs.cosim_process import (
    ROOT,
    Running,
    cosim,
    left_processes,
    user_environment,
)
from support.grouped_models import grouped_chain
from support.held_runs import reference
from support.patience import HANG_S

from ros2_cosim.core.record.summary import read_summary

pytest.importorskip("rclpy", reason="needs rclpy, which make setup installs")

ALL = ("plant", "sensor", "controller", "observer")


def written(directory: Path, data: dict[str, Any]) -> Path:
    file = directory / "chain.json"
    file.write_text(json.dumps(data), encoding="utf-8")
    return file


def failed(directory: Path, data: dict[str, Any]) -> str:
    """The one line of a run that fails, without the beginning."""
    with user_environment(directory / "log") as environment:
        result = cosim(environment, written(directory, data), "--out", directory / "out")
        assert left_processes(environment) == []
    return result.error().removeprefix("cosim: ")


def test_the_trace_is_the_same_grouped_and_not_on_the_lane_and_in_dds(tmp_path: Path) -> None:
    data = grouped_chain()
    file = written(tmp_path, data)
    expected = reference(tmp_path, data)
    counts = {p.name: p.activations for p in expected.participants}
    cases = {
        ("auto", "auto"): {"group1": ALL},
        ("auto", "dds"): {"group1": ALL},
        ("own", "auto"): {name: (name,) for name in ALL},
    }
    with user_environment(tmp_path / "log") as environment:
        for number, ((how, transport), processes) in enumerate(cases.items()):
            output = tmp_path / f"out{number}"
            words = ("--processes", how, "--transport", transport, "--out", output)
            # The first one is profiled: that changes nothing of what it leaves otherwise.
            result = cosim(environment, file, *words, *("--profile",) * (number == 0))
            assert result.code == 0, result
            found = read_summary(output)
            assert found.trace_sha256 == expected.trace_sha256
            assert found.processes == processes
            assert found.causality == expected.causality
            assert {p.name: p.activations for p in found.participants} == counts
        assert left_processes(environment) == []
    bags = {(tmp_path / f"out{n}" / "bag" / "bag_0.mcap").read_bytes() for n in range(len(cases))}
    assert len(bags) == 1
    profile = json.loads((tmp_path / "out0" / "profile.json").read_text())
    assert {n: p["activations"] for n, p in profile["participants"].items()} == counts
    assert set(profile["processes"]) == {"group1", "recorder", "clock"}
    assert sum(part["share"] for part in profile["critical_path"]) == pytest.approx(1.0, abs=0.01)
    assert "Critical path of a step" in (tmp_path / "out0" / "report.html").read_text()


def test_a_run_is_repeated_in_the_same_group(tmp_path: Path) -> None:
    data = grouped_chain("1s")
    expected = reference(tmp_path, data).trace_sha256
    with user_environment(tmp_path / "log") as environment:
        words = ("--out", tmp_path / "out", "--no-bag", "--repeat", "3")
        result = cosim(environment, written(tmp_path, data), *words)
        assert result.code == 0, result
        assert left_processes(environment) == []
    assert result.stdout.count(f"trace {expected}") == 3 + 1  # and once for all


def test_each_has_a_node_and_services_of_its_own(tmp_path: Path) -> None:
    output = tmp_path / "out"
    services = [f"/{name}/get_state" for name in ALL]
    with user_environment(tmp_path / "log") as environment:
        file = written(tmp_path, grouped_chain("1h"))
        with Running(environment, file, "--out", output, "--rate", "20") as running:
            running.wait_until_recorded(output)
            script = ROOT / "test" / "support" / "list_nodes.py"
            words = [sys.executable, str(script), "cosim_group1", *ALL, *services]
            done = subprocess.run(
                words, env=environment, stdout=subprocess.PIPE, text=True, timeout=HANG_S
            )
            assert done.returncode == 0, done.stdout
        assert left_processes(environment) == []
    assert set(done.stdout.split()) >= {"cosim_group1", *ALL}


CRASH = "participant 'controller' crashed by SIGSEGV in its activation at 300ms (process 'group1')"


@pytest.mark.parametrize(
    ("how", "line"),
    [
        ("SIGSEGV", CRASH),
        (
            "raise",
            "controller: participant 'controller' failed in its activation 16 at 300ms: "
            "ValueError: fell over",
        ),
    ],
)
def test_what_takes_the_group_along_is_named(how: str, line: str, tmp_path: Path) -> None:
    found = failed(tmp_path, grouped_chain(ends_at_ns=300_000_000, how=how))
    # A participant that can still speak says so itself, unless the clock is faster.
    assert found.removeprefix("clock: ").startswith(line)
    assert how != "raise" or found.endswith("/out/traceback.txt")


def test_what_keeps_the_group_from_going_on_is_named(tmp_path: Path) -> None:
    data = grouped_chain(ends_at_ns=300_000_000, how="hang")
    found = failed(tmp_path, {**data, "watchdog_s": 3, "watchdog_warn_s": 100})
    assert found.startswith("participant 'controller' has not returned from its activation 16 at ")
    assert " for 3 s of wall time (" in found and "grouped_models.py, line " in found
