# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What FMPy 0.3.32 leaves out of the description of an FMU (FMI 3.0), read from the file itself."""

from __future__ import annotations

from typing import Any, Final

from ros2_cosim.core.documents.xml_reader import read_xml
from ros2_cosim.dcp.standard.errors import DescriptionError

_LEFT_OUT: Final = (
    "intervalDecimal",
    "shiftDecimal",
    "intervalCounter",
    "shiftCounter",
    "resolution",
    "priority",
)


def complete(model: Any, description: bytes, source: str) -> None:
    """Add times and priorities of clocks, all start values of arrays of strings and binaries.

    :param model: FMPy's description
    :param description: content of ``modelDescription.xml``
    :param source: name of the FMU, for messages
    """
    root = read_xml(description, source, error=DescriptionError)
    listed = root.find("ModelVariables")
    elements = {element.get("name"): element for element in listed}
    for variable in model.modelVariables:
        element = elements[(variable.alias or variable).name]
        for name in _LEFT_OUT:
            if element.get(name) is not None:
                setattr(variable, name, element.get(name))
        variable.intermediateUpdate = element.get("intermediateUpdate") in ("true", "1")
        starts = [start.get("value") for start in element.iter("Start")]
        if variable.dimensions and starts:
            variable.start = starts
