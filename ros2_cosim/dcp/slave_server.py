# SPDX-License-Identifier: Apache-2.0
"""Running a slave: its sockets, its loop, its clock.

One thread does everything. While a callback of the model computes for long, a second thread
takes over the sockets, so that INF_state is answered and STC_stop heard; it never touches
the model, and it sleeps as long as callbacks are short.
"""

from __future__ import annotations

import logging
import select
import signal
import socket
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from ros2_cosim.dcp.dcpx import read_description
from ros2_cosim.dcp.description import SlaveDescription
from ros2_cosim.dcp.enums import PduType, State, TransportProtocol
from ros2_cosim.dcp.errors import DcpPeerLostError
from ros2_cosim.dcp.model import SlaveModel
from ros2_cosim.dcp.slave import Slave
from ros2_cosim.dcp.slave_config import MAX_PDU_BYTES, Endpoint
from ros2_cosim.dcp.slave_core import SlaveOptions
from ros2_cosim.dcp.transport import (
    TcpLink,
    is_local,
    tcp_connect,
    tcp_listener,
    udp_read,
    udp_socket,
)

logger = logging.getLogger("ros2_cosim.dcp.slave")

_TCP, _UDP = TransportProtocol.TCP_IPv4, TransportProtocol.UDP_IPv4
CONNECT_TIMEOUT_S = 5.0
MAX_CONNECTIONS = 64
_COMPUTING = frozenset({int(PduType.STC_initialize), int(PduType.STC_do_step)})
RELIEF_S = 0.02
"""A callback that runs longer than this leaves the sockets to the second thread."""


class _UdpPeer:
    """Where answers over UDP go."""

    __slots__ = ("address", "sock")

    def __init__(self, sock: socket.socket, address: tuple[str, int]) -> None:
        self.sock = sock
        self.address = address


