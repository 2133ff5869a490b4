# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The page about the lifecycle says what the code says, and its example runs."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from ros2_cosim.core.kernel.lifecycle import TRANSITIONS, State
from ros2_cosim.core.kernel.model import HANDLERS
from ros2_cosim.core.run.inproc import run_inproc
from ros2_cosim.core.scenario.schema import load_scenario

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "lifecycle.md").read_text(encoding="utf-8")
EXAMPLE = re.compile(r"<!-- example: (\S+) -->\n```\w+\n(.*?)```", re.DOTALL)


def section(heading: str) -> list[list[str]]:
    """The rows of the table below a heading, without its head."""
    text = PAGE.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    rows = [line.strip("| ").split("|") for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in row] for row in rows[2:]]


def test_all_states_are_there_with_their_regular_ways():
    table = {row[0].strip("`"): row[-1] for row in section("States")}
    assert list(table) == sorted(table, key=lambda n: (n in ("ERROR", "ABORTING"), State[n]))
    assert set(table) == {state.name for state in State}
    for name, ways in table.items():
        allowed = {s.name for s in TRANSITIONS[State[name]]} - {"ERROR", "ABORTING"}
        told = set(re.findall(r"`([A-Z_]+)`", ways))
        assert told <= allowed
        # What may be left out: the stop before the run, and the way of a repeated run.
        assert allowed - told <= {"STOPPING", "COMMUNICATION_INITIALISED"}


def test_all_handlers_are_there():
    told = {name for row in section("Handlers") for name in re.findall(r"`(\w+)\(", row[0])}
    assert told == {*HANDLERS, "finish", "close"}


def test_the_mapping_to_managed_nodes_is_that_of_the_code():
    pytest.importorskip("rclpy", reason="needs rclpy, which make setup installs")
    from ros2_cosim.ros.node.lifecycle_mapping import LABELS, ROS_STATE

    told = {
        name: row[0]
        for row in section("ros2 lifecycle")
        for name in re.findall(r"`([A-Z_]+)`", row[1])
    }
    expected = {state.name: LABELS[number] for state, number in ROS_STATE.items()}
    assert told == {name: label for name, label in expected.items() if name != "INVALID"}


def test_the_example_runs(tmp_path, monkeypatch, capsys):
    for name, text in EXAMPLE.findall(PAGE):
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "out").mkdir()
    try:
        summary = run_inproc(load_scenario(tmp_path / "steps.yaml"), tmp_path / "out")
    finally:
        sys.modules.pop("steps", None)
    assert {p.name: p.activations for p in summary.participants} == {"quick": 10, "slow": 5}
    assert "slow stops" in capsys.readouterr().out
