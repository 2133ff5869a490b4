# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Writers of a node of the suite: quality of service, and bytes on the lane and in DDS."""

from __future__ import annotations

import importlib
import struct
from collections.abc import Callable
from threading import Lock
from typing import Any

from rclpy.duration import Duration, Infinite
from rclpy.event_handler import PublisherEventCallbacks
from rclpy.node import Node
from rclpy.qos import (
    DurabilityPolicy,
    HistoryPolicy,
    LivelinessPolicy,
    QoSCompatibility,
    QoSProfile,
    ReliabilityPolicy,
    qos_check_compatible,
)
from rclpy.topic_endpoint_info import TopicEndpointInfo

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.time import split_stamp
from ros2_cosim.core.messages.cdr import ENCAPSULATION, WireCodec
from ros2_cosim.core.messages.packages import how_to_install
from ros2_cosim.core.messages.protocol import HISTORY_DEPTH
from ros2_cosim.core.messages.raw import CarrierCodec
from ros2_cosim.core.messages.wiring import edge_topic
from ros2_cosim.core.process.seal import Sealer
from ros2_cosim.ros.node import topics
from ros2_cosim.ros.node.lane_interface import TopicWriter
from ros2_cosim.ros.node.qos_overrides import Overridable, make_publisher
from ros2_cosim.ros.node.short_forms import ShortForm

#: A reader that has not answered by then is gone.
FLUSH = Duration(seconds=2)


def data_qos(*, latched: bool = False) -> QoSProfile:
    """Reliable, deep history; ``latched`` also for readers that come later."""
    durability = DurabilityPolicy.TRANSIENT_LOCAL if latched else DurabilityPolicy.VOLATILE
    return QoSProfile(
        history=HistoryPolicy.KEEP_LAST,
        depth=HISTORY_DEPTH,
        reliability=ReliabilityPolicy.RELIABLE,
        durability=durability,
        # The defaults in full, as other profiles state them; this one is compared with those.
        deadline=Infinite,
        liveliness=LivelinessPolicy.AUTOMATIC,
        liveliness_lease_duration=Infinite,
    )


def message_class(type_name: str) -> Any:
    """Import the message class of a ROS type name such as ``nav_msgs/msg/Odometry``.

    :raises ConfigurationError: the package or the message is not installed
    """
    package, _, name = type_name.partition("/msg/")
    try:
        return getattr(importlib.import_module(f"{package}.msg"), name)
    except (ImportError, AttributeError) as error:
        raise ConfigurationError(
            f"message type {type_name} cannot be used ({error}); {how_to_install(type_name)}"
        ) from None


class _Publisher:
    """A publisher of bytes that knows whether there are subscriptions.

    :param to_all: what is sent is always published; else if there is a subscription, or
        later ones get it
    :param overridable: which quality of service users may override
    :param newest: a later subscription gets the newest message only, and the writer publishes no
        message before there is one; what is sent goes to :meth:`publish_newest`
    """

    def __init__(
        self,
        node: Node,
        type_name: str,
        topic: str,
        qos: QoSProfile,
        *,
        to_all: bool,
        overridable: Overridable,
        newest: bool = False,
    ) -> None:
        later = qos.durability == DurabilityPolicy.TRANSIENT_LOCAL
        self._always = to_all or (later and not newest)
        #: Makes the message that a subscription will get; another thread tells that there is one.
        self._held: Callable[[], bytes] | None = None
        self._holding = Lock()
        #: Whether there are subscriptions; kept up to date only where it matters.
        self._heard = False
        publisher = make_publisher(
            node,
            message_class(type_name),
            topic,
            qos,
            overridable=overridable,
            event_callbacks=(
                None if self._always else PublisherEventCallbacks(matched=self._matched)
            ),
        )
        self._publisher = publisher
        with self._holding:
            # A reader that was there in the run before has them already.
            self._heard = self._heard or publisher.get_subscription_count() > 0

    def _matched(self, status: Any) -> None:
        with self._holding:
            self._heard = status.current_count > 0
            if self._heard and self._held is not None:
                held, self._held = self._held, None
                self.publish(held())

    @property
    def topic_name(self) -> str:
        """Its full name."""
        return str(self._publisher.topic_name)

    @property
    def is_wanted(self) -> bool:
        """Whether a message has to be published."""
        return self._always or self._heard

    @property
    def readers(self) -> int:
        """Subscriptions that have been found."""
        return int(self._publisher.get_subscription_count())

    def publish(self, data: bytes) -> None:
        """Publish a message."""
        self._publisher.publish(data)

    def publish_newest(self, make: Callable[[], bytes]) -> None:
        """Publish a message that says all that those before it said.

        Without a subscription the next one gets it, unless there is a newer one by then.

        :param make: gives the message, once, in any thread
        """
        with self._holding:
            if self._heard:
                self.publish(make())
            else:
                self._held = make

    def flush(self, limit: Duration = FLUSH) -> bool:
        """Wait until every subscription has what was published; whether they have."""
        return bool(self._publisher.wait_for_all_acked(limit))


