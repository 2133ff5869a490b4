# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Faults planted in the protocol, former defects among them, are each found by a seed.

Another simulation, or another protocol, makes other runs of the seeds: one that does not find its
fault any more is replaced by one that does, ``bench/simulated_network.py --faults`` looks for it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("rclpy", reason="needs rclpy, which make setup installs")

from simulation.faults import FAULTS, Fault
from simulation.judge import run_seed

from ros2_cosim.compiled import PURE_VARIABLE, is_compiled

TEST = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def in_pure_python() -> dict[str, str]:
    """What the seeds of inner faults say with them, in a process that runs no compiled modules."""
    script = (
        "import json; from simulation.faults import FAULTS; "
        "print(json.dumps({fault.name: fault.run().wrong for fault in FAULTS if fault.inside}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "PYTHONPATH": f"{TEST}:{TEST.parent}", PURE_VARIABLE: "1"},
        capture_output=True,
        text=True,
        timeout=240,
        check=True,
    )
    found: dict[str, str] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_planted_fault_is_found(fault: Fault, in_pure_python: dict[str, str]) -> None:
    assert run_seed(fault.seed, fault.kind, on_lane=False).wrong == ""
    inner = fault.inside and is_compiled()
    assert in_pure_python[fault.name] if inner else fault.run().wrong
