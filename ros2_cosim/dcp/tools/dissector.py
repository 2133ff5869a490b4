# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Writes a dissector of DCP for Wireshark and tshark, made from the tables of the protocol.

``python -m ros2_cosim.dcp.tools.dissector > dcp.lua``
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import Final

from ros2_cosim.core.documents.installed import package_text
from ros2_cosim.dcp.standard.enums import (
    DataType,
    ErrorCode,
    LogLevel,
    LogMode,
    OpMode,
    PduType,
    Scope,
    State,
    TransportProtocol,
)
from ros2_cosim.dcp.standard.pdu import FIELD_CODES, LAYOUTS
from ros2_cosim.dcp.standard.values import SIZES

_MARK = "--@TABLES@\n"
#: What the numbers of a field mean.
_NAMED: Final[Mapping[str, type[IntEnum]]] = {
    "state_id": State,
    "op_mode": OpMode,
    "error_code": ErrorCode,
    "source_data_type": DataType,
    "transport_protocol": TransportProtocol,
    "scope": Scope,
    "log_level": LogLevel,
    "log_mode": LogMode,
}


def lua_text() -> str:
    """The dissector: the program of ``dcp.lua`` with the tables of PDUs, fields and names."""
    head, _, tail = package_text("dcp/tools/dcp.lua").partition(_MARK)
    return head + "".join(line + "\n" for line in _tables()) + tail


def _tables() -> list[str]:
    values = (f"  {name} = {_names(kinds)}," for name, kinds in _NAMED.items())
    return [
        f"local PDU_NAMES = {_names(PduType)}",
        "local FIELD_CODES = {",
        *(f'  {name} = "{code}",' for name, code in sorted(FIELD_CODES.items())),
        "}",
        "local LAYOUTS = {",
        *(_layout(number) for number in LAYOUTS),
        "}",
        "local VALUES = {",
        *values,
        "}",
        "local DATA_TYPES = {",
        *(_data_type(kind) for kind in DataType),
        "}",
    ]


def _names(kinds: type[IntEnum]) -> str:
    return "{ " + ", ".join(f'[{int(kind)}] = "{kind.name}"' for kind in kinds) + " }"


def _layout(number: int) -> str:
    layout = LAYOUTS[number]
    names = ", ".join(f'"{name}"' for name in layout.names)
    tail = f'"{layout.tail}"' if layout.tail else "nil"
    return (
        f'  [{number}] = {{ name = "{layout.kind.name}", size = {layout.size}, '
        f"tail = {tail}, fields = {{ {names} }} }},"
    )


def _data_type(kind: DataType) -> str:
    words = [f'name = "{kind.name}"', f"size = {SIZES.get(kind, 0)}"]
    words += ["float = true"] if kind.name.startswith("float") else []
    words += ["signed = true"] if kind.name.startswith("int") else []
    return f"  [{int(kind)}] = {{ {', '.join(words)} }},"


if __name__ == "__main__":
    print(lua_text(), end="")
