# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The sockets of a slave: control, data in, data out."""

from __future__ import annotations

import socket
from collections.abc import Callable
from functools import partial
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

from ros2_cosim.core.documents.files import cause_of
from ros2_cosim.core.sockets.endpoints import Listener, is_local
from ros2_cosim.core.sockets.peers import Senders
from ros2_cosim.core.sockets.reactor import Descriptor, Reactor
from ros2_cosim.dcp.slave.interfaces import Endpoint
from ros2_cosim.dcp.slave.slave import Slave
from ros2_cosim.dcp.standard.accepted import MAX_CONNECTIONS, AcceptedLinks
from ros2_cosim.dcp.standard.enums import ErrorCode, PduType, TransportProtocol
from ros2_cosim.dcp.standard.errors import DcpPeerLostError
from ros2_cosim.dcp.standard.sizes import largest_received
from ros2_cosim.dcp.standard.slave_description import SlaveDescription
from ros2_cosim.dcp.standard.transport import (
    TcpLink,
    datagrams,
    send_datagrams,
    tcp_connect,
    udp_socket,
)

_TCP = TransportProtocol.TCP_IPv4
CONNECT_TIMEOUT_S = 5.0
_FIRST_ANSWER, _FIRST_DATA = int(PduType.RSP_ack), int(PduType.DAT_input_output)
_COMPUTING = frozenset({int(PduType.STC_initialize), int(PduType.STC_do_step)})


class _UdpPeer(NamedTuple):
    """Where answers over UDP go."""

    sock: socket.socket
    address: tuple[str, int]


