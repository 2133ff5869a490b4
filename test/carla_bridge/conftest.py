# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A real server process and scenes for the tests of this room."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from support.bridge_scenes import HIGHWAY

from ros2_cosim.core.process.processes import end_with_parent

Server = tuple["subprocess.Popen[str]", int]


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """A headless server process, in which one test follows the other, and its RPC port."""
    with served() as found:
        yield found


@pytest.fixture
def own_server() -> Iterator[Server]:
    """A headless server process of this test alone, and its RPC port."""
    with served() as found:
        yield found


@contextmanager
def served() -> Iterator[Server]:
    """A headless server process and its RPC port; it must end cleanly unless a test ends it."""
    process = subprocess.Popen(
        [sys.executable, "-m", "ros2_cosim.world.headless", "--port", "0"]
        + ["--map", str(HIGHWAY)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=end_with_parent,
    )
    assert process.stdout is not None
    port = int(process.stdout.readline().rsplit(":", 1)[1])
    yield process, port
    if process.poll() is None:
        process.terminate()
        _, messages = process.communicate(timeout=60)
        assert (process.returncode, messages) == (0, "")
