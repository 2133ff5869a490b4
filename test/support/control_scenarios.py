# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A small system to be controlled, watched and disturbed: a chain with a loop behind it."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ros2_cosim.core.kernel.model import FullModel
from ros2_cosim.core.kernel.participant import ModelContext, Step
from ros2_cosim.core.messages.records import ControlCommand

_TYPE = "ros2_cosim/msg/ControlCommand"
MODEL = "support.control_scenarios:Counter"


class Counter(FullModel):
    """Sends a number that depends on everything it has read; forgets it when reset."""

    def __init__(self, context: ModelContext, parameters: Any) -> None:
        self._outputs = list(context.output_types)
        self._slow = float(parameters.get("slow_s", 0.0)), int(parameters.get("slow_from_ns", 0))
        self._sum = 0.0

    def reset(self) -> None:
        self._sum = 0.0

    def activate(self, step: Step) -> Mapping[str, Any]:
        for samples in step.samples.values():
            self._sum += sum(sample.value.throttle for sample in samples)
        for sample in step.latest.values():
            self._sum += 0.5 * sample.value.throttle if sample is not None else 0.25
        self._sum = self._sum % 1000.0 + 1.0
        if self._slow[0] and step.time >= self._slow[1]:
            time.sleep(self._slow[0])
        return {port: ControlCommand(0.0, self._sum, 0.0, 0.0) for port in self._outputs}


def chain(duration: str = "2s", **settings: Any) -> dict[str, Any]:
    """plant (10 ms) -> sensor (data) -> controller (20 ms) -> plant, delayed; and an observer."""

    def output(topic: str, **more: Any) -> dict[str, Any]:
        return {"type": _TYPE, "topic": topic, **more}

    return {
        "name": "chain",
        "duration": duration,
        **settings,
        "participants": {
            "plant": {
                "model": MODEL,
                "period": "10ms",
                "inputs": {"command": {"from": ["controller.command"], "delayed": True}},
                "outputs": {"state": output("/plant/state")},
            },
            "sensor": {
                "model": MODEL,
                "activation": {"every": {"state": 2}},
                "inputs": {"state": "plant.state"},
                "outputs": {"seen": output("/sensor/seen", latency="3ms", schedule="sparse")},
            },
            "controller": {
                "model": MODEL,
                "period": "20ms",
                "inputs": {"seen": "sensor.seen"},
                "outputs": {"command": output("/controller/command")},
            },
            "observer": {
                "model": MODEL,
                "activation": {"any": ["seen", "command"]},
                "inputs": {"seen": "sensor.seen", "command": "controller.command"},
            },
        },
    }


def write_chain(path: Path, duration: str = "2s", **settings: Any) -> Path:
    """Write the scenario to a file."""
    path.write_text(json.dumps(chain(duration, **settings)))
    return path
