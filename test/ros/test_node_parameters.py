# SPDX-License-Identifier: Apache-2.0
"""What ``ros2 param describe`` tells of the parameters of a run's nodes."""

from __future__ import annotations

import pytest

from ros2_cosim.ros.node_parameters import DESCRIPTIONS, DRAWING, Told, descriptor

pytest.importorskip("rclpy", reason="needs rclpy, which make setup installs")


@pytest.mark.parametrize("told", [*DESCRIPTIONS.values(), *DRAWING.values()])
def test_each_says_what_it_is_for_and_what_is_allowed(told: Told) -> None:
    found = descriptor(told)
    assert found.read_only and found.description.endswith(".")
    assert found.additional_constraints == told.allowed
    assert bool(told.allowed) or told is DESCRIPTIONS["repeatable_scope"]
