# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Connections that others open: how many, how long without a PDU, with how much memory.

Any program that reaches the port can open one. None of them may keep out those that are needed,
so that one that says nothing is closed after a time, or as soon as its place is needed.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from functools import partial
from time import monotonic_ns

from ros2_cosim.core.sockets.endpoints import Listener
from ros2_cosim.core.sockets.reactor import Reactor
from ros2_cosim.dcp.standard.errors import DcpPeerLostError
from ros2_cosim.dcp.standard.transport import MAX_FRAME, TcpLink

MAX_CONNECTIONS = 64
"""Connections to one kind of port; a co-simulation has a few."""
SILENT_LIMIT_NS = 10_000_000_000
"""A connection may be open for so long without a PDU, or up to twice as long [ns]."""
MAX_WAITING_BYTES = MAX_FRAME
"""Memory for PDUs that have not arrived completely, of all connections but the kept."""
_FEW_BYTES = 64 * 1024


class AcceptedLinks:
    """The connections to the listeners of one side.

    :param reactor: calls back when a socket is readable
    :param on_frame: takes each PDU and the connection that brought it
    :param on_lost: called when a connection is gone, with the reason
    :param keeps: whether a connection is needed, so that it never gives way
    :param welcomes: whether a connection from this host is taken at all
    :param hurries: whether a connection that has brought nothing yet has no reason for that;
        those for data are opened long before the first of them
    :param max_frame: longest PDU accepted
    """

    def __init__(
        self,
        reactor: Reactor,
        on_frame: Callable[[TcpLink, bytes], None],
        on_lost: Callable[[TcpLink, str], None],
        *,
        keeps: Callable[[TcpLink], bool] = lambda link: False,
        welcomes: Callable[[str], bool] = lambda host: True,
        hurries: Callable[[], bool] = lambda: False,
        max_frame: int = MAX_FRAME,
    ) -> None:
        self._reactor = reactor
        self._on_frame = on_frame
        self._on_lost = on_lost
        self._keeps = keeps
        self._welcomes = welcomes
        self._hurries = hurries
        self._max_frame = max_frame
        self._talking: dict[TcpLink, None] = {}
        """Those that have brought a PDU, the one that was heard last at the end."""
        self._silent: dict[TcpLink, int] = {}
        """The others, with the monotonic time [ns] of their opening, the oldest first."""
        self._sweeping = False

    def __len__(self) -> int:
        return len(self._talking) + len(self._silent)

    def __iter__(self) -> Iterator[TcpLink]:
        return iter([*self._talking, *self._silent])

    def __contains__(self, link: object) -> bool:
        return link in self._talking or link in self._silent

    def listen(self, host: str, port: int) -> Listener:
        """Accept connections on a port; 0 takes a free one.

        :raises OSError: the address cannot be used
        """
        return Listener(self._reactor, host, port, self._accept)

    def drop(self, link: TcpLink, reason: str) -> None:
        """Close a connection, because it is lost or not wanted any more."""
        if link in self:
            self._remove(link)
            self._on_lost(link, reason)

    def close(self) -> None:
        """Close all of them, without a report."""
        for link in self:
            self._remove(link)

    def _remove(self, link: TcpLink) -> None:
        self._talking.pop(link, None)
        self._silent.pop(link, None)
        self._reactor.forget(link)
        link.arrived.clear()  # answers would go nowhere
        link.close()

    def _accept(self, sock: socket.socket) -> None:
        try:
            welcome = self._welcomes(sock.getpeername()[0])
        except OSError:  # it is gone already
            sock.close()
            return
        if not welcome:
            sock.close()
            return
        if len(self) >= MAX_CONNECTIONS:
            idle = next((link for link in self._least_wanted() if not self._keeps(link)), None)
            if idle is None:
                sock.close()
                return
            self.drop(idle, "it gave way to a new connection")
        link = TcpLink(sock, self._max_frame)
        self._silent[link] = monotonic_ns()
        self._reactor.watch(link, partial(self._read, link))
        self._sweep_later()

    def _least_wanted(self) -> list[TcpLink]:
        return [*self._silent, *self._talking]

    def _read(self, link: TcpLink) -> None:
        try:
            frames = link.read()
        except DcpPeerLostError as error:
            self.drop(link, str(error))
            return
        self._reactor.before_wait(link.acknowledge)
        if frames:
            self._silent.pop(link, None)
            self._talking.pop(link, None)
            self._talking[link] = None
        if link.reader.waiting > _FEW_BYTES and not self._keeps(link):
            self._limit_memory()
        # A frame may take long to handle. Another thread that reads this connection meanwhile,
        # such as the second thread of a slave, first handles the frames that wait.
        link.arrived.extend(frames)
        while link.arrived:
            self._on_frame(link, link.arrived.popleft())

    def _limit_memory(self) -> None:
        """The connection that holds most gives way; those that have brought a PDU come last."""
        holding = [link for link in self._least_wanted() if not self._keeps(link)]
        while sum(link.reader.waiting for link in holding) > MAX_WAITING_BYTES:
            silent = [link for link in holding if link in self._silent]
            most = max((link for link in silent or holding), key=lambda link: link.reader.waiting)
            holding.remove(most)
            self.drop(most, "it held back the rest of a large PDU")

    # -- silence -----------------------------------------------------------------------------

    def _sweep_later(self) -> None:
        if not self._sweeping and self._silent:
            self._sweeping = True
            self._reactor.call_later(SILENT_LIMIT_NS, self._sweep)

    def _sweep(self) -> None:
        self._sweeping = False
        if self._hurries():
            until = monotonic_ns() - SILENT_LIMIT_NS
            for link in [link for link, opened in self._silent.items() if opened <= until]:
                self.drop(link, "it brought no PDU")
        self._sweep_later()
