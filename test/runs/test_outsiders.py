# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Runs among strangers: another program in the ROS domain, odd files where the run is started."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
import yaml
from runs.cosim_process import Result, Running, left_processes, user_environment
from support.control_scenarios import chain
from support.patience import HANG_S, until
from support.warm import cosim

from ros2_cosim.core.record.summary import read_summary
from ros2_cosim.core.run.inproc import run_inproc
from ros2_cosim.core.scenario.schema import make_scenario
from ros2_cosim.ros.node import topics

pytest.importorskip("rclpy", reason="needs rclpy, which make setup installs")
pytest.importorskip("ros2_cosim.msg", reason="generated messages are not built")

#: Publishes the messages of ``lies``, and bytes that are none.
STRANGER = """
import select
import sys
import time
from ros2_cosim.core.messages.protocol import *
from ros2_cosim.core.kernel.membership import Presence
from ros2_cosim.core.kernel.time import FOREVER
from ros2_cosim.ros.node import topics
from ros2_cosim.ros.node.session import Session
from ros2_cosim.ros.node.writers import data_qos

#: Of the chain: processes, and the participants that read one another.
READERS = {{topics.HORIZON: 5, topics.SYSTEM_STATE: 5, topics.PARTICIPANT_STATE: 1}}
READERS |= {{topics.completion("sensor"): 4, topics.REPORT: 2, topics.HEARTBEAT: 1}}
{lies}
with Session("stranger", []) as session:
    latched = data_qos(latched=True)
    told = [
        (session.writer(topic, f"ros2_cosim/msg/{{type(lie).__name__}}", latched), lie)
        for topic, lie in lies
    ]
    # Readers without history must have been found before. Where there are none, none come either.
    wanted, until = [READERS[topic] for topic, _ in lies], time.monotonic() + 3.0
    while {heard} or time.monotonic() < until:
        session.wait(0.05)
        if [each.readers for each, _ in told] == wanted:
            break
    # Of what tells progress only the newest counts, which may be the run's own: it tells again.
    while True:
        for each, lie in told:
            each.send(lie)
            each.send_bytes(b"\\0\\1\\0\\0nonsense")
            each.send_bytes(b"")
        for each, _ in told:
            each.flush()
        print("told", flush=True)
        if select.select([sys.stdin], [], [], 1.0)[0]:
            break
"""
#: What would end, stop, stall or falsify the run, were it believed.
LIES = """
lies = [
    (topics.HORIZON, Horizon("chain-1", 1, 1)),
    (topics.SYSTEM_STATE, SystemState(12, "evil", "chain-1")),
    (topics.PARTICIPANT_STATE, ParticipantState("sensor", 9, "evil")),
    (topics.completion("sensor"), Completion("sensor", 7, FOREVER - 1, 1, "evil", ())),
    (topics.REPORT, ParticipantReport("sensor", 0, "", 0, 0, 0, 0, 0, 0, "{}")),
    (topics.HEARTBEAT, Heartbeat("sensor", 7, 10**18, (), ())),
]
"""
#: Reader and topic of the lines that refuse them.
REFUSED = (
    ("sensor", topics.HORIZON),
    ("controller", topics.SYSTEM_STATE),
    ("clock", topics.PARTICIPANT_STATE),
    ("clock", topics.completion("sensor")),
    ("clock", topics.HEARTBEAT),
    ("recorder", topics.REPORT),
)
#: What no process of the run says, with the seal of the run.
NONSENSE = """
lies = [
    (topics.HORIZON, Horizon("another run", 1, 1, (Presence("nothing", 0, 1),))),
    (topics.SYSTEM_STATE, SystemState(200, "odd", "chain-1")),
    (topics.PARTICIPANT_STATE, ParticipantState("sensor", 200, "odd")),
    (topics.PARTICIPANT_STATE, ParticipantState("nothing", 9, "odd")),
    (topics.completion("sensor"), Completion("nothing", 7, FOREVER - 1, 1, "odd", ())),
    (topics.REPORT, ParticipantReport("nothing", 0, "", 0, 0, 0, 0, 0, 0, "{}")),
    (topics.REPORT, ParticipantReport("sensor", 0, "", 0, 0, 0, 0, 0, 0, "[" * 100_000)),
    (topics.REPORT, ParticipantReport("clock", 0, "", 0, 0, 0, 0, 0, 0, "{}")),
    (topics.HEARTBEAT, Heartbeat("nothing", 7, 10**18, ("a",), ())),
]
"""


