# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C under ``ros2 launch``: the processes of a run end quietly, and the bag is complete.

Launch itself is not needed: it starts the processes of the plan and sends the same signals.
"""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest
from support.isolation import drop_dds_settings
from support.launched_run import Launched, launched

from ros2_cosim.core.record.bag_reader import is_complete

pytest.importorskip("rclpy")


@pytest.fixture(autouse=True)
def dds_as_in_a_run(ros_domain: int, nothing_left: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """A launched run takes DDS settings of its own."""
    drop_dds_settings(monkeypatch)


def ended_quietly(running: Launched, directory: Path) -> None:
    codes = running.codes()
    assert (codes, running.log.read_text()) == (dict.fromkeys(codes, 0), "")
    assert is_complete(directory / "out" / "bag")


def test_interrupt_by_terminal_and_launch_ends_all_quietly(tmp_path: Path) -> None:
    with launched(tmp_path, "car_following", rate="1") as running:
        running.wait_until_it_runs()
        os.killpg(running.group, signal.SIGINT)  # as a terminal does, to launch as well
        for process in reversed(running.processes.values()):  # which then does this
            process.send_signal(signal.SIGINT)
        ended_quietly(running, tmp_path)


def test_interrupt_of_one_process_after_the_other_ends_all_quietly(tmp_path: Path) -> None:
    with launched(tmp_path, rate="1") as running:
        running.wait_until_it_runs()
        for process in reversed(running.processes.values()):  # the clock first, as launch does
            process.send_signal(signal.SIGINT)
            time.sleep(0.01)
        ended_quietly(running, tmp_path)
