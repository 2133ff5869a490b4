# SPDX-License-Identifier: Apache-2.0
"""The sockets of a slave: control, data in, data out; what the engine asks of them."""

from __future__ import annotations

import select
import socket
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

from ros2_cosim.dcp.description.model import SlaveDescription
from ros2_cosim.dcp.slave.config import MAX_PDU_BYTES, Endpoint
from ros2_cosim.dcp.slave.slave import Slave
from ros2_cosim.dcp.wire.enums import ErrorCode, PduType, TransportProtocol
from ros2_cosim.dcp.wire.errors import DcpPeerLostError
from ros2_cosim.dcp.wire.transport import (
    MAX_DATAGRAM,
    MAX_DATAGRAMS,
    TcpLink,
    send_datagrams,
    tcp_connect,
    tcp_listener,
    udp_socket,
)

_TCP, _UDP = TransportProtocol.TCP_IPv4, TransportProtocol.UDP_IPv4
CONNECT_TIMEOUT_S = 5.0
MAX_CONNECTIONS = 64
_FIRST_ANSWER, _FIRST_DATA = int(PduType.RSP_ack), int(PduType.DAT_input_output)
_COMPUTING = frozenset({int(PduType.STC_initialize), int(PduType.STC_do_step)})


class _UdpPeer(NamedTuple):
    """Where answers over UDP go."""

    sock: socket.socket
    address: tuple[str, int]


