# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C under ``ros2 launch``: the processes of a run end quietly, and the bag is complete.

Launch itself is not needed: it starts the processes of the plan and sends the same signals.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.isolation import drop_dds_settings

from ros2_cosim.documents.installed import share_file
from ros2_cosim.record.bag_reader import is_complete
from ros2_cosim.run.channel import Progress
from ros2_cosim.run.launch_request import LaunchRequest, launch_arguments, prepare_launch
from ros2_cosim.run.processes import command_of

pytest.importorskip("rclpy")

_LIMIT_S = 120


class Launched:
    """The processes of a run, started as launch does: all in one process group."""

    def __init__(self, request: LaunchRequest, log: Path) -> None:
        self.times: list[int] = []
        request.on_progress = self._note
        self.log = log
        self._out = log.open("wb")
        environment = {**os.environ, **request.environment}
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self.group = 0
        for process in request.plan:
            started = subprocess.Popen(
                command_of(process),
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=self._out,
                stderr=subprocess.STDOUT,
                preexec_fn=lambda: os.setpgid(0, self.group),
            )
            self.group = self.group or started.pid
            self.processes[process.name] = started

    def _note(self, progress: Progress) -> None:
        self.times.append(progress.time_ns)

    def wait_until_it_runs(self) -> None:
        deadline = time.monotonic() + _LIMIT_S
        while max(self.times, default=0) == 0:
            failed = [name for name, p in self.processes.items() if p.poll()]
            assert not failed, self.log.read_text()
            assert time.monotonic() < deadline, self.log.read_text()
            time.sleep(0.02)

    def codes(self) -> dict[str, int]:
        return {name: p.wait(_LIMIT_S) for name, p in self.processes.items()}

    def close(self) -> None:
        for process in self.processes.values():
            if process.poll() is None:
                process.kill()
                process.wait()
        self._out.close()


@pytest.fixture
def launched(
    ros_domain: int, nothing_left: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Launched]:
    drop_dds_settings(monkeypatch)
    values = {argument.name: argument.default or "" for argument in launch_arguments()}
    values |= {"scenario": str(share_file("config/platoon.yaml")), "rate": "1"}
    request = prepare_launch({**values, "out": str(tmp_path / "out")})
    running = Launched(request, tmp_path / "log")
    try:
        running.wait_until_it_runs()
        yield running
    finally:
        running.close()
        request.release()


def test_interrupt_by_terminal_and_launch_ends_all_quietly(
    launched: Launched, tmp_path: Path
) -> None:
    os.killpg(launched.group, signal.SIGINT)  # as a terminal does, to launch as well
    for process in reversed(launched.processes.values()):  # which then does this
        process.send_signal(signal.SIGINT)
    assert set(launched.codes().values()) == {0}
    assert launched.log.read_text() == ""
    assert is_complete(tmp_path / "out" / "bag")


def test_interrupt_of_one_process_after_the_other_ends_all_quietly(
    launched: Launched, tmp_path: Path
) -> None:
    for process in reversed(launched.processes.values()):  # the clock first, as launch does
        process.send_signal(signal.SIGINT)
        time.sleep(0.01)
    assert set(launched.codes().values()) == {0}
    assert launched.log.read_text() == ""
    assert is_complete(tmp_path / "out" / "bag")
