# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Reading the ports of a run: data and promises, and what comes from outside of its time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from rclpy.qos import HistoryPolicy, QoSProfile, ReliabilityPolicy

from ros2_cosim.core.kernel import lookahead
from ros2_cosim.core.kernel.channel import Channel, Promise, SequenceNumbers
from ros2_cosim.core.kernel.engine import Engine
from ros2_cosim.core.kernel.errors import ProtocolError
from ros2_cosim.core.kernel.graph import Connection, Graph
from ros2_cosim.core.kernel.membership import MembershipView
from ros2_cosim.core.kernel.named_tuples import NEW
from ros2_cosim.core.kernel.participant import Sample
from ros2_cosim.core.kernel.runtime import ParticipantRuntime
from ros2_cosim.core.kernel.unsynchronised import KEPT, Inbox, received_port
from ros2_cosim.core.messages.cdr import WireCodec
from ros2_cosim.core.messages.protocol import Completion
from ros2_cosim.core.messages.raw import CarrierCodec
from ros2_cosim.core.messages.wiring import Wiring, edge_topic, wire_codec
from ros2_cosim.ros.node import topics
from ros2_cosim.ros.node.session import Session
from ros2_cosim.ros.node.writers import data_qos


class Reading(NamedTuple):
    """What to make of a message.

    ``decode`` gives stamp [ns], sequence number (None: not carried) and value; ``value`` the value
    alone, where the transport tells the others. With ``as_written`` it is what the writer has
    encoded: in its thread nothing is decoded.
    """

    decode: Callable[[bytes], tuple[int, int | None, Any]]
    value: Callable[[bytes], Any]
    lazy: bool = False
    as_written: bool = False


def as_record(codec: WireCodec) -> Reading:
    """The value of a sample is the record of the message."""
    decode = codec.decode
    return Reading(decode, lambda data: decode(data)[2], as_written=True)


def as_seen(codec: WireCodec) -> Reading:
    """The value of a sample is the message as observers see it; it is only kept.

    It is without a transport's padding: the same bytes as in every other run shape.
    """
    measured, plain = codec.decode_measured, codec.plain

    def decode(data: bytes) -> tuple[int, int | None, bytes]:
        stamp, seq, _, length = measured(data)
        return stamp, seq, plain(data[:length])

    return Reading(decode, plain, lazy=True)


# Whatever its writer offers: a best-effort reader is served by reliable writers, too.
_ANY_WRITER = QoSProfile(
    history=HistoryPolicy.KEEP_LAST, depth=KEPT, reliability=ReliabilityPolicy.BEST_EFFORT
)


def read_port(
    session: Session,
    wiring: Wiring,
    source: str,
    port: str,
    take: Callable[[Sample], None],
    *,
    received: Callable[[], int],
    membership: MembershipView | None = None,
    reading: Callable[[WireCodec], Reading] = as_record,
) -> None:
    """Call ``take`` with the sample of each message of an output port.

    :param source: the writing participant
    :param received: gives the number of messages taken so far; it numbers those of a type
        without a sequence number whose stamps are irregular
    :param membership: what the reader knows of the presence of the writer; None: the writer is
        there from the start to the end, and so is the reader
    :param reading: what to make of the messages of a codec
    """
    topic = wiring.topics[source, port]
    sequence = SequenceNumbers(wiring.graph, source, port)
    decode, value_of, lazy, as_written = reading(topic.codec)

    def receive(data: bytes) -> None:
        try:
            stamp, seq, value = decode(data)
        except ProtocolError as error:
            raise ProtocolError(f"topic {topic.name}: {error}") from None
        if seq is None:
            seq = sequence.number(stamp, received())
        take(Sample(stamp, seq, value))

    def receive_numbered(data: bytes, stamp: int, seq: int) -> None:
        try:
            value = value_of(data)
        except ProtocolError as error:
            raise ProtocolError(f"topic {topic.name}: {error}") from None
        take(NEW(Sample, (stamp, seq, value)))

    def take_value(value: Any, stamp: int, seq: int) -> None:
        take(NEW(Sample, (stamp, seq, value)))

    def guard(receiver: Callable[..., None], own: SequenceNumbers | None = None) -> Any:
        return receiver if membership is None else membership.guard(source, own, receiver)

    kept = membership is not None and wiring.graph.is_kept(source, port)
    session.reader(
        edge_topic(topic.name, topic.codec),
        topic.codec.type_name,
        data_qos(latched=kept),
        guard(receive, sequence),
        numbered=guard(receive_numbered),
        take=guard(take_value) if as_written else None,
        lazy=lazy,
    )


