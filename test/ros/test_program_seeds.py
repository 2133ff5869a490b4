# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A foreign node's program draws by the scenario's seed, and what it asks the machine is named."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import gate_scenarios as scenarios
from support.isolation import drop_dds_settings

from ros2_cosim.core.messages.foreign import ForeignSettings
from ros2_cosim.core.run.request import RunRequest
from ros2_cosim.core.run.start import run_request
from ros2_cosim.core.scenario.schema import make_scenario

pytest.importorskip("rclpy")
pytest.importorskip("ros2_cosim.msg", reason="generated messages are not built")

from ros2_cosim.ros.foreign.foreign_lead import Lead
from ros2_cosim.ros.foreign.foreign_process import foreign_environment

DRAWS = scenarios.ROOT / "test" / "support" / "draws.py"


def drawn(
    seed: int, *questions: str
) -> tuple[dict[str, list[float]], list[float], Mapping[str, str]]:
    """What the program draws, what it draws with seeds of its own, and where it asks the system."""
    lead = Lead([], {}, lambda: None)
    command = lead.command([sys.executable, str(DRAWS), *questions], seed, leads=False)
    environment = foreign_environment(ForeignSettings(command=["node"]), seed)
    done = subprocess.run(
        command,
        env=environment,
        pass_fds=[lead.there.fileno()],
        capture_output=True,
        text=True,
        check=True,
    )
    lead.there.close()
    found, fixed = json.loads(done.stdout)
    asked = lead.asked
    lead.close()
    return found, fixed, asked


def test_generators_without_a_seed_get_one_of_the_scenario() -> None:
    (first, fixed, asked), (second, _, _), (other, same, _) = drawn(2**100), drawn(2**100), drawn(3)
    assert first == second and not asked
    for kind, numbers in first.items():
        assert not set(numbers) & set(other[kind]), kind
    numbers = [number for those in first.values() for number in those]
    assert len({*numbers}) == len(numbers)
    # What a program seeds itself is what it gets anywhere.
    rng = random.Random(1), np.random.RandomState(1), np.random.default_rng(1)
    assert fixed == same == [rng[0].random(), rng[1].rand(), rng[2].random()]


@pytest.mark.parametrize("question", ["urandom", "secrets", "uuid4", "system"])
def test_a_program_that_asks_the_system_is_told_of(question: str) -> None:
    _, _, asked = drawn(1, question, question)
    # Of uuid4 and random() itself the line is that of the call.
    file, _, line = asked["random_numbers"].rpartition(":")
    assert file == str(DRAWS) and 0 < int(line) <= len(DRAWS.read_text().splitlines())


@pytest.mark.parametrize("question", ["state", "clock"])
def test_what_a_program_without_ros_reads_of_the_machine_is_not_told(question: str) -> None:
    assert not drawn(1, question)[2]


@pytest.mark.parametrize("command", ["script", "env script", "script of others", "script -O"])
def test_a_script_of_this_interpreter_is_known_by_its_first_line(
    tmp_path: Path, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = Path(sys.executable)
    places = (str(own.parent), str(tmp_path), os.environ["PATH"])
    monkeypatch.setenv("PATH", os.pathsep.join(places))
    first = {
        "script": sys.executable,
        "env script": f"/usr/bin/env {own.name}",
        "script of others": "/bin/sh",
        "script -O": f"{sys.executable} -O",
    }[command]
    script = tmp_path / "a_node"
    script.write_text(f"#!{first}\n")
    script.chmod(0o755)
    lead = Lead([], {}, lambda: None)
    expected = [str(script), "-v"] if command in ("script", "env script") else []
    for name in ("a_node", str(script)):
        assert lead.command([name, "-v"], 1)[3:] == expected
    lead.close()


def run_of(tmp_path: Path, seed: int, *does: str, **settings: Any) -> Any:
    """A run of a node that draws."""
    data = scenarios.relay(duration="100ms", script="drawing_node.py", arguments=does, **settings)
    scenario = make_scenario({**data, "seed": seed}, "relay")
    out = tmp_path / f"run{len(list(tmp_path.iterdir()))}"
    return run_request(RunRequest(scenario, out=out, shape="composed"))


def test_a_node_that_draws_random_numbers_is_repeatable(
    ros_domain: int, nothing_left: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drop_dds_settings(monkeypatch)
    monkeypatch.setenv("PYTHONHASHSEED", "random")
    found = [
        run_of(tmp_path, 7),
        run_of(tmp_path, 7, "by turns"),
        run_of(tmp_path, 7, barrier="parameters"),
        run_of(tmp_path, 8),
    ]
    assert all(each.repeatable for each in found)
    first, by_turns, by_barrier, other = (each.trace_sha256 for each in found)
    assert first == by_turns == by_barrier != other


@pytest.mark.parametrize(
    ("does", "named"),
    [
        ("secrets", "reads random numbers of the operating system ("),
        ("machine", "reads the state of the machine ("),
        ("clock", "reads the wall clock ("),
        ("clock of ROS", "reads the wall clock ("),
    ],
)
def test_a_node_that_reads_what_no_seed_repeats_is_named(
    ros_domain: int,
    nothing_left: None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    does: str,
    named: str,
) -> None:
    drop_dds_settings(monkeypatch)
    for settings in ({"threads": "accept"}, {"barrier": "parameters"}):
        found = run_of(tmp_path, 7, does, **settings)
        assert not found.repeatable
        assert named in found.not_repeatable_reason
        assert "drawing_node.py:" in found.not_repeatable_reason


def test_a_node_may_read_what_changes_no_result(
    ros_domain: int, nothing_left: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drop_dds_settings(monkeypatch)
    found = run_of(tmp_path, 7, "clock", "machine", allow_reads=["wall_clock"])
    assert "reads the state of the machine (" in found.not_repeatable_reason
    assert run_of(tmp_path, 7, "clock", allow_reads=["wall_clock"]).repeatable
    # Neither simulated time nor a stamp, which the adapter makes anew, is one.
    assert run_of(tmp_path, 7, "clock of ROS", use_sim_time=True).repeatable
    assert run_of(tmp_path, 7, "stamp").repeatable
