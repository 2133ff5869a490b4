# SPDX-License-Identifier: Apache-2.0
"""Faults planted in the protocol are found by seeds, within the number that each one states."""

from __future__ import annotations

import pytest

pytest.importorskip("rclpy", reason="needs rclpy, which make setup installs")

from simulation.faults import FAULTS, Fault
from simulation.judge import run_seed


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_planted_fault_is_found(fault: Fault) -> None:
    found = fault.search()
    assert found is not None, f"{fault.within} seeds have not found it"
    # It was the fault, not the seed.
    assert run_seed(found.seed, fault.kind).wrong == ""
