# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C under ``ros2 launch``: the processes of a run end quietly, and the bag is complete.

Launch itself is not needed: it starts the processes of the plan and sends the same signals.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.isolation import drop_dds_settings
from support.launched_run import Launched, launched_platoon

from ros2_cosim.record.bag_reader import is_complete

pytest.importorskip("rclpy")


@pytest.fixture
def launched(
    ros_domain: int, nothing_left: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Launched]:
    drop_dds_settings(monkeypatch)
    with launched_platoon(tmp_path, rate="1") as running:
        running.wait_until_it_runs()
        yield running


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
