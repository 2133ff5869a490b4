# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The registration of a slave with its master: address, id, sequence ids, heartbeat.

All control PDUs to the master leave here.
"""

from __future__ import annotations

import struct
from fractions import Fraction
from typing import Any

from ros2_cosim.dcp.slave.interfaces import SlaveTransport
from ros2_cosim.dcp.standard.enums import PduType, State

_ACK = struct.Struct("<BHB")
_NACK = struct.Struct("<BHBHH")
_RSP_ACK, _RSP_NACK = int(PduType.RSP_ack), int(PduType.RSP_nack)
_NTF_STATE, _NTF_LOG = int(PduType.NTF_state_changed), int(PduType.NTF_log)
ACK_BYTES = _ACK.size
"""Length of RSP_ack, which is also the head of RSP_log_ack."""


class Registration:
    """Which master a slave belongs to, and the count of its requests.

    :param heartbeat: longest time between two INF_state [s], None for any
    :ivar slave_id: id that the last master gave to the slave, known from the first one on
    :ivar master: origin of the accepted STC_register; None in ALIVE and after its loss
    :ivar expected: sequence id that the next request must carry
    :ivar heartbeat_until: monotonic time by which the next INF_state must come, None for never
    """

    def __init__(self, transport: SlaveTransport, heartbeat: Fraction | None) -> None:
        self.slave_id: int
        self.master: Any = None
        self.expected = 0
        self.heartbeat_until: float | None = None
        self._transport = transport
        self._interval = None if heartbeat is None else float(heartbeat)
        self._first: int
        self._alternate: int | None

    def begin(self, master: Any, slave_id: int, seq: int) -> None:
        """An STC_register with sequence id ``seq`` has been accepted."""
        self.master, self.slave_id = master, slave_id
        self._first, self.expected, self._alternate = seq, (seq + 1) & 0xFFFF, None

    def end(self) -> None:
        """The slave is deregistered."""
        self.master, self.heartbeat_until = None, None

    def is_of(self, origin: Any) -> bool:
        """Whether a request may come from ``origin``: from the master, or once that is lost."""
        return self.master is None or self.master == origin

    def take(self, seq: int, origin: Any) -> bool:
        """Whether ``seq`` is in order; then it counts, and ``origin`` replaces a lost master."""
        if seq != self.expected and seq != self._alternate:
            return False
        self.expected = (seq + 1) & 0xFFFF
        self._alternate = None
        if self.master is None:
            self.master = origin
        return True

    def rewind(self) -> None:
        """After CFG_clear and STC_reset some masters count on from their STC_register."""
        self._alternate = (self._first + 1) & 0xFFFF

    def beat(self, now: float) -> None:
        """The master has sent INF_state."""
        if self._interval is not None:
            self.heartbeat_until = now + self._interval

    def missed_heartbeat(self, now: float) -> bool:
        """Whether the time for the next INF_state is over; True only once per INF_state."""
        if self.heartbeat_until is None or now < self.heartbeat_until:
            return False
        self.heartbeat_until = None
        return True

    # -- sending -----------------------------------------------------------------------------

    def ack(self, origin: Any, seq: int) -> None:
        """RSP_ack."""
        self._transport.send(origin, _ACK.pack(_RSP_ACK, seq, self.slave_id))

    def nack(self, origin: Any, seq: int, code: int) -> None:
        """RSP_nack with the sequence id that is expected."""
        self._transport.send(origin, _NACK.pack(_RSP_NACK, seq, self.slave_id, self.expected, code))

    def refuse(self, origin: Any, seq: int, code: int, *, slave_id: int, expected: int) -> None:
        """RSP_nack of a slave in ALIVE, which has neither id nor count of its own."""
        self._transport.send(origin, _NACK.pack(_RSP_NACK, seq, slave_id, expected, code))

    def answer(self, origin: Any, data: bytes) -> None:
        """Any other response."""
        self._transport.send(origin, data)

    def notify_state(self, state: State) -> None:
        """NTF_state_changed."""
        self._transport.send(self.master, bytes((_NTF_STATE, self.slave_id, state)))

    def notify_log(self, body: bytes) -> None:
        """NTF_log with the time, the template and the arguments of one entry."""
        self._transport.send(self.master, bytes((_NTF_LOG, self.slave_id)) + body)
