# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""PDUs and values: exact bytes, exact lengths, round trips, garbage."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ros2_cosim.dcp.standard.enums import DataType, PduType
from ros2_cosim.dcp.standard.errors import PduError
from ros2_cosim.dcp.standard.pdu import LAYOUTS, Pdu, decode, decode_address, encode_address, make
from ros2_cosim.dcp.standard.values import (
    CONVERSIONS,
    PayloadCodec,
    converter,
    convertible,
    decode_value,
    encode_value,
)

LENGTHS = {
    "STC_register": 24,
    "STC_deregister": 5,
    "STC_prepare": 5,
    "STC_configure": 5,
    "STC_initialize": 5,
    "STC_run": 13,
    "STC_do_step": 9,
    "STC_send_outputs": 5,
    "STC_stop": 5,
    "STC_reset": 5,
    "CFG_time_res": 12,
    "CFG_steps": 10,
    "CFG_input": 17,
    "CFG_output": 16,
    "CFG_clear": 4,
    "CFG_target_network_information": 7,
    "CFG_source_network_information": 7,
    "CFG_parameter": 13,
    "CFG_tunable_parameter": 17,
    "CFG_param_network_information": 7,
    "CFG_logging": 7,
    "CFG_scope": 7,
    "INF_state": 4,
    "INF_error": 4,
    "INF_log": 6,
    "RSP_ack": 4,
    "RSP_nack": 8,
    "RSP_state_ack": 5,
    "RSP_error_ack": 6,
    "RSP_log_ack": 4,
    "NTF_state_changed": 3,
    "NTF_log": 11,
    "DAT_input_output": 5,
    "DAT_parameter": 5,
}


def test_every_type_has_a_layout_of_the_length_in_the_standard() -> None:
    assert {layout.kind.name: layout.size for layout in LAYOUTS.values()} == LENGTHS


VALUES = [
    (DataType.uint8, 42, "2a"),
    (DataType.uint16, 7963, "1b 1f"),
    (DataType.uint32, 335960, "58 20 05 00"),
    (DataType.uint64, 622553314543962266, "9a 88 22 ef f0 c0 a3 08"),
    (DataType.int8, -113, "8f"),
    (DataType.int16, -4963, "9d ec"),
    (DataType.int32, -89498498, "7e 5c aa fa"),
    (DataType.int64, -8789498491988154686, "c2 e6 36 b7 b0 6d 05 86"),
    (DataType.float32, 7256.2568359375, "0e c2 e2 45"),
    (DataType.float64, 46.42829231507700882, "23 31 57 48 d2 36 47 40"),
    (DataType.string, "beef", "04 00 00 00 62 65 65 66"),
    (DataType.binary, bytes.fromhex("39e629d2"), "04 00 00 00 39 e6 29 d2"),
]


@pytest.mark.parametrize(("kind", "value", "text"), VALUES)
def test_value_bytes(kind: DataType, value: object, text: str) -> None:
    data = bytes.fromhex(text)
    assert encode_value(kind, value) == data
    assert decode_value(kind, data, 0) == (value, len(data))


@pytest.mark.parametrize(
    ("pdu", "text"),
    [
        (
            Pdu(
                PduType.DAT_parameter,
                {"pdu_seq_id": 0, "param_id": 5, "payload": b"\x09\x2c\x01"},
            ),
            "f1 00 00 05 00 09 2c 01",
        ),
        (
            Pdu(
                PduType.NTF_log,
                {
                    "sender": 1,
                    "time": 1795183424,
                    "log_template_id": 1,
                    "arguments": struct.pack("<d", 0.0),
                },
            ),
            "e1 01 40 53 00 6b 00 00 00 00 01 00 00 00 00 00 00 00 00",
        ),
        (
            Pdu(
                PduType.DAT_input_output,
                {"pdu_seq_id": 1, "data_id": 4, "payload": b"\x05\0\0\0hello"},
            ),
            "f0 01 00 04 00 05 00 00 00 68 65 6c 6c 6f",
        ),
    ],
)
def test_pdu_bytes(pdu: Pdu, text: str) -> None:
    assert pdu.encode() == bytes.fromhex(text)
    assert decode(bytes.fromhex(text)) == pdu


RANGES = {"B": 2**8, "H": 2**16, "I": 2**32, "Q": 2**64}


@st.composite
def pdus(draw: st.DrawFn) -> Pdu:
    layout = LAYOUTS[draw(st.sampled_from(sorted(LAYOUTS)))]
    fields: dict[str, object] = {}
    codes = layout.packer.format[2:]
    codes = codes.replace("16s", "u")
    for name, code in zip(layout.names, codes, strict=True):
        if code == "u":
            fields[name] = draw(st.binary(min_size=16, max_size=16))
        elif code == "q":
            fields[name] = draw(st.integers(-(2**63), 2**63 - 1))
        else:
            fields[name] = draw(st.integers(0, RANGES[code] - 1))
    if layout.tail is not None:
        fields[layout.tail] = draw(st.binary(max_size=40))
    return Pdu(layout.kind, fields)


@given(pdus())
def test_round_trip_of_every_pdu(pdu: Pdu) -> None:
    data = pdu.encode()
    assert decode(data) == pdu
    assert str(pdu)
    if LAYOUTS[pdu.kind].tail is None:
        for wrong in (data[:-1], data + b"\0"):
            with pytest.raises(PduError):
                decode(wrong)


