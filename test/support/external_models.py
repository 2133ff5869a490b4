# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Models with an input from outside of the simulated time, for scenarios that are stepped."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ros2_cosim.core.kernel.model import Model
from ros2_cosim.core.kernel.participant import ModelContext, Step
from ros2_cosim.core.messages.records import ControlCommand


class Echo(Model):
    """Sends what it has read last, and in ``steer`` hundredths of the messages so far."""

    def __init__(self, context: ModelContext, parameters: Any) -> None:
        self._count = 0

    def activate(self, step: Step) -> Mapping[str, Any]:
        self._count += len(step.samples["wish"])
        found = step.latest["wish"]
        pedals = (0.0, 0.0) if found is None else (found.value.throttle, found.value.brake)
        return {"seen": ControlCommand(0.0, *pedals, self._count / 100)}


class Failing(Echo):
    """Fails in its first activation."""

    def activate(self, step: Step) -> Mapping[str, Any]:
        raise LookupError("nothing there")
