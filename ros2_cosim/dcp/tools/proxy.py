# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A proxy between a master and a slave that shows every PDU.

To keep data PDUs on its way the proxy changes the addresses in network information: the slave then
listens on its own port instead of the proxy's, and sends to the proxy.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Hashable
from contextlib import suppress
from functools import partial

from ros2_cosim.core.sockets.endpoints import address_towards, open_listener
from ros2_cosim.core.sockets.peers import ADMISSION, Senders
from ros2_cosim.core.sockets.reactor import Reactor
from ros2_cosim.dcp.standard.enums import PduType, TransportProtocol
from ros2_cosim.dcp.standard.errors import DcpPeerLostError
from ros2_cosim.dcp.standard.pdu import LAYOUTS, decode_address, encode_address
from ros2_cosim.dcp.standard.transport import TcpLink, tcp_connect, udp_socket
from ros2_cosim.dcp.tools.capture import Captured

Address = tuple[str, int]
_P = PduType
_LISTENING = frozenset(
    {int(_P.CFG_source_network_information), int(_P.CFG_param_network_information)}
)
_SENDING = int(_P.CFG_target_network_information)
_HEAD = LAYOUTS[_SENDING].size
_CONNECT_TIMEOUT_S = 5.0
#: Takes what passes on its way: the event loop, what must stay in order (a connection; None: a
#: datagram), and the call that hands it over.
Carrier = Callable[[Reactor, Hashable, Callable[[], None]], None]


def at_once(reactor: Reactor, line: Hashable, hand_over: Callable[[], None]) -> None:
    """The way of a proxy that only looks."""
    hand_over()


class Proxy:
    """A transparent proxy for TCP and UDP.

    :param host, port: where it listens, port 0 takes a free one
    :param target_host, target_port: control address of the slave
    :param see: called with every PDU that passes
    :param carry: decides when what passes is handed over, and whether
    :ivar port: the port in use
    :raises OSError: the address cannot be used
    """

    def __init__(
        self,
        host: str,
        port: int,
        target_host: str,
        target_port: int,
        see: Callable[[Captured], None],
        carry: Carrier = at_once,
    ) -> None:
        self.host = host
        self._target: Address = (socket.gethostbyname(target_host), target_port)
        self._see = see
        self._carry = carry
        self._reactor = Reactor()
        self._senders = Senders()
        self._open: list[TcpLink | socket.socket] = []
        self._clients: dict[Address, socket.socket] = {}
        self._data_targets: dict[int, Address] = {}
        try:
            listener = open_listener(host, port)
            self._watch(listener, partial(self._accept, listener, self._target))
            self.port = int(listener.getsockname()[1])
            self._udp = udp_socket(host, self.port)
            self._watch(self._udp, self._from_client)
        except OSError:
            self.close()
            raise

    def run(self) -> None:
        """Pass PDUs on until :meth:`stop`."""
        self._reactor.run()

    def stop(self) -> None:
        """Make :meth:`run` return; may be called from any thread."""
        self._reactor.stop()

    def close(self) -> None:
        """Close every socket."""
        for sock in self._open:
            sock.close()
        self._reactor.close()

    def __enter__(self) -> Proxy:
        return self

    def __exit__(self, *ignored: object) -> None:
        self.close()

    def _watch(self, sock: TcpLink | socket.socket, on_readable: Callable[[], None]) -> None:
        self._open.append(sock)
        self._reactor.watch(sock, on_readable)

    def _drop(self, link: TcpLink) -> None:
        if link in self._open:
            self._open.remove(link)
            self._reactor.forget(link)
        link.close()

    # -- TCP -----------------------------------------------------------------------------------

    def _accept(self, listener: socket.socket, target: Address) -> None:
        with suppress(OSError):
            sock, _ = listener.accept()
            if not ADMISSION.admits(sock):  # to the slave it would be one of this user
                sock.close()
                return
            near = TcpLink(sock)
            try:
                far = tcp_connect(*target, _CONNECT_TIMEOUT_S)
            except OSError:
                near.close()
                return
            self._watch(near, partial(self._pass, near, far))
            self._watch(far, partial(self._pass, far, near))

    def _pass(self, source: TcpLink, target: TcpLink) -> None:
        try:
            here, there = source.sock.getpeername()[:2], target.sock.getpeername()[:2]
            frames = source.read()
            self._reactor.before_wait(source.acknowledge)
            for frame in frames:
                self._tell(here, there, "TCP", frame)
                changed = self._changed(frame, TransportProtocol.TCP_IPv4, None)
                self._carry(
                    self._reactor, target, partial(self._hand_over, source, target, changed)
                )
        except (DcpPeerLostError, OSError):
            self._reactor.forget(source)
            self._carry(self._reactor, target, partial(self._drop_both, source, target))

    def _hand_over(self, source: TcpLink, target: TcpLink, frame: bytes) -> None:
        try:
            target.post(frame)
            target.flush()
        except (DcpPeerLostError, OSError):
            self._drop_both(source, target)

    def _drop_both(self, source: TcpLink, target: TcpLink) -> None:
        self._drop(source)
        self._drop(target)

    # -- UDP -----------------------------------------------------------------------------------

    def _from_client(self) -> None:
        with suppress(BlockingIOError):
            data, client = self._udp.recvfrom(65535)
            if not self._senders.admits(client):
                return
            upstream = self._clients.get(client)
            if upstream is None:
                upstream = udp_socket(address_towards(*self._target), 0)
                self._clients[client] = upstream
                self._watch(upstream, partial(self._from_slave, client))
            self._tell(client, self._target, "UDP", data)
            data = self._changed(data, TransportProtocol.UDP_IPv4, upstream)
            self._carry(self._reactor, None, partial(self._send, upstream, data, self._target))

    @staticmethod
    def _send(sock: socket.socket, data: bytes, target: Address) -> None:
        with suppress(OSError):
            sock.sendto(data, target)

    def _from_slave(self, client: Address) -> None:
        with suppress(OSError):
            data, source = self._clients[client].recvfrom(65535)
            receiver = client
            if len(data) > 4 and data[0] == _P.DAT_input_output:
                receiver = self._data_targets.get(data[3] | data[4] << 8, client)
            self._tell(source, receiver, "UDP", data)
            self._carry(self._reactor, None, partial(self._send, self._udp, data, receiver))

    # -- both ----------------------------------------------------------------------------------

    def _tell(self, source: Address, target: Address, transport: str, data: bytes) -> None:
        self._see(Captured(time.time(), source, target, transport, data))

    def _changed(
        self, data: bytes, protocol: TransportProtocol, upstream: socket.socket | None
    ) -> bytes:
        """The request with the addresses that hold on the slave's side of the proxy."""
        if len(data) != _HEAD + 6 or data[6] != protocol:
            return data
        host, port = decode_address(data[_HEAD:])
        if data[0] in _LISTENING and port == self.port:
            return data[:_HEAD] + encode_address(*self._target)
        if data[0] == _SENDING:
            if upstream is not None:
                self._data_targets[data[4] | data[5] << 8] = (host, port)
                return data[:_HEAD] + encode_address(*upstream.getsockname())
            listener = open_listener(address_towards(*self._target), 0)
            self._watch(listener, partial(self._accept, listener, (host, port)))
            return data[:_HEAD] + encode_address(*listener.getsockname())
        return data
