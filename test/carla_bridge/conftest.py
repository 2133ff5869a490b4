# SPDX-License-Identifier: Apache-2.0
"""A real server process and scenes for the tests of this room."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import pytest
from support.bridge_scenes import HIGHWAY


@pytest.fixture
def server() -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A headless server process and its RPC port; it must end cleanly unless a test ends it."""
    process = subprocess.Popen(
        [sys.executable, "-m", "ros2_cosim.world.headless", "--port", "0", "--exit-with-parent"]
        + ["--map", str(HIGHWAY)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    port = int(process.stdout.readline().rsplit(":", 1)[1])
    yield process, port
    if process.poll() is None:
        process.terminate()
        _, messages = process.communicate(timeout=60)
        assert (process.returncode, messages) == (0, "")
