# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""FMPy's classes with one face: what FMI 2.0 and FMI 3.0 do under different names.

FMPy knows by the first four letters of a class's name which functions to load. What an FMU says
goes to standard error: the standard output may be a table.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable
from ctypes import byref
from enum import Enum
from typing import Any, Final, NamedTuple

from fmpy import calloc, free
from fmpy.fmi1 import FMICallException
from fmpy.fmi2 import (
    FMU2Model,
    FMU2Slave,
    fmi2CallbackAllocateMemoryTYPE,
    fmi2CallbackFreeMemoryTYPE,
    fmi2CallbackFunctions,
    fmi2CallbackLoggerTYPE,
)
from fmpy.fmi3 import FMU3Model, FMU3ScheduledExecution, FMU3Slave
from fmpy.logging import addLoggerProxy

from ros2_cosim.core.documents.one_line import one_line
from ros2_cosim.core.kernel.errors import ModelError
from ros2_cosim.dcp.fmi.interface_type import InterfaceType
from ros2_cosim.dcp.fmi.osmp import PackedBinaries

#: Of FMI 2.0: the status of a step that was not completed, and what tells whether that is the end.
_DISCARD: Final = 2
_TERMINATED: Final = 3


#: What FMUs of this process have said last.
_SAID: Final[deque[str]] = deque(maxlen=4)


class StepEnd(NamedTuple):
    """Where a communication step has ended [s], and what the FMU wants then."""

    time: float
    event: bool = False
    terminated: bool = False


def _said_2(_environment: Any, name: Any, _status: int, _category: Any, text: Any) -> None:
    _say(name, text)


def _said_3(_environment: Any, _status: int, category: Any, text: Any) -> None:
    _say(category, text)


def _say(who: bytes | None, text: bytes | None) -> None:
    said = ": ".join(part.decode("utf-8", "replace") for part in (who, text) if part)
    _SAID.append(said)
    print(f"FMU: {said}", file=sys.stderr, flush=True)


def _callbacks() -> Any:
    found = fmi2CallbackFunctions()
    found.logger = fmi2CallbackLoggerTYPE(_said_2)
    found.allocateMemory = fmi2CallbackAllocateMemoryTYPE(calloc)
    found.freeMemory = fmi2CallbackFreeMemoryTYPE(free)
    addLoggerProxy(byref(found))  # it puts the arguments of a message into its format
    return found


_CALLBACKS: Final = _callbacks()


def _make(instantiate: Callable[..., None], **given: Any) -> None:
    """Make an instance; an FMU that refuses is asked again with its log switched on.

    :raises ModelError: it refuses, with what it says
    """
    try:
        instantiate(**given)
        return
    except Exception:  # FMPy raises nothing narrower
        _SAID.clear()
    try:
        instantiate(**given, loggingOn=True)
    except Exception:
        said = one_line("; ".join(_SAID)) or "nothing"
        raise ModelError(f"the FMU refuses to be instantiated; its log says: {said}") from None


class _Fmi2(PackedBinaries):
    """What FMI 2.0 calls otherwise."""

    def instantiate(self) -> None:
        """Make the instance."""
        _make(super().instantiate, callbacks=_CALLBACKS)  # type: ignore[misc]

    def begin(self: Any, start: float) -> None:
        """Enter the initialization mode."""
        self.setupExperiment(startTime=start)
        self.enterInitializationMode()

    def states(self: Any, model: Any) -> tuple[int, int]:
        """Numbers of continuous states and of event indicators."""
        return model.numberOfContinuousStates, model.numberOfEventIndicators


class FMU2CoSimulation(_Fmi2, FMU2Slave):
    """FMI 2.0 for Co-Simulation."""

    def step(self, now: float, size: float) -> StepEnd:
        """One communication step; an FMU may end the simulation in it."""
        try:
            self.doStep(now, size)
        except FMICallException as error:
            if error.status != _DISCARD or not self.getBooleanStatus(_TERMINATED):
                raise
            return StepEnd(now + size, terminated=True)
        return StepEnd(now + size)


class FMU2ModelExchange(_Fmi2, FMU2Model):
    """FMI 2.0 for Model Exchange."""

    updateDiscreteStates = FMU2Model.newDiscreteStates
    getContinuousStateDerivatives = FMU2Model.getDerivatives


class _Fmi3:
    """What FMI 3.0 calls otherwise."""

    def instantiate(self, **offered: Any) -> None:
        """Make the instance.

        :param offered: what this side can do
        """
        _make(super().instantiate, logMessage=_said_3, **offered)  # type: ignore[misc]

    def begin(self: Any, start: float) -> None:
        """Enter the initialization mode."""
        self.enterInitializationMode(startTime=start)

    def states(self: Any, model: Any) -> tuple[int, int]:
        """Numbers of continuous states and of event indicators; parameters may change them."""
        return self.getNumberOfContinuousStates(), self.getNumberOfEventIndicators()


class FMU3CoSimulation(_Fmi3, FMU3Slave):
    """FMI 3.0 for Co-Simulation."""

    def step(self, now: float, size: float) -> StepEnd:
        """One communication step, which may end early."""
        event, terminated, early, last = self.doStep(now, size)
        return StepEnd(last if early else now + size, bool(event), bool(terminated))


class FMU3ModelExchange(_Fmi3, FMU3Model):
    """FMI 3.0 for Model Exchange."""


class FMU3Scheduled(_Fmi3, FMU3ScheduledExecution):
    """FMI 3.0 for Scheduled Execution."""


class FmiVersion(Enum):
    """A version, and what FMPy's class for each of its interface types is."""

    FMI_2 = "2.0"
    FMI_3 = "3.0"

    def access(self, kind: InterfaceType) -> Any:
        """The class."""
        return _CLASSES[self, kind]


_CLASSES: Final = {
    (FmiVersion.FMI_2, InterfaceType.CO_SIMULATION): FMU2CoSimulation,
    (FmiVersion.FMI_2, InterfaceType.MODEL_EXCHANGE): FMU2ModelExchange,
    (FmiVersion.FMI_3, InterfaceType.CO_SIMULATION): FMU3CoSimulation,
    (FmiVersion.FMI_3, InterfaceType.MODEL_EXCHANGE): FMU3ModelExchange,
    (FmiVersion.FMI_3, InterfaceType.SCHEDULED_EXECUTION): FMU3Scheduled,
}
