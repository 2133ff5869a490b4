# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A model that fails when it is told to: when it is made, at a time, or by ending its thread."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from support.control_scenarios import Counter

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.participant import ModelContext, Step


class Failing(Counter):
    """Counts until its time has come; leaves a file when it is closed."""

    def __init__(self, context: ModelContext, parameters: Any) -> None:
        if parameters.get("cannot_be_made"):
            raise ConfigurationError("there is no such thing")
        super().__init__(context, parameters)
        self._parameters = parameters
        self._name = context.name

    def activate(self, step: Step) -> Mapping[str, Any]:
        if step.time >= self._parameters.get("fail_at_ns", 1 << 62):
            raise ValueError("fell over")
        if step.time >= self._parameters.get("exit_at_ns", 1 << 62):
            raise SystemExit(0)
        return super().activate(step)

    def close(self) -> None:
        if "closed" in self._parameters:
            Path(self._parameters["closed"], self._name).touch()
