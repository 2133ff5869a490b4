# SPDX-License-Identifier: Apache-2.0
"""A scenario of nothing but the world: three vehicles of which the last may be left out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ros2_cosim.scenario.schema import Scenario, make_scenario

CONFIG = Path(__file__).resolve().parents[2] / "config"
_CAR = {"length": 4.792, "width": 2.163, "lane": -2, "speed": 25.0, "driver": {}}


def world_data(ports: int = 3, **parameters: Any) -> dict[str, Any]:
    """The scenario as data, with output ports for the first ``ports`` vehicles."""
    names = ["first", "second", "third"]
    outputs: dict[str, Any] = {
        f"odometry/{name}": {"type": "nav_msgs/msg/Odometry", "topic": f"/{name}/odometry"}
        for name in names[:ports]
    }
    outputs |= {
        f"acceleration/{name}": {
            "type": "geometry_msgs/msg/AccelStamped",
            "topic": f"/{name}/acceleration",
        }
        for name in names[:ports]
    }
    outputs["static_objects"] = {
        "type": "ros2_cosim/msg/StaticObjects",
        "topic": "/static_objects",
        "schedule": "once",
    }
    outputs["collision"] = {
        "type": "ros2_cosim/msg/CollisionEvent",
        "topic": "/collisions",
        "schedule": "sparse",
    }
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
                "outputs": outputs,
            }
        },
    }


def world_scenario(ports: int = 3, **parameters: Any) -> Scenario:
    """The scenario itself."""
    return make_scenario(world_data(ports, **parameters), "world")