class ChannelReader:
    """Reads output ports for one synchronised reader: data, promises and the writers' presence.

    :param session: the ROS node
    :param wiring: the system and its topics
    :param membership: what the reader knows of the presence of the writers
    """

    def __init__(self, session: Session, wiring: Wiring, membership: MembershipView) -> None:
        self._session = session
        self._wiring = wiring
        self._membership = membership
        #: Writer -> its ports with promises -> the channels that they are for.
        self._promised: dict[str, dict[str, Sequence[Channel]]] = {}

    def read(
        self,
        source: str,
        port: str,
        channels: Sequence[Channel],
        take: Callable[[Sample], None],
        reading: Callable[[WireCodec], Reading] = as_record,
    ) -> None:
        """Subscribe to an output port.

        :param channels: the receiving ends, at least one, which ``take`` gives each sample to
        :param reading: what to make of the messages of a codec
        """
        first = channels[0]
        read_port(
            self._session,
            self._wiring,
            source,
            port,
            take,
            received=lambda: first.received,
            membership=self._membership,
            reading=reading,
        )
        for channel in channels:
            self._membership.watch(source, port, channel)
        if first.needs_promises:
            if source not in self._promised:
                self._read_promises(source)
            self._promised[source][port] = channels

    def leave_unused(self, source: str, port: str) -> None:
        """Be a reader of an output port, which its writer finds, without use for its messages."""
        graph, topic = self._wiring.graph, self._wiring.topics[source, port]
        names = [(edge_topic(topic.name, topic.codec), topic.codec.type_name)]
        if lookahead.needs_promises(graph, source, port) and source not in self._promised:
            self._promised[source] = {}
            names.append((topics.completion(source), topics.COMPLETION_TYPE))
        for name, type_name in names:
            self._session.reader(name, type_name, data_qos(), _drop, lazy=True, unused=True)

    def _read_promises(self, source: str) -> None:
        ports = self._promised[source] = {}

        def receive(completion: Completion) -> None:
            for name, count, time in completion.ports:
                for channel in ports.get(name, ()):
                    channel.promised(Promise(count, time))

        self._session.record_reader(
            topics.completion(source),
            topics.COMPLETION_TYPE,
            data_qos(latched=self._wiring.graph.has_late),
            receive,
            # A promise is broken by the data that it is about, which names reader and port. There
            # are many, and data wait for them: the clock alone, for which none waits, checks.
            sealed=False,
            # Without content there are no promises in it.
            numbers=lambda bound_ns, activations: None,
        )


def _drop(data: bytes) -> None:
    """It has no use."""


def read_inputs(
    session: Session, wiring: Wiring, engine: Engine, membership: MembershipView
) -> None:
    """Subscribe to everything that a participant reads.

    :param engine: of the participant
    :param membership: what it knows of the presence of its writers
    """
    reader = ChannelReader(session, wiring, membership)
    for (source, port), indices in by_writer(engine.runtime.channels).items():
        channels = [engine.channels[index] for index in indices]
        reader.read(source, port, channels, _to_all([partial(engine.receive, i) for i in indices]))


def by_writer(connections: Iterable[Connection]) -> dict[tuple[str, str], list[int]]:
    """(writing participant, output port) -> places of the connections that come from there."""
    found: dict[tuple[str, str], list[int]] = {}
    for index, connection in enumerate(connections):
        found.setdefault((connection.source, connection.source_port), []).append(index)
    return found


def _to_all(takers: Sequence[Callable[[Sample], None]]) -> Callable[[Sample], None]:
    if len(takers) == 1:
        return takers[0]

    def take(sample: Sample) -> None:
        for taker in takers:
            taker(sample)

    return take


def read_unsynchronised(
    session: Session, graph: Graph, runtime: ParticipantRuntime, names: Mapping[str, str]
) -> None:
    """Put what arrives from outside of the simulated time into the inboxes of a participant.

    :param names: unsynchronised input port -> topic
    """
    for inbox in runtime.inboxes:
        codec = wire_codec(graph.output(runtime.name, received_port(inbox.port)))
        _read_into(session, names[inbox.port], codec, inbox)


def _read_into(session: Session, topic: str, codec: WireCodec, inbox: Inbox) -> None:
    plain = codec.inner if isinstance(codec, CarrierCodec) else codec

    def receive(data: bytes) -> None:
        inbox.receive(plain.decode(data)[2])

    session.outside_reader(topic, plain.type_name, _ANY_WRITER, receive)
