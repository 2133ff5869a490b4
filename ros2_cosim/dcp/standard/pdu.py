# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The PDU codec: one table of layouts, exact lengths, bytes to fields and back.

The table reads like the tables of the standard: after the common part of its family each
PDU lists its fields in the order of the wire. A PDU may end in a part of variable length
(``tail``): payload, log entries, log arguments or the transport's address.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from ipaddress import IPv4Address
from typing import Any

from ros2_cosim.dcp.standard.enums import DataType, PduType, State, TransportProtocol, code_name
from ros2_cosim.dcp.standard.errors import PduError
from ros2_cosim.dcp.standard.values import SIZED, decode_value, encode_value

_CODES = {"u8": "B", "u16": "H", "u32": "I", "u64": "Q", "i64": "q", "uuid": "16s"}

_REQUEST = "pdu_seq_id:u16 receiver:u8 "
_STC = _REQUEST + "state_id:u8 "
_RSP = "resp_seq_id:u16 sender:u8 "
_ADDRESS = _REQUEST + "data_id:u16 transport_protocol:u8 address:rest"
_TABLE: dict[PduType, str] = {
    PduType.STC_register: _STC + "slave_uuid:uuid op_mode:u8 major_version:u8 minor_version:u8",
    PduType.STC_deregister: _STC,
    PduType.STC_prepare: _STC,
    PduType.STC_configure: _STC,
    PduType.STC_initialize: _STC,
    PduType.STC_run: _STC + "time:i64",
    PduType.STC_do_step: _STC + "steps:u32",
    PduType.STC_send_outputs: _STC,
    PduType.STC_stop: _STC,
    PduType.STC_reset: _STC,
    PduType.CFG_time_res: _REQUEST + "numerator:u32 denominator:u32",
    PduType.CFG_steps: _REQUEST + "steps:u32 data_id:u16",
    PduType.CFG_input: _REQUEST + "data_id:u16 pos:u16 target_vr:u64 source_data_type:u8",
    PduType.CFG_output: _REQUEST + "data_id:u16 pos:u16 source_vr:u64",
    PduType.CFG_clear: _REQUEST,
    PduType.CFG_target_network_information: _ADDRESS,
    PduType.CFG_source_network_information: _ADDRESS,
    PduType.CFG_parameter: _REQUEST + "parameter_vr:u64 source_data_type:u8 payload:rest",
    PduType.CFG_tunable_parameter:
        _REQUEST + "param_id:u16 pos:u16 parameter_vr:u64 source_data_type:u8",
    PduType.CFG_param_network_information:
        _REQUEST + "param_id:u16 transport_protocol:u8 address:rest",
    PduType.CFG_logging: _REQUEST + "log_category:u8 log_level:u8 log_mode:u8",
    PduType.CFG_scope: _REQUEST + "data_id:u16 scope:u8",
    PduType.INF_state: _REQUEST,
    PduType.INF_error: _REQUEST,
    PduType.INF_log: _REQUEST + "log_category:u8 log_max_num:u8",
    PduType.RSP_ack: _RSP,
    PduType.RSP_nack: _RSP + "exp_seq_id:u16 error_code:u16",
    PduType.RSP_state_ack: _RSP + "state_id:u8",
    PduType.RSP_error_ack: _RSP + "error_code:u16",
    PduType.RSP_log_ack: _RSP + "entries:rest",
    PduType.NTF_state_changed: "sender:u8 state_id:u8",
    PduType.NTF_log: "sender:u8 time:i64 log_template_id:u8 arguments:rest",
    PduType.DAT_input_output: "pdu_seq_id:u16 data_id:u16 payload:rest",
    PduType.DAT_parameter: "pdu_seq_id:u16 param_id:u16 payload:rest",
}  # fmt: skip


@dataclass(frozen=True)
class PduLayout:
    """How one PDU type lies in memory.

    :ivar tail: name of the variable part behind the fixed fields, or None
    """

    kind: PduType
    names: tuple[str, ...]
    packer: struct.Struct
    tail: str | None

    @property
    def size(self) -> int:
        """Bytes up to the end of the fixed fields."""
        return self.packer.size

    def fits(self, length: int) -> bool:
        """Whether a PDU of this type may have that many bytes."""
        return length == self.size if self.tail is None else length >= self.size


def _layout(kind: PduType, text: str) -> PduLayout:
    codes = dict(item.split(":") for item in text.split())
    tail = codes.popitem()[0] if text.endswith(":rest") else None
    packer = struct.Struct("<B" + "".join(_CODES[code] for code in codes.values()))
    return PduLayout(kind, tuple(codes), packer, tail)


LAYOUTS: dict[int, PduLayout] = {int(k): _layout(k, text) for k, text in _TABLE.items()}
FIELD_CODES: dict[str, str] = dict(
    item.split(":") for text in _TABLE.values() for item in text.split()
)
"""Name of a field, the same in all PDUs that have it -> ``u8`` to ``i64``, ``uuid`` or ``rest``."""

