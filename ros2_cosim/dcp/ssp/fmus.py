# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What the FMU of a component is: variables, units, step size, message types of its outputs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from ros2_cosim.dcp.fmi.interface_type import InterfaceType
from ros2_cosim.dcp.slave.fmu_description import (
    FmuVariable,
    fmu_slave_description,
    fmu_variables,
    read_fmu,
)
from ros2_cosim.dcp.standard.enums import DataType
from ros2_cosim.dcp.standard.slave_description import Causality, Resolution, Unit

_MESSAGES: Mapping[DataType, str] = {
    **{DataType[f"float{bits}"]: f"Float{bits}" for bits in (32, 64)},
    **{DataType[f"int{bits}"]: f"Int{bits}" for bits in (8, 16, 32, 64)},
    **{DataType[f"uint{bits}"]: f"UInt{bits}" for bits in (8, 16, 32, 64)},
    DataType.string: "String",
    DataType.binary: "UInt8MultiArray",
}

#: Interface types by the word that a component has for them; ``any``: the first that its FMU has.
INTERFACES: Mapping[str, InterfaceType] = {
    "CoSimulation": InterfaceType.CO_SIMULATION,
    "ModelExchange": InterfaceType.MODEL_EXCHANGE,
}


@dataclass(frozen=True)
class Fmu:
    """An FMU that is read, not loaded.

    :ivar variables: inputs, outputs and parameters by their names
    :ivar others: names of all other variables
    :ivar items: values of the items of variables that are enumerations
    :ivar units: by their names
    :ivar step: that it suggests or works with [s]
    """

    path: Path
    model: Any
    variables: Mapping[str, FmuVariable]
    others: frozenset[str]
    items: Mapping[str, Mapping[str, int]]
    units: Mapping[str, Unit]
    step: Fraction

    def unit_of(self, name: str) -> Unit | None:
        """The unit of a variable, None if it has none."""
        found = self.variables[name].variable.attributes.unit
        return None if found is None else self.units.get(found, Unit(found, has_base=False))

    def message_of(self, name: str) -> str:
        """The type of the messages that carry a variable, in their field ``data``."""
        variable, place, *_ = self.variables[name]
        kind = _MESSAGES[variable.data_type]
        if variable.dimensions:
            return f"std_msgs/msg/{kind}MultiArray"
        return f"std_msgs/msg/{'Bool' if place.kind == 'Boolean' else kind}"

    def is_at_once(self, name: str) -> bool:
        """Whether an initial output may depend on an input: the description does not deny it."""
        stated = [*self.model.initialUnknowns, *self.model.outputs]
        known = {u.variable.name: u.dependencies for u in reversed(stated)}
        outputs = [n for n, v in self.variables.items() if v.variable.causality is Causality.OUTPUT]
        found = [known.get(output) for output in outputs]
        return any(d is None or any(v.name == name for v in d) for d in found)


def read(path: Path, interface: InterfaceType | None = None) -> Fmu:
    """The FMU of a file.

    :param interface: the interface type that is run, None: the first that it has
    :raises DescriptionError: it cannot be run
    """
    model = read_fmu(path, interface)
    variables = fmu_variables(model)
    description = fmu_slave_description(path, model, variables)
    found = {v.variable.name: v for v in variables}
    return Fmu(
        path,
        model,
        found,
        frozenset(v.name for v in model.modelVariables if v.name not in found),
        {
            v.name: {item.name: int(item.value) for item in v.declaredType.items}
            for v in model.modelVariables
            if v.type == "Enumeration" and v.declaredType is not None
        },
        {unit.name: unit for unit in description.units},
        next(r.seconds for r in description.resolutions if isinstance(r, Resolution)),
    )
