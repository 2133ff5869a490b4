# SPDX-License-Identifier: Apache-2.0
"""Runs among strangers: another program in the ROS domain, odd files where the run is started."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml
from runs.cosim_process import HANG_S, Running, cosim, left_processes, user_environment
from support.control_scenarios import chain

pytest.importorskip("rclpy", reason="needs rclpy, which make setup installs")
pytest.importorskip("ros2_cosim.msg", reason="generated messages are not built")

#: Publishes on every topic of the protocol what would end, stop, stall or falsify the run.
OUTSIDER = """
import sys
from ros2_cosim.interfaces.protocol import *
from ros2_cosim.kernel.time import FOREVER
from ros2_cosim.ros import topics
from ros2_cosim.ros.session import Session, data_qos

with Session("stranger", []) as session:
    def writer(topic, kind):
        return session.writer(topic, kind, data_qos(latched=True))
    lies = [
        (writer(topics.HORIZON, topics.HORIZON_TYPE), Horizon("chain-1", 1, 1)),
        (writer(topics.SYSTEM_STATE, topics.SYSTEM_STATE_TYPE), SystemState(12, "evil", "chain")),
        (writer(topics.PARTICIPANT_STATE, topics.PARTICIPANT_STATE_TYPE),
         ParticipantState("sensor", 9, "evil")),
        (writer(topics.PARTICIPANT_STATE, topics.PARTICIPANT_STATE_TYPE),
         ParticipantState("sensor", 200, "evil")),
        (writer(topics.completion("sensor"), topics.COMPLETION_TYPE),
         Completion("sensor", 7, FOREVER - 1, 1, "evil", ())),
        (writer(topics.REPORT, topics.REPORT_TYPE),
         ParticipantReport("sensor", 0, "", 0, 0, 0, 0, 0, 0, "[")),
        (writer(topics.HEARTBEAT, topics.HEARTBEAT_TYPE), Heartbeat("sensor", 7, 10**18, (), ())),
    ]
    while not all(each.readers for each, _ in lies):
        session.wait(0.05)
    for each, lie in lies:
        each.send(lie)
        each.send_bytes(b"\\0\\1\\0\\0nonsense")
        each.send_bytes(b"")
    for each, _ in lies:
        each.flush()
    print("told", flush=True)
    sys.stdin.read()
"""


def test_messages_of_a_stranger_are_refused_by_name_and_change_nothing(tmp_path: Path) -> None:
    file = tmp_path / "chain.yaml"
    file.write_text(yaml.safe_dump(chain("2s")))
    out = tmp_path / "out"
    with user_environment(tmp_path / "log") as environment:
        reference = cosim(environment, file, "--shape", "inproc", "--out", tmp_path / "reference")
        assert reference.code == 0
        with Running(environment, file, "--paused", "--out", out) as running:
            deadline = time.monotonic() + HANG_S
            while not (out / "fastdds.xml").exists():
                assert time.monotonic() < deadline and not running.has_ended
                time.sleep(0.05)
            joining = {**environment, "ROS_AUTOMATIC_DISCOVERY_RANGE": "SUBNET"}
            joining["FASTRTPS_DEFAULT_PROFILES_FILE"] = str(out / "fastdds.xml")
            with subprocess.Popen(
                [sys.executable, "-c", OUTSIDER],
                env=joining,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            ) as stranger:
                assert stranger.stdout is not None
                assert stranger.stdout.readline() == "told\n"
                control = [sys.executable, "-m", "ros2_cosim.cli.main", "control", "resume"]
                resumed = subprocess.run(control, env=environment, capture_output=True, text=True)
                assert resumed.returncode == 0, resumed
                result = running.result()
                stranger.kill()
        assert left_processes(environment) == []
    assert result.code == 0, result
    traces = [
        json.loads((directory / "summary.json").read_text())["trace_sha256"]
        for directory in (out, tmp_path / "reference")
    ]
    assert traces[0] == traces[1]
    assert "Traceback" not in result.stderr
    for reader, topic in (
        ("sensor", "/cosim/horizon"),
        ("controller", "/cosim/system_state"),
        ("clock", "/cosim/participant_state"),
        ("clock", "/cosim/completion/sensor"),
        ("clock", "/cosim/heartbeat"),
        ("recorder", "/cosim/report"),
    ):
        (line,) = [
            line
            for line in result.stderr.splitlines()
            if line.startswith(f"[{reader}] {reader}: {topic}: refused a message (1 so far): ")
        ]
        assert "has no seal of this run" in line
        assert "/stranger" in line.partition("publishers there: ")[2]


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
