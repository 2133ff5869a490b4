# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""TCP segments: few are sent, and sides that send many small ones need not wait for this one."""

from __future__ import annotations

import socket
import time
from fractions import Fraction
from functools import partial
from typing import Any

import pytest
from support.dcp_models import Offset, Sine, running, sine_description
from support.patience import HANG_S

from ros2_cosim.core.sockets.reactor import Reactor
from ros2_cosim.dcp.master.master import Master
from ros2_cosim.dcp.master.remote import SlaveUse
from ros2_cosim.dcp.slave.declare import describe
from ros2_cosim.dcp.slave.slave_model import Output, SlaveModel, StepInfo
from ros2_cosim.dcp.standard.enums import TransportProtocol
from ros2_cosim.dcp.standard.transport import TcpLink

TCP = TransportProtocol.TCP_IPv4
STEPS = 40
#: So long Linux delays an acknowledgement at least; of many steps the shortest took less.
DELAY_S = 0.04


class ManyWrites(TcpLink):
    """Sends as slaves and masters do that were made with DCPLib: Nagle's algorithm is on, and
    each PDU is a write of its own.
    """

    def __init__(self, sock: socket.socket, *limit: int) -> None:
        super().__init__(sock, *limit)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 0)

    def post(self, data: bytes) -> None:
        super().post(data)
        self.flush()


def connect_with_many_writes(host: str, port: int, timeout_s: float) -> ManyWrites:
    return ManyWrites(socket.create_connection((host, port), timeout_s))


@pytest.mark.parametrize("stepping", ["parallel", "sequential"])
def test_no_step_waits_for_a_delayed_acknowledgement(
    monkeypatch: pytest.MonkeyPatch, stepping: str
) -> None:
    """Control and data of both slaves, from slave to slave and to the master."""
    monkeypatch.setattr("ros2_cosim.dcp.standard.accepted.TcpLink", ManyWrites)
    monkeypatch.setattr("ros2_cosim.dcp.slave.sockets.TcpLink", ManyWrites)
    monkeypatch.setattr("ros2_cosim.dcp.slave.sockets.tcp_connect", connect_with_many_writes)
    one = sine_description(name="sine")
    two = describe(Offset, name="offset", resolutions=(Fraction(1, 100),))
    with (
        running(Sine(), one) as first,
        running(Offset(), two) as second,
        Master(timeout_s=HANG_S, stepping=stepping) as master,
    ):
        for description, slave in ((one, first), (two, second)):
            master.add_slave(description, port=slave.port, transport=TCP)
        master.connect("sine.y", "offset.u")
        master.connect("offset.y", "sine.a", delayed=True)
        master.configure()
        master.run()
        took = []
        for _ in range(STEPS):
            began = time.perf_counter()
            master.do_step()
            took.append(time.perf_counter() - began)
        master.stop()
    assert min(took[2:]) < DELAY_S


class Three(SlaveModel):
    a = Output("float64", start=0.0)
    b = Output("float64", start=0.0)
    c = Output("float64", start=0.0)

    def do_step(self, step: StepInfo) -> None:
        self.outputs[:] = [1.0, 2.0, 3.0]


def test_all_data_pdus_of_a_step_leave_in_one_segment() -> None:
    description = describe(Three)
    with running(Three(), description) as slave, Master(timeout_s=HANG_S) as master:
        remote = master.add_slave(
            description, port=slave.port, transport=TCP, use=SlaveUse(max_pdu_size=13)
        )
        master.configure()
        sockets = slave.server.sockets
        send_data, segments = sockets.send_data, []

        def seen(target: Any, pdus: list[bytes]) -> None:
            segments.append([pdu[3] | pdu[4] << 8 for pdu in pdus])
            send_data(target, pdus)

        sockets.send_data = seen  # type: ignore[method-assign]
        master.run()
        for _ in range(3):
            master.do_step()
        master.stop()
        assert remote.outputs == [1.0, 2.0, 3.0]
        assert segments == [list(remote.received)] * 3
        assert len(remote.received) == 3


class Recorded:
    """A socket that remembers for what it was asked."""

    def __init__(self, sock: socket.socket) -> None:
        self.asked: list[str] = []
        self._sock = sock

    def __getattr__(self, name: str) -> Any:
        return getattr(self._sock, name)

    def setsockopt(self, *option: int) -> None:
        self.asked.append("acknowledge")
        self._sock.setsockopt(*option)

    def send(self, data: bytes) -> int:
        self.asked.append("send")
        return self._sock.send(data)


def test_only_a_side_that_nothing_is_written_to_is_acknowledged_by_itself() -> None:
    """An answer acknowledges as well: a step costs no call of the system for that."""
    listener = socket.create_server(("127.0.0.1", 0))
    far = socket.create_connection(listener.getsockname())
    near, _ = listener.accept()
    link = TcpLink(near)
    recorded = Recorded(near)
    link.sock = recorded  # type: ignore[assignment]
    with listener, far, near, Reactor() as reactor:
        got: list[bytes] = []

        def read(answers: bool) -> None:
            got.extend(link.read())
            reactor.before_wait(link.acknowledge)
            if answers:
                link.send(b"yes")

        def exchange(answers: bool) -> list[str]:
            recorded.asked.clear()
            reactor.watch(near, partial(read, answers))
            far.sendall(b"\x01\x00\x00\x00x")
            count = len(got)
            assert reactor.run_until(lambda: len(got) > count)
            reactor.wake()
            reactor.turn()  # a wait that ends at once
            return recorded.asked

        assert exchange(answers=True) == ["send"]
        assert exchange(answers=False) == []  # one that has sent once may be done
        assert exchange(answers=False) == ["acknowledge"]  # it goes on without an answer
        for _ in range(20):  # once there have been some answers, the system waits for them
            assert exchange(answers=True) == ["send"]
        assert exchange(answers=False) == ["acknowledge"]
        assert near.getsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK) == 1