class Writer:
    """Publishes records of one topic: on the lane of the run, if there is one, and in DDS.

    With a lane the readers of the run are there, and DDS serves all others: what is sent is
    published if there is a subscription, or if later ones are to get it.

    Messages that travel in a carrier are published twice: in it for participants, and as they
    are, on ``topic`` itself, for all other readers.

    Of a latched topic whose messages each say all that those before said, only the newest is kept
    for later onlookers: most runs have none, and to publish is what takes most of the time.

    :param sealer: seals what is published; None: nothing does
    :param lane: the writing end on the lane; None: there is none
    :param short: of records that travel without content there
    :param for_onlookers: no reader of the run needs DDS
    """

    def __init__(
        self,
        node: Node,
        topic: str,
        codec: WireCodec,
        qos: QoSProfile,
        sealer: Sealer | None = None,
        lane: TopicWriter | None = None,
        *,
        short: ShortForm | None = None,
        for_onlookers: bool = False,
    ) -> None:
        self.topic = topic
        self._sealer = sealer
        self._node = node
        self._qos = qos
        self._lane = lane
        self._short = short
        self._for_onlookers = lane is not None or for_onlookers
        to_all = lane is None and not for_onlookers
        edge = edge_topic(topic, codec)
        overridable = Overridable.UPWARDS if to_all else Overridable.FREELY
        if topics.is_coordination(topic):
            overridable = Overridable.NOT
        self._newest = lane is not None and topics.is_superseded(topic)
        self._publisher = _Publisher(
            node,
            codec.type_name,
            edge,
            qos,
            to_all=to_all,
            overridable=overridable,
            newest=self._newest,
        )
        self._codec = codec
        self._plain_publisher = None
        if isinstance(codec, CarrierCodec):
            inner = codec.inner.type_name
            self._plain_publisher = _Publisher(
                node, inner, topic, qos, to_all=to_all, overridable=Overridable.FREELY
            )

    def send(self, record: Any, stamp_ns: int = 0, seq: int = 0) -> None:
        """Encode and publish one record."""
        if self._lane is not None and self._short is not None:
            numbers = self._short(record)
            if numbers is not None:
                self._lane.send(b"", *numbers)
                self._publish(lambda: self._codec.encode(stamp_ns, seq, record))
                return
        self.send_bytes(self._codec.encode(stamp_ns, seq, record), stamp_ns, seq)

    def send_bytes(self, data: bytes, stamp_ns: int = 0, seq: int = 0, value: Any = None) -> None:
        """Publish a message that is encoded already.

        :param value: what was encoded
        """
        if self._lane is not None:
            self._lane.send(data, stamp_ns, seq, value)
        self._publish(lambda: data)

    def _publish(self, make: Callable[[], bytes]) -> None:
        """Publish in DDS, if there is a reason to.

        :param make: gives the message
        """
        if self._newest:
            self._publisher.publish_newest(lambda: self._sealed(make()))
        elif self._publisher.is_wanted:
            self._publisher.publish(self._sealed(make()))
        if self._plain_publisher is not None and self._plain_publisher.is_wanted:
            self._plain_publisher.publish(self._codec.plain(make()))

    def _sealed(self, data: bytes) -> bytes:
        return data if self._sealer is None else self._sealer.sealed(data)

    def reach(self, time_ns: int) -> None:
        """All that was sent so far tells up to a time, for :meth:`.session.Session.aim`."""
        if self._lane is not None:
            self._lane.reach(time_ns)

    def plain(self, data: bytes) -> bytes:
        """The message as observers see it."""
        return self._codec.plain(data)

    def flush(self) -> bool:
        """Wait until every reader has what was sent, before the process ends.

        :returns: whether all have it; a reader that has not answered in time may be gone
        """
        given = self._lane is None or self._lane.flush()
        return self._publisher.flush() and given

    def flush_onlookers(self, limit_ns: int) -> None:
        """Wait, for so long at most, until the onlookers have what was sent.

        A run is fast enough for more messages than the socket of an onlooker holds: the middleware
        sends those again that were lost, as long as the writer is there.
        """
        if not self._for_onlookers:
            return
        for publisher in (self._publisher, self._plain_publisher):
            if publisher is not None and publisher.readers:
                publisher.flush(Duration(nanoseconds=limit_ns))

    @property
    def readers(self) -> int:
        """Readers of the run, and without a lane all others, that this writer has found."""
        return self._publisher.readers if self._lane is None else self._lane.readers

    @property
    def onlookers(self) -> int:
        """Subscriptions in DDS that this writer has found."""
        return self._publisher.readers

    def reader_nodes(self) -> list[str]:
        """The node of each subscription that this writer can serve and that is known in the system.

        Full names; empty: of this subscription the node is not known yet. With a lane: of each
        reader on it.
        """
        if self._lane is not None:
            return self._lane.reader_nodes
        found = self._node.get_subscriptions_info_by_topic(self._publisher.topic_name)
        return [node_of(info) for info in found if self._serves(info)]

    def _serves(self, reader: TopicEndpointInfo) -> bool:
        if reader.topic_type != self._codec.type_name:
            return False
        fits, _ = qos_check_compatible(self._qos, reader.qos_profile)
        return fits != QoSCompatibility.ERROR


