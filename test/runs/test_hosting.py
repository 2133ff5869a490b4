# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Participants that share a process in shape ros: same trace, each with an end of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from runs.cosim_process import ROOT, Running, cosim, left_processes, user_environment
from support.control_scenarios import chain
from support.held_runs import Direction, participant, reference, run_directed, scenario
from support.patience import HANG_S

from ros2_cosim.core.kernel.errors import RunError
from ros2_cosim.ros.bringup import processes
from ros2_cosim.ros.bringup.plan import Process

pytest.importorskip("rclpy", reason="needs rclpy, which make setup installs")

FAILING = "support.failing_models:Failing"


def in_processes(data: dict[str, Any], **groups: str) -> dict[str, Any]:
    """Put participants (names with blanks between them) into processes."""
    for process, names in groups.items():
        for name in names.split():
            data["participants"][name]["process"] = process
    return data


def mixed(**extra: dict[str, Any]) -> dict[str, Any]:
    """Readers of all kinds; one enters at 1 s, one leaves at 0.6 s; one has its own process."""
    data = scenario(
        "hosted",
        "1200ms",
        source=participant(period="10ms"),
        sparse=participant({"in": "source.out"}, "sparse", activation="in"),
        leaver=participant({"in": "source.out"}, period="20ms", leave="600ms"),
        behind=participant({"in": "leaver.out"}, activation={"every": {"in": 2}}),
        joiner=participant(
            {"trigger": "sparse.out", "newest": "leaver.out"}, activation="trigger", enter="1s"
        ),
        after=participant({"in": "joiner.out", "old": "sparse.out"}, period="50ms"),
        **extra,
    )
    return in_processes(data, left="source leaver joiner after", right="sparse behind")


def small(**extra: dict[str, Any]) -> dict[str, Any]:
    """Two participants in the process ``left``, and one that enters at 1 s in ``late``."""
    data = scenario(
        "hosted",
        "1200ms",
        source=participant(period="10ms"),
        after=participant({"in": "source.out"}, period="50ms"),
        joiner=participant({"in": "source.out"}, period="20ms", enter="1s"),
        **extra,
    )
    return in_processes(data, left="source after", late="joiner")


def failing(**extra: dict[str, Any]) -> dict[str, Any]:
    """The small system with some that fail, in the process ``left``; name -> parameters."""
    model = {**participant({"in": "source.out"}, period="10ms"), "model": FAILING}
    data = small(**{name: dict(model) for name in extra})
    for name, parameters in extra.items():
        data["participants"][name]["parameters"] = parameters
    return in_processes(data, left=" ".join(extra))


def test_a_hosted_participant_that_fails_ends_the_run_with_its_name(tmp_path: Path) -> None:
    data = failing(extra={"fail_at_ns": 300_000_000, "closed": str(tmp_path)})
    with pytest.raises(RunError) as caught:
        run_directed(tmp_path, data)
    # The process says so itself, unless the clock, which has heard of it, is faster.
    text = str(caught.value).removeprefix("clock: ")
    assert text.startswith(
        "extra: participant 'extra' failed in its activation 31 at 300ms: ValueError: fell over ("
    )
    assert "failing_models.py, line 29)" in text
    assert (tmp_path / "extra").exists()


def test_a_hosted_participant_that_cannot_be_made_ends_the_run(tmp_path: Path) -> None:
    # Made before it, and closed again.
    data = failing(good={"closed": str(tmp_path)}, broken={"cannot_be_made": True})
    with pytest.raises(RunError, match="^broken: there is no such thing$"):
        run_directed(tmp_path, data)
    assert (tmp_path / "good").exists()


def test_a_model_that_ends_its_program_fails_alone(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="^extra: SystemExit: 0; traceback in .*/traceback.txt$"):
        run_directed(tmp_path, failing(extra={"exit_at_ns": 300_000_000}))


@pytest.mark.parametrize(
    ("number", "line"),
    [
        (signal.SIGKILL, "process 'left' (source, after) was killed by SIGKILL"),
        (signal.SIGTERM, "process 'left' was ended by SIGTERM"),
        (signal.SIGINT, "process 'left' was ended by SIGINT"),
    ],
)
def test_a_process_that_is_killed_is_named_with_its_participants(
    number: int, line: str, tmp_path: Path
) -> None:
    def kill(direction: Direction) -> None:
        if direction.said("clock", "time 1.000 s") and direction.once("kill"):
            os.kill(direction.group.pids()["left"], number)

    with pytest.raises(RunError) as caught:
        run_directed(tmp_path, small(), ["late"], kill)
    assert str(caught.value) == line


