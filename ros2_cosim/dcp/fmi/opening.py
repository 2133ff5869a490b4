# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Opens an unpacked FMU by the interface type that its description was left with."""

from __future__ import annotations

from typing import Any

from ros2_cosim.dcp.fmi.access import FmiVersion
from ros2_cosim.dcp.fmi.co_simulation import CoSimulationRuntime
from ros2_cosim.dcp.fmi.interface_type import InterfaceType, interface_of
from ros2_cosim.dcp.fmi.model_exchange import ModelExchangeRuntime
from ros2_cosim.dcp.fmi.runtime import FmiRuntime, Observer
from ros2_cosim.dcp.fmi.scheduled_execution import ScheduledExecutionRuntime


def open_runtime(model: Any, directory: str, observer: Observer | None = None) -> FmiRuntime:
    """Load the library.

    :param model: FMPy's description
    :param directory: where the FMU is unpacked
    :param observer: gets intermediate outputs
    :raises Exception: whatever FMPy raises: there is no library for this platform, or a wrong one
    """
    kind = interface_of(model)
    access = FmiVersion(model.fmiVersion).access(kind)(
        guid=model.instantiationToken,
        unzipDirectory=directory,
        modelIdentifier=kind.of(model).modelIdentifier,
        instanceName=model.modelName,
    )
    if kind is InterfaceType.CO_SIMULATION:
        return CoSimulationRuntime(access, model, observer)
    if kind is InterfaceType.MODEL_EXCHANGE:
        return ModelExchangeRuntime(access, model)
    return ScheduledExecutionRuntime(access, model)
