# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What the protocol side of a slave needs around it: sockets, and a program that runs it.

The protocol side opens no socket, reads no clock and starts no thread. So the same code runs on
any transport, and in tests without one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from ros2_cosim.dcp.slave.log import SlaveLog
from ros2_cosim.dcp.slave.slave_model import SlaveModel
from ros2_cosim.dcp.standard.data_path import Missing
from ros2_cosim.dcp.standard.property_checks import Check
from ros2_cosim.dcp.standard.slave_description import SlaveDescription


@dataclass(frozen=True)
class Endpoint:
    """An address of a data connection."""

    protocol: int
    host: str
    port: int


@dataclass(frozen=True)
class SlaveOptions:
    """Choices that the standard leaves open.

    :ivar data_synchronisation: in RUNNING, compute one step whenever every data_id has
        brought new inputs, and send the outputs (instead of ticks of the clock)
    :ivar missing: policy for a data_id without new data for a step;
        anything but HOLD expects every data_id once per step
    :ivar acceptable_loss: greatest share of lost PDUs of a data_id, None for any
    :ivar input_wait_s: longest wait of STC_do_step for data_ids without new data [s]
    :ivar newest_only: drop data PDUs that came before or that a newer one has overtaken, as their
        sequence ids tell. By default they are used: the standard looks at those ids for
        maxConsecMissedPdus only, and a sender need not count.
    :ivar checks: properties of the variables to watch; a violation by CFG_parameter is
        refused, any other leads to the error state (both PROTOCOL_ERROR_PROPERTY_VIOLATED)
    """

    data_synchronisation: bool = False
    missing: Missing = Missing.HOLD
    acceptable_loss: float | None = None
    input_wait_s: float = 0.0
    newest_only: bool = False
    checks: frozenset[Check] = frozenset()


class SlaveTransport(Protocol):
    """The sockets of a slave.

    A *peer* is the origin of a request, a *target* what :meth:`connect` returned; the protocol
    side only hands them back.
    """

    @property
    def control_ports(self) -> Mapping[int, int]:
        """The slave's own control port per transport protocol; data may come there, too."""

    def can_listen(self, host: str) -> bool:
        """Whether data can be received on this IPv4 address."""

    def send(self, peer: Any, data: bytes) -> None:
        """Send a control PDU to a peer; None and a lost peer are ignored."""

    def send_data(self, target: Any, pdus: list[bytes]) -> None:
        """Send data PDUs to one target, in this order and, over TCP, in one segment.

        :raises OSError: the target is gone
        """

    def listen(self, endpoints: list[Endpoint]) -> None:
        """Open the receiving side of the data connections.

        :raises OSError: an address cannot be used
        """

    def connect(self, endpoint: Endpoint) -> Any:
        """Open an outgoing data connection and return it as a target.

        :raises OSError: nothing listens there
        """

    def close_data(self) -> None:
        """Close everything that ``listen`` and ``connect`` opened."""


class SlaveHost(Protocol):
    """The program that runs a slave: its clocks, and its thread of the model's callbacks."""

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Run a callback of the model (requests may be served meanwhile)."""

    def await_input(self, fresh: Callable[[], bool]) -> None:
        """Serve data connections until ``fresh()`` holds or the wait has no purpose any more."""

    def deregistered(self) -> None:
        """The slave is ALIVE again."""

    def now(self) -> float:
        """UNIX time in seconds."""

    def monotonic(self) -> float:
        """Seconds on a clock that never jumps."""


@dataclass(frozen=True)
class SlaveContext:
    """What all parts of one slave work with."""

    model: SlaveModel
    description: SlaveDescription
    options: SlaveOptions
    transport: SlaveTransport
    host: SlaveHost
    log: SlaveLog
