# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Binary variables in FMI 2.0, as FMUs with sensor models have them for messages of ASAM OSI.

FMI 2.0 has no type for bytes. OSI Sensor Model Packaging (OSMP) hands over an address and a size,
as three integers ``NAME.base.lo``, ``NAME.base.hi`` and ``NAME.size``. Here these are one variable
``NAME`` of FMI 3.0's type Binary: the address is made, and followed, in the process of the FMU. It
holds for an input until the step ends, for an output until the next but one begins, for a
calculated parameter until the initialization ends. This side copies what it reads at once.

Source: OpenSimulationInterface/osi-sensor-model-packaging 1.6.0, doc/spec/binary_variables.adoc.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any, Final

from fmpy.model_description import ModelVariable

from ros2_cosim.core.documents.xml_reader import read_xml
from ros2_cosim.dcp.standard.errors import DescriptionError, SlaveFault
from ros2_cosim.dcp.standard.sizes import MAX_PDU_BYTES

_ROLES: Final = ("base.lo", "base.hi", "size")
_VARIABLE: Final = "{http://xsd.pmsf.net/OSISensorModelPackaging}osmp-binary-variable"
_LOW: Final = 0xFFFF_FFFF

Triple = tuple[int, int, int]
"""Value references of low part, high part and size."""


def with_binaries(variables: Sequence[Any], description: bytes, source: str) -> list[Any]:
    """The variables of an FMU (FMI 2.0), each three that are one binary variable put together.

    :param variables: FMPy's; the one of three stands where the first of them stood, and its
        ``valueReference`` is a :data:`Triple`
    :param description: content of ``modelDescription.xml``
    :param source: name of the FMU, for messages
    :raises DescriptionError: three do not belong together as OSMP wants it
    """
    if b"osmp-binary-variable" not in description:
        return list(variables)
    there = {variable.name: variable for variable in variables}
    parts: dict[str, list[tuple[str, str, Any]]] = {}
    for mark in read_xml(description, source, error=DescriptionError).iter(_VARIABLE):
        scalar = next(mark.iterancestors("ScalarVariable"), None)
        variable = there.get("" if scalar is None else scalar.get("name"))
        if variable is None:
            raise DescriptionError(f"{source}: found an osmp-binary-variable outside a variable")
        mime_type = mark.get("mime-type", "application/octet-stream")
        parts.setdefault(mark.get("name", ""), []).append((mark.get("role"), mime_type, variable))
    whole = {}
    for name, found in parts.items():
        whole[found[0][2].name] = _whole(name, found, there, source)
    inside = {variable.name for found in parts.values() for _, _, variable in found}
    return [
        whole.get(variable.name, variable)
        for variable in variables
        if variable.name in whole or variable.name not in inside
    ]


def _whole(
    name: str, found: Sequence[tuple[str, str, Any]], there: dict[str, Any], source: str
) -> Any:
    place = f"{source}: binary variable {name!r}"
    roles = {role: variable for role, _, variable in found}
    if len(found) != len(_ROLES) or roles.keys() != set(_ROLES):
        listed = ", ".join(str(role) for role, _, _ in found)
        raise DescriptionError(f"{place}: found roles {listed}; allowed is each of {_ROLES} once")
    if name in there or any(variable.type != "Integer" for variable in roles.values()):
        raise DescriptionError(f"{place}: allowed are three Integers, and no variable of that name")
    kinds = {(v.causality, v.variability, mime_type) for _, mime_type, v in found}
    if len(kinds) != 1:
        raise DescriptionError(
            f"{place}: its three variables differ in causality, variability or mime-type"
        )
    causality, variability, mime_type = kinds.pop()
    return ModelVariable(
        name=name,
        type="Binary",
        valueReference=tuple(roles[role].valueReference for role in _ROLES),
        causality=causality,
        variability=variability,
        start=None if causality == "calculatedParameter" else "",
        description=found[0][2].description or mime_type,
    )


class PackedBinaries:
    """Access to binaries as in FMI 3.0, for FMPy's classes of 2.0; references are triples."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        #: What inputs point to: an FMU may read it until the next step has ended.
        self._held: dict[Triple, Any] = {}

    def setBinary(self: Any, references: Sequence[Triple], values: Sequence[bytes]) -> None:
        """Point variables to bytes; none are an address of 0."""
        for reference, value in zip(references, values, strict=True):
            held = ctypes.create_string_buffer(value, len(value)) if value else None
            at = 0 if held is None else ctypes.addressof(held)
            self.setInteger(reference, [at & _LOW, at >> 32, len(value)])
            self._held[reference] = held

    def getBinary(self: Any, references: Sequence[Triple]) -> list[bytes]:
        """Copies of the bytes that variables point to.

        :raises SlaveFault: a size is out of bounds
        """
        return [self._pointed_to(reference) for reference in references]

    def _pointed_to(self: Any, reference: Triple) -> bytes:
        low, high, size = self.getInteger(reference)
        at = (high & _LOW) << 32 | low & _LOW
        if not 0 <= size <= MAX_PDU_BYTES:
            raise SlaveFault(
                f"{self.instanceName}: found a binary variable of {size} bytes; allowed are 0 to "
                f"{MAX_PDU_BYTES}"
            )
        return ctypes.string_at(at, size) if at else b""
