# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The interface types of FMI, and which of them an FMU is run by."""

from __future__ import annotations

from enum import Enum
from typing import Any

from ros2_cosim.dcp.standard.errors import DescriptionError


class InterfaceType(Enum):
    """An interface type; the first that an FMU has is taken if none is chosen."""

    CO_SIMULATION = "co_simulation"
    MODEL_EXCHANGE = "model_exchange"
    SCHEDULED_EXECUTION = "scheduled_execution"

    def of(self, model: Any) -> Any:
        """What FMPy's description of an FMU says about it; None: the FMU does not have it."""
        return {
            InterfaceType.CO_SIMULATION: model.coSimulation,
            InterfaceType.MODEL_EXCHANGE: model.modelExchange,
            InterfaceType.SCHEDULED_EXECUTION: model.scheduledExecution,
        }[self]


def choose_interface(model: Any, wanted: InterfaceType | None, where: str) -> None:
    """Leave in FMPy's description of an FMU the one interface type that it is run by.

    :raises DescriptionError: the FMU does not have it, or none
    """
    there = [kind for kind in InterfaceType if kind.of(model) is not None]
    if not there or (wanted is not None and wanted not in there):
        found = ", ".join(kind.value for kind in there) or "no interface type"
        raise DescriptionError(
            f"{where}: found {found}; wanted is {wanted.value if wanted else 'one'}"
        )
    chosen = wanted or there[0]
    if chosen is not InterfaceType.CO_SIMULATION:
        model.coSimulation = None
    if chosen is not InterfaceType.MODEL_EXCHANGE:
        model.modelExchange = None
    if chosen is not InterfaceType.SCHEDULED_EXECUTION:
        model.scheduledExecution = None


def interface_of(model: Any) -> InterfaceType:
    """The interface type that :func:`choose_interface` has left."""
    return next(kind for kind in InterfaceType if kind.of(model) is not None)


def offers_clocks(model: Any) -> bool:
    """Whether clocks of an FMU can be used: co-simulation wants event mode for that."""
    found = model.coSimulation
    return found is None or bool(found.hasEventMode)


def steps_vary(model: Any) -> bool:
    """Whether communication steps may have different sizes."""
    found = model.coSimulation
    return found is None or bool(found.canHandleVariableCommunicationStepSize)


def can_save_state(model: Any) -> bool:
    """Whether an FMU states that its state can be taken out of it as bytes, and put back.

    A solver outside of the FMU, and clocks, have a state that is not in these bytes.
    """
    found = model.coSimulation
    if found is None or any(v.type == "Clock" for v in model.modelVariables):
        return False
    return bool(found.canGetAndSetFMUstate and found.canSerializeFMUstate)
