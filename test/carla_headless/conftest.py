# SPDX-License-Identifier: Apache-2.0
"""A real server process for the tests of this room."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.headless_process import start_server


@pytest.fixture
def server_port() -> Iterator[int]:
    """RPC port of a fresh server, which must end cleanly."""
    process, port = start_server()
    yield port
    process.terminate()
    _, messages = process.communicate(timeout=60)
    assert process.returncode == 0, messages
    assert "Traceback" not in messages
