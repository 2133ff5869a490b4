# SPDX-License-Identifier: Apache-2.0
"""What a port reads: a message that is none of its type is named with its topic."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from support.patience import until

pytest.importorskip("rclpy")
pytest.importorskip("ros2_cosim.msg", reason="generated messages are not built")

from ros2_cosim.interfaces.catalogue import DEFAULT as CATALOGUE
from ros2_cosim.interfaces.wiring import Wiring
from ros2_cosim.kernel.errors import ProtocolError
from ros2_cosim.kernel.graph import Graph, OutputPort, ParticipantSpec
from ros2_cosim.kernel.participant import Sample
from ros2_cosim.ros.inputs import read_port
from ros2_cosim.ros.session import Session
from ros2_cosim.ros.writers import data_qos
from ros2_cosim.sockets.switchboard import Switchboard

TYPE = "ros2_cosim/msg/ControlCommand"
SECRET = "0" * 32


@pytest.fixture(params=["dds", "lane"])
def session(ros_domain: int, request: pytest.FixtureRequest) -> Iterator[Session]:
    with ExitStack() as opened:
        found = opened.enter_context(Session("reader", []))
        if request.param == "lane":
            found._secret = SECRET
            found.join_lane(opened.enter_context(Switchboard(SECRET)).address)
        yield found


def test_a_message_that_is_none_of_its_type_is_named_with_its_topic(session: Session) -> None:
    codec = CATALOGUE.codec(TYPE)
    graph = Graph([ParticipantSpec("a", 10, outputs=(OutputPort("out", codec=codec),))], [])
    wiring = Wiring.of(graph, lambda name, port: f"/{name}/{port}")
    got: list[Sample] = []
    read_port(session, wiring, "a", "out", got.append, received=lambda: len(got))
    writer = session.writer("/a/out", TYPE, data_qos())
    until(lambda: writer.readers == 1, lambda: session.wait(0.01))
    sent = CATALOGUE.record(TYPE)(1.0, 0.5, 0.0, -0.25)
    writer.send(sent, 20, 3)
    until(lambda: got, lambda: session.wait(0.01))
    assert [(sample.stamp, sample.seq) for sample in got] == [(20, 3)]
    assert got[0].value == sent
    writer.send_bytes(b"none of it", 30, 4)
    with pytest.raises(ProtocolError, match="^topic /a/out: "):
        until(lambda: False, lambda: session.wait(0.01))


@pytest.mark.parametrize("session", ["lane"], indirect=True)
def test_what_the_same_thread_sends_is_read_as_it_is(session: Session) -> None:
    codec = CATALOGUE.codec(TYPE)
    graph = Graph([ParticipantSpec("a", 10, outputs=(OutputPort("out", codec=codec),))], [])
    wiring = Wiring.of(graph, lambda name, port: f"/{name}/{port}")
    got: list[Sample] = []
    read_port(session, wiring, "a", "out", got.append, received=lambda: len(got))
    sender = Session("sender", host=session, waits=False)
    value = object()
    sender.writer("/a/out", TYPE, data_qos()).send_bytes(b"not looked at", 20, 3, value)
    assert got == [Sample(20, 3, value)]
