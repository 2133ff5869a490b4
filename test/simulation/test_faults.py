# SPDX-License-Identifier: Apache-2.0
"""Faults planted in the protocol, former defects among them, are each found by a seed.

Another simulation, or another protocol, makes other runs of the seeds: one that does not find its
fault any more is replaced by one that does, ``bench/simulated_network.py --faults`` looks for it.
"""

from __future__ import annotations

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


def in_pure_python(fault: Fault) -> str:
    """What the seed says with the fault, in a process that runs no compiled modules."""
    script = (
        "from simulation.faults import FAULTS; "
        f"print([fault.run().wrong for fault in FAULTS if fault.name == {fault.name!r}][0])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "PYTHONPATH": f"{TEST}:{TEST.parent}", PURE_VARIABLE: "1"},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    return done.stdout.strip()


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_planted_fault_is_found(fault: Fault) -> None:
    assert run_seed(fault.seed, fault.kind, on_lane=False).wrong == ""
    assert in_pure_python(fault) if fault.inside and is_compiled() else fault.run().wrong
