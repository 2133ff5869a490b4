# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Starts a real server process for tests."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import carla

from ros2_cosim.core.process.processes import end_with_parent

_CONFIG = Path(__file__).resolve().parents[2] / "config"
HIGHWAY = _CONFIG / "highway.xodr"
TOWN = _CONFIG / "town.xodr"


def start_server(*arguments: str, first: Path = HIGHWAY) -> tuple[subprocess.Popen[str], int]:
    """Start a headless server on free ports; returns the process and its RPC port.

    :param first: the map to load
    """
    process = subprocess.Popen(
        [sys.executable, "-m", "ros2_cosim.world.headless", "--port", "0"]
        + ["--map", str(first), *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=end_with_parent,
    )
    assert process.stdout is not None
    line = process.stdout.readline()
    assert line.startswith("listening on 127.0.0.1:"), (line, process.stderr)
    return process, int(line.rsplit(":", 1)[1])


@contextmanager
def ticking_town() -> Iterator[tuple[Any, list[str]]]:
    """A client of a server with the town that ticks in steps of 50 ms; the server ends cleanly.

    :returns: the client with the server's ``port``, and after the body what the server has said
    """
    process, port = start_server(first=TOWN)
    client: Any = carla.Client("127.0.0.1", port)
    client.port = port
    client.set_timeout(60.0)
    settings = client.get_world().get_settings()
    settings.synchronous_mode, settings.fixed_delta_seconds = True, 0.05
    client.get_world().apply_settings(settings)
    messages: list[str] = []
    yield client, messages
    process.terminate()
    messages.append(process.communicate(timeout=60)[1])
    assert process.returncode == 0, messages
    assert "Traceback" not in messages[0]
