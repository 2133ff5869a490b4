# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A step in one exchange: the request for outputs follows the one for the step at once."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from time import monotonic_ns
from typing import Any

import pytest
from support.dcp_models import Offset, running
from support.patience import HANG_S, until

from ros2_cosim.core.sockets.reactor import Reactor
from ros2_cosim.dcp.master.master import Master
from ros2_cosim.dcp.master.remote import RemoteSlave, SlaveUse
from ros2_cosim.dcp.master.requests import SlaveEndedError
from ros2_cosim.dcp.slave.declare import describe
from ros2_cosim.dcp.slave.registration import Registration
from ros2_cosim.dcp.slave.slave_model import Output, SlaveModel, StepInfo
from ros2_cosim.dcp.standard.accepted import AcceptedLinks
from ros2_cosim.dcp.standard.enums import ErrorCode, PduType, State, TransportProtocol
from ros2_cosim.dcp.standard.errors import DcpError, DcpPeerLostError
from ros2_cosim.dcp.standard.transport import PREFIX
from ros2_cosim.dcp.tools.capture import Captured
from ros2_cosim.dcp.tools.proxy import Carrier, Proxy, at_once

TCP, UDP = TransportProtocol.TCP_IPv4, TransportProtocol.UDP_IPv4
IN_ORDER = SlaveUse(in_order=True)
_NACK, _SEND_OUTPUTS = int(PduType.RSP_nack), int(PduType.STC_send_outputs)


class Counting(SlaveModel):
    """Counts its steps."""

    y = Output("float64", start=0.0)

    def do_step(self, step: StepInfo) -> None:
        self.outputs[0] += 1.0


class Ending(Counting):
    """Wants no more than three steps."""

    def do_step(self, step: StepInfo) -> None:
        super().do_step(step)
        self.stop_requested = self.outputs[0] == 3.0


class Failing(Counting):
    """Fails in its third step."""

    def do_step(self, step: StepInfo) -> None:
        super().do_step(step)
        if self.outputs[0] == 3.0:
            raise ValueError("enough")


class Held(Counting):
    """Computes until it is let go."""

    def __init__(self, is_over: Callable[[], bool]) -> None:
        self._is_over = is_over

    def do_step(self, step: StepInfo) -> None:
        super().do_step(step)
        until(self._is_over)


@contextmanager
def stepping(
    model: SlaveModel, transport: TransportProtocol = TCP, **more: Any
) -> Iterator[tuple[Master, RemoteSlave]]:
    """A master whose slave is about to make its first step."""
    description = describe(type(model), **more)
    with running(model, description) as slave, Master(timeout_s=HANG_S) as master:
        remote = master.add_slave(description, port=slave.port, transport=transport, use=IN_ORDER)
        master.configure()
        master.run()
        yield master, remote


@pytest.mark.parametrize(("transport", "messages"), [(TCP, 1), (UDP, 2)])
def test_over_tcp_a_step_takes_one_message(transport: TransportProtocol, messages: int) -> None:
    sent: list[str] = []
    with stepping(Counting(), transport) as (master, remote):
        for step in (1.0, 2.0, 3.0):
            master.note(lambda: None, lambda: None, sent.append)
            master.do_step()
            master.note(None, None, None)
            assert remote.outputs[0] == step
            assert len(sent) == messages * step


def test_a_step_can_be_begun_and_ended_apart() -> None:
    with stepping(Counting()) as (master, remote):
        assert master.can_begin_step
        for step in (1.0, 2.0, 3.0):
            master.begin_step()
            assert (remote.outputs[0], master.steps_done) == (step - 1.0, step - 1)
            master.end_step()
            assert (remote.outputs[0], master.steps_done) == (step, step)
        master.do_step()
        assert remote.outputs[0] == 4.0
        # One that is not ended is no obstacle to the end.
        master.begin_step()


def test_a_step_that_fails_says_so_at_its_end() -> None:
    with stepping(Failing()) as (master, _):
        master.do_step(2)
        master.begin_step()
        with pytest.raises(DcpError, match="do_step in COMPUTING: ValueError: enough"):
            master.end_step()


def test_over_udp_no_step_is_begun_ahead() -> None:
    with stepping(Counting(), UDP) as (master, _):
        assert not master.can_begin_step


def test_outputs_come_with_what_is_said_of_them() -> None:
    """The slave opens no connection of its own to where the one of its master comes from."""
    with stepping(Counting()) as (master, remote):
        master.do_step()
        links = master._requests.sockets._incoming[remote.local_host]
        assert remote.outputs[0] == 1.0 and len(links) == 0


def test_a_slave_that_has_enough_ends_the_run_after_its_outputs() -> None:
    with stepping(Ending()) as (master, remote):
        master.do_step(2)
        with pytest.raises(SlaveEndedError):
            master.do_step()
        assert (remote.outputs[0], remote.state, master.steps_done) == (3.0, State.STOPPED, 3)


def test_a_slave_that_fails_says_why() -> None:
    with stepping(Failing()) as (master, _):
        master.do_step(2)
        with pytest.raises(DcpError, match="do_step in COMPUTING: ValueError: enough"):
            master.do_step()