def test_the_others_go_on_without_optional_ones_that_fail(tmp_path: Path) -> None:
    data = failing(extra={"fail_at_ns": 300_000_000}, broken={"cannot_be_made": True})
    for name in ("extra", "broken"):
        data["participants"][name]["required"] = False
    found = run_directed(tmp_path, data)
    assert found.sim_time_s == 1.2
    broken, extra = str(found.not_repeatable_reason).split("; ")
    assert extra.startswith("'extra' was lost: ") and "fell over" in extra
    assert broken.startswith("'broken' was lost: ") and "there is no such thing" in broken
    counts = {p.name: p.activations for p in found.participants}
    assert counts["source"] == 120
    assert counts["after"] == 24


def test_the_run_goes_on_without_a_process_of_optional_ones(tmp_path: Path) -> None:
    data = small(
        one=participant({"in": "source.out"}, period="10ms", required=False),
        two=participant({"in": "one.out"}, activation="in", required=False),
    )
    data = in_processes(data, spare="one two")

    def kill(direction: Direction) -> None:
        if direction.said("clock", "time 1.000 s") and direction.once("kill"):
            os.kill(direction.group.pids()["spare"], signal.SIGKILL)
        if all(direction.said("clock", f"the run goes on without {n}") for n in ("one", "two")):
            direction.start("late")

    found = run_directed(tmp_path, data, ["late"], kill)
    assert found.sim_time_s == 1.2
    for name in ("one", "two"):
        lost = f"'{name}' was lost: process 'spare' (one, two) was killed by SIGKILL"
        assert lost in str(found.not_repeatable_reason)


def test_ended_from_outside_nothing_is_left(tmp_path: Path) -> None:
    file = tmp_path / "hosted.json"
    file.write_text(json.dumps({**in_processes(mixed(), single="after"), "duration": "1h"}))
    output = tmp_path / "out"
    with user_environment(tmp_path / "log") as environment:
        with Running(environment, file, "--out", output, "--rate", "20") as running:
            running.wait_until_recorded(output)
            assert {"left", "right", "single"} < running.children().keys()
            assert running.shared_memory() == []
            running.send(signal.SIGINT)
            result = running.result()
        assert result.error() == "cosim: ended by SIGINT"
        assert left_processes(environment) == []


def test_a_run_is_repeated_in_the_same_processes(tmp_path: Path) -> None:
    file = tmp_path / "chain.json"
    file.write_text(json.dumps(in_processes(chain(), left="plant controller", right="sensor")))
    expected = reference(tmp_path, chain()).trace_sha256
    output = tmp_path / "out"
    with user_environment(tmp_path / "log") as environment:
        result = cosim(environment, file, "--out", output, "--no-bag", "--repeat", "3")
        assert result.code == 0, result
        assert left_processes(environment) == []
    assert result.stdout.count(f"trace {expected}") == 3 + 1  # and once for all


def test_a_mixture_has_the_trace_of_the_reference_and_its_nodes_also_as_launch_starts_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Launch gives the node's name on the command line, and parameters in a file."""
    ordinary = processes.command_of

    def as_launch(process: Process) -> list[str]:
        if process.name != "left":
            return ordinary(process)
        file = tmp_path / "parameters.yaml"
        file.write_text(
            yaml.safe_dump({f"/{process.node}": {"ros__parameters": dict(process.parameters)}})
        )
        words = ["--ros-args", "-r", f"__node:={process.node}", "--params-file", str(file)]
        return [sys.executable, "-m", "ros2_cosim.ros.programs.participants", *words]

    monkeypatch.setattr(processes, "command_of", as_launch)
    there = {"source", "leaver", "sparse", "behind", "after"}
    beside = {f"cosim_{name}" for name in ("left", "right", "single", "recorder", "clock")}
    services = [f"/{name}/get_state" for name in there]
    nodes: list[str] = []
    seen: set[str] = set()

    def look(direction: Direction) -> None:
        if direction.said("clock", "time 1.000 s") and direction.once("look"):
            script = ROOT / "test" / "support" / "list_nodes.py"
            done = subprocess.run(
                [sys.executable, str(script), *beside, *there, *services],
                env=direction.environment,
                stdout=subprocess.PIPE,
                text=True,
                timeout=HANG_S,
            )
            assert done.returncode == 0, done.stdout
            nodes.extend(done.stdout.split())
            seen.update(direction.group.pids())
            direction.start("late")

    # The run stands at 1 s until the process ``late`` is started.
    data = in_processes(mixed(), single="after", late="joiner")
    found = run_directed(tmp_path, data, ["late"], look)
    expected = reference(tmp_path, data)
    assert found.trace_sha256 == expected.trace_sha256
    assert found.repeatable
    assert found.causality == expected.causality
    counts = {p.name: p.activations for p in found.participants}
    assert counts == {p.name: p.activations for p in expected.participants}
    assert {p.name: (p.entered_s, p.left_s) for p in found.participants if p.left_s} == {
        "leaver": (0.0, 0.6)
    }
    assert seen == {"left", "right", "single", "recorder", "clock"}
    # Each once.
    assert sorted(nodes) == sorted({"list_nodes"} | beside | there)
