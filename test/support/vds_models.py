# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A vehicle of the model ``vds_plant`` and a driver that holds a speed, as a scenario."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ros2_cosim.core.kernel.model import Model
from ros2_cosim.core.kernel.participant import Step
from ros2_cosim.core.messages.records import ControlCommand

OUTPUTS = {
    "odometry": "nav_msgs/msg/Odometry",
    "acceleration": "geometry_msgs/msg/AccelStamped",
}


class Driver(Model):
    """Holds 15 m/s and swings the steering."""

    def activate(self, step: Step) -> Mapping[str, Any]:
        seen = step.samples["odometry"][-1].value
        wanted = 0.2 * (15.0 - seen.vx)
        steer = 0.02 if step.time // 500_000_000 % 2 else -0.02
        return {"control": ControlCommand(wanted, max(0.0, wanted), max(0.0, -wanted), steer)}


def loop(parameters: Mapping[str, Any], duration: str = "2s") -> dict[str, Any]:
    """The scenario with these parameters of the plant."""
    return {
        "name": "vds_loop",
        "duration": duration,
        "participants": {
            "plant": {
                "model": "vds_plant",
                "period": "10ms",
                "parameters": dict(parameters),
                "inputs": {"control": {"from": ["driver.control"], "delayed": True}},
                "outputs": {
                    port: {"type": kind, "topic": f"/{port}"} for port, kind in OUTPUTS.items()
                },
            },
            "driver": {
                "model": "support.vds_models:Driver",
                "activation": "odometry",
                "inputs": {"odometry": "plant.odometry"},
                "outputs": {
                    "control": {"type": "ros2_cosim/msg/ControlCommand", "topic": "/control"}
                },
            },
        },
    }
