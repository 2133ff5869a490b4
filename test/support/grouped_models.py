# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A model that declares what an activation costs: by default such ones share a process."""

from __future__ import annotations

import signal
import time
from collections.abc import Mapping
from typing import Any

from support.control_scenarios import Counter, chain

from ros2_cosim.core.kernel.model import Model, Traits
from ros2_cosim.core.kernel.participant import ModelContext, Step

MODEL = "support.grouped_models:Grouped"
#: Longer than any watchdog of a test [s].
_HANG_S = 3600.0


class Grouped(Model):
    """Counts; at ``ends_at_ns`` it does to its process what ``how`` says."""

    traits = Traits(cost_ns=20_000)

    def __init__(self, context: ModelContext, parameters: Any) -> None:
        self._parameters = parameters
        self._counter = Counter(context, {})

    def activate(self, step: Step) -> Mapping[str, Any]:
        if step.time >= self._parameters.get("ends_at_ns", 1 << 62):
            self._end(self._parameters["how"])
        return self._counter.activate(step)

    def _end(self, how: str) -> None:
        if how == "raise":
            raise ValueError("fell over")
        if how == "hang":
            time.sleep(_HANG_S)
        # Of this thread, as a fault is: another thread may take one of the process, and later.
        signal.raise_signal(signal.Signals[how])


class LongGrouped(Grouped):
    """The same, with activations that are worth a process of their own."""

    traits = Traits(cost_ns=2_000_000)


def grouped_chain(duration: str = "2s", **parameters: Any) -> dict[str, Any]:
    """The chain of such models; the parameters are those of ``controller``."""
    data = chain(duration)
    for settings in data["participants"].values():
        settings["model"] = MODEL
    data["participants"]["controller"]["parameters"] = parameters
    return data
