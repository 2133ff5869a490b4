# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A run that is watched, paused and resumed from outside; several promises look at it."""

from __future__ import annotations

import pytest
from support.made_once import made_once
from support.observed_run import Observed, watch


@pytest.fixture(scope="session", params=["composed", "ros"])
def observed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Observed:
    """A run in a process, or several, as an onlooker sees it."""
    pytest.importorskip("rclpy", reason="needs rclpy, which make setup installs")
    shape: str = request.param

    def make() -> Observed:
        with pytest.MonkeyPatch.context() as patch:
            return watch(shape, tmp_path_factory.mktemp(shape), patch)

    return made_once(tmp_path_factory, f"observed_{shape}", make)
