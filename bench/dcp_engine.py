# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What the soaks of slaves and masters share: a slave's model, and its engine without sockets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ros2_cosim.dcp.slave.interfaces import Endpoint, SlaveOptions
from ros2_cosim.dcp.slave.slave import Slave
from ros2_cosim.dcp.slave.slave_model import (
    Input,
    Output,
    Parameter,
    SlaveModel,
    StepInfo,
    StructuralParameter,
)
from ros2_cosim.dcp.standard.enums import TransportProtocol
from ros2_cosim.dcp.standard.slave_description import SlaveDescription


class Target(SlaveModel):
    """All kinds of variables; outputs repeat the inputs."""

    n = StructuralParameter("uint8", start=3)
    m = StructuralParameter("uint8", start=2, variability="tunable")
    in_u8 = Input("uint8")
    in_f64 = Input("float64")
    in_text = Input("string", max_size=40)
    in_array = Input("float64", shape=("n",))
    in_matrix = Input("int32", shape=(2, "m"))
    out_u8 = Output("uint8")
    out_f64 = Output("float64")
    out_text = Output("string")
    out_array = Output("float64", shape=("n",))
    out_matrix = Output("int32", shape=(2, "m"))
    text = Parameter("string", start="abc", max_size=8)
    gain = Parameter("float64", start=1.0, variability="tunable")

    def do_step(self, step: StepInfo) -> None:
        """Copy inputs to outputs."""
        self.outputs[:] = self.inputs


class Engine:
    """The protocol side of a slave, and the world around it: transport and host in one.

    What it sends is kept; data go nowhere, and its clock is set by hand.

    :param port: its control port over both protocols
    """

    def __init__(
        self,
        model: SlaveModel,
        description: SlaveDescription,
        port: int,
        options: SlaveOptions | None = None,
    ) -> None:
        self.sent: list[bytes] = []
        self.time = 1000.0
        self.port = port
        self.control_ports = {
            int(TransportProtocol.TCP_IPv4): port,
            int(TransportProtocol.UDP_IPv4): port,
        }
        self.slave = Slave(model, description, self, self, options)

    def ask(self, data: bytes) -> list[bytes]:
        """Give one PDU to the engine; its answers."""
        self.sent = []
        self.slave.receive(data, "master")
        return self.sent

    def can_listen(self, host: str) -> bool:
        """Every address is here."""
        return True

    def send(self, peer: Any, data: bytes) -> None:
        """Keep an answer."""
        self.sent.append(data)

    def send_data(self, target: Endpoint, pdus: list[bytes]) -> None:
        """Data go nowhere."""

    def listen(self, endpoints: list[Endpoint]) -> None:
        """Nothing has to be opened."""

    def connect(self, endpoint: Endpoint) -> Endpoint:
        """The endpoint is its own target."""
        return endpoint

    def close_data(self) -> None:
        """Nothing was opened."""

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Run a callback at once."""
        return function(*arguments)

    def await_input(self, fresh: Callable[[], bool]) -> None:
        """Nothing more will come."""

    def deregistered(self) -> None:
        """It goes on."""

    def now(self) -> float:
        """UNIX time in seconds."""
        return self.time

    def monotonic(self) -> float:
        """Seconds."""
        return self.time
