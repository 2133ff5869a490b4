# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Small behaviours and graphs for tests of the kernel."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ros2_cosim.core.kernel.graph import Connection
from ros2_cosim.core.kernel.model import FullModel
from ros2_cosim.core.kernel.participant import Step


class Plain(FullModel):
    """A model without parameters, which sends nothing; tests define what they need on top."""

    def __init__(self) -> None:
        pass

    def activate(self, step: Step) -> Mapping[str, Any]:
        """Send nothing."""
        return {}


class Scripted(Plain):
    """Remembers every step and answers with what a function makes of it.

    :param answer: step -> outputs; None: silence
    """

    def __init__(self, answer: Callable[[Step], Any] | None = None) -> None:
        self.steps: list[Step] = []
        self.stop_reason: str | None = None
        self._answer = answer

    def activate(self, step: Step) -> Mapping[str, Any]:
        """Answer."""
        self.steps.append(step)
        result: Mapping[str, Any] = self._answer(step) if self._answer else {}
        return result

    @property
    def times(self) -> list[int]:
        """Activation times so far."""
        return [step.time for step in self.steps]


def sends(**outputs: Any) -> Callable[[Step], Any]:
    """An answer that is the same at every activation."""
    return lambda step: outputs


def wire(text: str) -> list[Connection]:
    """Connections from texts like ``a.out>b.in``."""
    connections = []
    for edge in text.split():
        (source, source_port), (target, target_port) = (end.split(".") for end in edge.split(">"))
        connections.append(Connection(source, source_port, target, target_port))
    return connections
