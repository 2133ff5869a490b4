# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The bench of the simulated network runs, and prints its figures."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("rclpy", reason="needs rclpy, which make setup installs")

BENCH = Path(__file__).resolve().parents[2] / "bench" / "simulated_network.py"


@pytest.mark.parametrize(
    ("options", "printed"),
    [(("--seeds", "8"), "8 seeds in "), (("--interleavings", "1"), "32 systems of 1")],
)
def test_it_prints_its_figures(options: tuple[str, ...], printed: str) -> None:
    command = [sys.executable, str(BENCH), *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=250)
    assert done.returncode == 0, done.stdout + done.stderr
    assert printed in done.stdout
    assert "0 wrong" in done.stdout
