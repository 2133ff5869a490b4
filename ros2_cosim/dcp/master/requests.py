# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Requests of a master to its slaves: sending, taking the answers, waiting.

Everything is synchronous: :meth:`Requests.wait` is the only place that blocks. It ends when
its condition holds, or with an error that names slave, state and what was waited for.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any

from ros2_cosim.core.sockets.brief_waits import DIALOGUE_NS
from ros2_cosim.dcp.master.log import LogEntry
from ros2_cosim.dcp.master.remote import PendingRequest, Refusal, RemoteSlave
from ros2_cosim.dcp.master.sockets import MasterSockets
from ros2_cosim.dcp.standard.data_path import OutputPdu
from ros2_cosim.dcp.standard.enums import ErrorCode, PduType, State, TransportProtocol, code_name
from ros2_cosim.dcp.standard.errors import DcpError, DcpPeerLostError, DcpTimeoutError, PduError
from ros2_cosim.dcp.standard.pdu import FIRST_CONFIGURATION, FIRST_INFORMATION, decode
from ros2_cosim.dcp.standard.states import ENDED, ERROR, NON_REAL_TIME, RUN
from ros2_cosim.dcp.standard.transport import TcpLink, same_machine

_RUNNING = RUN | NON_REAL_TIME
_RETRIES_PER_INTERVAL = 12
"""Over UDP a lost INF_state is repeated so many times per longest interval of a slave."""
_TCP, _UDP = TransportProtocol.TCP_IPv4, TransportProtocol.UDP_IPv4
#: Of requests that come while a slave changes its state.
TRANSITION_CODES = frozenset(
    {
        ErrorCode.PROTOCOL_ERROR_STATE_TRANSITION_IN_PROGRESS,
        ErrorCode.PROTOCOL_ERROR_PDU_NOT_ALLOWED_IN_THIS_STATE,
        ErrorCode.INVALID_STATE_ID,
    }
)


class SlaveEndedError(DcpError):
    """A slave ended its run without a request."""


