# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The live view for Foxglove beside runs of several processes."""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path

import pytest
from runs.cosim_process import PLATOON, Running, left_processes, user_environment
from support.patience import HANG_S
from support.ports import free_port
from support.warm import cosim

from ros2_cosim.core.record.bag_reader import read_bag
from ros2_cosim.core.record.summary import read_summary
from ros2_cosim.core.run.inproc import run_inproc
from ros2_cosim.core.scenario.schema import load_scenario

pytest.importorskip("rclpy", reason="needs rclpy, which make setup installs")
pytest.importorskip("foxglove", reason="the extra live is not installed")
pytest.importorskip("tornado", reason="the extra sweep is not installed")

from support.foxglove_viewer import Viewer


def viewer_at(port: int, running: Running) -> Viewer:
    """A viewer, as soon as something listens."""
    deadline = time.monotonic() + HANG_S
    while True:
        assert not running.has_ended and time.monotonic() < deadline, "nothing listens"
        with suppress(OSError):
            return Viewer(f"ws://127.0.0.1:{port}")
        time.sleep(0.1)


@pytest.mark.parametrize("shape", ["ros", "composed"])
def test_a_viewer_sees_the_run_and_changes_nothing(shape: str, tmp_path: Path) -> None:
    scenario = load_scenario(PLATOON, ["duration=2s"])
    reference = run_inproc(scenario, tmp_path / "reference", record=False).trace_sha256
    output, port = tmp_path / "out", free_port()
    arguments = ("--shape", shape, "--out", output, "--set", "duration=2s", "--paused")
    with user_environment(tmp_path / "log") as environment:
        with Running(environment, PLATOON, *arguments, "--foxglove", port) as running:
            with viewer_at(port, running) as viewer:
                viewer.until(lambda: viewer.channels)
                viewer.subscribe("/leader/odometry", "/visualization/scene", "/visualization/road")
                viewer.until(lambda: viewer.messages["/visualization/road"])
                cosim(environment, "control", "resume").check_returncode()
                viewer.until(lambda: False)  # the server ends with the run
            result = running.result()
        assert result.code == 3, result  # the platoon does not stand yet
        assert f"live view for Foxglove: ws://127.0.0.1:{port}\n" in result.stderr
        assert left_processes(environment) == []
    seen = viewer.messages["/leader/odometry"]
    recorded = [
        (message.stamp, message.data)
        for message in read_bag(output / "bag")
        if message.topic == "/leader/odometry"
    ]
    assert seen == recorded
    assert viewer.messages["/visualization/scene"]
    assert read_summary(output).trace_sha256 == reference
