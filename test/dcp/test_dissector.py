# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The dissector for Wireshark reads each PDU as the project's own decoder does."""

from __future__ import annotations

import json
import random
import shutil
import struct
import subprocess
from pathlib import Path
from typing import Any

import pytest

from ros2_cosim.dcp.standard.enums import DataType, PduType
from ros2_cosim.dcp.standard.pdu import FIELD_CODES, LAYOUTS, decode, encode_address, make
from ros2_cosim.dcp.standard.values import encode_value
from ros2_cosim.dcp.tools.dissector import lua_text

SIZES = {"u8": 1, "u16": 2, "u32": 4, "u64": 8}
#: Data types with a value of each.
VALUES: list[tuple[DataType, Any]] = [
    (DataType.uint8, 200), (DataType.uint64, 2**64 - 1), (DataType.int16, -3),
    (DataType.int64, -(2**63)), (DataType.float32, 0.5), (DataType.float64, 0.1),
    (DataType.string, "seven"), (DataType.binary, b"\x01\xff"),
]  # fmt: skip


def packet(protocol: int, port: int, data: bytes, sequence: int = 0) -> bytes:
    """An Ethernet frame with a UDP datagram (17) or a TCP segment (6) of these data."""
    if protocol == 17:
        head = struct.pack(">HHHH", port, 40001, 8 + len(data), 0)
    else:
        head = struct.pack(">HHIIBBHHH", port, 40001, sequence, 0, 0x50, 0x10, 0, 0, 0)
    body = head + data
    ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(body), 0, 0, 64, protocol, 0,
                     bytes([10, 0, 0, 1]), bytes([10, 0, 0, 2]))  # fmt: skip
    return bytes(12) + b"\x08\x00" + ip + body


def dissected(tmp_path: Path, packets: list[bytes]) -> list[dict[str, Any]]:
    """What tshark finds in these packets: of each its layers."""
    program = shutil.which("tshark")
    if program is None:
        pytest.skip("tshark is not installed; Debian and Ubuntu have it in the package tshark")
    capture, script = tmp_path / "a.pcap", tmp_path / "dcp.lua"
    capture.write_bytes(
        struct.pack("<IHHIIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)
        + b"".join(struct.pack("<IIII", 1, n, len(p), len(p)) + p for n, p in enumerate(packets))
    )
    script.write_text(lua_text())
    done = subprocess.run(
        [program, "-X", f"lua_script:{script}", "-r", str(capture), "-T", "json",
         "--no-duplicate-keys",
         # As a user does where the dissector of another protocol claims the port.
         "-d", "tcp.port==40001,dcp"],
        capture_output=True, text=True, check=True,
        env={"HOME": str(tmp_path), "LC_ALL": "C.UTF-8"},
    )  # fmt: skip
    assert "Lua:" not in done.stderr
    return [found["_source"]["layers"] for found in json.loads(done.stdout)]


def any_pdu(kind: PduType, source: random.Random) -> bytes:
    """A PDU of a type with any content."""
    layout = LAYOUTS[kind]
    fields: dict[str, Any] = {}
    for name in layout.names:
        code = FIELD_CODES[name]
        if code == "uuid":
            fields[name] = source.randbytes(16)
        elif code == "i64":
            fields[name] = source.randrange(-(2**63), 2**63)
        else:
            fields[name] = source.randrange(256 ** SIZES[code])
    if layout.tail is not None:
        fields[layout.tail] = source.randbytes(source.randrange(1, 9))
    return make(kind, **fields)


def as_shown(name: str, value: Any) -> str:
    """A field as tshark prints it."""
    code = FIELD_CODES[name]
    if code == "uuid":
        text = value.hex()
        return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))
    return ":".join(f"{byte:02x}" for byte in value) if code == "rest" else str(value)


def test_every_pdu_has_its_fields(tmp_path: Path) -> None:
    source = random.Random(5)
    # Data come after the configuration that names them.
    sent = [any_pdu(kind, source) for kind in PduType for _ in range(8)]
    stream = b"".join(struct.pack("<I", len(pdu)) + pdu for pdu in sent)
    # Segments that cut PDUs anywhere.
    cuts = range(0, len(stream), 100)
    segments = [packet(6, 5000, stream[at : at + 100], 1 + at) for at in cuts]
    found = []
    for layers in dissected(tmp_path, segments):
        dcp = layers.get("dcp", [])
        found += dcp if isinstance(dcp, list) else [dcp]
    assert len(found) == len(sent)
    for data, shown in zip(sent, found, strict=True):
        pdu = decode(data)
        assert int(shown["dcp.type"], 0) == pdu.kind
        for name, value in pdu.fields.items():
            assert shown[f"dcp.{name}"] == as_shown(name, value), (pdu, shown)


def test_values_and_addresses_of_datagrams(tmp_path: Path) -> None:
    wired = [
        make(PduType.CFG_input, pdu_seq_id=n, receiver=1, data_id=7, pos=n, target_vr=n,
             source_data_type=kind)
        for n, (kind, _) in enumerate(VALUES)
    ]  # fmt: skip
    address = make(
        PduType.CFG_target_network_information, pdu_seq_id=9, receiver=1, data_id=7,
        transport_protocol=0, address=encode_address("127.0.0.9", 4242),
    )  # fmt: skip
    payload = b"".join(encode_value(kind, value) for kind, value in VALUES)
    data = make(PduType.DAT_input_output, pdu_seq_id=0, data_id=7, payload=payload)
    foreign = make(PduType.DAT_input_output, pdu_seq_id=0, data_id=8, payload=payload)
    pdus = [*wired, address, data]
    layers = dissected(
        tmp_path,
        [*(packet(17, 5000, pdu) for pdu in pdus), packet(17, 5001, foreign), packet(17, 9, b"?")],
    )
    shown = [found.get("dcp", {}) for found in layers]
    assert shown[-2:] == [{}, {}], "neither numbers that nobody named, nor other protocols"
    assert shown[-4]["dcp.host"] == "127.0.0.9"
    assert shown[-4]["dcp.port"] == "4242"
    values = [
        "200",
        str(2**64 - 1),
        "-3",
        str(-(2**63)),
        "0.5",
        "0.10000000000000001",
        "seven",
        "01FF",
    ]
    assert shown[-3]["dcp.value"] == values
