# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A slave on real sockets answers recorded traffic byte for byte."""

from __future__ import annotations

import math
import socket
from fractions import Fraction
from pathlib import Path
from typing import Any

from support.dcp_models import SINE_UUID, running

from ros2_cosim.dcp.slave.declare import SlaveAddress, describe
from ros2_cosim.dcp.slave.slave_model import Input, Output, Parameter, SlaveModel, StepInfo
from ros2_cosim.dcp.standard.enums import DataType, OpMode
from ros2_cosim.dcp.standard.slave_description import (
    Causality,
    Dimension,
    LogCategory,
    LogTemplate,
    SlaveDescription,
    Variable,
)

FOLDER = Path(__file__).parent / "vectors"


class Talk:
    """A UDP socket that plays the master's lines and compares the slave's."""

    def __init__(self, port: int) -> None:
        self.control = self._socket()
        self.data = self._socket()
        self.port = port

    @staticmethod
    def _socket() -> socket.socket:
        sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        sock.bind(("127.0.0.1", 0))
        sock.settimeout(60)
        return sock

    def play(self, text: str) -> None:
        for line in text.splitlines():
            if line.startswith("#") or not line:
                continue
            arrow, data = line[:4], bytes.fromhex(line[5:])
            if arrow == "M->S":
                self.control.sendto(self._with_ports(data), ("127.0.0.1", self.port))
            else:
                sock = self.control if arrow == "S->M" else self.data
                assert sock.recv(65536).hex(" ") == data.hex(" "), line

    def _with_ports(self, data: bytes) -> bytes:
        """Network information carries the ports of this test, except a port to be refused."""
        if data[0] not in (0x25, 0x26, 0x29) or data[7:9] == b"\x50\x00":
            return data
        port = self.data.getsockname()[1] if data[0] == 0x25 else self.port
        return data[:7] + port.to_bytes(2, "little") + data[9:]

    def close(self) -> None:
        self.control.close()
        self.data.close()


def assert_answers_as_recorded(name: str, model: SlaveModel, description: SlaveDescription) -> None:
    with running(model, description, once=False) as slave:
        talk = Talk(slave.port)
        try:
            talk.play((FOLDER / f"{name}.txt").read_text())
        finally:
            talk.close()


class RecordedSine(SlaveModel):
    y = Output("float64", start=0.0)
    a = Input("float64", start=10.0)

    def initialise(self) -> None:
        self.y = math.sin(self.a)


def recorded_sine(**more: Any) -> SlaveDescription:
    return describe(
        RecordedSine,
        uuid=SINE_UUID,
        op_modes=(OpMode.SRT,),
        resolutions=(Fraction(1, 100),),
        log_categories=(LogCategory(1, "all"),),
        log_templates=(LogTemplate(1, 1, 3, "%float64 %uint64 %float64 %float64"),),
        **more,
    )


def test_complete_real_time_run() -> None:
    assert_answers_as_recorded("A", RecordedSine(), recorded_sine())


SIZE = (Dimension(linked_vr=3),)
ARRAY = (
    Variable("out", 1, Causality.OUTPUT, DataType.float64, (0.0,), dimensions=SIZE),
    Variable("in", 2, Causality.INPUT, DataType.float64, (0.0,), dimensions=SIZE),
    Variable("n", 3, Causality.STRUCTURAL, DataType.uint16, 1, "fixed"),
)


class Counting(SlaveModel):
    def do_step(self, step: StepInfo) -> None:
        self.outputs[0] = tuple(float(i) for i in range(len(self.outputs[0])))


def test_non_real_time_run_with_an_array_of_structural_size() -> None:
    uuid = "2fcef2a4-51d0-11ec-bf63-0242ac130002"
    assert_answers_as_recorded(
        "B", Counting(), describe(ARRAY, uuid=uuid, resolutions=(Fraction(1, 100),))
    )


def test_refusals_sequence_ids_logging_start_time_and_reset() -> None:
    assert_answers_as_recorded("D", RecordedSine(), recorded_sine())


def test_missed_heartbeat() -> None:
    assert_answers_as_recorded("G", RecordedSine(), recorded_sine(heartbeat=Fraction(1, 2)))


class Mixed(SlaveModel):
    o1 = Output("uint8", value_reference=1)
    i4 = Input("uint16", value_reference=4)
    o19 = Output("float64", value_reference=19)
    i20 = Input("float64", value_reference=20)
    i2 = Input("uint8", value_reference=2)
    i22 = Input("binary", value_reference=22)
    i24 = Input("string", value_reference=24)
    p26 = Parameter("uint8", value_reference=26)
    p27 = Parameter("uint16", value_reference=27)
    p35 = Parameter("float64", value_reference=35)


def test_parameters_conversions_and_incomplete_configuration() -> None:
    description = describe(
        Mixed,
        uuid="0d7217ea-ac72-11ea-bb37-0242ac130002",
        address=SlaveAddress(data_ports=((1024, 1024),)),
    )
    assert_answers_as_recorded("I", Mixed(), description)
