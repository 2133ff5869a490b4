# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Bytes between messages and slaves: a field uint8[] is an array, or one binary variable."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.messages.catalogue import DEFAULT as CATALOGUE
from ros2_cosim.core.messages.records import ControlCommand
from ros2_cosim.dcp.bridge.mapping import FieldWriter, RecordReader
from ros2_cosim.dcp.slave.declare import describe
from ros2_cosim.dcp.standard.enums import DataType
from ros2_cosim.dcp.standard.slave_description import Causality, Dimension, Variable

OCTETS = "std_msgs/msg/UInt8MultiArray"
WORDS = "std_msgs/msg/Int32MultiArray"


def both(causality: Causality, first: int) -> list[Variable]:
    """A binary variable and an array of two bytes."""
    kinds = (("data", DataType.binary, ()), ("pair", DataType.uint8, (Dimension(constant=2),)))
    starts: dict[str, Any] = {"data": b"", "pair": (0, 0)}
    return [
        Variable(
            f"{name}_{causality.value}",
            first + number,
            causality,
            kind,
            start=starts[name] if causality is Causality.INPUT else None,
            dimensions=dimensions,
        )
        for number, (name, kind, dimensions) in enumerate(kinds)
    ]


SLAVES = {"s": describe([*both(Causality.OUTPUT, 1), *both(Causality.INPUT, 3)], name="s")}
OUT, PAIR_OUT = (v.name for v in SLAVES["s"].of(Causality.OUTPUT))
IN, PAIR_IN = (v.name for v in SLAVES["s"].of(Causality.INPUT))


@given(st.binary(max_size=300))
def test_a_message_carries_the_bytes_of_one_variable_to_another(data: bytes) -> None:
    record, codec = CATALOGUE.record(OCTETS), CATALOGUE.codec(OCTETS)
    made = RecordReader(record, {"data": f"s.{OUT}"}, SLAVES, "here").read(lambda *_: data)
    assert made.layout == record().layout
    sent = codec.encode(5, 0, made)
    for message in (made, codec.decode(sent)[2], record(data=tuple(data))):
        found: dict[str, dict[str, Any]] = {}
        FieldWriter(record, {f"s.{IN}": "data"}, SLAVES, "here").write(message, found)
        assert found == {"s": {IN: data}}
        assert isinstance(found["s"][IN], bytes)


def test_an_array_of_bytes_is_still_an_array() -> None:
    record = CATALOGUE.record(OCTETS)
    made = RecordReader(record, {"data": f"s.{PAIR_OUT}"}, SLAVES, "here").read(lambda *_: (7, 255))
    assert made.data == (7, 255)
    found: dict[str, dict[str, Any]] = {}
    FieldWriter(record, {f"s.{PAIR_IN}": "data"}, SLAVES, "here").write(made, found)
    assert found == {"s": {PAIR_IN: (7, 255)}}


def test_bytes_fit_nothing_else() -> None:
    with pytest.raises(ConfigurationError, match=r"here\.data: s\.data_\w+ is a scalar, the field"):
        RecordReader(CATALOGUE.record(WORDS), {"data": f"s.{OUT}"}, SLAVES, "here")
    with pytest.raises(ConfigurationError, match="'data' does not fit data_.* which is binary"):
        FieldWriter(CATALOGUE.record(WORDS), {f"s.{IN}": "data"}, SLAVES, "here")
    with pytest.raises(ConfigurationError, match="'throttle' does not fit data_.* is binary"):
        FieldWriter(ControlCommand, {f"s.{IN}": "throttle"}, SLAVES, "here")


def test_nested_records_cannot_be_mapped() -> None:
    for name, message in (("layout", "no field 'layout'"), ("layout[].dim", "cannot be mapped")):
        with pytest.raises(ConfigurationError, match=message):
            RecordReader(CATALOGUE.record(OCTETS), {name: f"s.{OUT}"}, SLAVES, "here")