class SlaveSockets:
    """Opens, reads, writes and closes every socket of one slave.

    :param host, port: control address; port 0 takes a free one
    :ivar port: the control port in use (the same number on TCP and UDP)
    :raises OSError: the address cannot be used
    """

    slave: Slave

    def __init__(self, description: SlaveDescription, host: str, port: int) -> None:
        self.description = description
        self.host = host
        self._handlers: dict[int, Callable[[], None]] = {}
        self._poller = select.poll()
        self._listener: socket.socket | None = None
        self._udp: socket.socket | None = None
        self._bind(port)
        self._links: set[TcpLink] = set()
        self._data_sockets: list[socket.socket] = []
        self._data_links: list[TcpLink] = []
        self._outgoing: dict[Endpoint, TcpLink | _UdpPeer] = {}
        self._dirty: set[TcpLink] = set()
        self._datagrams: list[tuple[_UdpPeer, bytes]] = []
        self._draining = False
        self._peers: dict[tuple[str, int], _UdpPeer] = {}

    def lost_master(self, reason: str) -> None:
        """The connection of the master is gone (the derived class decides what follows)."""

    def _bind(self, port: int) -> None:
        attempts = 20 if port == 0 else 1
        for attempt in range(attempts):
            try:
                if self.description.tcp is not None:
                    self._listener = tcp_listener(self.host, port)
                    self.port = int(self._listener.getsockname()[1])
                if self.description.udp is not None:
                    self._udp = udp_socket(self.host, self.port if self._listener else port)
                    self.port = int(self._udp.getsockname()[1])
                break
            except OSError as error:
                if self._listener is not None:
                    self._listener.close()
                    self._listener = None
                if attempt == attempts - 1:
                    raise OSError(
                        error.errno,
                        f"slave {self.description.name!r}: {error.strerror}: {self.host}:{port}",
                    ) from None
        if self._listener is not None:
            self._register(self._listener, self._accept_control)
        if self._udp is not None:
            udp = self._udp
            self._register(udp, lambda: self._read_udp(udp))

    def close(self) -> None:
        """Close every socket."""
        self.close_data()
        for link in list(self._links):
            link.close()
        for sock in (self._listener, self._udp):
            if sock is not None:
                sock.close()

    def _serve(self, events: Sequence[tuple[int, int]]) -> None:
        for fd, _ in events:
            handler = self._handlers.get(fd)
            if handler is not None:
                handler()

    def _register(self, sock: Any, handler: Callable[[], None]) -> None:
        self._handlers[sock.fileno()] = handler
        self._poller.register(sock, select.POLLIN)

    def _forget(self, sock: Any) -> None:
        fd = sock.fileno()
        if self._handlers.pop(fd, None) is not None:
            self._poller.unregister(fd)
        sock.close()

    def _accept_control(self) -> None:
        assert self._listener is not None
        self._accept(self._listener, control=True)

    def _accept(self, listener: socket.socket, *, control: bool) -> None:
        with suppress(OSError):
            sock, _ = listener.accept()
            if len(self._links) + len(self._data_links) >= MAX_CONNECTIONS:
                sock.close()
                return
            limit = self.description.tcp.max_pdu_size if self.description.tcp else MAX_PDU_BYTES
            link = TcpLink(sock, min(limit, MAX_PDU_BYTES))
            if control:
                self._links.add(link)
            else:
                self._data_links.append(link)
            self._register(link, lambda: self._read_tcp(link, control))

    def _read_tcp(self, link: TcpLink, control: bool) -> None:
        try:
            frames = link.read()
        except DcpPeerLostError as error:
            self._drop(link, str(error))
            return
        receive = self.slave.receive
        for frame in frames:
            if not frame:
                continue
            if frame[0] in _COMPUTING:
                self._drain(link)
            if control or frame[0] >= 0xF0:
                receive(frame, link)

    def _drain(self, current: Any) -> None:
        """Take what has arrived on other sockets before a computation begins.

        Data that was sent before the request may lie on another connection; without this
        the order in which the sockets are served would decide which inputs are used.
        """
        if self._draining:
            return
        self._draining = True
        try:
            own = current.fileno()
            for _ in range(MAX_CONNECTIONS):
                events = [event for event in self._poller.poll(0) if event[0] != own]
                if not events:
                    return
                self._serve(events)
        finally:
            self._draining = False

    def _drop(self, link: TcpLink, reason: str) -> None:
        self._links.discard(link)
        if link in self._data_links:
            self._data_links.remove(link)
        self._dirty.discard(link)
        self._forget(link)
        if link is self.slave.master:
            self.slave.peer_lost(f"the master was lost: {reason}")
            self._dirty.discard(link)
            self.lost_master(reason)

    def _read_udp(self, sock: socket.socket) -> None:
        """Control and data; ends with a request, since its sender now waits for an answer."""
        for _ in range(MAX_DATAGRAMS):
            try:
                data, address = sock.recvfrom(MAX_DATAGRAM)
            except BlockingIOError:
                return
            except OSError:
                continue  # an ICMP error of an earlier send; the next read tells the rest
            if not data:
                continue
            peer = self._peers.get(address)
            if peer is None:
                if len(self._peers) >= MAX_CONNECTIONS:
                    self._peers.clear()
                peer = self._peers[address] = _UdpPeer(sock, address)
            kind = data[0]
            if kind in _COMPUTING and (self._links or self._data_sockets):
                self._drain(sock)
            self.slave.receive(data, peer)
            if kind < _FIRST_ANSWER:
                return

    # -- what the engine asks for ------------------------------------------------------------

    def send(self, peer: Any, data: bytes) -> None:
        """Control PDU to a peer; it leaves at the end of the turn, with those after it."""
        if isinstance(peer, TcpLink):
            if peer.alive:
                peer.post(data)
                self._dirty.add(peer)
        elif peer is not None:
            self._datagrams.append((peer, data))

    def _flush(self) -> None:
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
                        self.slave.fail(
                            ErrorCode.PROTOCOL_ERROR_GENERIC, f"sending data to {address}: {error}"
                        )
        while self._dirty:
            link = self._dirty.pop()
            try:
                link.flush()
            except DcpPeerLostError as error:
                self._drop(link, str(error))

    def send_data(self, target: Any, data: bytes) -> None:
        """Data PDU to a connected target."""
        if isinstance(target, TcpLink):
            try:
                target.send(data)
            except DcpPeerLostError as error:
                raise OSError(str(error)) from None
        else:
            self._datagrams.append((target, data))

    def listen(self, endpoints: list[Endpoint]) -> None:
        """Open the data ports that are not the control port."""
        opened: set[Endpoint] = set()
        for endpoint in endpoints:
            if endpoint in opened or self._is_control(endpoint):
                continue
            opened.add(endpoint)
            if endpoint.protocol == _TCP:
                self._listen_tcp(endpoint)
            else:
                sock = udp_socket(endpoint.host, endpoint.port)
                self._data_sockets.append(sock)
                self._register(sock, partial(self._read_data_udp, sock))

    def _listen_tcp(self, endpoint: Endpoint) -> None:
        listener = tcp_listener(endpoint.host, endpoint.port)
        self._data_sockets.append(listener)
        self._register(listener, lambda: self._accept(listener, control=False))

    def _read_data_udp(self, sock: socket.socket) -> None:
        for _ in range(MAX_DATAGRAMS):
            try:
                data = sock.recv(MAX_DATAGRAM)
            except BlockingIOError:
                return
            except OSError:
                continue
            if data and data[0] >= 0xF0:
                self.slave.receive(data, None)

    def _is_control(self, endpoint: Endpoint) -> bool:
        open_here = self._listener if endpoint.protocol == _TCP else self._udp
        same_host = endpoint.host in (self.host, "0.0.0.0") or self.host == "0.0.0.0"
        return open_here is not None and same_host and endpoint.port == self.port

    def connect(self, endpoint: Endpoint) -> TcpLink | _UdpPeer:
        """One connection per address, shared by all data_ids that go there."""
        known = self._outgoing.get(endpoint)
        if known is not None:
            return known
        target: TcpLink | _UdpPeer
        if endpoint.protocol == _TCP:
            target = tcp_connect(endpoint.host, endpoint.port, CONNECT_TIMEOUT_S)
        else:
            sock = self._udp
            if sock is None:
                sock = udp_socket("0.0.0.0", 0)
                self._data_sockets.append(sock)
            target = _UdpPeer(sock, (endpoint.host, endpoint.port))
        self._outgoing[endpoint] = target
        return target

    def close_data(self) -> None:
        """Close data connections and data ports; the control side stays."""
        for target in self._outgoing.values():
            if isinstance(target, TcpLink):
                target.close()
        self._outgoing.clear()
        for link in self._data_links:
            self._forget(link)
        self._data_links.clear()
        for sock in self._data_sockets:
            self._forget(sock)
        self._data_sockets.clear()
