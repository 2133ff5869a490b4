# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What a port reads: a message that is none of its type is named with its topic."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from support.patience import until

pytest.importorskip("rclpy")
pytest.importorskip("ros2_cosim.msg", reason="generated messages are not built")

from ros2_cosim.core.kernel.engine import Engine
from ros2_cosim.core.kernel.errors import ProtocolError
from ros2_cosim.core.kernel.graph import Connection, Graph, InputPort, OutputPort, ParticipantSpec
from ros2_cosim.core.kernel.membership import MembershipView
from ros2_cosim.core.kernel.model import Onlooker
from ros2_cosim.core.kernel.participant import Sample
from ros2_cosim.core.kernel.runtime import ParticipantRuntime
from ros2_cosim.core.kernel.time import FOREVER
from ros2_cosim.core.kernel.unsynchronised import received_port
from ros2_cosim.core.messages.catalogue import DEFAULT as CATALOGUE
from ros2_cosim.core.messages.protocol import Completion, PortPromise
from ros2_cosim.core.messages.wiring import Wiring
from ros2_cosim.core.sockets.switchboard import Switchboard
from ros2_cosim.ros.node import topics
from ros2_cosim.ros.node.inputs import read_inputs, read_port, read_unsynchronised
from ros2_cosim.ros.node.session import Session
from ros2_cosim.ros.node.writers import data_qos

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


def test_samples_and_promises_reach_all_ports_that_read_them(session: Session) -> None:
    codec = CATALOGUE.codec(TYPE)
    outputs = tuple(OutputPort(name, schedule="sparse", codec=codec) for name in ("out", "rest"))
    ports = {"first": "out", "second": "out", "third": "rest"}
    reader = ParticipantSpec("b", 10, inputs=tuple(map(InputPort, ports)))
    graph = Graph(
        [ParticipantSpec("a", 10, outputs=outputs), reader],
        [Connection("a", source, "b", port) for port, source in ports.items()],
    )
    wiring = Wiring.of(graph, lambda name, port: f"/{name}/{port}")
    engine = Engine(graph, ParticipantRuntime(graph, "b", Onlooker()))
    read_inputs(session, wiring, engine, MembershipView(graph))
    channels = {c.target_port: engine.channels[i] for i, c in enumerate(engine.runtime.channels)}
    writer = session.writer("/a/out", TYPE, data_qos())
    completions = session.writer(topics.completion("a"), topics.COMPLETION_TYPE, data_qos())
    until(lambda: writer.readers == completions.readers == 1, lambda: session.wait(0.01))
    writer.send(CATALOGUE.record(TYPE)(1.0, 0.5, 0.0, -0.25), 20, 0)
    until(lambda: channels["second"].received, lambda: session.wait(0.01))
    assert [channels[port].received for port in ports] == [1, 1, 0]
    promises = (PortPromise("out", 1, 50), PortPromise("rest", 0, 40), PortPromise("none", 9, 99))
    completions.send(Completion("a", 3, 60, FOREVER, "", promises))
    until(lambda: channels["third"].promise == 40, lambda: session.wait(0.01))
    assert [channels[port].promise for port in ports] == [50, 50, 40]


@pytest.mark.parametrize("session", ["dds"], indirect=True)
def test_what_comes_from_outside_of_the_time_is_kept_for_the_next_activation(
    session: Session,
) -> None:
    types = {"carried": "std_msgs/msg/Float64", "stamped": TYPE}
    records = {
        "carried": CATALOGUE.record("std_msgs/msg/Float64")(2.5),
        "stamped": CATALOGUE.record(TYPE)(1.0, 0.5, 0.0, -0.25),
    }
    outputs = tuple(
        OutputPort(received_port(port), schedule="sparse", codec=CATALOGUE.wire_codec(name))
        for port, name in types.items()
    )
    inputs = tuple(InputPort(port, unsynchronised=True) for port in types)
    graph = Graph([ParticipantSpec("b", 10, inputs=inputs, outputs=outputs)], [])
    runtime = ParticipantRuntime(graph, "b", Onlooker())
    read_unsynchronised(session, graph, runtime, {port: f"/outside/{port}" for port in types})
    for inbox in runtime.inboxes:
        codec = CATALOGUE.wire_codec(types[inbox.port])
        writer = session.port_writer(f"/outside/{inbox.port}", codec, data_qos())
        plain = writer._plain_publisher or writer._publisher
        until(lambda plain=plain: plain.readers == 1, lambda: session.wait(0.01))
        writer.send(records[inbox.port], 20, 3)
        until(lambda inbox=inbox: inbox._waiting, lambda: session.wait(0.01))
        assert list(inbox._waiting) == [records[inbox.port]]


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
