# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A scenario of nothing but the world: three vehicles of which the last may be left out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ros2_cosim.core.scenario.schema import Scenario, make_scenario
from ros2_cosim.core.scene.world_outputs import world_outputs

CONFIG = Path(__file__).resolve().parents[2] / "config"
_CAR = {"length": 4.792, "width": 2.163, "lane": -2, "speed": 25.0, "driver": {}}


def world_data(ports: int = 3, **parameters: Any) -> dict[str, Any]:
    """The scenario as data, with output ports for the first ``ports`` vehicles."""
    names = ["first", "second", "third"]
    return {
        "name": "world",
        "duration": "1s",
        "base_directory": str(CONFIG),
        "scene": {
            "map": "highway.xodr",
            "vehicles": {
                name: {"id": number, "s": 800.0 - 40.0 * number, **_CAR}
                for number, name in enumerate(names, start=1)
            },
            "roadblock": {"lane": -2, "s": 2900.0},
        },
        "participants": {
            "world": {
                "model": "carla_world",
                "period": "20ms",
                "parameters": {"dcp": {"transport": "tcp", "port": 0}, **parameters},
                "outputs": world_outputs(names[:ports]),
            }
        },
    }


def world_scenario(ports: int = 3, **parameters: Any) -> Scenario:
    """The scenario itself."""
    return make_scenario(world_data(ports, **parameters), "world")
