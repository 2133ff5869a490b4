# SPDX-License-Identifier: Apache-2.0
"""The master's sockets and waits: sending requests, sorting what comes back.

Everything is synchronous: :meth:`MasterIO.wait` is the only place that blocks. It ends when
its condition holds, or with an error that names slave, state and what was waited for.
"""

from __future__ import annotations

import select
import socket
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

from ros2_cosim.dcp.data_path import OutputPdu
from ros2_cosim.dcp.enums import ErrorCode, PduType, State, TransportProtocol, code_name
from ros2_cosim.dcp.errors import DcpError, DcpPeerLostError, DcpTimeoutError, PduError
from ros2_cosim.dcp.remote import Refusal, RemoteSlave, Request
from ros2_cosim.dcp.states import ERROR, NON_REAL_TIME, RUN
from ros2_cosim.dcp.transport import (
    TcpLink,
    tcp_connect,
    tcp_listener,
    udp_read,
    udp_socket,
)

_RUNNING = RUN | NON_REAL_TIME
_TCP, _UDP = TransportProtocol.TCP_IPv4, TransportProtocol.UDP_IPv4
_TRANSITION_CODES = frozenset(
    {
        ErrorCode.PROTOCOL_ERROR_STATE_TRANSITION_IN_PROGRESS,
        ErrorCode.PROTOCOL_ERROR_PDU_NOT_ALLOWED_IN_THIS_STATE,
        ErrorCode.INVALID_STATE_ID,
    }
)
_CONNECT_RETRY_S = 0.1