#: A time in XCDR1, little endian: encapsulation, seconds, nanoseconds.
_CLOCK = struct.Struct("<4siI")


def clock_message(time_ns: int) -> bytes:
    """A time, as ROS counts it, as ``rosgraph_msgs/msg/Clock``."""
    return _CLOCK.pack(ENCAPSULATION, *split_stamp(time_ns))


class ClockWriter:
    """Publishes simulated time as ``rosgraph_msgs/msg/Clock``.

    :param start_ns: what it shows when simulated time is 0 [ns]
    :param topic: ``/clock``, or what stands for it
    :param to_all: always; else if there is a subscription
    """

    def __init__(
        self, node: Node, start_ns: int, topic: str = topics.CLOCK, *, to_all: bool = False
    ) -> None:
        self.topic = topic
        self._start_ns = start_ns
        overridable = Overridable.UPWARDS if to_all else Overridable.FREELY
        self._publisher = _Publisher(
            node, topics.CLOCK_TYPE, topic, data_qos(), to_all=to_all, overridable=overridable
        )

    @property
    def is_wanted(self) -> bool:
        """Whether there is a subscription."""
        return self._publisher.is_wanted

    def show(self, time_ns: int) -> None:
        """Publish a simulated time."""
        if self._publisher.is_wanted:
            self._publisher.publish(clock_message(time_ns + self._start_ns))

    @property
    def readers(self) -> int:
        """Subscriptions that this writer has found."""
        return self._publisher.readers


def node_of(endpoint: TopicEndpointInfo) -> str:
    """The full name of an endpoint's node; empty while it is not known."""
    if "UNKNOWN" in endpoint.node_name:
        return ""
    return f"{endpoint.node_namespace.rstrip('/')}/{endpoint.node_name}"