REQUEST_HEAD, STATE_CHANGE_HEAD = 4, 5
"""Bytes of a request up to the receiver, and of a change of state up to its state_id."""
FIRST_CONFIGURATION, FIRST_INFORMATION = 0x20, 0x80
"""Smallest types of CFG and INF PDUs; those of STC are below."""

ADDRESS = struct.Struct("<HI")
"""IPv4 transport part: port, then the address as a number, both little endian."""


@dataclass(frozen=True)
class Pdu:
    """One PDU with its fields by the names of the standard; ``pdu.data_id`` reads one."""

    kind: PduType
    fields: dict[str, Any] = field(default_factory=dict)

    def __getattr__(self, name: str) -> Any:
        try:
            return self.fields[name]
        except KeyError:
            raise AttributeError(f"{self.kind.name} has no field {name!r}") from None

    def encode(self) -> bytes:
        """Bytes of the PDU.

        :raises PduError: a field is missing, unknown or out of range
        """
        layout = LAYOUTS[self.kind]
        expected = layout.names if layout.tail is None else (*layout.names, layout.tail)
        if set(self.fields) != set(expected):
            raise PduError(
                f"{self.kind.name} has the fields {', '.join(expected)}; "
                f"got {', '.join(self.fields)}"
            )
        try:
            head = layout.packer.pack(self.kind, *(self.fields[name] for name in layout.names))
        except (struct.error, TypeError) as error:
            raise PduError(f"{self.kind.name}: {error}") from None
        return head if layout.tail is None else head + bytes(self.fields[layout.tail])

    def __str__(self) -> str:
        texts = [self.kind.name]
        for name, value in self.fields.items():
            if name == "state_id" and value in State.__members__.values():
                texts.append(State(value).name)
            elif name == "error_code":
                texts.append(code_name(value))
            elif isinstance(value, bytes):
                texts.append(f"{name}={value.hex()}")
            else:
                texts.append(f"{name}={value}")
        return " ".join(texts)


def make(kind: PduType, **fields: Any) -> bytes:
    """Encode a PDU in one go: ``make(PduType.RSP_ack, resp_seq_id=0, sender=1)``."""
    return Pdu(kind, fields).encode()


def decode(data: bytes) -> Pdu:
    """The PDU that these bytes are.

    :raises PduError: unknown type or wrong length
    """
    layout = LAYOUTS.get(data[0]) if data else None
    if layout is None:
        raise PduError(f"no PDU: {'empty' if not data else f'unknown type 0x{data[0]:02X}'}")
    if not layout.fits(len(data)):
        least = "" if layout.tail is None else "at least "
        raise PduError(f"{layout.kind.name} of {len(data)} bytes; it has {least}{layout.size}")
    values = layout.packer.unpack_from(data)
    fields = dict(zip(layout.names, values[1:], strict=True))
    if layout.tail is not None:
        fields[layout.tail] = bytes(data[layout.size :])
    return Pdu(layout.kind, fields)


def encode_address(host: str, port: int) -> bytes:
    """IPv4 transport part of the three network PDUs (``host`` in dotted form).

    :raises PduError: no dotted IPv4 address, or a port outside 0..65535
    """
    try:
        return ADDRESS.pack(port, int(IPv4Address(host)))
    except (ValueError, struct.error):
        raise PduError(f"no IPv4 address and port: {host!r}, {port}") from None


def decode_address(data: bytes) -> tuple[str, int]:
    """(host, port) of an IPv4 transport part.

    :raises PduError: it is not six bytes long
    """
    if len(data) != ADDRESS.size:
        raise PduError(f"IPv4 transport part of {len(data)} bytes; it has {ADDRESS.size}")
    port, number = ADDRESS.unpack(data)
    return str(IPv4Address(number)), port


ADDRESS_SIZES: dict[int, tuple[int, int, int]] = {
    TransportProtocol.UDP_IPv4: (6, 6, 6),
    TransportProtocol.TCP_IPv4: (6, 6, 6),
    TransportProtocol.BLUETOOTH: (9, 9, 6),
    TransportProtocol.USB2: (17, 1, 1),
    TransportProtocol.CAN: (0, 0, 0),
}
"""Length of the transport part in target, source and param network information."""


def encode_log_arguments(kinds: Sequence[DataType], values: Sequence[Any]) -> bytes:
    """Argument values of a log entry in the order of the template's placeholders."""
    if len(kinds) != len(values):
        raise PduError(f"log template takes {len(kinds)} arguments; got {len(values)}")
    return b"".join(encode_value(k, v) for k, v in zip(kinds, values, strict=True))


def decode_log_arguments(
    kinds: Sequence[DataType], data: bytes, offset: int, *, short: bool = False
) -> tuple[list[Any], int]:
    """Argument values at ``offset`` and the offset behind them.

    :param short: lengths of strings and binaries have 2 bytes, as some slaves send them
    :raises PduError: the arguments do not fit in
    """
    values = []
    for kind in kinds:
        if short and kind in SIZED:
            head = data[offset : offset + 2] + b"\0\0"
            value, end = decode_value(kind, head + data[offset + 2 :], 0)
            offset += end - 2
        else:
            value, offset = decode_value(kind, data, offset)
        values.append(value)
    return values, offset
