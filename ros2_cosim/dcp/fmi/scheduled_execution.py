# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Scheduled execution: each input clock of the FMU stands for a part that runs when it ticks.

A step from t to t + h runs the parts whose clocks tick from t on and before t + h, in the order of
time and then of priority, one after the other: none is interrupted.
"""

from __future__ import annotations

from math import isclose

from ros2_cosim.dcp.fmi.runtime import MAX_EVENTS, FmiRuntime, Inputs
from ros2_cosim.dcp.standard.errors import SlaveFault


class ScheduledExecutionRuntime(FmiRuntime):
    """An instance for scheduled execution."""

    def _instantiate(self) -> None:
        self._access.instantiate()

    def _start(self) -> None:
        """Nothing runs before the first tick."""

    def _advance(self, now: float, size: float, inputs: Inputs, triggered: list[int]) -> bool:
        until = now + size
        self.write([item for item in inputs if not item[0].clocks])
        time, at_once = now, 0
        priorities = {v.valueReference: int(v.priority or 0) for v in self._model.modelVariables}
        waiting = [(now, priorities[reference], reference) for reference in triggered]
        while True:
            found = ((c.next, c.priority, c.reference) for c in self._clocks.due(until))
            due = sorted([*waiting, *(tick for tick in found if not isclose(tick[0], until))])
            if not due:
                return False
            at, _, clock = tick = due[0]
            at_once = at_once + 1 if at <= time else 0
            if at_once > MAX_EVENTS:
                raise SlaveFault(f"{self._model.modelName}: {MAX_EVENTS} ticks at {time:g} s")
            if tick in waiting:
                waiting.remove(tick)
            time = max(time, at)
            self._set_clocked(inputs, [clock])
            self._access.activateModelPartition(clock, time)
            self._sample([clock])
            self._clocks.ticked(self._access, time, [clock])
