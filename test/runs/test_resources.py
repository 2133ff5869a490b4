# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""No room, no reader, no command any more: one line, nothing lost, nothing left."""

from __future__ import annotations

import json
import os
import resource
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from runs.cosim_process import PLATOON, Running, left_processes, user_environment
from support.control_scenarios import write_chain
from support.processes import kill

from ros2_cosim.core.record.bag_reader import is_complete, read_bag
from ros2_cosim.core.record.summary import read_summary

pytest.importorskip("rclpy", reason="needs rclpy, which make setup installs")

#: A second of the platoon's bag is larger than a chunk of the chain, and this is less than three.
ROOM = 800_000


@pytest.fixture
def environment(tmp_path: Path) -> Iterator[dict[str, str]]:
    with user_environment(tmp_path / "log") as found:
        yield found
        assert left_processes(found) == []


def limit_file_size() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (ROOM, ROOM))


@pytest.mark.parametrize("shape", ["inproc", "ros"])
def test_no_room_for_the_bag(environment: dict[str, str], tmp_path: Path, shape: str) -> None:
    output = tmp_path / "out"
    options = ("--out", output, "--shape", shape)
    with Running(environment, PLATOON, *options, prepare=limit_file_size) as running:
        result = running.result()
    assert result.code == 1
    line = result.error()
    assert "bag: File too large (limit of the size of a file, ulimit -f); it holds the" in line
    assert is_complete(output / "bag")
    stamps = [message.stamp for message in read_bag(output / "bag")]
    assert stamps[-1] > 900_000_000
    # The other files are whole, too.
    assert json.loads((output / "scenario.json").read_text())["name"] == "platoon"
    assert not read_summary(output, complete=False).complete


@pytest.mark.parametrize("broken", ["full disk", "closed pipe"])
def test_nothing_can_be_shown(environment: dict[str, str], tmp_path: Path, broken: str) -> None:
    """The run comes to its end all the same."""
    output = tmp_path / "out"
    if broken == "full disk":
        writable = os.open("/dev/full", os.O_WRONLY)
    else:
        readable, writable = os.pipe()
        os.close(readable)
    file = write_chain(tmp_path / "chain.json", "12s")
    options = ("--out", output, "--shape", "inproc")
    with Running(environment, file, *options, stdout=writable) as running:
        os.close(writable)
        result = running.result()
    cause = {"full disk": "No space left on device", "closed pipe": "Broken pipe"}[broken]
    assert result.code == 1
    assert result.error() == f"cosim: standard output: {cause}"
    assert read_summary(output).sim_time_s == 12.0
    assert is_complete(output / "bag")


def test_the_command_is_killed(environment: dict[str, str], tmp_path: Path) -> None:
    """A process that is stopped at this moment cannot end in order; it ends all the same."""
    output = tmp_path / "out"
    words = ("--out", output, "--rate", "0.5", "--processes", "own")
    with Running(environment, PLATOON, *words) as running:
        running.wait_until_recorded(output)
        processes = running.children()
        os.kill(processes["sensor1"], signal.SIGSTOP)
        running.send(signal.SIGKILL)
    deadline = time.monotonic() + 60.0
    while alive := {pid: name for name, pid in processes.items() if Path(f"/proc/{pid}").exists()}:
        if time.monotonic() > deadline:
            kill(alive)
            pytest.fail(f"left behind: {alive}")
        time.sleep(0.05)
    # The recorder was asked to end, and had the time for it.
    assert is_complete(output / "bag")
