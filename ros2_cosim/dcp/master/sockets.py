# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The master's sockets: connections to slaves, and which slave a PDU came from."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from itertools import groupby
from operator import itemgetter

from ros2_cosim.core.documents.files import cause_of
from ros2_cosim.core.kernel.time import SECOND
from ros2_cosim.core.sockets.brief_waits import DIALOGUE_NS
from ros2_cosim.core.sockets.endpoints import Listener, address_towards
from ros2_cosim.core.sockets.peers import Senders
from ros2_cosim.core.sockets.reactor import Reactor
from ros2_cosim.dcp.master.remote import RemoteSlave
from ros2_cosim.dcp.standard.accepted import AcceptedLinks
from ros2_cosim.dcp.standard.enums import PduType, State, TransportProtocol
from ros2_cosim.dcp.standard.errors import DcpError, DcpPeerLostError
from ros2_cosim.dcp.standard.states import TRANSIENT
from ros2_cosim.dcp.standard.transport import (
    TcpLink,
    datagrams,
    same_machine,
    send_datagrams,
    tcp_connect,
    udp_socket,
)

_CONNECT_RETRY_S = 0.1
_FIRST_DATA = int(PduType.DAT_input_output)
_NTF_STATE = int(PduType.NTF_state_changed)
_TCP, _UDP = TransportProtocol.TCP_IPv4, TransportProtocol.UDP_IPv4


