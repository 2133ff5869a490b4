# SPDX-License-Identifier: Apache-2.0
"""The tester's sockets: PDUs out, PDUs in, and a transcript of both."""

from __future__ import annotations

import select
import socket
import time
from contextlib import suppress
from typing import Any

from ros2_cosim.dcp.description.model import (
    SlaveDescription,
)
from ros2_cosim.dcp.wire.enums import (
    OpMode,
    PduType,
    State,
    TransportProtocol,
)
from ros2_cosim.dcp.wire.errors import DcpError, DcpPeerLostError, PduError
from ros2_cosim.dcp.wire.pdu import LAYOUTS, Pdu, decode
from ros2_cosim.dcp.wire.transport import TcpLink, tcp_connect, udp_socket
from ros2_cosim.sockets.endpoints import open_listener

_P = PduType
_UDP = TransportProtocol.UDP_IPv4
SLAVE_ID = 1
"""The id that the tester gives to the slave."""


class Deviation(DcpError):
    """The slave did something else than the standard asks for."""


class Conversation:
    """A conversation with one slave.

    :param description: what the slave says about itself
    :param host, port: its control address
    :param protocol: UDP_IPv4 or TCP_IPv4
    :param timeout_s: longest wait for an answer
    :ivar transcript: every PDU sent (``->``) and received (``<-``)
    :ivar data: data PDUs received
    :raises DcpPeerLostError: nobody listens there
    """

    def __init__(
        self,
        description: SlaveDescription,
        host: str,
        port: int,
        protocol: TransportProtocol,
        timeout_s: float,
    ) -> None:
        self.description = description
        self.protocol = protocol
        self.timeout_s = timeout_s
        self.transcript: list[str] = []
        self.data: list[Pdu] = []
        self.seq = 0
        self.state = State.ALIVE
        self.mode = OpMode.NRT
        self._others: list[Pdu] = []
        self._link: TcpLink | None = None
        self._data_link: TcpLink | None = None
        self._incoming: list[TcpLink] = []
        self._listener: socket.socket | None = None
        self._udp: socket.socket | None = None
        self._data_seq = 0
        try:
            self._address = (socket.gethostbyname(host), port)
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
                probe.connect(self._address)
                self._host = str(probe.getsockname()[0])
            if protocol is _UDP:
                self._udp = udp_socket(self._host, 0)
            else:
                self._link = tcp_connect(*self._address, timeout_s)
                self._listener = open_listener(self._host, 0)
        except OSError as error:
            raise DcpPeerLostError(
                f"no connection to {host}:{port}: {error.strerror or error}"
            ) from None

    def close(self) -> None:
        """Close every socket."""
        for sock in (self._link, self._data_link, self._listener, self._udp, *self._incoming):
            if sock is not None:
                sock.close()

    # -- sending -------------------------------------------------------------------------------

    def send_raw(self, data: bytes, note: str = "") -> None:
        """Send bytes as they are."""
        try:
            text = str(decode(data))
        except PduError:
            text = f"bytes {data.hex()}"
        self.transcript.append(f"-> {text}{note}")
        if self._link is not None:
            self._link.send(data)
        elif self._udp is not None:
            self._udp.sendto(data, self._address)

    def make(self, kind: PduType, **fields: Any) -> bytes:
        """A request with the next sequence id, the slave's id and the expected state."""
        values: dict[str, Any] = {"pdu_seq_id": self.seq, "receiver": SLAVE_ID, **fields}
        self.seq = (self.seq + 1) & 0xFFFF
        if "state_id" in LAYOUTS[kind].names:
            values.setdefault("state_id", self.state)
        return Pdu(kind, values).encode()

    def register_fields(self, mode: OpMode) -> dict[str, Any]:
        """The fields of a right STC_register."""
        return {
            "slave_uuid": self.description.uuid_bytes,
            "op_mode": mode,
            "major_version": 1,
            "minor_version": 0,
        }

    # -- receiving -----------------------------------------------------------------------------

    def _pump(self, timeout_s: float) -> None:
        sources: list[Any] = [*self._incoming]
        sources += [s for s in (self._link, self._listener, self._udp) if s is not None]
        readable, _, _ = select.select(sources, [], [], max(0.0, timeout_s))
        for source in readable:
            if source is self._listener and self._listener is not None:
                sock, _ = self._listener.accept()
                self._incoming.append(TcpLink(sock))
            elif source is self._udp and self._udp is not None:
                with suppress(BlockingIOError):
                    self._take(self._udp.recv(65535))
            else:
                self._read(source)

    def _read(self, link: TcpLink) -> None:
        try:
            frames = link.read()
        except DcpPeerLostError as error:
            if link is self._link:
                raise
            self._incoming.remove(link)
            self.transcript.append(f"<- end of a data connection: {error}")
            return
        for frame in frames:
            self._take(frame)

    def _take(self, data: bytes) -> None:
        try:
            pdu = decode(data)
        except PduError as error:
            self.transcript.append(f"<- {error}")
            raise Deviation(f"the slave sent {data.hex()}, which is no PDU: {error}") from None
        self.transcript.append(f"<- {pdu}")
        if pdu.kind in (_P.DAT_input_output, _P.DAT_parameter):
            self.data.append(pdu)
        elif pdu.kind is not _P.NTF_log:
            self._others.append(pdu)

    def next_control(self, what: str, timeout_s: float | None = None) -> Pdu:
        """The next response or notification.

        :raises Deviation: none comes in time
        """
        limit = self.timeout_s if timeout_s is None else timeout_s
        until = time.monotonic() + limit
        while not self._others:
            rest = until - time.monotonic()
            if rest <= 0:
                raise Deviation(f"{what} did not come within {limit:g} s")
            self._pump(rest)
        return self._others.pop(0)

    def silence(self, seconds: float, what: str) -> None:
        """Nothing must come.

        :raises Deviation: something came
        """
        until = time.monotonic() + seconds
        while (rest := until - time.monotonic()) > 0:
            self._pump(rest)
        if self._others:
            raise Deviation(f"{what} must not be answered; got {self._others.pop(0)}")

    def collect_data(self, count: int, what: str) -> list[Pdu]:
        """The next ``count`` data PDUs; notifications that come meanwhile are kept."""
        until = time.monotonic() + self.timeout_s
        while len(self.data) < count:
            rest = until - time.monotonic()
            if rest <= 0:
                raise Deviation(f"{what}: {len(self.data)} data PDUs came instead of {count}")
            self._pump(rest)
        found, self.data = self.data[:count], self.data[count:]
        return found