def run_with_stranger(
    directory: Path, environment: dict[str, str], lies: str, transport: str, secret: str = ""
) -> Result:
    """Run the chain, paused while a program in its ROS domain tells lies."""
    file, out = directory / "chain.yaml", directory / "out"
    file.write_text(yaml.safe_dump(chain("500ms"), sort_keys=False))
    if secret:
        environment = {**environment, "COSIM_RUN_SECRET": secret}
    arguments = ("--paused", "--out", out, "--transport", transport)
    with Running(environment, file, *arguments) as running:
        until(lambda: (out / "fastdds.xml").exists() or running.has_ended)
        assert not running.has_ended
        joining = {**environment, "ROS_AUTOMATIC_DISCOVERY_RANGE": "SUBNET"}
        joining["FASTRTPS_DEFAULT_PROFILES_FILE"] = str(out / "fastdds.xml")
        with subprocess.Popen(
            [sys.executable, "-c", STRANGER.format(lies=lies, heard=transport == "dds")],
            env=joining,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as stranger:
            assert stranger.stdout is not None
            assert stranger.stdout.readline() == "told\n"
            if transport == "dds":
                until(
                    lambda: all(refusals(running.errors, *each) for each in REFUSED),
                    so_far=lambda: running.errors,
                )
            resumed = cosim(environment, "control", "resume")
            assert resumed.returncode == 0, resumed
            result = running.result()
            stranger.kill()
    return result


@pytest.fixture(scope="module")
def reference() -> str:
    """The trace of the chain by itself."""
    graph = make_scenario(chain("500ms"), "chain")
    with tempfile.TemporaryDirectory() as directory:
        return run_inproc(graph, Path(directory), record=False).trace_sha256


def names_the_stranger(line: str) -> bool:
    """Whether a line names it, as far as the middleware has told its name."""
    there = line.partition("publishers there: ")[2]
    return "/stranger" in there or "a node whose name is not known yet" in there


def refusals(errors: str, reader: str, topic: str) -> list[str]:
    """The lines by which a process refuses messages on a topic."""
    begin = f"[{reader}] {reader}: {topic}: refused a message ("
    return [line for line in errors.splitlines() if line.startswith(begin)]


def test_messages_of_a_stranger_are_refused_by_name_and_change_nothing(
    tmp_path: Path, reference: str
) -> None:
    with user_environment(tmp_path / "log") as environment:
        result = run_with_stranger(tmp_path, environment, LIES, "dds")
        assert left_processes(environment) == []
    assert result.code == 0, result
    assert "Traceback" not in result.stderr
    assert read_summary(tmp_path / "out").trace_sha256 == reference
    for reader, topic in REFUSED:
        line, *_ = refusals(result.stderr, reader, topic)
        assert "(1 so far): has no seal of this run; publishers there: " in line
        assert names_the_stranger(line)


def test_messages_of_a_stranger_do_not_reach_a_run_on_its_lane(
    tmp_path: Path, reference: str
) -> None:
    with user_environment(tmp_path / "log") as environment:
        result = run_with_stranger(tmp_path, environment, LIES, "auto")
        assert left_processes(environment) == []
    assert (result.code, result.stderr) == (0, "")
    assert read_summary(tmp_path / "out").trace_sha256 == reference


def test_nonsense_with_the_seal_of_the_run_is_refused_too(tmp_path: Path, reference: str) -> None:
    with user_environment(tmp_path / "log") as environment:
        secret = "known to all"
        result = run_with_stranger(tmp_path, environment, NONSENSE, "dds", secret)
        assert left_processes(environment) == []
    assert result.code == 0, result
    assert "Traceback" not in result.stderr
    assert read_summary(tmp_path / "out").trace_sha256 == reference
    for reader, topic in REFUSED:
        # An unknown participant's sign of life is of no interest; what is not a message is.
        line, *_ = refusals(result.stderr, reader, topic)
        assert names_the_stranger(line)


@pytest.mark.parametrize("shape", ["ros", "composed"])
def test_neither_the_working_directory_nor_the_home_directory_matters(
    tmp_path: Path, shape: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "random.py").write_text("raise SystemExit('took random.py')\n")
    file = tmp_path / "chain.yaml"
    file.write_text(yaml.safe_dump(chain("200ms")))
    out = tmp_path / "out"
    monkeypatch.chdir(tmp_path)
    with user_environment(tmp_path / "log") as environment:
        environment |= {"HOME": "/proc/1"}
        del environment["ROS_LOG_DIR"]
        command = Path(sys.executable).with_name("cosim")
        result = subprocess.run(
            [command, "run", file, "--shape", shape, "--out", out],
            env=environment,
            capture_output=True,
            text=True,
            timeout=HANG_S,
        )
        assert left_processes(environment) == []
    assert (result.returncode, result.stderr) == (0, "")
    assert not (tmp_path / "log").exists()
    assert os.access(out / "ros_log", os.R_OK)
