# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The participant ``world`` as plain data of a scenario that is written for a user."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

#: The model that a world has unless the scenario names another one.
USUAL_WORLD: Final = "carla_world"


def usual_world(rest: Mapping[str, Any]) -> dict[str, Any]:
    """Model, period and parameters of the world that a section of a scenario stands for.

    :param rest: the scenario without the section; the parameters are none for another model
    """
    given: Any = rest
    for key in ("participants", "world", "model"):
        given = given.get(key) if isinstance(given, Mapping) else None
    parameters = {"control_period": "20ms", "dcp": {"transport": "tcp", "port": 0}}
    is_usual = given in (None, USUAL_WORLD)
    return {
        "model": USUAL_WORLD, "period": "10ms", "parameters": parameters if is_usual else {}
    }  # fmt: skip


def base_link(vehicle: str) -> str:
    """The frame of a vehicle."""
    return f"{vehicle}/base_link"


def world_outputs(vehicles: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Output port -> type, topic and frame: what the world says of vehicles, objects, contacts."""
    outputs: dict[str, dict[str, Any]] = {}
    for name in vehicles:
        outputs[f"odometry/{name}"] = {
            "type": "nav_msgs/msg/Odometry",
            "topic": f"/{name}/odometry",
            "child_frame_id": base_link(name),
        }
    for name in vehicles:
        outputs[f"acceleration/{name}"] = {
            "type": "geometry_msgs/msg/AccelStamped",
            "topic": f"/{name}/acceleration",
            "frame_id": base_link(name),
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
    return outputs
