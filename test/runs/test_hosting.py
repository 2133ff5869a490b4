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


def failing(name: str, **parameters: Any) -> dict[str, Any]:
    """The mixed system with one that fails, in the process ``left``."""
    model = {**participant({"in": "source.out"}, period="10ms"), "model": FAILING}
    data = in_processes(mixed(**{name: model}), left=name)
    data["participants"][name]["parameters"] = parameters
    return data


def test_a_mixture_of_processes_gives_the_trace_of_the_reference(tmp_path: Path) -> None:
    seen: set[str] = set()

    def look(direction: Direction) -> None:
        seen.update(direction.group.pids())

    found = run_directed(tmp_path, in_processes(mixed(), single="after"), direct=look)
    expected = reference(tmp_path, mixed())
    assert found.trace_sha256 == expected.trace_sha256
    assert found.repeatable
    assert found.causality == expected.causality
    counts = {p.name: p.activations for p in found.participants}
    assert counts == {p.name: p.activations for p in expected.participants}
    assert {p.name: (p.entered_s, p.left_s) for p in found.participants if p.left_s} == {
        "leaver": (0.0, 0.6)
    }
    assert seen == {"left", "right", "single", "recorder", "clock"}


def held(data: dict[str, Any]) -> dict[str, Any]:
    """The run stands at 1 s until the process ``late`` is started."""
    data["participants"]["after"].pop("process")
    return in_processes(data, late="joiner")


def test_a_hosted_participant_that_fails_ends_the_run_with_its_name(tmp_path: Path) -> None:
    data = failing("extra", fail_at_ns=300_000_000, closed=str(tmp_path))
    with pytest.raises(RunError) as caught:
        run_directed(tmp_path, data)
    # The process says so itself, unless the clock, which has heard of it, is faster.
    text = str(caught.value).removeprefix("clock: ")
    assert text.startswith(
        "extra: participant 'extra' failed in its activation 31 at 300ms: ValueError: fell over ("
    )
    assert "failing_models.py, line 28)" in text
    assert (tmp_path / "extra").exists()


def test_a_hosted_participant_that_cannot_be_made_ends_the_run(tmp_path: Path) -> None:
    data = failing("broken", cannot_be_made=True)
    # Made before it, and closed again.
    data["participants"] = {
        "good": failing("good", closed=str(tmp_path))["participants"]["good"],
        **data["participants"],
    }
    with pytest.raises(RunError, match="^broken: there is no such thing$"):
        run_directed(tmp_path, data)
    assert (tmp_path / "good").exists()


def test_a_model_that_ends_its_program_fails_alone(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="^extra: SystemExit: 0; traceback in .*/traceback.txt$"):
        run_directed(tmp_path, failing("extra", exit_at_ns=300_000_000))


@pytest.mark.parametrize(
    ("number", "line"),
    [
        (signal.SIGKILL, "process 'left' (source, leaver) was killed by SIGKILL"),
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
        run_directed(tmp_path, held(mixed()), ["late"], kill)
    assert str(caught.value) == line


@pytest.mark.parametrize("parameters", [{"fail_at_ns": 300_000_000}, {"cannot_be_made": True}])
def test_the_others_go_on_without_an_optional_one_that_fails(
    parameters: dict[str, Any], tmp_path: Path
) -> None:
    data = failing("extra", **parameters)
    data["participants"]["extra"]["required"] = False
    found = run_directed(tmp_path, data)
    assert found.sim_time_s == 2.0
    reason = str(found.not_repeatable_reason)
    assert reason.startswith("'extra' was lost: ")
    assert ("fell over" in reason) != ("there is no such thing" in reason)
    counts = {p.name: p.activations for p in found.participants}
    assert counts["source"] == 200
    assert counts["after"] == 40


def test_the_run_goes_on_without_a_process_of_optional_ones(tmp_path: Path) -> None:
    data = mixed(
        one=participant({"in": "source.out"}, period="10ms", required=False),
        two=participant({"in": "one.out"}, activation="in", required=False),
    )
    data = in_processes(held(data), spare="one two")

    def kill(direction: Direction) -> None:
        if direction.said("clock", "time 1.000 s") and direction.once("kill"):
            os.kill(direction.group.pids()["spare"], signal.SIGKILL)
        if all(direction.said("clock", f"the run goes on without {n}") for n in ("one", "two")):
            direction.start("late")

    found = run_directed(tmp_path, data, ["late"], kill)
    assert found.sim_time_s == 2.0
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


def test_each_has_its_own_node_also_as_launch_starts_it(
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
    expected = {"source", "leaver", "sparse", "behind", "after"}
    beside = {"cosim_left", "cosim_right", "cosim_recorder", "cosim_clock"}
    services = [f"/{name}/get_state" for name in expected]
    nodes: list[str] = []

    def look(direction: Direction) -> None:
        if direction.said("clock", "time 1.000 s") and direction.once("look"):
            script = ROOT / "test" / "support" / "list_nodes.py"
            done = subprocess.run(
                [sys.executable, str(script), *beside, *expected, *services],
                env=direction.environment,
                stdout=subprocess.PIPE,
                text=True,
                timeout=HANG_S,
            )
            assert done.returncode == 0, done.stdout
            nodes.extend(done.stdout.split())
            direction.start("late")

    data = held(mixed())
    found = run_directed(tmp_path, data, ["late"], look)
    assert found.trace_sha256 == reference(tmp_path, data).trace_sha256
    # Each once.
    assert sorted(nodes) == sorted({"list_nodes"} | beside | expected)
