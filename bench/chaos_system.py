# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The systems that are disturbed or multiplied: a ring of stages that count what they read."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from ros2_cosim.core.kernel.model import FullModel
from ros2_cosim.core.kernel.participant import ModelContext, Step
from ros2_cosim.core.messages.records import ControlCommand

TYPE = "ros2_cosim/msg/ControlCommand"


class Stage(FullModel):
    """Sends a number that depends on everything it has read.

    Parameter ``start_delay_s`` holds up the start of its process. Not the command: it makes every
    model once, to see that its parameters are right.
    """

    def __init__(self, context: ModelContext, parameters: Any) -> None:
        if context.shape == "ros":
            time.sleep(float(parameters.get("start_delay_s", 0.0)))
        self._outputs = list(context.output_types)
        self._sum = 0.0

    def activate(self, step: Step) -> Mapping[str, Any]:
        """Add up, and send the sum."""
        for samples in step.samples.values():
            self._sum += sum(sample.value.throttle for sample in samples)
        for sample in step.latest.values():
            self._sum += 0.5 * sample.value.throttle if sample is not None else 0.25
        self._sum = self._sum % 1000.0 + 1.0
        return {port: ControlCommand(0.0, self._sum, 0.0, 0.0) for port in self._outputs}

    def reset(self) -> None:
        """Forget everything."""
        self._sum = 0.0


def ring(size: int, duration_ms: int, **settings: Any) -> dict[str, Any]:
    """A plant (10 ms), then stages that react to the one before, back to the plant.

    :param size: number of participants, at least 2
    :param settings: further keys of the scenario
    """
    participants: dict[str, Any] = {}
    for index in range(size):
        name, before = f"stage{index}", f"stage{(index - 1) % size}"
        entry: dict[str, Any] = {
            "model": "chaos_system:Stage",
            "inputs": {"before": {"from": [f"{before}.out"], "delayed": index == 0}},
            "outputs": {"out": {"type": TYPE, "topic": f"/{name}/out"}},
        }
        if index == 0:
            entry["period"] = "10ms"
        else:
            entry["activation"] = "before"
        participants[name] = entry
    return {
        "name": "ring",
        "duration": f"{duration_ms}ms",
        **settings,
        "participants": participants,
    }