class MasterSockets:
    """Control connections, data connections and data listeners of one master.

    :param slaves: the master's slaves by name; more may be added
    :param timeout_s: longest wait for a connection
    :param connect_wait_s: for this time [s] a refused connection is tried again
    :param on_control: takes a response or notification of a slave, or an empty PDU
    :param on_data: takes a data PDU and the address of the machine that sent it; its data_id tells
        where it belongs
    :param look_ns: how long it looks for messages before it sleeps
    :ivar stranger: address of the last sender that is not a slave, empty without one; what comes
        from there is dropped
    """

    def __init__(
        self,
        slaves: Mapping[str, RemoteSlave],
        timeout_s: float,
        connect_wait_s: float,
        on_control: Callable[[RemoteSlave, bytes], None],
        on_data: Callable[[bytes, str], None],
        look_ns: int = DIALOGUE_NS,
    ) -> None:
        self.stranger = ""
        self._slaves = slaves
        self._timeout_s = timeout_s
        self._connect_wait_s = connect_wait_s
        self._on_control = on_control
        self._on_data = on_data
        self._reactor = Reactor(look_ns)
        self._on_sent: Callable[[str], None] | None = None
        self._by_address: dict[tuple[str, int], RemoteSlave] = {}
        #: One for each address of this machine, so that only what can come from a slave gets in.
        self._udp: dict[str, socket.socket] = {}
        self._listeners: dict[str, Listener] = {}
        self._incoming: dict[str, AcceptedLinks] = {}
        self._expecting_loss: set[str] = set()
        # A slave may answer and end at once.
        self._senders = Senders(last_words=True)

    def note(
        self,
        sleeps: Callable[[], None] | None,
        woke: Callable[[], None] | None,
        sent: Callable[[str], None] | None,
    ) -> None:
        """Have noted when a wait begins and ends, and when something leaves; None: not."""
        self._reactor.note_waits(sleeps, woke)
        self._on_sent = sent

    # -- connections -------------------------------------------------------------------------

    def open(self, slave: RemoteSlave) -> None:
        """Connect to a slave's control port.

        :raises DcpPeerLostError: nothing answers there
        """
        try:
            if slave.protocol is _TCP:
                slave.control = self._connect_control(slave)
                # So that data come to the same port, see data_address.
                slave.control.sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                slave.local_host = str(slave.control.sock.getsockname()[0])
                slave.address = (str(slave.control.sock.getpeername()[0]), slave.port)
                self._reactor.watch(slave.control, partial(self._read_control, slave))
            else:
                slave.address = (socket.gethostbyname(slave.host), slave.port)
                self._by_address[slave.address] = slave
                slave.local_host = address_towards(*slave.address)
                self._open_udp(slave.local_host)
        except OSError as error:
            raise DcpPeerLostError(
                f"slave {slave.name!r}: no connection to {slave.host}:{slave.port}: "
                f"{cause_of(error)}",
                slave=slave.name,
            ) from None

    def _connect_control(self, slave: RemoteSlave) -> TcpLink:
        """Connect; for ``connect_wait_s`` a refused connection is tried again."""
        deadline = time.monotonic() + self._connect_wait_s
        while True:
            try:
                return tcp_connect(slave.host, slave.port, self._timeout_s)
            except ConnectionRefusedError:
                if time.monotonic() >= deadline:
                    raise
                time.sleep(_CONNECT_RETRY_S)

    def _open_udp(self, local_host: str) -> socket.socket:
        if local_host not in self._udp:
            sock = self._udp[local_host] = udp_socket(local_host, 0)
            self._reactor.watch(sock, partial(self._read_udp, sock))
        return self._udp[local_host]

    def data_address(self, slave: RemoteSlave, protocol: TransportProtocol) -> tuple[str, int]:
        """Where the master listens for data of a slave.

        Over TCP it is the port of the control connection to a slave: that slave may use the
        connection which there is, so that its data arrive together with what it says of them.
        """
        if protocol is _UDP:
            return slave.local_host, int(self._open_udp(slave.local_host).getsockname()[1])
        host = slave.local_host
        listener = self._listeners.get(host)
        if listener is None:
            links = AcceptedLinks(
                self._reactor,
                lambda link, frame: self._on_data(frame, link.host),
                lambda link, reason: None,
                welcomes=self._is_slave_host,
            )
            self._incoming[host] = links
            own = slave.control.sock.getsockname()[1] if slave.control is not None else 0
            try:
                listener = links.listen(host, own)
            except OSError:  # the system wants another one
                listener = links.listen(host, 0)
            self._listeners[host] = listener
        return host, listener.port

    def _is_slave_host(self, host: str) -> bool:
        known = any(same_machine(host, slave.address[0]) for slave in self._slaves.values())
        if not known:
            self.stranger = host
        return known

    def connect_data(self, slave: RemoteSlave, host: str, port: int) -> TcpLink:
        """The connection for inputs that the master sends over TCP; opened by the first call.

        :raises DcpPeerLostError: nothing listens there
        """
        if port in slave.data_links:
            return slave.data_links[port]
        try:
            link = slave.data_links[port] = tcp_connect(host, port, self._timeout_s)
        except OSError as error:
            raise DcpPeerLostError(
                f"slave {slave.name!r}: no data connection to {host}:{port}: {cause_of(error)}",
                slave=slave.name,
            ) from None
        self._reactor.watch(link, partial(self._read_data_link, slave, link))
        return link

    def expect_loss(self, slave: RemoteSlave, expected: bool) -> None:
        """Set whether the connection of this slave may end now."""
        (self._expecting_loss.add if expected else self._expecting_loss.discard)(slave.name)

    def close_control(self, slave: RemoteSlave) -> None:
        """Close all connections to a slave."""
        self.close_data(slave)
        if slave.control is not None:
            self._close(slave.control)
            slave.control = None

    def close_data(self, slave: RemoteSlave) -> None:
        """Close the data connections to a slave."""
        while slave.data_links:
            self._close(slave.data_links.popitem()[1])

    def close(self) -> None:
        """Close every socket; another :meth:`open` is not possible."""
        for slave in self._slaves.values():
            self.close_control(slave)
        for listener in self._listeners.values():
            listener.close()
        for links in self._incoming.values():
            links.close()
        for sock in self._udp.values():
            self._close(sock)
        self._listeners.clear()
        self._incoming.clear()
        self._udp.clear()
        self._reactor.close()

    def _close(self, sock: TcpLink | socket.socket) -> None:
        self._reactor.forget(sock)
        sock.close()

    # -- sending -----------------------------------------------------------------------------

    def flush(self, slave: RemoteSlave) -> None:
        """Send what was queued for a slave, data first.

        :raises DcpPeerLostError: the slave is gone
        """
        if self._on_sent is not None and slave.has_waiting:
            self._on_sent(slave.name)
        try:
            for link in slave.data_links.values():
                link.flush()
            if slave.control is not None:
                slave.control.flush()
            elif slave.protocol is _TCP:
                slave.pending.clear()  # and neither are requests after the end of its connection
            if slave.datagrams:
                self._flush_udp(slave)
        except DcpPeerLostError as error:
            self._lost(slave, str(error))

    def send_datagram(self, slave: RemoteSlave, data: bytes) -> None:
        """Send a request over UDP at once, with the data queued before it."""
        slave.datagrams.append((slave.address, data))
        if self._on_sent is not None:
            self._on_sent(slave.name)
        self._flush_udp(slave)

    def _flush_udp(self, slave: RemoteSlave) -> None:
        waiting, slave.datagrams = slave.datagrams, []
        sock = self._udp.get(slave.local_host)
        if sock is None:
            return
        for address, pairs in groupby(waiting, itemgetter(0)):
            with suppress(OSError):
                send_datagrams(sock, address, [data for _, data in pairs])

    # -- receiving ---------------------------------------------------------------------------

    def pump(self, timeout_s: float) -> None:
        """Wait for at most ``timeout_s``, then take everything that has arrived.

        :raises DcpPeerLostError: a slave is gone; and whatever the receivers raise
        """
        deadline = time.monotonic_ns() + int(timeout_s * SECOND) if timeout_s > 0 else 0
        self._reactor.turn(deadline)

    def _lost(self, slave: RemoteSlave, reason: str) -> None:
        if slave.control is not None:
            self._close(slave.control)
            slave.control = None
        if slave.name in self._expecting_loss:
            slave.state = State.ALIVE
            slave.pending.clear()  # nothing is answered any more
            return
        state = slave.state.name if slave.state is not None else "no state yet"
        raise DcpPeerLostError(
            f"slave {slave.name!r} was lost in {state}: {reason}", slave=slave.name
        )

    def _read_control(self, slave: RemoteSlave) -> None:
        link = slave.control
        if link is None:
            return
        try:
            frames = link.read()
        except DcpPeerLostError as error:
            self._lost(slave, str(error))
            return
        self._reactor.before_wait(link.acknowledge)
        problems = []
        for frame in frames:
            # What follows a refusal answers other requests.
            try:
                self._take(slave, frame)
            except DcpError as error:
                problems.append(error)
        if problems:
            raise problems[0]

    def _take(self, slave: RemoteSlave, frame: bytes) -> None:
        if frame and frame[0] >= _FIRST_DATA:
            self._on_data(frame, slave.address[0])
        else:
            self._on_control(slave, frame)

    def _read_udp(self, sock: socket.socket) -> None:
        """Take datagrams, up to a notification that a slave has finished a request."""
        for data, address in datagrams(sock, self._senders):
            kind = data[0] if data else 0
            if kind >= _FIRST_DATA:
                self._on_data(data, address[0])
                continue
            slave = self._by_address.get(address)
            if slave is None:
                self.stranger = f"{address[0]}:{address[1]}"
                continue
            self._take(slave, data)
            if kind == _NTF_STATE and slave.state not in TRANSIENT:
                return

    def _read_data_link(self, slave: RemoteSlave, link: TcpLink) -> None:
        """No PDU arrives on this connection; reading only shows when it is closed."""
        if link not in slave.data_links.values():
            return
        try:
            link.read()
        except DcpPeerLostError:
            self.close_data(slave)
