# SPDX-License-Identifier: Apache-2.0
"""Starts a real server process for tests."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

_CONFIG = Path(__file__).resolve().parents[2] / "config"
HIGHWAY = _CONFIG / "highway.xodr"
TOWN = _CONFIG / "town.xodr"


def start_server(*arguments: str, first: Path = HIGHWAY) -> tuple[subprocess.Popen[str], int]:
    """Start a headless server on free ports; returns the process and its RPC port.

    :param first: the map to load
    """
    process = subprocess.Popen(
        [sys.executable, "-m", "ros2_cosim.carla_headless", "--port", "0", "--exit-with-parent"]
        + ["--map", str(first), *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    line = process.stdout.readline()
    assert line.startswith("listening on 127.0.0.1:"), (line, process.stderr)
    return process, int(line.rsplit(":", 1)[1])
