# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The trial of nodes that publish on their own account, once each."""

from __future__ import annotations

import os

import pytest

pytest.importorskip("rclpy")

from bench import foreign_windows


def test_no_run_with_such_a_node_is_called_repeatable(
    ros_domain: int,
    nothing_left: None,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("sys.argv", ["foreign_windows.py", "--runs", "1"])
    monkeypatch.setenv("PYTHONPATH", os.environ.get("PYTHONPATH", ""))  # restored behind it
    code = foreign_windows.main()
    lines = capsys.readouterr().out.splitlines()
    assert code == 0 and len(lines) == 6, lines
    assert all(line.endswith(("1 ended", "1 marked")) for line in lines)