class MasterIO:
    """Connections of a master to its slaves.

    :param timeout_s: longest wait for anything a slave has to do
    :param retry_s: over UDP, a request without an answer is sent again after this time
    :param connect_wait_s: a slave that refuses the connection is asked again for so long
    """

    def __init__(self, timeout_s: float, retry_s: float, connect_wait_s: float = 0.0) -> None:
        self.timeout_s = timeout_s
        self.retry_s = retry_s
        self.connect_wait_s = connect_wait_s
        self.slaves: dict[str, RemoteSlave] = {}
        self._by_id: dict[int, RemoteSlave] = {}
        self._routes: dict[int, RemoteSlave] = {}
        self._handlers: dict[int, Callable[[], None]] = {}
        self._poller = select.poll()
        self._udp: socket.socket | None = None
        self._listeners: dict[str, socket.socket] = {}
        self._incoming: list[TcpLink] = []
        self._expecting_loss: set[str] = set()
        self.dropped = 0

    # -- connections -------------------------------------------------------------------------

    def _connect_control(self, slave: RemoteSlave) -> TcpLink:
        """Connect; a slave that is just being started gets ``connect_wait_s`` to listen."""
        deadline = time.monotonic() + self.connect_wait_s
        while True:
            try:
                return tcp_connect(slave.host, slave.port, self.timeout_s)
            except ConnectionRefusedError:
                if time.monotonic() >= deadline:
                    raise
                time.sleep(_CONNECT_RETRY_S)

    def open(self, slave: RemoteSlave) -> None:
        """Connect to a slave's control port.

        :raises DcpPeerLostError: nobody answers there
        """
        self._by_id[slave.id] = slave
        try:
            if slave.protocol is _TCP:
                slave.control = self._connect_control(slave)
                slave.local_host = str(slave.control.sock.getsockname()[0])
                self._register(slave.control, lambda: self._read_control(slave))
            else:
                slave.address = (socket.gethostbyname(slave.host), slave.port)
                with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
                    probe.connect(slave.address)
                    slave.local_host = str(probe.getsockname()[0])
                self._open_udp()
        except OSError as error:
            raise DcpPeerLostError(
                f"slave {slave.name!r}: no connection to {slave.host}:{slave.port}: "
                f"{error.strerror or error}",
                slave=slave.name,
            ) from None

    def _open_udp(self) -> socket.socket:
        if self._udp is None:
            remote = any(not s.local_host.startswith("127.") for s in self.slaves.values())
            self._udp = udp_socket("0.0.0.0" if remote else "127.0.0.1", 0)
            self._register(self._udp, self._read_udp)
        return self._udp

    def data_address(self, slave: RemoteSlave, protocol: TransportProtocol) -> tuple[str, int]:
        """Where the master listens for data of a slave."""
        if protocol is _UDP:
            return slave.local_host, int(self._open_udp().getsockname()[1])
        listener = self._listeners.get(slave.local_host)
        if listener is None:
            listener = tcp_listener(slave.local_host, 0)
            self._listeners[slave.local_host] = listener
            self._register(listener, lambda: self._accept(listener))
        return slave.local_host, int(listener.getsockname()[1])

    def connect_data(self, slave: RemoteSlave, host: str, port: int) -> None:
        """Open the connection for the inputs that the master feeds over TCP."""
        try:
            slave.data_link = tcp_connect(host, port, self.timeout_s)
        except OSError as error:
            raise DcpPeerLostError(
                f"slave {slave.name!r}: no data connection to {host}:{port}: "
                f"{error.strerror or error}",
                slave=slave.name,
            ) from None
        self._register(slave.data_link, lambda: self._read_data_link(slave))

    def route_data(self) -> None:
        """Note which data_id belongs to which slave."""
        self._routes = {
            data_id: slave for slave in self.slaves.values() for data_id in slave.received
        }

    def expect_loss(self, slave: RemoteSlave, expected: bool) -> None:
        """Whether it is fine for this slave's connection to end now."""
        (self._expecting_loss.add if expected else self._expecting_loss.discard)(slave.name)

    def close_data(self, slave: RemoteSlave) -> None:
        """Close the data connection to a slave."""
        if slave.data_link is not None:
            self._forget(slave.data_link)
            slave.data_link = None

    def close(self) -> None:
        """Close every socket."""
        for slave in self.slaves.values():
            self.close_data(slave)
            if slave.control is not None:
                self._forget(slave.control)
                slave.control = None
        for sock in (*self._listeners.values(), *self._incoming, self._udp):
            if sock is not None:
                self._forget(sock)
        self._listeners.clear()
        self._incoming.clear()
        self._udp = None

    def _register(self, sock: Any, handler: Callable[[], None]) -> None:
        self._handlers[sock.fileno()] = handler
        self._poller.register(sock, select.POLLIN)

    def _forget(self, sock: Any) -> None:
        fd = sock.fileno()
        if fd >= 0 and self._handlers.pop(fd, None) is not None:
            self._poller.unregister(fd)
        sock.close()

    # -- sending -----------------------------------------------------------------------------

    def request(
        self,
        slave: RemoteSlave,
        kind: PduType,
        numbered: tuple[int, bytes],
        tolerated: Iterable[int] = (),
    ) -> None:
        """Queue a request; over UDP it leaves at once, and the former must be answered."""
        seq, data = numbered
        if slave.protocol is _TCP and slave.control is None:
            raise DcpPeerLostError(
                f"slave {slave.name!r} is not connected any more", slave=slave.name
            )
        if slave.protocol is _UDP and slave.pending:
            self.wait([slave], lambda: not slave.pending, "an answer")
            if kind < 0x20:
                data = data[:4] + bytes((slave.state or 0,)) + data[5:]
        slave.pending[seq] = Request(kind, data, time.monotonic(), frozenset(tolerated))
        if slave.control is not None:
            slave.control.post(data)
        else:
            self._send_udp(slave, data)

    def send_data(self, slave: RemoteSlave, pdu: OutputPdu, values: list[Any]) -> None:
        """Queue a data PDU for a slave; it leaves before the requests queued after it.

        :raises DcpError: a value does not fit its type
        """
        try:
            data = pdu.encode(values)
        except PduError as error:
            raise DcpError(
                f"slave {slave.name!r}: inputs of data_id {pdu.data_id}: {error}",
                slave=slave.name,
            ) from None
        target = pdu.targets[0]
        if isinstance(target, TcpLink):
            target.post(data)
        elif self._udp is not None:
            with suppress(BlockingIOError):
                self._udp.sendto(data, target)

    def flush(self, slave: RemoteSlave) -> None:
        """Send what was queued for a slave, data first.

        :raises DcpPeerLostError: the slave is gone
        """
        try:
            if slave.data_link is not None:
                slave.data_link.flush()
            if slave.control is not None:
                slave.control.flush()
        except DcpPeerLostError as error:
            self._lost(slave, str(error))

    def _send_udp(self, slave: RemoteSlave, data: bytes) -> None:
        assert self._udp is not None
        with suppress(OSError):
            self._udp.sendto(data, slave.address)

    # -- receiving ---------------------------------------------------------------------------

    def _lost(self, slave: RemoteSlave, reason: str) -> None:
        if slave.control is not None:
            self._forget(slave.control)
            slave.control = None
        if slave.name in self._expecting_loss:
            slave.state = State.ALIVE
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
        for frame in frames:
            self._take(slave, frame)

    def _take(self, slave: RemoteSlave, frame: bytes) -> None:
        if frame[0] >= 0xF0:
            self._take_data(frame)
            return
        try:
            slave.take_control(frame)
        except Refusal as refusal:
            self._refused(slave, refusal)

    def _refused(self, slave: RemoteSlave, refusal: Refusal) -> None:
        request = refusal.request
        assert request is not None
        seq = request.data[1] | request.data[2] << 8
        if refusal.code == ErrorCode.INVALID_SEQUENCE_ID:
            if request.tries > 1 and refusal.expected == (seq + 1) & 0xFFFF:
                return  # the first copy was taken, only its answer got lost
            if not slave.pending and request.kind is PduType.INF_state:
                slave.seq = refusal.expected  # the slave counts from elsewhere: follow it
                self.request(slave, request.kind, slave.next_inf(PduType.INF_state))
                self.flush(slave)
                return
        if slave.protocol is _UDP and refusal.code in _TRANSITION_CODES and request.tries < 20:
            self._ask_again(slave, request)
            return
        state = slave.state.name if slave.state is not None else "an unknown state"
        raise DcpError(
            f"slave {slave.name!r} refused {_describe(request)} in {state}: "
            f"{code_name(refusal.code)}",
            slave=slave.name,
            code=refusal.code,
        )

    def _ask_again(self, slave: RemoteSlave, request: Request) -> None:
        """Over UDP a late notification may have misled about the state: ask, then repeat."""
        slave.pending.clear()
        before = slave.state
        self.poll_state(slave)
        tolerated = request.tolerated
        if slave.state is before:
            time.sleep(min(self.retry_s, 0.01))
        tries = request.tries + 1
        seq, data = slave.next_stc(request.kind, request.data[5:])
        slave.pending[seq] = Request(request.kind, data, time.monotonic(), tolerated, tries)
        self._send_udp(slave, data)

    def _read_udp(self) -> None:
        assert self._udp is not None
        for data, _ in udp_read(self._udp):
            if not data:
                continue
            kind = data[0]
            if kind >= 0xF0:
                self._take_data(data)
                continue
            at = 1 if kind >= 0xE0 else 3
            slave = self._by_id.get(data[at]) if len(data) > at else None
            if slave is None:
                self.dropped += 1
            else:
                self._take(slave, data)

    def _accept(self, listener: socket.socket) -> None:
        with suppress(OSError):
            sock, _ = listener.accept()
            link = TcpLink(sock)
            self._incoming.append(link)
            self._register(link, lambda: self._read_incoming(link))

    def _read_incoming(self, link: TcpLink) -> None:
        try:
            frames = link.read()
        except DcpPeerLostError:
            self._incoming.remove(link)
            self._forget(link)
            return
        for frame in frames:
            self._take_data(frame)

    def _read_data_link(self, slave: RemoteSlave) -> None:
        """Nothing comes on this connection; it only tells when it is closed."""
        link = slave.data_link
        if link is None:
            return
        try:
            link.read()
        except DcpPeerLostError:
            self.close_data(slave)

    def _take_data(self, data: bytes) -> None:
        if len(data) < 5 or data[0] != PduType.DAT_input_output:
            self.dropped += 1
            return
        number = data[3] | data[4] << 8
        slave = self._routes.get(number)
        if slave is None:
            self.dropped += 1
            return
        pdu = slave.received[number]
        if pdu.watch.take(data[1] | data[2] << 8) < 0:
            return
        try:
            pdu.take(data)
        except PduError as error:
            raise DcpError(
                f"slave {slave.name!r} sent data_id {number} with a wrong payload: {error}",
                slave=slave.name,
            ) from None

    # -- waiting -----------------------------------------------------------------------------

    def pump(self, timeout_s: float) -> None:
        """Take what has come, waiting for at most ``timeout_s`` for the first of it."""
        for fd, _ in self._poller.poll(timeout_s * 1000):
            handler = self._handlers.get(fd)
            if handler is not None:
                handler()

    def wait(
        self,
        slaves: list[RemoteSlave],
        done: Callable[[], bool],
        what: str,
        *,
        timeout_s: float | None = None,
        errors: bool = True,
        leaving: bool = False,
    ) -> None:
        """Wait until ``done()``.

        :param errors: a slave that goes to its error state ends the wait with its error
        :param leaving: a slave that stops by its own wish ends the wait with an error
        :raises DcpTimeoutError: naming the slave that did not do ``what``
        :raises DcpError: a slave refused something or went to its error state
        :raises DcpPeerLostError: a slave is gone
        """
        for slave in slaves:
            self.flush(slave)
        until = time.monotonic() + (self.timeout_s if timeout_s is None else timeout_s)
        while not done():
            now = time.monotonic()
            if now >= until:
                raise self._timeout(slaves, what)
            self.pump(min(until - now, self.idle(now)))
            if errors:
                for slave in slaves:
                    if slave.state in ERROR:
                        raise self.error_of(slave)
                    if leaving and slave.state in (State.STOPPING, State.STOPPED):
                        raise self.left(slave)

    def idle(self, now: float) -> float:
        """Do what is due besides waiting; returns how long there is nothing to do."""
        rest = 3600.0
        for slave in self.slaves.values():
            if slave.protocol is _UDP:
                rest = min(rest, self._repeat(slave, now))
            interval = slave.description.heartbeat
            if interval is not None and slave.state not in (None, State.ALIVE):
                if now >= slave.next_beat:
                    slave.next_beat = now + float(interval) / 3
                    self._heartbeat(slave)
                rest = min(rest, max(0.0, slave.next_beat - now))
        return rest

    def _heartbeat(self, slave: RemoteSlave) -> None:
        for request in slave.pending.values():
            if request.kind is PduType.INF_state:
                if time.monotonic() - request.sent > self.timeout_s:
                    raise self._timeout([slave], "the answer to INF_state")
                if slave.protocol is _UDP:
                    return
        if slave.protocol is _UDP and slave.pending:
            return  # its repetitions keep the slave informed soon enough
        self.request(slave, PduType.INF_state, slave.next_inf(PduType.INF_state))
        self.flush(slave)

    def _repeat(self, slave: RemoteSlave, now: float) -> float:
        """Send unanswered requests of a slave on UDP again; ask for its state otherwise."""
        for request in slave.pending.values():
            if now - request.sent >= self.retry_s:
                request.sent = now
                request.tries += 1
                self._send_udp(slave, request.data)
        if not slave.pending and slave.asking and now - slave.asked >= self.retry_s:
            slave.asked = now
            self.request(slave, PduType.INF_state, slave.next_inf(PduType.INF_state))
        return self.retry_s

    def await_state(self, slaves: list[RemoteSlave], state: State) -> None:
        """Wait until all of these slaves are in ``state`` and every request is answered."""
        now = time.monotonic()
        for slave in slaves:
            slave.asking, slave.asked = slave.protocol is _UDP, now
        try:
            self.wait(
                slaves,
                lambda: all(s.state is state and not s.pending for s in slaves),
                state.name,
                leaving=state in _RUNNING,
            )
        finally:
            for slave in slaves:
                slave.asking = False

    def left(self, slave: RemoteSlave) -> DcpError:
        """The error that says that a slave ended its run by its own wish."""
        return DcpError(f"slave {slave.name!r} left the run by itself", slave=slave.name)

    def poll_state(self, slave: RemoteSlave) -> State:
        """Ask a slave for its state (INF_state); follows its sequence ids if they differ."""
        self.request(slave, PduType.INF_state, slave.next_inf(PduType.INF_state))
        self.wait([slave], lambda: not slave.pending, "the answer to INF_state", errors=False)
        assert slave.state is not None
        return slave.state

    def error_of(self, slave: RemoteSlave) -> DcpError:
        """The error that says why a slave is in its error state (asks it, INF_error)."""
        code = 0
        with suppress(DcpError):
            limit = min(self.timeout_s, 10.0)
            self.wait(
                [slave],
                lambda: slave.state is not State.ERRORHANDLING,
                "ERRORRESOLVED",
                timeout_s=limit,
                errors=False,
            )
            slave.pending.clear()
            slave.error_code = None
            self.request(slave, PduType.INF_error, slave.next_inf(PduType.INF_error))
            self.wait(
                [slave],
                lambda: not slave.pending,
                "RSP_error_ack",
                timeout_s=limit,
                errors=False,
            )
            code = slave.error_code or 0
        return DcpError(
            f"slave {slave.name!r} went to its error state: {code_name(code)}",
            slave=slave.name,
            code=code,
        )

    def _timeout(self, slaves: list[RemoteSlave], what: str) -> DcpTimeoutError:
        guilty = next((s for s in slaves if s.pending), None)
        if guilty is None:
            elsewhere = (s for s in slaves if s.state is not None and s.state.name != what)
            guilty = next(elsewhere, slaves[0])
        state = guilty.state.name if guilty.state is not None else "no state yet"
        open_requests = ", ".join(r.kind.name for r in guilty.pending.values())
        unanswered = f"; unanswered: {open_requests}" if open_requests else ""
        return DcpTimeoutError(
            f"slave {guilty.name!r} is in {state}; {what} was waited for longer than "
            f"{self.timeout_s:g} s{unanswered}",
            slave=guilty.name,
        )


def _describe(request: Request) -> str:
    """Request as text: its name and, for configuration, what it was about."""
    from ros2_cosim.dcp.pdu import decode

    if not 0x20 <= request.kind < 0x80:
        return request.kind.name
    return str(decode(request.data))
