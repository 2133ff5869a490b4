# SPDX-License-Identifier: Apache-2.0
"""ROS domains of their own for the runs of these tests."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from runs.cosim_process import user_environment


@pytest.fixture
def environment(ros_domain: int, nothing_left: None, tmp_path: Path) -> dict[str, str]:
    """The environment of a run after which nothing may be left."""
    return user_environment(ros_domain, tmp_path / "ros-log")


@pytest.fixture(scope="module")
def shared_environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The environment of runs that several tests look at."""
    for domain in range(1, 102):
        # The same claim as that of the fixture ros_domain.
        claim = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        probe = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        with claim, probe:
            try:
                claim.bind(f"\0ros2_cosim-test-domain-{domain}")
                probe.bind(("0.0.0.0", 7400 + 250 * domain + 10))
            except OSError:
                continue
            probe.close()
            yield user_environment(domain, tmp_path_factory.mktemp("ros-log"))
            return
    raise RuntimeError("no free ROS domain")
