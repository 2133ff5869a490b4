# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A trigonometric slave, and participants that drive it and check what it answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ros2_cosim.core.kernel import exactmath
from ros2_cosim.core.kernel.errors import ParticipantError
from ros2_cosim.core.kernel.model import FullModel, Model, Report
from ros2_cosim.core.kernel.participant import ModelContext, Step
from ros2_cosim.core.messages.records import ControlCommand, Odometry
from ros2_cosim.dcp.slave.slave_model import Input, Output, Parameter, SlaveModel, StepInfo


def wave(amplitude: float, angle: float) -> float:
    """What the slave computes."""
    return amplitude * exactmath.sin(angle)


class Trigonometric(SlaveModel):
    """y = amplitude * sin(a + phase); counts the steps at which y is above 0.5."""

    y = Output("float64", start=0.0)
    degrees = Output("float32", start=0.0)
    a = Input("float64")
    amplitude = Parameter("float64", start=1.0)
    phase = Parameter("float64", start=0.0)
    row = Output("float64", shape=(2,), start=(0.0, 0.0))
    hits = Output("uint32", start=0, variability="discrete", name="hits.count")
    vehicle = Output("uint32", start=7, variability="discrete", name="hits.vehicle")

    def _compute(self) -> None:
        self.y = wave(self.amplitude, self.a + self.phase)
        self.degrees = 90.0
        self.row = (self.y, 2.0 * self.y)

    def initialise(self) -> None:
        self._compute()

    def do_step(self, step: StepInfo) -> None:
        self._compute()
        self.hits = self.hits + (self.y > 0.5)


class Driver(Model):
    """Commands a throttle of one hundredth per activation."""

    def __init__(self, context: ModelContext, parameters: Any) -> None:
        self.count = 0

    def activate(self, step: Step) -> Mapping[str, Any]:
        self.count += 1
        return {"control": ControlCommand(0.0, 0.01 * self.count, 0.0, 0.0)}


class Checker(FullModel):
    """Compares what the slave answers with the closed form."""

    def __init__(self, context: ModelContext, parameters: Any) -> None:
        self.checked = 0

    def activate(self, step: Step) -> Mapping[str, Any]:
        for sample in step.samples["odometry"]:
            number = sample.stamp // 10_000_000
            expected = wave(2.0, 0.01 * number + 0.25)
            found = sample.value
            assert isinstance(found, Odometry)
            if (found.x, found.y, found.qw) != (expected, 0.5 * expected + 1.0, 1.0):
                raise ParticipantError(f"found {found} at {number}, expected x {expected}")
            self.checked += 1
        return {}

    def report(self) -> Report:
        return Report(figures={"checked": self.checked})
