# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A run in this process that leaves nothing but what was seen of its messages."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

from ros2_cosim.core.kernel.participant import Sample
from ros2_cosim.core.run.bringup import bring_up
from ros2_cosim.core.run.inproc import InprocRun
from ros2_cosim.core.run.request import RunRequest
from ros2_cosim.core.scenario.schema import Scenario

Watched = dict[tuple[str, str], Callable[[Sample], None]]
"""(participant, port) -> what takes its messages."""


def run_watched(scenario: Scenario, watch: Watched) -> None:
    """Run a scenario to its end.

    :raises CosimError: it cannot be run, or a participant failed
    """
    with tempfile.TemporaryDirectory(prefix="cosim-study-") as directory:
        request = RunRequest(scenario, shape="inproc", out=Path(directory) / "run", record=False)
        with bring_up(request) as prepared, InprocRun(prepared, watch=watch) as run:
            run.finish()
