# SPDX-License-Identifier: Apache-2.0
"""The transport protocols of a slave description as Python objects."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class DataPorts:
    """Ports on which a slave can receive data PDUs: (from, to) pairs, both included."""

    host: str | None = None
    ranges: tuple[tuple[int, int], ...] = ()

    def allows(self, port: int) -> bool:
        """Whether ``port`` is offered; without any entry every port is."""
        return not self.ranges or any(low <= port <= high for low, high in self.ranges)


@dataclass(frozen=True)
class IPv4Transport:
    """UDP_IPv4 or TCP_IPv4 of the transport protocols."""

    max_pdu_size: int
    host: str | None = None
    port: int | None = None
    has_control: bool = True
    data: DataPorts | None = None
    parameter: DataPorts | None = None


UDP_MAX_PDU_SIZE = 65507
TCP_MAX_PDU_SIZE = 4294967267


@dataclass(frozen=True)
class Bluetooth:
    """Bluetooth RFCOMM address of the slave (described only, not driven)."""

    address: str
    port: int
    alias: str | None = None
    max_pdu_size: int = 1011


@dataclass(frozen=True)
class DataPipe:
    """One USB data pipe."""

    endpoint_address: int
    interval: int
    direction: str | None = None


@dataclass(frozen=True)
class Usb2:
    """USB 2.0 properties of the slave (described only, not driven)."""

    pipes: tuple[DataPipe, ...] = ()
    max_power: int | None = None
    max_pdu_size: int = 1024
