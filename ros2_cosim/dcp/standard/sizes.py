# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""How large the PDUs are that a slave can receive, as far as its description tells."""

from __future__ import annotations

from ros2_cosim.dcp.standard.slave_description import (
    Causality,
    SlaveDescription,
    Variable,
    element_count,
)
from ros2_cosim.dcp.standard.values import SIZED, SIZES

MAX_PDU_BYTES = 16 * 1024 * 1024
"""Upper limit of a PDU in this implementation, whatever a description allows."""
USUAL_PDU_BYTES = 64 * 1024
"""So much is taken of any PDU, so that one of wrong length is answered and not the end."""
_HEAD_BYTES = 64
"""More than the fields of any request before its payload."""


def largest_received(description: SlaveDescription) -> int:
    """Bytes of the largest PDU that a slave may have to take over TCP.

    That is all its inputs or all its parameters in one PDU. Where a structural parameter gives the
    size, or a text has no maxSize, only the transport's maxPduSize limits it.
    """
    allowed = MAX_PDU_BYTES if description.tcp is None else description.tcp.max_pdu_size
    loads = []
    for kinds in ((Causality.INPUT,), (Causality.PARAMETER, Causality.STRUCTURAL)):
        sizes = [_greatest_bytes(v, description) for v in description.of(*kinds)]
        loads.append(allowed if None in sizes else sum(s for s in sizes if s is not None))
    needed = max(USUAL_PDU_BYTES, _HEAD_BYTES + max(loads))
    return min(needed, max(allowed, _HEAD_BYTES), MAX_PDU_BYTES)


def _greatest_bytes(variable: Variable, description: SlaveDescription) -> int | None:
    """Bytes of a variable in a PDU, None if nothing limits them."""
    if variable.data_type in SIZED:
        size = description.attributes(variable).max_size
        return None if size is None else 4 + size
    if any(dimension.linked_vr is not None for dimension in variable.dimensions):
        return None
    count = element_count(variable)
    return SIZES[variable.data_type] * (1 if count is None else count)