class Requests:
    """Sends requests to slaves and takes the answers.

    :param slaves: the master's slaves by name; more may be added
    :param timeout_s: longest wait for anything a slave has to do
    :param retry_s: over UDP, a request without an answer is sent again after this time
    :param connect_wait_s: for this time [s] a refused connection is tried again
    :param look_ns: how long it looks for messages before it sleeps
    :ivar sockets: the connections to the slaves
    """

    def __init__(
        self,
        slaves: Mapping[str, RemoteSlave],
        timeout_s: float,
        retry_s: float,
        connect_wait_s: float = 0.0,
        look_ns: int = DIALOGUE_NS,
    ) -> None:
        self.slaves = slaves
        self.timeout_s = timeout_s
        self.retry_s = retry_s
        self.sockets = MasterSockets(
            slaves, timeout_s, connect_wait_s, self._take_control, self._take_data, look_ns
        )
        self._routes: dict[int, RemoteSlave] = {}

    # -- sending -----------------------------------------------------------------------------

    def all_to(self, kind: PduType, state: State) -> None:
        """Request a change of state from all slaves and wait until all have made it."""
        slaves = list(self.slaves.values())
        for slave in slaves:
            self.request(slave, kind)
        self.await_state(slaves, state)

    def request(
        self,
        slave: RemoteSlave,
        kind: PduType,
        body: bytes = b"",
        tolerated: Iterable[int] = (),
        state: State | None = None,
    ) -> PendingRequest:
        """Queue a request. Over UDP it leaves at once, after the answer to the earlier one.

        :param body: what stands behind receiver and state
        :param tolerated: error codes that count as an answer
        :param state: in which the slave takes it; None: the one that it is in
        :return: what becomes of it
        """
        if slave.protocol is _TCP and slave.control is None:
            raise DcpPeerLostError(
                f"slave {slave.name!r} is not connected any more", slave=slave.name
            )
        if slave.protocol is _UDP:
            self._await_turn(slave, kind)
        now = time.monotonic()
        if kind is PduType.INF_state:
            slave.beat_sent(now)
        seq, data = slave.numbered(kind, body, state)
        request = slave.pending[seq] = PendingRequest(kind, data, now, frozenset(tolerated))
        if slave.control is not None:
            slave.control.post(data)
        else:
            self.sockets.send_datagram(slave, data)
        return request

    def _await_turn(self, slave: RemoteSlave, kind: PduType) -> None:
        """Wait until a request may leave over UDP, where one is under way at a time.

        A heartbeat that is due goes first. While requests follow each other closely there is no
        other moment for it, and nothing but INF_state counts as a heartbeat.
        """
        if slave.pending:
            self._await_answer(slave, "an answer", errors=True)
        if kind is not PduType.INF_state and slave.beat_due(time.monotonic()) == 0.0:
            self.poll_state(slave)

    def send_data(self, slave: RemoteSlave, pdu: OutputPdu, values: list[Any]) -> None:
        """Queue a data PDU for a slave; it leaves before the requests queued after it.

        :raises DcpError: a value does not fit its type
        """
        try:
            data = pdu.encode(values)
        except PduError as error:
            raise DcpError(f"slave {slave.name!r}: {error}", slave=slave.name) from None
        target = pdu.targets[0]
        if isinstance(target, TcpLink):
            target.post(data)
        else:
            slave.datagrams.append((target, data))

    # -- what comes back -----------------------------------------------------------------------

    def route_data(self) -> None:
        """Note which data_id belongs to which slave."""
        self._routes = {
            data_id: slave for slave in self.slaves.values() for data_id in slave.received
        }

    def _take_control(self, slave: RemoteSlave, frame: bytes) -> None:
        if not frame:
            slave.take_empty()
            return
        try:
            slave.take_control(frame)
        except Refusal as refusal:
            self._refused(slave, refusal)

    def _take_data(self, data: bytes, host: str) -> None:
        """Take a data PDU; as the standard says, one that does not fit is dropped.

        It is decoded before its sequence id counts, so that a stray one makes no loss.
        """
        number = data[3] | data[4] << 8 if len(data) >= 5 else -1
        slave = self._routes.get(number)
        if slave is None or data[0] != PduType.DAT_input_output:
            return
        if not same_machine(host, slave.address[0]):
            self.sockets.stranger = host
            return
        pdu = slave.received[number]
        try:
            values = pdu.decode(data)
        except PduError:
            pdu.watch.counters.refused += 1
            return
        if pdu.watch.take(data[1] | data[2] << 8) >= 0:
            pdu.pending = values

    def _refused(self, slave: RemoteSlave, refusal: Refusal) -> None:
        request = refusal.request
        assert request is not None
        seq = request.data[1] | request.data[2] << 8
        if refusal.code == ErrorCode.INVALID_SEQUENCE_ID:
            if slave.protocol is _UDP and refusal.expected == (seq + 1) & 0xFFFF:
                return  # an earlier copy was taken, only its answer got lost
            if not slave.pending and request.kind is PduType.INF_state:
                slave.seq = refusal.expected  # the slave counts from elsewhere: follow it
                self.request(slave, request.kind)
                self.sockets.flush(slave)
                return
        in_transition = refusal.code in TRANSITION_CODES
        if in_transition and slave.state in ERROR and request.kind < FIRST_CONFIGURATION:
            raise self.error_of(slave)  # that is why it refuses
        if in_transition and slave.protocol is _UDP and request.tries < 20:
            self._ask_again(slave, request)
            return
        state = slave.state.name if slave.state is not None else "an unknown state"
        raise DcpError(
            f"slave {slave.name!r} refused {_describe(request)} in {state}: "
            f"{code_name(refusal.code)}",
            slave=slave.name,
            code=refusal.code,
        )

    def _ask_again(self, slave: RemoteSlave, request: PendingRequest) -> None:
        """Over UDP a late notification may have set a wrong state: ask for it, then repeat."""
        slave.pending.clear()
        before = slave.state
        self.poll_state(slave)
        tolerated = request.tolerated
        if slave.state is before:
            time.sleep(min(self.retry_s, 0.01))
        tries = request.tries + 1
        seq, data = slave.numbered(request.kind, request.body)
        slave.pending[seq] = PendingRequest(request.kind, data, time.monotonic(), tolerated, tries)
        self.sockets.send_datagram(slave, data)

    # -- waiting -------------------------------------------------------------------------------

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
            self.sockets.flush(slave)
        until = time.monotonic() + (self.timeout_s if timeout_s is None else timeout_s)
        while not done():
            now = time.monotonic()
            if now >= until:
                raise self._timeout(slaves, what)
            self.sockets.pump(min(until - now, self.idle(now)))
            if errors:
                for slave in slaves:
                    if slave.state in ERROR:
                        raise self.error_of(slave)
                    if leaving and slave.state in ENDED:
                        raise self.left(slave)

    def beat(self, now: float) -> None:
        """Between two steps: send what is due, take what has come, do not wait."""
        self.idle(now)
        self.sockets.pump(0.0)

    def idle(self, now: float) -> float:
        """Send heartbeats and repetitions that are due; returns the time [s] until the next one."""
        rest = 3600.0
        for slave in self.slaves.values():
            if slave.protocol is _UDP:
                rest = min(rest, self._repeat(slave, now))
            due = slave.beat_due(now)
            if due == 0.0:
                if not self._heartbeat(slave, now):
                    continue
                due = slave.beat_due(now)
            if due is not None:
                rest = min(rest, due)
        return rest

    def _heartbeat(self, slave: RemoteSlave, now: float) -> bool:
        """Send INF_state; False if it has to wait for an answer over UDP, where it is next."""
        for request in slave.pending.values():
            if request.kind is PduType.INF_state and now - request.first > self.timeout_s:
                raise self._timeout([slave], "the answer to INF_state")
        if slave.protocol is _UDP and slave.pending:
            return False
        self.request(slave, PduType.INF_state)
        self.sockets.flush(slave)
        return True

    def _repeat(self, slave: RemoteSlave, now: float) -> float:
        """Send unanswered requests of a slave on UDP again; without any, ask for its state."""
        retry_s = self.retry_s
        if slave.heartbeat_s is not None:
            retry_s = min(retry_s, slave.heartbeat_s / _RETRIES_PER_INTERVAL)
        for request in slave.pending.values():
            if now - request.sent >= retry_s:
                request.sent = now
                self.sockets.send_datagram(slave, request.data)
        if not slave.pending and slave.asking and now - slave.asked >= retry_s:
            slave.asked = now
            self.request(slave, PduType.INF_state)
        return retry_s

    def await_state(
        self, slaves: list[RemoteSlave], state: State, *, may_end: bool = False
    ) -> None:
        """Wait until all of these slaves are in ``state`` and every request is answered.

        :param may_end: whether a slave that stops by its own wish is waited for no longer
        """
        enough = {state} | (ENDED if may_end else frozenset())
        now = time.monotonic()
        for slave in slaves:
            slave.asking, slave.asked = slave.protocol is _UDP, now
        try:
            self.wait(
                slaves,
                lambda: all(s.state in enough and not s.pending for s in slaves),
                state.name,
                leaving=state in _RUNNING and not may_end,
            )
        finally:
            for slave in slaves:
                slave.asking = False

    def request_log(self, slave: RemoteSlave, category: int, most: int) -> list[LogEntry]:
        """Request the stored log entries of a slave (INF_log); the slave deletes them."""
        before = slave.log_count
        self.request(slave, PduType.INF_log, bytes((category, most)))
        self._await_answer(slave, "RSP_log_ack", errors=True)
        return slave.log_since(before)

    def left(self, slave: RemoteSlave) -> SlaveEndedError:
        """The error of a slave that ended its run without a request."""
        return SlaveEndedError(f"slave {slave.name!r} left the run by itself", slave=slave.name)

    def poll_state(self, slave: RemoteSlave, timeout_s: float | None = None) -> State:
        """Ask a slave for its state (INF_state); follows its sequence ids if they differ."""
        self.request(slave, PduType.INF_state)
        self._await_answer(slave, "the answer to INF_state", timeout_s)
        assert slave.state is not None
        return slave.state

    def _await_answer(
        self, slave: RemoteSlave, what: str, timeout_s: float | None = None, *, errors: bool = False
    ) -> None:
        def answered() -> bool:
            return not slave.pending

        self.wait([slave], answered, what, timeout_s=timeout_s, errors=errors)

    def error_of(self, slave: RemoteSlave) -> DcpError:
        """The error that says why a slave is in its error state (asks it, INF_error)."""
        code, text = 0, ""
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
            self.request(slave, PduType.INF_error)
            self._await_answer(slave, "RSP_error_ack", limit)
            code = slave.error_code or 0
            text = self._error_text(slave, limit)
        return DcpError(
            f"slave {slave.name!r} went to its error state: {code_name(code)}{text}",
            slave=slave.name,
            code=code,
        )

    def _error_text(self, slave: RemoteSlave, limit: float) -> str:
        """The slave's log entry about its error, if it has one."""
        template = slave.description.error_template()
        if template is None or not slave.description.capabilities.can_provide_log_on_request:
            return ""
        before = slave.log_count
        self.request(slave, PduType.INF_log, bytes((template.category, 255)), ErrorCode)
        self._await_answer(slave, "RSP_log_ack", limit)
        texts = [entry.text for entry in slave.log_since(before)]
        return f": {texts[-1]}" if texts else ""

    def _timeout(self, slaves: list[RemoteSlave], what: str) -> DcpTimeoutError:
        guilty = next((s for s in slaves if s.pending), None)
        if guilty is None:
            elsewhere = (s for s in slaves if s.state is not None and s.state.name != what)
            guilty = next(elsewhere, slaves[0])
        state = guilty.state.name if guilty.state is not None else "no state yet"
        open_requests = ", ".join(r.kind.name for r in guilty.pending.values())
        unanswered = f"; unanswered: {open_requests}" if open_requests else ""
        if self.sockets.stranger:
            unanswered += (
                f"; what came from {self.sockets.stranger} was dropped, for no slave is there"
            )
        return DcpTimeoutError(
            f"slave {guilty.name!r} is in {state}; {what} did not come within "
            f"{self.timeout_s:g} s{unanswered}",
            slave=guilty.name,
        )


def _describe(request: PendingRequest) -> str:
    """Request as text: its name, and the fields of a configuration request."""
    if not FIRST_CONFIGURATION <= request.kind < FIRST_INFORMATION:
        return request.kind.name
    return str(decode(request.data))
