# SPDX-License-Identifier: Apache-2.0
"""A real server process for the tests of this room."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import carla
import pytest
from support.headless_process import TOWN, start_server


@pytest.fixture
def server_port() -> Iterator[int]:
    """RPC port of a fresh server, which must end cleanly."""
    process, port = start_server()
    yield port
    process.terminate()
    _, messages = process.communicate(timeout=60)
    assert process.returncode == 0, messages
    assert "Traceback" not in messages


@pytest.fixture(scope="module")
def town_client() -> Iterator[Any]:
    """A client of a server with the town that ticks in steps of 50 ms; the server ends cleanly."""
    process, port = start_server(first=TOWN)
    client = carla.Client("127.0.0.1", port)
    client.set_timeout(60.0)
    settings = client.get_world().get_settings()
    settings.synchronous_mode, settings.fixed_delta_seconds = True, 0.05
    client.get_world().apply_settings(settings)
    yield client
    process.terminate()
    _, messages = process.communicate(timeout=60)
    assert process.returncode == 0, messages
    assert "Traceback" not in messages