class SlaveServer:
    """A slave on this machine's network.

    :param description: the slave's description, or the path of its .dcpx or .dcp file
    :param host, port: control address; port 0 takes a free one, None that of the description
    :param once: end after the first deregistration, and when the master is lost
    :param responsive: answer requests also during long callbacks
    :ivar port: the control port in use (the same number on TCP and UDP)
    :raises OSError: the address cannot be used
    """

    def __init__(
        self,
        model: SlaveModel,
        description: SlaveDescription | str,
        *,
        host: str | None = None,
        port: int | None = None,
        once: bool = True,
        responsive: bool = True,
        options: SlaveOptions | None = None,
    ) -> None:
        if not isinstance(description, SlaveDescription):
            description = read_description(description)
        self.description = description
        offers = [t for t in (description.tcp, description.udp) if t is not None]
        self.host = host or next((t.host for t in offers if t.host), None) or "127.0.0.1"
        wanted = next((t.port for t in offers if t.port), 0) if port is None else port
        self._once = once
        self._responsive = responsive
        self._handlers: dict[int, Callable[[], None]] = {}
        self._poller = select.poll()
        self._listener: socket.socket | None = None
        self._udp: socket.socket | None = None
        self._bind(wanted or 0)
        self._links: set[TcpLink] = set()
        self._data_sockets: list[socket.socket] = []
        self._data_links: list[TcpLink] = []
        self._outgoing: dict[Endpoint, TcpLink | _UdpPeer] = {}
        self._dirty: set[TcpLink] = set()
        self._datagrams: list[tuple[_UdpPeer, bytes]] = []
        self._lock = threading.Lock()
        self._busy = False
        self._draining = False
        self._ending = False
        self._lost: str | None = None
        self._wake_in, self._wake_out = socket.socketpair()
        self._wake_in.setblocking(False)
        self._register(self._wake_in, self._wake)
        ports = {int(p): self.port for p in (_TCP, _UDP)}
        self.slave = Slave(model, description, self, ports, is_local, options)

    # -- life ------------------------------------------------------------------------------

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

    def run(self) -> None:
        """Serve until deregistration (``once``), :meth:`stop` or the loss of the master.

        :raises DcpPeerLostError: ``once`` is set and the master went away
        """
        relief = threading.Thread(target=self._relieve, name="dcp-relief", daemon=True)
        self._lock.acquire()
        if self._responsive:
            relief.start()
        try:
            while not self._ending:
                self._turn()
            self.slave.leave()
            self._flush()
        finally:
            self._ending = True
            self._lock.release()
            if self._responsive:
                relief.join()
            self.close()
        if self._lost is not None:
            raise DcpPeerLostError(
                f"slave {self.description.name!r}: the master was lost: {self._lost}",
                slave=self.description.name,
            )

    def stop(self) -> None:
        """Make :meth:`run` return; may be called from any thread or signal handler."""
        self._ending = True
        with suppress(OSError):
            self._wake_out.send(b"x")

    def close(self) -> None:
        """Close every socket."""
        self.close_data()
        for link in list(self._links):
            link.close()
        for sock in (self._listener, self._udp, self._wake_in, self._wake_out):
            if sock is not None:
                sock.close()

    def _turn(self) -> None:
        deadline = self.slave.deadline()
        timeout = None if deadline is None else max(0.0, deadline - time.monotonic())
        if timeout is None or timeout > 0:
            events = self._poller.poll(None if timeout is None else _milliseconds(timeout))
        else:
            events = self._poller.poll(0)
        self._serve(events)
        deadline = self.slave.deadline()
        if deadline is not None and time.monotonic() >= deadline:
            self.slave.on_time()
        self._flush()

    def _serve(self, events: Sequence[tuple[int, int]]) -> None:
        for fd, _ in events:
            handler = self._handlers.get(fd)
            if handler is not None:
                handler()

    # -- the second thread -----------------------------------------------------------------

    def _relieve(self) -> None:
        """Serve the sockets while a callback has been running for long."""
        while not self._ending:
            time.sleep(RELIEF_S)
            seen = self._busy_since
            if not self._busy or time.monotonic() - seen < RELIEF_S:
                continue
            if not self._lock.acquire(timeout=RELIEF_S):
                continue
            try:
                if self._busy:
                    self._flush()
                    poller = select.poll()
                    for fd in self._handlers:
                        poller.register(fd, select.POLLIN)
                    self._serve(poller.poll(0))
                    deadline = self.slave.deadline()
                    if deadline is not None and time.monotonic() >= deadline:
                        self.slave.on_time()
                    self._flush()
            finally:
                self._lock.release()

    _busy_since = 0.0

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Run a callback with the sockets free for the second thread."""
        if threading.current_thread().name == "dcp-relief":
            raise RuntimeError("callbacks run in the main thread only")
        self._busy_since = time.monotonic()
        self._busy = True
        self._lock.release()
        try:
            return function(*arguments)
        finally:
            self._lock.acquire()
            self._busy = False

    # -- sockets ---------------------------------------------------------------------------

    def _register(self, sock: Any, handler: Callable[[], None]) -> None:
        self._handlers[sock.fileno()] = handler
        self._poller.register(sock, select.POLLIN)

    def _forget(self, sock: Any) -> None:
        fd = sock.fileno()
        if self._handlers.pop(fd, None) is not None:
            self._poller.unregister(fd)
        sock.close()

    def _wake(self) -> None:
        with suppress(BlockingIOError):
            self._wake_in.recv(64)

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
            if self._once:
                self._lost = reason
                self._ending = True

    def _read_udp(self, sock: socket.socket) -> None:
        for data, address in udp_read(sock):
            if data and data[0] in _COMPUTING:
                self._drain(sock)
            self.slave.receive(data, _UdpPeer(sock, address))

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
        if self._datagrams:
            for peer, data in self._datagrams:
                with suppress(OSError):
                    peer.sock.sendto(data, peer.address)
            self._datagrams.clear()
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
            with suppress(BlockingIOError):
                target.sock.sendto(data, target.address)

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
        for data, _ in udp_read(sock):
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

    def await_input(self, fresh: Callable[[], bool]) -> None:
        """Serve sockets until ``fresh()``, at most ``options.input_wait_s``."""
        until = time.monotonic() + self.slave.options.input_wait_s
        while not fresh() and not self._ending:
            left = until - time.monotonic()
            if left <= 0 or self.slave.state is not State.COMPUTING:
                return
            self._serve(self._poller.poll(_milliseconds(left)))
            self._flush()

    def deregistered(self) -> None:
        """Called by the engine when the slave is ALIVE again."""
        if self._once:
            self._ending = True

    def now(self) -> float:
        """UNIX time in seconds."""
        return time.time()

    def monotonic(self) -> float:
        """Seconds on the machine's monotonic clock."""
        return time.monotonic()


def _milliseconds(seconds: float) -> int:
    return max(0, int(seconds * 1000 + 0.999))


def serve(
    model: SlaveModel,
    description: SlaveDescription | str,
    host: str | None = None,
    port: int | None = None,
    *,
    once: bool = True,
    on_ready: Callable[[SlaveServer], None] | None = None,
    options: SlaveOptions | None = None,
    responsive: bool = True,
) -> None:
    """Run a slave until it is deregistered; SIGTERM and SIGINT end it cleanly.

    :param port: control port, 0 for a free one, None for that of the description
    :param on_ready: called with the server when it listens (``server.port``)
    :raises OSError: the address cannot be used
    :raises DcpPeerLostError: the master went away (only with ``once``)
    """
    server = SlaveServer(
        model,
        description,
        host=host,
        port=port,
        once=once,
        options=options,
        responsive=responsive,
    )
    former: dict[int, Any] = {}
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGTERM, signal.SIGINT):
            former[int(number)] = signal.signal(number, lambda *_: server.stop())
    logger.info("slave %s listens on %s:%d", server.description.name, server.host, server.port)
    try:
        if on_ready is not None:
            on_ready(server)
        server.run()
    finally:
        for former_number, handler in former.items():
            signal.signal(former_number, handler)
        server.close()
