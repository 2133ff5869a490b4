# SPDX-License-Identifier: Apache-2.0
"""Faults planted in the protocol, former defects among them, are each found by a seed.

Another simulation, or another protocol, makes other runs of the seeds: one that does not find its
fault any more is replaced by one that does, ``bench/simulated_network.py --faults`` looks for it.
"""

from __future__ import annotations

import pytest

pytest.importorskip("rclpy", reason="needs rclpy, which make setup installs")

from simulation.faults import FAULTS, Fault
from simulation.judge import run_seed


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_planted_fault_is_found(fault: Fault) -> None:
    assert run_seed(fault.seed, fault.kind, on_lane=False).wrong == ""
    assert fault.run().wrong
