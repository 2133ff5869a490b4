# SPDX-License-Identifier: Apache-2.0
"""The trial of nodes that publish on their own account, once each."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("rclpy")
ROOT = Path(__file__).resolve().parents[2]


def test_no_run_with_such_a_node_is_called_repeatable(ros_domain: int, nothing_left: None) -> None:
    command = [sys.executable, str(ROOT / "bench" / "foreign_windows.py"), "--runs", "1"]
    done = subprocess.run(command, capture_output=True, text=True)
    lines = done.stdout.splitlines()
    assert done.returncode == 0 and len(lines) == 6, done
    assert all(line.endswith(("1 ended", "1 marked")) for line in lines)