class SlaveSockets:
    """Opens, reads, writes and closes every socket of one slave (its ``SlaveTransport``).

    :param reactor: calls back when a socket is readable
    :param host, port: control address; port 0 takes a free one
    :ivar port: the control port in use (the same number on TCP and UDP)
    :raises OSError: the address cannot be used
    """

    def __init__(
        self, reactor: Reactor, description: SlaveDescription, host: str, port: int
    ) -> None:
        self.host = host
        self._reactor = reactor
        self._description = description
        largest = largest_received(description)
        self.links = AcceptedLinks(
            reactor,
            self._take_request,
            self._lost,
            keeps=self._is_master,
            hurries=lambda: not self._receiver.expects_data,
            max_frame=largest,
        )
        self._data_links = AcceptedLinks(reactor, self._take_data, self._lost, max_frame=largest)
        self._listener: Listener | None = None
        self._udp: socket.socket | None = None
        self._bind(port)
        self._data_sockets: list[socket.socket] = []
        self._data_listeners: list[Listener] = []
        self._outgoing: dict[Endpoint, TcpLink | _UdpPeer] = {}
        self._dirty: set[TcpLink] = set()
        self._datagrams: list[tuple[_UdpPeer, bytes]] = []
        self._draining = False
        #: Whether data come otherwise than by connections to the control port.
        self._data_elsewhere = False
        self._senders = Senders()
        #: Called when something leaves for the master, or for another slave.
        self.on_sent: Callable[[], None] | None = None
        self._peers: dict[tuple[str, int], _UdpPeer] = {}
        self._receiver: Slave
        self._master_lost: Callable[[str], None]

    def _bind(self, port: int) -> None:
        """TCP and UDP on the same port; a free TCP port may be taken on UDP, then try others."""
        attempts = 20 if port == 0 else 1
        for attempt in range(attempts):
            try:
                if self._description.tcp is not None:
                    self._listener = self.links.listen(self.host, port)
                    self.port = self._listener.port
                if self._description.udp is not None:
                    self._udp = udp_socket(self.host, self.port if self._listener else port)
                    self.port = int(self._udp.getsockname()[1])
                return
            except OSError as error:
                if self._listener is not None:
                    self._listener.close()
                    self._listener = None
                if attempt == attempts - 1:
                    raise OSError(
                        error.errno,
                        f"slave {self._description.name!r}: {cause_of(error)}: {self.host}:{port}",
                    ) from None

    def serve(self, receiver: Slave, master_lost: Callable[[str], None]) -> None:
        """Begin to hand PDUs to ``receiver``.

        :param master_lost: called with the reason when the master's connection is gone
        """
        self._receiver, self._master_lost = receiver, master_lost
        if self._udp is not None:
            self._reactor.watch(self._udp, partial(self._read_udp, self._udp))

    def close(self) -> None:
        """Close every socket."""
        self.close_data()
        self.links.close()
        if self._listener is not None:
            self._listener.close()
        if self._udp is not None:
            self._close(self._udp)

    def _close(self, sock: socket.socket) -> None:
        self._reactor.forget(sock)
        sock.close()

    # -- receiving ---------------------------------------------------------------------------

    def _take_request(self, link: TcpLink, frame: bytes) -> None:
        if frame:
            if frame[0] in _COMPUTING and (self._data_elsewhere or len(self.links) > 1):
                self._drain(link)
            self._receiver.receive(frame, link)

    def _take_data(self, link: TcpLink, frame: bytes) -> None:
        if frame and frame[0] >= _FIRST_DATA:
            self._receiver.receive(frame, link)

    def _is_master(self, link: TcpLink) -> bool:
        return self._receiver.is_master(link)

    def _drain(self, current: Descriptor) -> None:
        """Read all other sockets before a computation begins.

        Data that was sent before the request may lie on another connection; without this
        the order in which the sockets are served would decide which inputs are used.
        """
        if self._draining:
            return
        self._draining = True
        try:
            for _ in range(MAX_CONNECTIONS):
                if not self._reactor.serve_ready(without=current):
                    return
        finally:
            self._draining = False

    def _lost(self, link: TcpLink, reason: str) -> None:
        if self._receiver.connection_lost(link, reason):
            self._master_lost(reason)

    def _read_udp(self, sock: socket.socket) -> None:
        """Control and data; ends with a request, since its sender now waits for an answer."""
        for data, address in datagrams(sock, self._senders):
            if not data:
                continue
            peer = self._peers.get(address)
            if peer is None:
                if len(self._peers) >= MAX_CONNECTIONS:
                    self._peers.clear()
                peer = self._peers[address] = _UdpPeer(sock, address)
            kind = data[0]
            if kind in _COMPUTING and (self.links or self._data_sockets or self._data_listeners):
                self._drain(sock)
            self._receiver.receive(data, peer)
            if kind < _FIRST_ANSWER:
                return

    def _read_data_udp(self, sock: socket.socket) -> None:
        for data, _ in datagrams(sock, self._senders):
            if data and data[0] >= _FIRST_DATA:
                self._receiver.receive(data, None)

    # -- sending -----------------------------------------------------------------------------

    def send(self, peer: Any, data: bytes) -> None:
        """Control PDU to a peer; it leaves at the end of the turn, with those after it."""
        if isinstance(peer, TcpLink):
            if peer.alive:
                peer.post(data)
                self._dirty.add(peer)
        elif peer is not None:
            self._datagrams.append((peer, data))

    def send_data(self, target: Any, pdus: list[bytes]) -> None:
        """Data PDUs to a connected target."""
        if isinstance(target, TcpLink):
            for data in pdus:
                target.post(data)
            if target in self.links:
                self._dirty.add(target)
                return
            if self.on_sent is not None:
                self.on_sent()
            try:
                target.flush()
            except DcpPeerLostError as error:
                raise OSError(str(error)) from None
        else:
            self._datagrams.extend((target, data) for data in pdus)

    def flush(self) -> None:
        """Send everything that was queued."""
        if self.on_sent is not None and (self._datagrams or self._dirty):
            self.on_sent()
        while self._datagrams:
            waiting, self._datagrams = self._datagrams, []
            for (sock, address), pairs in groupby(waiting, itemgetter(0)):
                pdus = [data for _, data in pairs]
                try:
                    send_datagrams(sock, address, pdus)
                except BlockingIOError:
                    continue
                except OSError as error:
                    if any(data[0] >= _FIRST_DATA for data in pdus):
                        self._receiver.fail(
                            ErrorCode.PROTOCOL_ERROR_GENERIC,
                            f"sending data to {address}: {cause_of(error)}",
                        )
        while self._dirty:
            link = self._dirty.pop()
            try:
                link.flush()
            except DcpPeerLostError as error:
                self.links.drop(link, str(error))

    # -- data connections --------------------------------------------------------------------

    @property
    def control_ports(self) -> dict[int, int]:
        """The control port, the same for every transport protocol."""
        return {int(protocol): self.port for protocol in TransportProtocol}

    def can_listen(self, host: str) -> bool:
        """Whether this machine has the IPv4 address."""
        return is_local(host)

    def listen(self, endpoints: list[Endpoint]) -> None:
        """Open the data ports that are not the control port."""
        opened: set[Endpoint] = set()
        for endpoint in endpoints:
            is_control = self._is_control(endpoint)
            self._data_elsewhere |= endpoint.protocol != _TCP or not is_control
            if endpoint in opened or is_control:
                continue
            opened.add(endpoint)
            if endpoint.protocol == _TCP:
                listener = self._data_links.listen(endpoint.host, endpoint.port)
                self._data_listeners.append(listener)
            else:
                sock = udp_socket(endpoint.host, endpoint.port)
                self._data_sockets.append(sock)
                self._reactor.watch(sock, partial(self._read_data_udp, sock))

    def _is_control(self, endpoint: Endpoint) -> bool:
        open_here = self._listener if endpoint.protocol == _TCP else self._udp
        same_host = endpoint.host in (self.host, "0.0.0.0") or self.host == "0.0.0.0"
        return open_here is not None and same_host and endpoint.port == self.port

    def connect(self, endpoint: Endpoint) -> TcpLink | _UdpPeer:
        """One connection per address, shared by all data_ids that go there.

        The connection of the master serves for data that go to the port from which it comes.
        """
        known = self._outgoing.get(endpoint)
        if known is not None:
            return known
        if endpoint.protocol == _TCP:
            for link in self.links:
                if self._is_master(link) and link.peer == (endpoint.host, endpoint.port):
                    return link
        target: TcpLink | _UdpPeer
        if endpoint.protocol == _TCP:
            target = tcp_connect(endpoint.host, endpoint.port, CONNECT_TIMEOUT_S)
        else:
            assert self._udp is not None  # a protocol that is not offered was refused
            target = _UdpPeer(self._udp, (endpoint.host, endpoint.port))
        self._outgoing[endpoint] = target
        return target

    def close_data(self) -> None:
        """Close data connections and data ports; the control side stays."""
        for target in self._outgoing.values():
            if isinstance(target, TcpLink):
                target.close()
        self._outgoing.clear()
        self._data_elsewhere = False
        self._data_links.close()
        for listener in self._data_listeners:
            listener.close()
        self._data_listeners.clear()
        for sock in self._data_sockets:
            self._close(sock)
        self._data_sockets.clear()
