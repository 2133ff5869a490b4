# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Units of foreign variables beside those of records: a unit that does not fit is reported before a
run.
"""

from __future__ import annotations

from ros2_cosim.core.documents.fmi2 import base_unit
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.dcp.standard.slave_description import SlaveDescription, Variable


def conversion(
    variable: Variable, description: SlaveDescription, unit: str, where: str
) -> tuple[float, float] | None:
    """How a value of a variable becomes one of a record: SI = factor * value + offset.

    A variable without a unit is taken to be in that of the record, which is SI. The names of units
    count where a description defines them by nothing.

    :returns: factor and offset; None: nothing says what the unit is

    :param unit: of the record's field
    :param where: how messages call the place of the mapping
    :raises ConfigurationError: the variable measures something else
    """
    name = variable.attributes.unit
    if name is None or name == unit:
        return 1.0, 0.0
    wanted = base_unit(unit)
    assert wanted is not None, unit
    declared = next((u for u in description.units if u.name == name and u.exponents), None)
    if declared is not None:
        exponents, factor, offset = declared.exponents, declared.factor, declared.offset
    else:
        found = base_unit(name)
        if found is None:
            return None
        exponents, factor, offset = found.exponents, found.factor, 0.0
    if dict(exponents) != dict(wanted.exponents):
        raise ConfigurationError(f"{where}: found unit '{name}'; allowed is {unit}")
    return factor, offset
