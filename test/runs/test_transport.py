# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What a bad transport does between two processes is noticed, and never changes a result."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from runs.cosim_process import ROOT, user_environment
from support.patience import HANG_S
from support.warm import start_fork_server

from ros2_cosim.core.documents.run_files import RESOLVED_SCENARIO
from ros2_cosim.core.kernel.errors import RunError
from ros2_cosim.core.record.summary import read_summary
from ros2_cosim.core.run.inproc import run_inproc
from ros2_cosim.core.run.request import RunOptions
from ros2_cosim.core.scenario.schema import make_scenario, save_scenario
from ros2_cosim.ros.bringup import fork_server
from ros2_cosim.ros.bringup.dds import loopback_environment
from ros2_cosim.ros.bringup.plan import make_plan
from ros2_cosim.ros.bringup.processes import ProcessGroup

TYPE = "ros2_cosim/msg/ControlCommand"
MIXER = "support.graph_scenarios:MessageMixer"
HIT = 20


def participant(inputs: dict[str, object], schedule: str, **timing: object) -> dict[str, object]:
    parameters = {"silent_every": 3, "schedules": {"out": schedule}, "longest_delay_s": 0.0}
    return {"model": MIXER, "parameters": parameters, "inputs": inputs, **timing}


def scenario(schedule: str) -> dict[str, object]:
    """A periodic writer and a reader that is triggered by it; the relay stands between them."""
    writer = participant({}, schedule, period="10ms")
    reader = participant({"in": "writer.out"}, "every", activation={"any": ["in"]})
    for name, settings, kind in (("writer", writer, schedule), ("reader", reader, "every")):
        settings["outputs"] = {"out": {"type": TYPE, "topic": f"/{name}/out", "schedule": kind}}
    return {
        "name": "relayed",
        "duration": "300ms",
        "watchdog_s": 10,
        "participants": {"writer": writer, "reader": reader},
    }


@pytest.fixture(autouse=True)
def processes_of_a_warm_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fork_server, "start_server", start_fork_server)


@contextmanager
def relay(environment: dict[str, str], fault: str) -> Iterator[None]:
    script = ROOT / "test" / "support" / "relay_node.py"
    arguments = ["/writer/out", "/relay/out", TYPE, fault, str(HIT), "reader"]
    process = subprocess.Popen([sys.executable, str(script), *arguments], env=environment)
    try:
        yield
    finally:
        process.kill()
        process.wait()


def run_relayed(directory: Path, data: dict[str, object], fault: str) -> str:
    """Trace hash of a run in which the reader gets its messages through the relay.

    :raises RunError: the run was stopped
    """
    output = directory / fault
    output.mkdir()
    made = make_scenario(data, "relayed")
    save_scenario(made, output / RESOLVED_SCENARIO)
    remap = ("--ros-args", "-r", "/writer/out:=/relay/out", "--")
    plan = [
        replace(process, arguments=remap) if process.name == "reader" else process
        for process in make_plan(made, RunOptions(out=output, record=False))
    ]
    with user_environment(directory / "log") as user:
        user["PYTHONPATH"] += f"{os.pathsep}{ROOT / 'test'}"
        environment = loopback_environment(user, output)
        with relay(environment, fault), ProcessGroup(plan, environment) as group:
            deadline = time.monotonic() + HANG_S
            while not group.ended():
                if (failure := group.failure()) is not None:
                    raise RunError(failure)
                assert time.monotonic() < deadline, "the run hangs"
                time.sleep(0.05)
            if (failure := group.failure()) is not None:
                raise RunError(failure)
    summary = read_summary(output)
    assert (summary.causality.timing, summary.causality.order, summary.causality.loss) == (0, 0, 0)
    return summary.trace_sha256


@pytest.mark.parametrize("schedule", ["every", "sparse"])
def test_late_messages_are_waited_for(tmp_path: Path, schedule: str) -> None:
    data = scenario(schedule)
    reference = tmp_path / "reference"
    reference.mkdir()
    expected = run_inproc(make_scenario(data, "relayed"), reference, record=False).trace_sha256
    assert run_relayed(tmp_path, data, "delay") == expected


# A message is judged before its schedule matters; but promises of a sparse port could come in the
# place of messages that are lost.
@pytest.mark.parametrize(
    ("fault", "schedule", "told"),
    [
        ("drop", "sparse", f"arrived where number {HIT} was expected: messages are lost"),
        ("reorder", "every", f"arrived where number {HIT} was expected: messages are lost"),
        ("duplicate", "sparse", f"arrived after number {HIT}: repeated or overtaken"),
    ],
)
def test_other_faults_stop_the_run_with_the_name(
    tmp_path: Path, fault: str, schedule: str, told: str
) -> None:
    with pytest.raises(RunError) as caught:
        run_relayed(tmp_path, scenario(schedule), fault)
    message = str(caught.value)
    assert "participant 'reader', input from writer.out: message number" in message
    assert told in message
