# SPDX-License-Identifier: Apache-2.0
"""A real server process for the tests of this room."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

# Lets the tests of this room share a module; its name is unique in the project.
sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture
def server_port() -> Iterator[int]:
    """RPC port of a fresh server, which must end cleanly."""
    from headless_process import start_server

    process, port = start_server()
    yield port
    process.terminate()
    _, messages = process.communicate(timeout=10)
    assert process.returncode == 0, messages
    assert "Traceback" not in messages
