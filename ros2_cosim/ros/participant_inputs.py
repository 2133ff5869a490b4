# SPDX-License-Identifier: Apache-2.0
"""The inputs of a participant: topics of data and of promises that go into its engine."""

from __future__ import annotations

from collections.abc import Callable

from ros2_cosim.interfaces.cdr import WireCodec
from ros2_cosim.interfaces.protocol import Completion
from ros2_cosim.kernel import lookahead
from ros2_cosim.kernel.channel import Promise, SequenceNumbers
from ros2_cosim.kernel.engine import Engine
from ros2_cosim.kernel.graph import Graph
from ros2_cosim.kernel.membership import MembershipView
from ros2_cosim.kernel.participant import Sample
from ros2_cosim.ros import topics
from ros2_cosim.ros.session import Session, data_qos


def read_inputs(
    session: Session,
    graph: Graph,
    engine: Engine,
    membership: MembershipView,
    topic_of: Callable[[str, str], tuple[str, str]],
) -> None:
    """Subscribe to everything that a participant reads.

    :param engine: of the participant
    :param membership: what it knows of the presence of its writers
    :param topic_of: (participant, output port) -> (topic, ROS type)
    """
    promised: dict[str, list[tuple[str, int]]] = {}
    by_topic: dict[tuple[str, str], list[int]] = {}
    for index, connection in enumerate(engine.runtime.channels):
        by_topic.setdefault((connection.source, connection.source_port), []).append(index)
        if lookahead.needs_promises(graph, connection.source, connection.source_port):
            promised.setdefault(connection.source, []).append((connection.source_port, index))
    for (source, port), indices in by_topic.items():
        topic, _ = topic_of(source, port)
        codec = graph.output(source, port).codec
        assert isinstance(codec, WireCodec)
        sequence = SequenceNumbers(graph, source, port)
        receive = _receiver(engine, codec, sequence, indices)
        session.reader(
            topics.edge(topic, codec),
            codec.type_name,
            data_qos(latched=graph.is_kept(source, port)),
            membership.guard(source, sequence, receive),
        )
        for index in indices:
            membership.watch(source, port, engine.channels[index])
    for source, ports in promised.items():
        session.record_reader(
            topics.completion(source),
            topics.COMPLETION_TYPE,
            data_qos(latched=graph.has_late),
            _promise_receiver(engine, ports),
        )


def _receiver(
    engine: Engine, codec: WireCodec, sequence: SequenceNumbers, channels: list[int]
) -> Callable[[bytes], None]:
    decode = codec.decode

    def receive(data: bytes) -> None:
        stamp, seq, record = decode(data)
        if seq is None:
            seq = sequence.number(stamp, engine.channels[channels[0]].received)
        for channel in channels:
            engine.receive(channel, Sample(stamp, seq, record))

    return receive


def _promise_receiver(engine: Engine, ports: list[tuple[str, int]]) -> Callable[[Completion], None]:
    channels = engine.channels

    def receive(completion: Completion) -> None:
        for promise in completion.ports:
            for port, channel in ports:
                if promise.port == port:
                    channels[channel].promised(Promise(promise.count, promise.time_ns))

    return receive