def test_what_waits_is_handled_before_what_comes_meanwhile() -> None:
    """Also if the connection is read again while a PDU is being handled."""
    order: list[bytes] = []
    with Reactor() as reactor, socket.socket() as far:

        def handle(link: Any, frame: bytes) -> None:
            order.append(frame)
            if frame == b"1":
                far.sendall(PREFIX.pack(1) + b"3")
                while reactor.serve_ready():
                    pass
                order.append(b"handled")

        links = AcceptedLinks(reactor, handle, lambda link, reason: None)
        listener = links.listen("127.0.0.1", 0)
        far.connect(("127.0.0.1", listener.port))
        far.sendall(PREFIX.pack(1) + b"1" + PREFIX.pack(1) + b"2")
        assert reactor.run_until(lambda: b"handled" in order)
        assert order == [b"1", b"2", b"3", b"handled"]
        listener.close()
        links.close()


def test_heartbeats_during_a_long_step_do_not_overtake_the_request_for_its_outputs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The slave answers three of them while it computes, each after the requests before it."""
    beats: list[float] = []
    beat = Registration.beat

    def counted(registration: Registration, now: float) -> None:
        beats.append(now)
        beat(registration, now)

    monkeypatch.setattr(Registration, "beat", counted)
    refused: list[int] = []
    nack = Registration.nack

    def noted(registration: Registration, origin: Any, seq: int, code: int) -> None:
        refused.append(code)
        nack(registration, origin, seq, code)

    monkeypatch.setattr(Registration, "nack", noted)
    enough = [0]
    model = Held(lambda: len(beats) >= enough[0])
    # The slave allows long pauses; the master makes very short ones.
    with stepping(model, heartbeat=Fraction(1000)) as (master, remote):
        remote.heartbeat_s = 0.01
        remote.next_beat = 0.0
        for step in (1.0, 2.0, 3.0, 4.0):
            enough[0] = len(beats) + 3
            master.do_step()
            assert (remote.outputs[0], remote.state) == (step, State.RUNNING)
        master.stop()
    # Each step was too long for its second request.
    assert refused == [ErrorCode.PROTOCOL_ERROR_STATE_TRANSITION_IN_PROGRESS] * 4


def test_nothing_is_taken_of_a_master_that_was_lost_while_a_step_was_computed() -> None:
    """Its request for outputs would make it the master again, and keep the next one out."""
    over = threading.Event()
    model = Held(over.is_set)
    description = describe(Held)
    with running(model, description, once=False) as slave:
        with Master(timeout_s=HANG_S) as lost:
            remote = lost.add_slave(description, port=slave.port, transport=TCP, use=IN_ORDER)
            lost.configure()
            lost.run()
            link = remote.control
            assert link is not None
            real = link.flush

            def leave() -> None:
                """Send what waits, and go as soon as the slave computes."""
                real()
                until(lambda: slave.server.slave.state is State.COMPUTING)
                link.sock.shutdown(socket.SHUT_RDWR)

            link.flush = leave  # type: ignore[method-assign]
            with pytest.raises(DcpPeerLostError):
                lost.do_step()
        until(lambda: slave.server.slave.state is State.ERRORHANDLING)
        over.set()
        with Master(timeout_s=HANG_S) as master:
            remote = master.add_slave(description, port=slave.port, transport=TCP, use=IN_ORDER)
            master.configure()
            master.run()
            master.do_step(3)
            master.stop()


class OneByOne:
    """A way on which each PDU arrives by itself, some time after the one before."""

    def __init__(self) -> None:
        self._last: dict[Hashable, int] = {}

    def __call__(self, reactor: Reactor, line: Hashable, hand_over: Callable[[], None]) -> None:
        due = max(monotonic_ns(), self._last.get(line, 0)) + 1_000_000
        self._last[line] = due
        reactor.call_at(due, hand_over)


@pytest.mark.parametrize("way", [at_once, OneByOne()])
def test_a_proxy_between_master_and_slave_changes_nothing(way: Carrier) -> None:
    """To the slave its master has another address than the one that outputs go to."""
    seen: list[Captured] = []
    description = describe(Offset, name="offset")
    with (
        running(Offset(), description) as slave,
        Proxy("127.0.0.1", 0, "127.0.0.1", slave.port, seen.append, way) as proxy,
    ):
        thread = threading.Thread(target=proxy.run)
        thread.start()
        try:
            with Master(timeout_s=HANG_S) as master:
                remote = master.add_slave(description, port=proxy.port, transport=TCP, use=IN_ORDER)
                master.configure({"offset": {"offset": 0.5}})
                master.run()
                for step in range(5):
                    remote.set_inputs({"u": float(step)})
                    master.do_step()
                    assert remote.outputs == [step + 0.5]
                master.stop()
        finally:
            proxy.stop()
            thread.join()
    asked = [one for one in seen if one.data[:1] == bytes((_SEND_OUTPUTS,))]
    refused = [one for one in seen if one.data[:1] == bytes((_NACK,))]
    assert len(asked) == 5 + len(refused)