@given(st.binary(max_size=60))
def test_garbage_decodes_or_is_refused(data: bytes) -> None:
    try:
        pdu = decode(data)
    except PduError:
        return
    assert pdu.encode() == data


def test_wrong_fields_are_named() -> None:
    with pytest.raises(PduError, match="RSP_ack has the fields resp_seq_id, sender"):
        make(PduType.RSP_ack, sender=1)
    with pytest.raises(PduError, match="RSP_ack"):
        make(PduType.RSP_ack, resp_seq_id=70000, sender=1)
    with pytest.raises(AttributeError, match="data_id"):
        _ = decode(bytes.fromhex("b0000001")).data_id


def test_address_is_a_little_endian_number() -> None:
    assert encode_address("127.0.0.1", 8080) == bytes.fromhex("901f0100007f")
    assert decode_address(bytes.fromhex("901f0100007f")) == ("127.0.0.1", 8080)
    for host in ("::1", "1.2.3", "1.2.3.400", "host"):
        with pytest.raises(PduError):
            encode_address(host, 1)


SCALARS = {
    DataType.string: st.text(max_size=12),
    DataType.binary: st.binary(max_size=12),
    DataType.float32: st.floats(width=32, allow_nan=False),
    DataType.float64: st.floats(allow_nan=False),
    **{
        DataType[f"{sign}int{bits}"]: st.integers(
            0 if sign else -(2 ** (bits - 1)), 2**bits - 1 if sign else 2 ** (bits - 1) - 1
        )
        for sign in ("u", "")
        for bits in (8, 16, 32, 64)
    },
}


@st.composite
def payloads(draw: st.DrawFn) -> tuple[list[tuple[DataType, int | None]], list[object]]:
    fields = draw(
        st.lists(
            st.tuples(st.sampled_from(list(DataType)), st.none() | st.integers(0, 4)), max_size=6
        )
    )
    values: list[object] = []
    for kind, count in fields:
        if count is None:
            values.append(draw(SCALARS[kind]))
        else:
            values.append(tuple(draw(SCALARS[kind]) for _ in range(count)))
    return fields, values


@given(payloads())
def test_payload_round_trip_and_exact_length(
    case: tuple[list[tuple[DataType, int | None]], list[object]],
) -> None:
    fields, values = case
    codec = PayloadCodec(fields)
    data = codec.pack(values)
    assert codec.size in (None, len(data))
    assert list(codec.unpack(b"xyz" + data, 3)) == values
    with pytest.raises(PduError):
        codec.unpack(data + b"\0")
    if data:
        with pytest.raises(PduError):
            codec.unpack(data[:-1])


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (DataType.uint8, 256),
        (DataType.int8, -129),
        (DataType.float32, 1e39),
        (DataType.float64, "1"),
        (DataType.string, 5),
        (DataType.uint16, 1.5),
    ],
)
def test_a_value_that_does_not_fit_is_named(kind: DataType, value: object) -> None:
    codec = PayloadCodec([(DataType.uint8, None), (kind, None)], ["a", "b"])
    with pytest.raises(PduError, match=f"^variable 'b': value .* {kind.name}") as found:
        codec.pack([0, value])
    assert "attribute" not in str(found.value)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (2.0, "found 2.0 where an array of 2 elements belongs"),
        ((1.0,), "array of 1 elements where 2 belong"),
        ((1.0, "x"), "value 'x' does not fit type float64"),
    ],
)
def test_an_array_that_does_not_fit_is_named(value: object, said: str) -> None:
    codec = PayloadCodec([(DataType.float64, 2)], ["grid"])
    with pytest.raises(PduError, match=f"^variable 'grid': {said}"):
        codec.pack([value])


def test_arrays_that_only_together_have_their_length_do_not_fit() -> None:
    codec = PayloadCodec([(DataType.float64, 2), (DataType.float64, 2)], ["a", "b"])
    with pytest.raises(PduError, match="^variable 'a': array of 1 elements where 2 belong"):
        codec.pack([(1.0,), (1.0, 2.0, 3.0)])


def test_conversions_are_exactly_those_without_loss() -> None:
    def lossless(source: DataType, target: DataType) -> bool:
        if source is target:
            return True
        if DataType.string in (source, target) or DataType.binary in (source, target):
            return False
        bits = {t: 8 * len(encode_value(t, 0)) for t in (source, target)}
        is_float = {t: t.name.startswith("float") for t in (source, target)}
        if is_float[source]:
            return is_float[target] and bits[target] >= bits[source]
        signed = source.name.startswith("int")
        if is_float[target]:
            return bits[source] <= (24 if bits[target] == 32 else 53)
        if target.name.startswith("int"):
            return bits[target] >= bits[source] + (0 if signed else 1)
        return not signed and bits[target] >= bits[source]

    for source in DataType:
        for target in DataType:
            assert convertible(source, target) == lossless(source, target), (source, target)
    assert not convertible(12, DataType.uint8)
    assert len(CONVERSIONS) == 12


def test_converted_integers_become_floats() -> None:
    convert = converter(DataType.uint8, DataType.float32)
    assert convert is not None
    assert repr(convert(3)) == "3.0"
    assert repr(convert((1, 2))) == "(1.0, 2.0)"
    assert converter(DataType.uint8, DataType.uint16) is None
