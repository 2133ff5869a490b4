# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Models whose state shows when they began: for participants that are reset during a run."""

from __future__ import annotations

from typing import Any, ClassVar

from pydantic import BaseModel

from ros2_cosim.core.kernel.model import FullModel, Port, Traits
from ros2_cosim.core.kernel.participant import ModelContext, Step
from ros2_cosim.core.kernel.random_streams import RandomStream
from ros2_cosim.core.messages.records import Acceleration

ACCELERATION = "geometry_msgs/msg/AccelStamped"


class Settings(BaseModel):
    """Parameters of a :class:`Counter`."""

    factor: float = 1.0


class Counter(FullModel):
    """Counts its activations, times a factor that may change, beside a random number.

    Its port ``begun`` sends once. Made again when it begins anew.
    """

    Parameters = Settings
    output_ports = (
        Port("count", ACCELERATION),
        Port("begun", ACCELERATION, False, schedule="once"),
    )
    other_ports = False
    traits = Traits(changeable=("factor",))

    def __init__(self, context: ModelContext, parameters: Settings) -> None:
        self._factor = parameters.factor
        self._context = context
        self._begin()

    def _begin(self) -> None:
        self._count = 0
        self._random = RandomStream(self._context.run_seed, self._context.name, "noise")

    def change_parameters(self, parameters: Settings) -> None:
        """Take another factor."""
        self._factor = parameters.factor

    def activate(self, step: Step) -> dict[str, Any]:
        """Count on."""
        self._count += 1
        sent = {"count": Acceleration(self._count * self._factor, self._random.uniform(), 0.0)}
        if self._count == 1:
            sent["begun"] = Acceleration(step.time / 1e9, 0.0, 0.0)
        return sent


class Kept(Counter):
    """The same; it is kept when it begins anew, because it holds something open."""

    calls: ClassVar[list[str]] = []

    def on_communication_ready(self) -> None:
        """Note it."""
        self.calls.append("ready")

    def on_stop(self) -> None:
        """Note it."""
        self.calls.append("stop")

    def reset(self) -> None:
        """Begin anew."""
        self.calls.append("reset")
        self._begin()

    def close(self) -> None:
        """Note it."""
        self.calls.append("close")


class Open(Counter):
    """The same; it cannot begin anew."""

    def close(self) -> None:
        """Release nothing."""


def scenario(kind: str = "Counter", **more: Any) -> dict[str, Any]:
    """A counter at 10 ms for 200 ms, and another one beside it."""

    def participant(model: str, *topics: str) -> dict[str, Any]:
        outputs = {
            port: {"type": ACCELERATION, "topic": topic}
            for port, topic in zip(("count", "begun"), topics, strict=True)
        }
        outputs["begun"]["schedule"] = "once"
        return {
            "model": f"support.counter_models:{model}",
            "period": "10ms",
            "outputs": outputs,
        }

    return {
        "name": "counting",
        "duration": "200ms",
        "participants": {
            "counter": participant(kind, "/count", "/begun"),
            "other": participant("Counter", "/other", "/other_begun"),
        },
        **more,
    }
