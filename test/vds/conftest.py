# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A vehicle simulator that is served, and a connection to its data port."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.vds_serving import Client, data_port

from ros2_cosim.vds.server import VdsServer


@pytest.fixture(scope="module")
def server() -> Iterator[VdsServer]:
    with data_port() as made:
        yield made


@pytest.fixture
def client(server: VdsServer) -> Iterator[Client]:
    assert server.data_port is not None
    made = Client(server.data_port)
    yield made
    made.close()
