# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""How ``cosim control`` ends when it is interrupted."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from ros2_cosim.cli.main import app
from ros2_cosim.core.kernel.errors import Cancelled


@pytest.mark.parametrize(("name", "code"), [("SIGINT", 130), ("SIGTERM", 143)])
@pytest.mark.parametrize("word", ["status", "monitor"])
def test_a_signal_is_one_line(
    monkeypatch: pytest.MonkeyPatch, word: str, name: str, code: int
) -> None:
    def cancelled(*_: object, **__: object) -> None:
        raise Cancelled(name)  # as a ROS session does when the signal arrives

    pytest.importorskip("rclpy", reason="needs rclpy, which make setup installs")
    monkeypatch.setattr("ros2_cosim.ros.bringup.control.ask", cancelled)
    monkeypatch.setattr("ros2_cosim.ros.bringup.monitor.watch", cancelled)
    result = CliRunner().invoke(app, ["control", word])
    assert (result.exit_code, result.stderr) == (code, f"cosim: ended by {name}\n")
    assert result.stdout == ""
