# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Programs that look at a run on its lane: one misses nothing, one that stands stops nothing."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

import pytest
import yaml
from runs.cosim_process import Running, left_processes, user_environment
from support.control_scenarios import chain
from support.patience import HANG_S, until
from support.warm import cosim

from ros2_cosim.core.record.bag_reader import read_bag
from ros2_cosim.core.record.summary import read_summary

pytest.importorskip("rclpy", reason="needs rclpy, which make setup installs")
pytest.importorskip("ros2_cosim.msg", reason="generated messages are not built")

TOPICS = ["/plant/state", "/controller/command"]
#: Subscribes, says so, and at the end of its input what it has heard of each topic.
LISTENER = """
import json, sys, threading, time
from hashlib import sha256
from ros2_cosim.ros.node.session import Session
from ros2_cosim.ros.node.writers import data_qos

heard = {topic: [] for topic in sys.argv[1:]}
over = threading.Event()
threading.Thread(target=lambda: (sys.stdin.read(), over.set()), daemon=True).start()
with Session("listener", []) as session:
    for topic in heard:
        kind = "ros2_cosim/msg/ControlCommand"
        session.reader(topic, kind, data_qos(), heard[topic].append)
    # The writers have to find this reader, too: they have had time for that then.
    since = time.monotonic()
    while time.monotonic() - since < 2.0:
        session.wait(0.05)
        if any(session.writers(topic) != 1 for topic in heard):
            since = time.monotonic()
    print("listens", flush=True)
    last = time.monotonic()
    count = 0
    while not over.is_set() or time.monotonic() - last < 1.0:
        session.wait(0.05)
        if sum(map(len, heard.values())) != count:
            count, last = sum(map(len, heard.values())), time.monotonic()
print(json.dumps({t: [len(m), sha256(b"".join(m)).hexdigest()] for t, m in heard.items()}))
"""


@contextmanager
def listener(environment: dict[str, str]) -> Iterator[subprocess.Popen[str]]:
    """A program that listens already."""
    with subprocess.Popen(
        [sys.executable, "-c", LISTENER, *TOPICS],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == "listens\n"
            yield process
        finally:
            process.kill()


def test_one_that_comes_during_a_pause_hears_all_and_one_that_stands_stops_nothing(
    tmp_path: Path,
) -> None:
    file, out = tmp_path / "chain.yaml", tmp_path / "out"
    file.write_text(yaml.safe_dump(chain("2s"), sort_keys=False))
    with user_environment(tmp_path / "log") as environment:
        with Running(environment, file, "--paused", "--out", out) as running:
            until(lambda: (out / "fastdds.xml").exists() or running.has_ended)
            assert not running.has_ended
            joining = {**environment, "ROS_AUTOMATIC_DISCOVERY_RANGE": "SUBNET"}
            joining["FASTRTPS_DEFAULT_PROFILES_FILE"] = str(out / "fastdds.xml")
            with listener(joining) as eager, listener(joining) as frozen:
                os.kill(frozen.pid, signal.SIGSTOP)
                cosim(environment, "control", "resume").check_returncode()
                result = running.result()
                told, _ = eager.communicate("", timeout=HANG_S)
        assert left_processes(environment) == []
    assert (result.code, result.stderr) == (0, "")
    summary = read_summary(out)
    assert (summary.transport, summary.repeatable) == ("lane", True)
    assert summary.processes == {name: (name,) for name in chain()["participants"]}
    recorded: dict[str, list[bytes]] = {topic: [] for topic in TOPICS}
    for message in read_bag(out / "bag"):
        if message.topic in recorded:
            recorded[message.topic].append(message.data)
    assert json.loads(told) == {
        topic: [len(messages), sha256(b"".join(messages)).hexdigest()]
        for topic, messages in recorded.items()
    }
    assert len(recorded["/plant/state"]) == 200
