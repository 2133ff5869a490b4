# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A slave engine without sockets: what it sends is kept in lists, its clock is set by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ros2_cosim.dcp.slave.interfaces import Endpoint, SlaveOptions
from ros2_cosim.dcp.slave.slave import Slave
from ros2_cosim.dcp.slave.slave_model import SlaveModel
from ros2_cosim.dcp.standard.pdu import Pdu, decode
from ros2_cosim.dcp.standard.slave_description import SlaveDescription


class Bench:
    """Plays the world around one engine: its ``SlaveTransport`` and its ``SlaveHost``."""

    control_ports = {0: 8080, 4: 8080}

    def __init__(
        self,
        model: SlaveModel,
        description: SlaveDescription,
        options: SlaveOptions | None = None,
    ) -> None:
        self.sent: list[bytes] = []
        self.data: list[tuple[Endpoint, bytes]] = []
        self.open: list[Endpoint] = []
        self.time = 1000.0
        self.slave = Slave(model, description, self, self, options)

    def ask(self, data: bytes) -> list[Pdu]:
        """Give one PDU to the slave; what it answered."""
        self.sent.clear()
        self.slave.receive(data, "master")
        return [decode(answer) for answer in self.sent]

    def can_listen(self, host: str) -> bool:
        return True

    def send(self, peer: Any, data: bytes) -> None:
        self.sent.append(data)

    def send_data(self, target: Endpoint, pdus: list[bytes]) -> None:
        self.data.extend((target, data) for data in pdus)

    def listen(self, endpoints: list[Endpoint]) -> None:
        self.open.extend(endpoints)

    def connect(self, endpoint: Endpoint) -> Endpoint:
        self.open.append(endpoint)
        return endpoint

    def close_data(self) -> None:
        self.open.clear()

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        return function(*arguments)

    def await_input(self, fresh: Callable[[], bool]) -> None:
        """Nothing more will come."""

    def deregistered(self) -> None:
        """The engine goes on."""

    def now(self) -> float:
        return self.time

    def monotonic(self) -> float:
        return self.time
