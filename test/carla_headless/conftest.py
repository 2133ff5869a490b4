# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A real server process for the tests of this room."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import carla
import pytest
from support.headless_process import start_server, ticking_town


@pytest.fixture
def server_port() -> Iterator[int]:
    """RPC port of a fresh server, which must end cleanly."""
    with _served() as port:
        yield port


@pytest.fixture(scope="module")
def shared_port() -> Iterator[int]:
    """RPC port of a server in which one test follows the other; it must end cleanly."""
    with _served() as port:
        yield port


@contextmanager
def _served() -> Iterator[int]:
    process, port = start_server()
    yield port
    process.terminate()
    _, messages = process.communicate(timeout=60)
    assert process.returncode == 0, messages
    assert "Traceback" not in messages


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    """A client of a server with the town that ticks in steps of 50 ms; the server ends cleanly."""
    with ticking_town() as (client, _):
        yield client


@pytest.fixture
def world(client: Any) -> Iterator[Any]:
    """The world of ``client``, without what the test has spawned afterwards."""
    world = client.get_world()
    yield world
    kinds = ("walker", "vehicle", "sensor")
    made = [actor for actor in world.get_actors() if actor.type_id.startswith(kinds)]
    client.apply_batch_sync([carla.command.DestroyActor(actor) for actor in made], True)
