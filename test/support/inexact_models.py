# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Models of a user who computes with integers and numpy, and ties records to message types."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ros2_cosim.core.kernel.model import Model
from ros2_cosim.core.kernel.participant import ModelContext, Step
from ros2_cosim.core.messages.catalogue import DEFAULT as CATALOGUE


class Level(NamedTuple):
    """A height, of a record with another shape than its message."""

    height: float

    @property
    def doubled(self) -> float:
        return self.height * 2.0


class Number(NamedTuple):
    data: float


CATALOGUE.register("geometry_msgs/msg/PointStamped", Level, paths={"height": "point.z"})
CATALOGUE.register("std_msgs/msg/Float64", Number)
_ARRAY: Any = CATALOGUE.record("std_msgs/msg/Float64MultiArray")


class Careless(Model):
    """Sends single precision, integers and lists where the messages have floats."""

    def __init__(self, context: ModelContext, parameters: Any) -> None:
        self._value = np.float32(0.1)
        self._count = 0

    def activate(self, step: Step) -> dict[str, Any]:
        self._count += 1
        self._value = np.float32(self._value * np.float32(1.1))
        return {
            "level": Level(self._value),  # type: ignore[arg-type]
            "number": Number(2**53 + self._count),
            "numbers": _ARRAY(data=[self._count, 7]),
        }


class Reader(Model):
    """Computes with what it reads, in the types that it reads."""

    def __init__(self, context: ModelContext, parameters: Any) -> None:
        self._sum = 0.0

    def activate(self, step: Step) -> dict[str, Any]:
        level, number, numbers = (step.latest[port] for port in ("level", "number", "numbers"))
        if level is not None and number is not None and numbers is not None:
            cube = level.value.height * level.value.height * level.value.doubled
            halves = (number.value.data + 1) % 7 + numbers.value.data[0] // 2
            kinds = len(type(numbers.value.data).__name__) + len(type(level.value).__name__)
            self._sum += float(cube) + float(halves) + kinds
        return {"sum": Number(self._sum)}
