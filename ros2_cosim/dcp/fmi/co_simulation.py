# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Co-simulation: the FMU brings its solver, and receives steps.

An FMU with an event mode (FMI 3.0) gets discrete inputs and clocks there. If it returns early, it
is stepped on to the communication point. Clocks tick on time if the FMU allows steps of any size,
else at the next communication point.
"""

from __future__ import annotations

from math import isclose
from typing import Any

from ros2_cosim.dcp.fmi.interface_type import steps_vary
from ros2_cosim.dcp.fmi.runtime import MAX_EVENTS, EventRuntime, FmuPlace, Inputs, Observer
from ros2_cosim.dcp.standard.errors import SlaveFault


class CoSimulationRuntime(EventRuntime):
    """An instance for co-simulation.

    :param observer: gets intermediate outputs, if the FMU provides them
    """

    def __init__(self, access: Any, model: Any, observer: Observer | None = None) -> None:
        super().__init__(access, model)
        offered = model.coSimulation
        self._events = bool(offered.hasEventMode)
        self._early = bool(
            offered.mightReturnEarlyFromDoStep or offered.canReturnEarlyAfterIntermediateUpdate
        )
        self._observer = observer if offered.providesIntermediateUpdate else None
        self._failure: BaseException | None = None

    def _instantiate(self) -> None:
        try:
            self._access.instantiate(**self._offer())
        except Exception:
            if not self._events:
                raise
            self._events = False  # FMUs are about that state an event mode, and refuse it
            self._access.instantiate(**self._offer())

    def _offer(self) -> dict[str, Any]:
        more: dict[str, Any] = {}
        if self._events:
            more["eventModeUsed"] = True
        if self._early:
            more["earlyReturnAllowed"] = True
        if self._observer is not None:
            more["intermediateUpdate"] = self._intermediate
            more["requiredIntermediateVariables"] = [p.reference for p in self._seen]
        return more

    @property
    def _seen(self) -> dict[FmuPlace, int]:
        return {place: count for place, count in self._outputs.items() if place.intermediate}

    def _intermediate(  # FMI's own signature
        self,
        _environment: Any,
        time: float,
        _set: bool,
        may_get: bool,
        _finished: bool,
        may_return: bool,
        early: Any,
        early_time: Any,
    ) -> None:
        if not may_get or self._observer is None or self._failure is not None:
            return
        try:
            found = {place: self._read(place, count) for place, count in self._seen.items()}
            if self._observer(time, found) and may_return and self._early:
                early[0], early_time[0] = True, time
        except BaseException as error:  # it cannot pass through the FMU
            self._failure = error

    def _start(self) -> None:
        if self._events:
            if self._event(0.0):
                raise SlaveFault(f"{self._model.modelName}: ends the simulation before it begins")
            self._access.enterStepMode()

    def _advance(self, now: float, size: float, inputs: Inputs, triggered: list[int]) -> bool:
        if not self._events:
            self.write(inputs)
            return self._go(now, size)
        self._inputs = inputs
        changed = self._changed(inputs)
        self.write([item for item in changed if not item[0].discrete])
        steps = [item for item in changed if item[0].discrete]
        if (steps or triggered or self._clocks.is_due(now)) and self._handle(now, steps, triggered):
            return True
        return self._go(now, size)

    def _handle(self, time: float, inputs: Inputs = (), triggered: list[int] | None = None) -> bool:
        self._access.enterEventMode()
        self.write(inputs)
        if self._event(time, triggered or ()):
            return True
        self._access.enterStepMode()
        return False

    def _go(self, now: float, size: float) -> bool:
        time, until, left, idle = now, now + size, size, 0
        while True:
            stop = min(until, self._next_event, self._clocks.next)
            whole = stop == until or not steps_vary(self._model)
            end = self._access.step(time, left if whole else stop - time)
            if self._failure is not None:
                failure, self._failure = self._failure, None
                raise failure
            idle = idle + 1 if end.time <= time else 0
            time, left = end.time, until - end.time
            if end.terminated:
                return True
            done = time >= until or isclose(time, until, abs_tol=1e-9 * size)
            due = self._next_event <= time or (not done and self._clocks.is_due(time))
            if self._events and (end.event or due) and self._handle(time):
                return True
            if done:
                return False
            if idle > MAX_EVENTS:
                raise SlaveFault(f"{self._model.modelName}: does not go on from {time:g} s")
