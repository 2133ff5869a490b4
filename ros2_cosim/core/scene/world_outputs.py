# SPDX-License-Identifier: Apache-2.0
"""The outputs of a world of vehicles, as plain data of a scenario that is written for a user."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


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
