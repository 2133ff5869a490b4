# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The tester's dialogue with a slave: PDUs out, PDUs in, and a transcript of both."""

from __future__ import annotations

import socket
import time
from contextlib import suppress
from functools import partial

from ros2_cosim.core.documents.files import cause_of
from ros2_cosim.core.kernel.time import SECOND
from ros2_cosim.core.sockets.endpoints import address_towards, open_listener
from ros2_cosim.core.sockets.peers import ADMISSION, Senders
from ros2_cosim.core.sockets.reactor import Reactor
from ros2_cosim.dcp.standard.enums import PduType, TransportProtocol
from ros2_cosim.dcp.standard.errors import DcpError, DcpPeerLostError, PduError
from ros2_cosim.dcp.standard.pdu import Pdu, decode
from ros2_cosim.dcp.standard.transport import MAX_DATAGRAM, TcpLink, tcp_connect, udp_socket

_P = PduType
_UDP = TransportProtocol.UDP_IPv4


class Deviation(DcpError):
    """The slave deviates from the standard."""


class Dialogue:
    """The connection to one slave. It only checks that PDUs can be decoded.

    :param host, port: control address of the slave
    :param protocol: UDP_IPv4 or TCP_IPv4
    :param timeout_s: longest wait for an answer
    :ivar transcript: every PDU sent (``->``) and received (``<-``)
    :raises DcpPeerLostError: nothing listens there
    """

    def __init__(self, host: str, port: int, protocol: TransportProtocol, timeout_s: float) -> None:
        self.protocol = protocol
        self.timeout_s = timeout_s
        self.transcript: list[str] = []
        self._control: list[Pdu] = []
        self._data: list[Pdu] = []
        self._reactor = Reactor()
        self._senders = Senders()
        self._link: TcpLink | None = None
        self._data_link: TcpLink | None = None
        self._incoming: list[TcpLink] = []
        self._listener: socket.socket | None = None
        self._udp: socket.socket | None = None
        try:
            self.address = (socket.gethostbyname(host), port)
            self._host = address_towards(*self.address)
            if protocol is _UDP:
                self._udp = udp_socket(self._host, 0)
                self._reactor.watch(self._udp, partial(self._read_udp, self._udp))
            else:
                self._link = tcp_connect(*self.address, timeout_s)
                self._reactor.watch(self._link, partial(self._read, self._link))
                self._listener = open_listener(self._host, 0)
                self._reactor.watch(self._listener, partial(self._accept, self._listener))
        except OSError as error:
            self.close()
            raise DcpPeerLostError(f"no connection to {host}:{port}: {cause_of(error)}") from None

    def close(self) -> None:
        """Close every socket."""
        self.close_data()
        for sock in (self._link, self._listener, self._udp, *self._incoming):
            if sock is not None:
                sock.close()
        self._reactor.close()

    def receives_at(self) -> tuple[str, int]:
        """Address on which the tester takes data PDUs."""
        mine = self._udp if self._listener is None else self._listener
        assert mine is not None
        return self._host, int(mine.getsockname()[1])

    # -- sending -------------------------------------------------------------------------------

    def send(self, data: bytes) -> None:
        """Send bytes as they are to the control port."""
        try:
            text = str(decode(data))
        except PduError:
            text = f"bytes {data.hex()}"
        self.transcript.append(f"-> {text}")
        if self._link is not None:
            self._link.send(data)
        elif self._udp is not None:
            self._udp.sendto(data, self.address)

    def open_data(self, port: int) -> None:
        """Over TCP: send data PDUs to this port of the slave, on their own connection."""
        if self.protocol is not _UDP and port != self.address[1]:
            self._data_link = tcp_connect(self.address[0], port, self.timeout_s)

    def close_data(self) -> None:
        """Close the data connection."""
        if self._data_link is not None:
            self._data_link.close()
            self._data_link = None

    def send_data(self, data: bytes, port: int) -> None:
        """Send a data PDU; over UDP to this port of the slave."""
        self.transcript.append(f"-> {decode(data)}")
        link = self._data_link or self._link
        if link is not None:
            link.send(data)
        elif self._udp is not None:
            self._udp.sendto(data, (self.address[0], port))

    # -- receiving -----------------------------------------------------------------------------

    def _accept(self, listener: socket.socket) -> None:
        with suppress(OSError):
            sock, _ = listener.accept()
            if not ADMISSION.admits(sock):
                sock.close()
                return
            link = TcpLink(sock)
            self._incoming.append(link)
            self._reactor.watch(link, partial(self._read, link))

    def _read_udp(self, sock: socket.socket) -> None:
        with suppress(BlockingIOError):
            data, address = sock.recvfrom(MAX_DATAGRAM)
            if self._senders.admits(address):
                self._take(data)

    def _read(self, link: TcpLink) -> None:
        try:
            frames = link.read()
            self._reactor.before_wait(link.acknowledge)
        except DcpPeerLostError as error:
            if link is self._link:
                raise
            self._reactor.forget(link)
            link.close()
            self.transcript.append(f"<- end of a data connection: {error}")
            return
        for frame in frames:
            self._take(frame)

    def _take(self, data: bytes) -> None:
        try:
            pdu = decode(data)
        except PduError as error:
            self.transcript.append(f"<- {error}")
            raise Deviation(f"the slave sent {data.hex()}, which is not a PDU: {error}") from None
        self.transcript.append(f"<- {pdu}")
        if pdu.kind in (_P.DAT_input_output, _P.DAT_parameter):
            self._data.append(pdu)
        elif pdu.kind is not _P.NTF_log:
            self._control.append(pdu)

    def next_control(self, what: str, timeout_s: float | None = None) -> Pdu:
        """The next response or notification.

        :raises Deviation: none comes in time
        """
        limit = self.timeout_s if timeout_s is None else timeout_s
        if not self._reactor.run_until(lambda: bool(self._control), _deadline_ns(limit)):
            raise Deviation(f"{what} did not come within {limit:g} s")
        return self._control.pop(0)

    def silence(self, seconds: float, what: str) -> None:
        """Nothing must come.

        :raises Deviation: something came
        """
        self._reactor.run_until(lambda: False, _deadline_ns(seconds))
        if self._control:
            raise Deviation(f"{what} must not be answered; got {self._control.pop(0)}")

    def collect_data(self, count: int, what: str) -> list[Pdu]:
        """The next ``count`` data PDUs; notifications that come meanwhile are kept."""
        enough = _deadline_ns(self.timeout_s)
        if not self._reactor.run_until(lambda: len(self._data) >= count, enough):
            raise Deviation(f"{what}: {len(self._data)} data PDUs came instead of {count}")
        found, self._data = self._data[:count], self._data[count:]
        return found

    def forget_control(self) -> None:
        """Drop the responses and notifications that have come."""
        self._control.clear()

    def forget_data(self) -> None:
        """Drop the data PDUs that have come."""
        self._data.clear()


def _deadline_ns(seconds: float) -> int:
    return time.monotonic_ns() + int(seconds * SECOND)
