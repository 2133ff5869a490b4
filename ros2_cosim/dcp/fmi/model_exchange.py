# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Model exchange: the FMU has equations, and CVODE as FMPy ships it integrates them.

Tolerance and longest internal step are those of FMPy: 1e-5 if the FMU names none, and a fiftieth of
the experiment that the FMU suggests, else of one second. Inputs are constant during a step; a
change is an event. The bits of a result depend on the machine.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf, isclose
from typing import Any, Final

from ros2_cosim.dcp.fmi.runtime import EventRuntime, Inputs
from ros2_cosim.dcp.standard.errors import SlaveFault

TOLERANCE: Final = 1e-5
#: Internal steps in the experiment of an FMU, at least.
_STEPS: Final = 50.0


class _Held:
    """What FMPy's solver asks for inputs: they are constant."""

    def apply(self, time: float) -> None:
        """Nothing changes."""


class ModelExchangeRuntime(EventRuntime):
    """An instance for model exchange, with its solver."""

    _solver: Any = None
    _time = 0.0
    _failure: BaseException | None = None

    def _instantiate(self) -> None:
        self._access.instantiate()

    def _start(self) -> None:
        self._time = 0.0
        if self._event(0.0):
            raise SlaveFault(f"{self._model.modelName}: ends the simulation before it begins")
        self._access.enterContinuousTimeMode()
        self._solver = self._made_solver()

    def _made_solver(self) -> Any:
        from fmpy.sundials import CVodeSolver

        experiment = self._model.defaultExperiment
        start = float(experiment.startTime or 0.0) if experiment else 0.0
        end = experiment.stopTime if experiment else None
        tolerance = experiment.tolerance if experiment else None
        states, indicators = self._access.states(self._model)
        return CVodeSolver(
            nx=states,
            nz=indicators,
            get_x=self._guarded(self._access.getContinuousStates),
            set_x=self._guarded(self._access.setContinuousStates),
            get_dx=self._guarded(self._access.getContinuousStateDerivatives),
            get_z=self._guarded(self._access.getEventIndicators),
            get_nominals=self._guarded(self._access.getNominalsOfContinuousStates),
            set_time=self._guarded(self._access.setTime),
            input=_Held(),
            startTime=0.0,
            maxStep=(float(start + 1.0 if end is None else end) - start) / _STEPS,
            relativeTolerance=float(tolerance or TOLERANCE),
        )

    def _guarded(self, call: Callable[..., Any]) -> Callable[..., None]:
        """The call, whose exception is kept: it cannot pass through the solver."""

        def guarded(*arguments: Any) -> None:
            if self._failure is None:
                try:
                    call(*arguments)
                except Exception as error:
                    self._failure = error

        return guarded

    def _advance(self, now: float, size: float, inputs: Inputs, triggered: list[int]) -> bool:
        until = now + size
        self._inputs = inputs
        changed = self._changed(inputs)
        if (changed or triggered or self._clocks.is_due(now)) and self._handle(changed, triggered):
            return True
        while self._time < until and not isclose(self._time, until):
            stop = min(until, self._next_event, self._clocks.next)
            state_event, _, self._time = self._solver.step(self._time, stop)
            self._access.setTime(self._time)
            self._raise_failure()
            step_event = False
            if self._model.modelExchange.needsCompletedIntegratorStep:
                step_event, terminated = self._access.completedIntegratorStep()
                if terminated:
                    return True
            done = isclose(self._time, until)
            timed = _at(self._next_event, self._time)
            timed = timed or (not done and self._clocks.is_due(self._time))
            if (state_event or step_event or timed) and self._handle():
                return True
        return False

    def _handle(self, inputs: Inputs = (), triggered: list[int] | None = None) -> bool:
        self._access.enterEventMode()
        self.write(inputs)
        if self._event(self._time, triggered or ()):
            return True
        self._access.enterContinuousTimeMode()
        self._solver.reset(self._time)
        self._raise_failure()
        return False

    def tune(self, values: Inputs) -> None:
        """Parameters change at an event."""
        if not self.stepping:
            super().tune(values)
        elif self._handle(values):
            raise SlaveFault(f"{self._model.modelName}: ends the simulation at {self._time:g} s")

    def _raise_failure(self) -> None:
        if self._failure is not None:
            failure, self._failure = self._failure, None
            raise failure


def _at(event: float, time: float) -> bool:
    return event < inf and (event <= time or isclose(event, time))
