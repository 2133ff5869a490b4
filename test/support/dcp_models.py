# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Slaves that the tests of this room share, and a runner for them in threads."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from typing import Any

from ros2_cosim.dcp.master.master import Master
from ros2_cosim.dcp.master.remote import RemoteSlave
from ros2_cosim.dcp.slave.declare import describe
from ros2_cosim.dcp.slave.server import SlaveServer
from ros2_cosim.dcp.slave.slave_model import (
    Input,
    Output,
    Parameter,
    SlaveModel,
    StepInfo,
    StructuralParameter,
)
from ros2_cosim.dcp.standard.enums import OpMode
from ros2_cosim.dcp.standard.slave_description import SlaveDescription

SINE_UUID = "b5279485-720d-4542-9f29-bee4d9a75ef9"


class Sine(SlaveModel):
    """y = amplitude * sin(u + phase) + offset."""

    y = Output("float64", start=0.0)
    a = Input("float64", start=10.0)
    amplitude = Parameter("float64", start=1.0)
    phase = Parameter("float64", start=0.0)
    offset = Parameter("float64", start=0.0, variability="tunable")

    def _compute(self) -> None:
        self.y = self.amplitude * math.sin(self.a + self.phase) + self.offset

    def initialise(self) -> None:
        self._compute()

    def do_step(self, step: StepInfo) -> None:
        self._compute()


class Offset(SlaveModel):
    """y = u + offset."""

    u = Input("float64")
    y = Output("float64", start=0.0)
    offset = Parameter("float64", start=1.0)

    def initialise(self) -> None:
        self.y = self.u + self.offset

    def do_step(self, step: StepInfo) -> None:
        self.y = self.u + self.offset


class Types(SlaveModel):
    """One output per data type that repeats the input of the same type, and an array."""

    n = StructuralParameter("uint16", start=3)
    m = StructuralParameter("uint8", start=2, variability="tunable")
    in_uint8 = Input("uint8")
    in_uint64 = Input("uint64")
    in_int16 = Input("int16")
    in_float32 = Input("float32")
    in_string = Input("string", max_size=40)
    in_binary = Input("binary")
    in_array = Input("float64", shape=("n",))
    in_matrix = Input("int32", shape=(2, "m"))
    out_uint8 = Output("uint8")
    out_uint64 = Output("uint64")
    out_int16 = Output("int16")
    out_float32 = Output("float32")
    out_string = Output("string")
    out_binary = Output("binary")
    out_array = Output("float64", shape=("n",))
    out_matrix = Output("int32", shape=(2, "m"))
    text = Parameter("string", start="abc", max_size=8)

    def do_step(self, step: StepInfo) -> None:
        self.outputs[:] = self.inputs


def sine_description(**more: Any) -> SlaveDescription:
    defaults: dict[str, Any] = {
        "uuid": SINE_UUID,
        "op_modes": (OpMode.SRT, OpMode.NRT, OpMode.HRT),
        "resolutions": (Fraction(1, 100),),
    }
    return describe(Sine, **(defaults | more))


def follow_loop(
    master: Master,
    slaves: tuple[RemoteSlave, RemoteSlave],
    stepping: str,
    steps: int,
    offset: float,
) -> None:
    """Step a sine and what adds an offset, each fed by the other, and see their outputs."""
    first, second = slaves
    y, z = first.outputs[0], second.outputs[0]
    for _ in range(steps):
        master.do_step()
        y, z = math.sin(z), (y if stepping == "parallel" else math.sin(z)) + offset
        assert (first.outputs[0], second.outputs[0]) == (y, z)


class Running:
    """A slave served by a thread; ``error`` is what its ``run`` raised."""

    def __init__(self, server: SlaveServer) -> None:
        self.server = server
        self.port = server.port
        self.error: BaseException | None = None
        self.thread = threading.Thread(target=self._run)
        self.thread.start()

    def _run(self) -> None:
        try:
            self.server.run()
        except BaseException as error:  # handed to the test
            self.error = error


@contextmanager
def running(model: SlaveModel, description: SlaveDescription, **options: Any) -> Iterator[Running]:
    """A slave on a free port; it is ended with the block."""
    slave = Running(SlaveServer(model, description, port=0, **options))
    try:
        yield slave
    finally:
        slave.server.stop()
        slave.thread.join(10)
        assert not slave.thread.is_alive()
