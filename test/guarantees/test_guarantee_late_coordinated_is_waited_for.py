# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Time does not pass the entry of a coordinated participant that has not come."""

from __future__ import annotations

from ros2_cosim.core.kernel.coordinator import Coordinator


def test_the_horizon_stands_until_it_is_there():
    coordinator = Coordinator(
        ["there", "late"],
        duration_ns=1000,
        run_ahead_ns=50,
        stop_latency_ns=50,
        enters={"late": 300},
    )
    for bound in range(0, 1000, 10):
        coordinator.completed("there", min(bound, coordinator.horizon))
        assert coordinator.horizon <= 300
    coordinator.arrived("late")
    coordinator.completed("late", 300)
    assert coordinator.horizon > 300
