# SPDX-License-Identifier: Apache-2.0
"""What is hardly meant in a scenario that is allowed: lines before a run."""

from __future__ import annotations

from ros2_cosim.core.scenario.registry import offered
from ros2_cosim.core.scenario.schema import Scenario

DOUBT_GROUP = "ros2_cosim.doubts"


def doubts_of(scenario: Scenario) -> list[str]:
    """What the installed distributions doubt of a scenario, in lines."""
    return [line for entry in offered(DOUBT_GROUP).values() for line in entry.load()(scenario)]
