# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What the dashboard takes from a scenario."""

from __future__ import annotations

from pathlib import Path

from ros2_cosim.core.scenario.schema import load_scenario
from ros2_cosim.lab.web.dashboard import footprints
from ros2_cosim.lab.web.records_view import Footprint

PLATOON = Path(__file__).resolve().parents[2] / "config" / "platoon.yaml"


def test_vehicles_without_identity_or_size_have_the_usual_ones() -> None:
    """A scene may leave both out: identities count from 1, and the simulator knows the sizes."""
    scenario = load_scenario(PLATOON)
    scene = {"vehicles": {"a": {"lane": -1}, "b": {"id": 7, "length": 10.0, "width": 2.5}}}
    found = footprints(scenario.model_copy(update={"scene": scene}))
    assert found == {"a": Footprint(1, 4.8, 1.9), "b": Footprint(7, 10.0, 2.5)}
