# SPDX-License-Identifier: Apache-2.0
"""Reading topics whose writers take no part in the simulated time."""

from __future__ import annotations

from collections.abc import Mapping

from rclpy.qos import HistoryPolicy, QoSProfile, ReliabilityPolicy

from ros2_cosim.interfaces.cdr import WireCodec
from ros2_cosim.interfaces.raw import CarrierCodec
from ros2_cosim.kernel.graph import Graph
from ros2_cosim.kernel.runtime import ParticipantRuntime
from ros2_cosim.kernel.unsynchronised import KEPT, Inbox, received_port
from ros2_cosim.ros.session import Session

# Whatever its writer offers: a best-effort reader is served by reliable writers, too.
_ANY_WRITER = QoSProfile(
    history=HistoryPolicy.KEEP_LAST, depth=KEPT, reliability=ReliabilityPolicy.BEST_EFFORT
)


def read_unsynchronised(
    session: Session, graph: Graph, runtime: ParticipantRuntime, topics: Mapping[str, str]
) -> None:
    """Put what arrives into the inboxes of a participant.

    :param topics: unsynchronised input port -> topic
    """
    for inbox in runtime.inboxes:
        codec = graph.output(runtime.name, received_port(inbox.port)).codec
        assert isinstance(codec, WireCodec)
        _read(session, topics[inbox.port], codec, inbox)


def _read(session: Session, topic: str, codec: WireCodec, inbox: Inbox) -> None:
    plain = codec.inner if isinstance(codec, CarrierCodec) else codec

    def receive(data: bytes) -> None:
        inbox.receive(plain.decode(data)[2])

    session.reader(topic, plain.type_name, _ANY_WRITER, receive)
