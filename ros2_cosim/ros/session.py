# SPDX-License-Identifier: Apache-2.0
"""A node of the suite: start and stop, quality of service, raw publishers and readers.

Messages cross as CDR bytes, written and read by this project's own codecs: what is hashed
into the trace is what is on the wire, and no message object is built on the data path.

A session stands on a :class:`Middleware`: :class:`Ros`, or a simulated network of the tests.
"""

from __future__ import annotations

import importlib
import os
import signal
import struct
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from threading import Lock
from types import FrameType
from typing import Any, Literal, ParamSpec, Protocol

import rclpy
from rcl_interfaces.msg import ParameterDescriptor
from rclpy.clock import Clock, ClockType
from rclpy.duration import Duration, Infinite
from rclpy.event_handler import PublisherEventCallbacks
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.qos import (
    DurabilityPolicy,
    HistoryPolicy,
    LivelinessPolicy,
    QoSCompatibility,
    QoSProfile,
    ReliabilityPolicy,
    qos_check_compatible,
)
from rclpy.signals import SignalHandlerOptions
from rclpy.timer import Timer
from rclpy.topic_endpoint_info import TopicEndpointInfo

from ros2_cosim.interfaces.catalogue import DEFAULT as CATALOGUE
from ros2_cosim.interfaces.cdr import ENCAPSULATION, WireCodec
from ros2_cosim.interfaces.packages import how_to_install
from ros2_cosim.interfaces.processes import ExitTimer
from ros2_cosim.interfaces.protocol import HISTORY_DEPTH, ForeignMessageError
from ros2_cosim.interfaces.raw import CarrierCodec
from ros2_cosim.interfaces.seal import SealCheck, Sealer, secret_of
from ros2_cosim.kernel.errors import Cancelled, ConfigurationError, ProtocolError, RunError
from ros2_cosim.kernel.time import split_stamp
from ros2_cosim.ros import topics
from ros2_cosim.ros.lane import Lane, Receive, SocketLane, TopicWriter
from ros2_cosim.ros.node_parameters import DESCRIPTIONS
from ros2_cosim.ros.ros_events import RosEvents
from ros2_cosim.ros.short_forms import ShortForm
from ros2_cosim.sockets.switchboard import Line

_P = ParamSpec("_P")

#: Refused messages of one topic that are worth a line: a flood must not become one of lines.
_TOLD = frozenset(10**power for power in range(19))
#: A publisher is found before the name of its node is.
_UNNAMED = "a node whose name is not known yet"
#: Variables that say where files of rclpy's log go.
_LOG_DIRECTORIES = ("ROS_LOG_DIR", "ROS_HOME")
_NO_LOG_FILE = ("--ros-args", "--disable-external-lib-logs")

_POLL_S = 0.02
#: A reader that has not answered by then is gone.
_FLUSH = Duration(seconds=2)
#: Giving up a node takes some hundredths of a second; a process that needs longer has hung [s].
#: One that goes on afterwards, or others in it, gets the time of a busy machine.
TEARDOWN_LIMIT_S = 20.0
#: One that ends has said everything and written everything: nothing is lost if it is cut short.
LAST_TEARDOWN_LIMIT_S = 2.0
#: Interrupts that come within this time [s] are one: ``ros2 launch`` passes on what the terminal
#: has sent to all processes already, and is itself as slow as the machine is busy.
SAME_INTERRUPT_S = 5.0
#: Exit code of a process that hung while it had to go on.
EXIT_HUNG = 4


def data_qos(*, latched: bool = False) -> QoSProfile:
    """Reliable, deep history; ``latched`` also for readers that come later."""
    durability = DurabilityPolicy.TRANSIENT_LOCAL if latched else DurabilityPolicy.VOLATILE
    return QoSProfile(
        history=HistoryPolicy.KEEP_LAST,
        depth=HISTORY_DEPTH,
        reliability=ReliabilityPolicy.RELIABLE,
        durability=durability,
        # The defaults in so many words: as other profiles tell them, which this one is compared to.
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


def until_shut_down(node: Node, callback: Callable[_P, None]) -> Callable[_P, None]:
    """Make of a callback one that does nothing once the context of its node is shut down.

    That may happen at any moment, also in the middle of the callback: rclpy's signal handlers do
    it in a thread of their own. An error that follows from it is dropped.
    """
    context = node.context

    def guarded(*args: _P.args, **kwargs: _P.kwargs) -> None:
        if not context.ok():
            return
        try:
            callback(*args, **kwargs)
        except Exception:
            if context.ok():
                raise

    return guarded


def wall_timer(node: Node, period_s: float, callback: Callable[[], None]) -> Timer:
    """Call ``callback`` regularly in wall time, until the context of the node is shut down.

    Wall time also on a node that uses simulated time, for ``/clock`` may stand.
    """
    steady = Clock(clock_type=ClockType.STEADY_TIME)
    return node.create_timer(period_s, until_shut_down(node, callback), clock=steady)


class _Publisher:
    """A publisher of bytes that knows whether there are subscriptions.

    :param to_all: what is sent is always published; else if there is a subscription, or
        later ones get it
    """

    def __init__(
        self, node: Node, type_name: str, topic: str, qos: QoSProfile, *, to_all: bool
    ) -> None:
        kind = message_class(type_name)
        self._always = to_all or qos.durability == DurabilityPolicy.TRANSIENT_LOCAL
        #: Whether there are subscriptions; kept up to date only where it matters.
        self._heard = False
        self._publisher: Any
        if self._always:
            self._publisher = node.create_publisher(kind, topic, qos)
        else:
            self._publisher = node.create_publisher(
                kind, topic, qos, event_callbacks=PublisherEventCallbacks(matched=self._matched)
            )

    def _matched(self, status: Any) -> None:
        self._heard = status.current_count > 0

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

    def flush(self, limit: Duration = _FLUSH) -> bool:
        """Wait until every subscription has what was published; whether they have."""
        return bool(self._publisher.wait_for_all_acked(limit))


class Writer:
    """Publishes records of one topic: on the lane of the run, if there is one, and in DDS.

    With a lane the readers of the run are there, and DDS serves all others: what is sent is
    published if there is a subscription, or if later ones are to get it.

    Messages that travel in a carrier are published twice: in it for participants, and as they
    are, on ``topic`` itself, for all other readers.

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
        edge = topics.edge(topic, codec)
        self._publisher = _Publisher(node, codec.type_name, edge, qos, to_all=to_all)
        self._codec = codec
        self._plain_publisher = None
        if isinstance(codec, CarrierCodec):
            inner = codec.inner.type_name
            self._plain_publisher = _Publisher(node, inner, topic, qos, to_all=to_all)

    def send(self, record: Any, stamp_ns: int = 0, seq: int = 0) -> None:
        """Encode and publish one record."""
        if self._lane is not None and self._short is not None:
            numbers = self._short.pack(record)
            if numbers is not None:
                self._lane.send(b"", *numbers)
                if self._publisher.is_wanted:
                    self._publish(self._codec.encode(stamp_ns, seq, record))
                return
        self.send_bytes(self._codec.encode(stamp_ns, seq, record), stamp_ns, seq)

    def send_bytes(self, data: bytes, stamp_ns: int = 0, seq: int = 0) -> None:
        """Publish a message that is encoded already."""
        if self._lane is not None:
            self._lane.send(data, stamp_ns, seq)
        self._publish(data)

    def _publish(self, data: bytes) -> None:
        """Publish in DDS, if there is a reason to."""
        if self._publisher.is_wanted:
            sealed = data if self._sealer is None else self._sealer.sealed(data)
            self._publisher.publish(sealed)
        if self._plain_publisher is not None and self._plain_publisher.is_wanted:
            self._plain_publisher.publish(self._codec.plain(data))

    def plain(self, data: bytes) -> bytes:
        """The message as observers see it."""
        return self._codec.plain(data)

    def flush(self) -> bool:
        """Wait until every reader has what was sent, before the process ends.

        :returns: whether all have it; a reader that has not answered in time may be gone
        """
        given = self._lane is None or self._lane.flush()
        if self._lane is not None and not self._publisher.readers:
            return given
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
        return [_node_of(info) for info in found if self._serves(info)]

    def _serves(self, reader: TopicEndpointInfo) -> bool:
        if reader.topic_type != self._codec.type_name:
            return False
        fits, _ = qos_check_compatible(self._qos, reader.qos_profile)
        return fits != QoSCompatibility.ERROR


class ClockWriter:
    """Publishes simulated time as ``rosgraph_msgs/msg/Clock``.

    :param topic: ``/clock``, or what stands for it
    :param to_all: always; else if there is a subscription
    """

    # The whole message in XCDR1, little endian: encapsulation, seconds, nanoseconds.
    _LAYOUT = struct.Struct("<4siI")

    def __init__(self, node: Node, topic: str = topics.CLOCK, *, to_all: bool = False) -> None:
        self.topic = topic
        self._publisher = _Publisher(node, topics.CLOCK_TYPE, topic, data_qos(), to_all=to_all)

    def show(self, time_ns: int) -> None:
        """Publish a time."""
        if self._publisher.is_wanted:
            self._publisher.publish(self._LAYOUT.pack(ENCAPSULATION, *split_stamp(time_ns)))

    @property
    def readers(self) -> int:
        """Subscriptions that this writer has found."""
        return self._publisher.readers


class Executor(Protocol):
    """Calls what nodes wait for; one event at a time."""

    def add_node(self, node: Any) -> Any:
        """Serve a further node."""

    def spin_once(self, timeout_sec: float | None = None) -> None:
        """Handle one event, or return when the time is over."""

    def create_task(self, callback: Callable[[], None]) -> Any:
        """Make an event of a call; any thread may do so."""

    def shutdown(self, timeout_sec: float | None = None) -> Any:
        """Serve no node any more."""


class LaneExecutor(Executor, Lane, Protocol):
    """A lane that waits, also for what nodes wait for."""

    def wake(self) -> None:
        """End a wait; any thread and any signal handler may call it."""


class Middleware(Protocol):
    """What a session stands on: transport, time, and the signals of its process."""

    def now(self) -> int:
        """Monotonic wall time [ns]."""

    def begin(self, arguments: list[str] | None, on_signal: Callable[[int], None]) -> None:
        """Begin in this process.

        :param arguments: of the process
        :param on_signal: called with the number of a signal that asks the process to end
        """

    def make_node(self, name: str, **options: Any) -> Node:
        """Make a node; the options are those of :class:`rclpy.node.Node`."""

    def make_executor(self, node: Node) -> Executor:
        """Make an executor that serves a node."""

    def make_lane(
        self, node: Node, address: str, secret: str, interrupted: Callable[[], None]
    ) -> LaneExecutor:
        """Join the lane of a run.

        :param node: is served as by an executor
        :param address: where the switchboard of the run is
        :param secret: of the run
        :param interrupted: called while a reader is waited for; what it raises ends that
        :raises RunError: the switchboard cannot be reached
        """

    def giving_up(self, code: int | None) -> AbstractContextManager[None]:
        """Surrounds the giving up of nodes.

        :param code: exit code of a process that ends anyway; None: it goes on after this
        """

    def end(self) -> None:
        """End in this process."""


class Ros:
    """rclpy, as a middleware."""

    def now(self) -> int:
        """Monotonic wall time [ns]."""
        return time.perf_counter_ns()

    def begin(self, arguments: list[str] | None, on_signal: Callable[[int], None]) -> None:
        """Begin in this process.

        A SIGINT some seconds after the first one ends it as usual: one key in a terminal may send
        two, its own and that of the launcher. A second SIGTERM does not, for Linux may send it
        several times when the process dies that started this one.
        """
        asked_at: float | None = None

        def handle(number: int, frame: FrameType | None) -> None:
            nonlocal asked_at
            if number == signal.SIGINT:
                now = time.monotonic()
                asked_at = now if asked_at is None else asked_at
                if now - asked_at > SAME_INTERRUPT_S:
                    signal.signal(number, signal.SIG_DFL)
                    signal.raise_signal(number)
            on_signal(number)

        # rclpy's own handlers would tear the context down under a node that is closing.
        rclpy.init(args=_with_logging(arguments), signal_handler_options=SignalHandlerOptions.NO)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, handle)

    def make_node(self, name: str, **options: Any) -> Node:
        """Make a node."""
        return Node(name, **options)

    def make_executor(self, node: Node) -> Executor:
        """Make an executor that serves a node."""
        return _make_executor(node)

    def make_lane(
        self, node: Node, address: str, secret: str, interrupted: Callable[[], None]
    ) -> LaneExecutor:
        """Join the lane of a run.

        :raises RunError: its switchboard cannot be reached
        """
        try:
            line = Line(address, secret)
        except OSError as error:
            raise RunError(
                f"the lane of the run cannot be reached: {error.strerror or error}; a run with "
                "--transport dds does without"
            ) from None
        lane = _RosLane(line, node, interrupted)
        lane.add_node(node)
        return lane

    def giving_up(self, code: int | None) -> AbstractContextManager[None]:
        """Bound the time that the giving up of nodes may take."""
        return _TEARDOWN.limited(code)

    def end(self) -> None:
        """Give ROS up."""
        rclpy.try_shutdown()


class _RosLane(SocketLane):
    """The lane of a session that has services and onlookers in ROS, too."""

    def __init__(self, line: Line, node: Node, interrupted: Callable[[], None]) -> None:
        super().__init__(line, node.get_fully_qualified_name(), interrupted)
        self._ros = RosEvents(self.create_task)

    def add_node(self, node: Node) -> None:
        """Serve a further node."""
        self._ros.add_node(node)

    def shutdown(self, timeout_sec: float | None = None) -> None:
        """Serve no node any more, and close all connections."""
        self._ros.close()
        self.close()


#: The middleware of a process.
ROS = Ros()


class Session:
    """One ROS node with its executor; use as a context manager.

    Signals are turned into ``Cancelled`` at the next :meth:`wait`, so that a node closes
    its files in order. A SIGINT some seconds later ends the process as usual; a second SIGTERM
    does not, for Linux may send it several times when the process dies that started this one.

    :param name: of the node, if the arguments give it no other one
    :param arguments: of the process
    :param host: the session of a process that has several; this one then gets no signals, and
        its node has its name whatever that of the process is
    :param standard: the node has what every ROS node has, parameter services and ``/rosout``
    :param middleware: what it stands on; None: rclpy, or what its host stands on
    """

    def __init__(
        self,
        name: str,
        arguments: list[str] | None = None,
        *,
        host: Session | None = None,
        standard: bool = True,
        middleware: Middleware | None = None,
    ) -> None:
        inherited = host._middleware if host else ROS
        self._middleware: Middleware = middleware or inherited
        #: Monotonic wall clock [ns].
        self.timer: Callable[[], int] = self._middleware.now
        #: How often this process has taken part in the run before.
        self.repetition: int = host.repetition if host else 0
        #: The signal that asked the process to end.
        self.stop_signal: int | None = None
        self._failure: Exception | None = None
        self._is_hosted = host is not None
        self._exit_code: int | None = None
        own_name = ["--ros-args", "-r", f"__node:={name}"] if host else None
        self._secret = secret_of()
        self._refused: dict[str, int] = {}
        if host is None:
            self._middleware.begin(arguments, self.stop)
        self.node = self._middleware.make_node(
            name, cli_args=own_name, enable_rosout=standard, start_parameter_services=standard
        )
        self._lane: LaneExecutor | None = None
        #: Where the lane is joined that other sessions of the process join, too.
        self.lane_address = ""
        self._executor_made: Executor | None = None
        self._further: list[Node] = []
        #: Messages that have been handled.
        self.handled = 0
        if host is not None and host.lane_address:
            self.join_lane(host.lane_address)

    @property
    def _executor(self) -> Executor:
        """What this session waits with, from its first wait on."""
        if self._executor_made is None:
            self._executor_made = self._lane or self._middleware.make_executor(self.node)
        return self._executor_made

    def join_lane(self, address: str) -> None:
        """Exchange the messages of the run on its lane; before any writer or reader is made.

        :param address: where the switchboard of the run is
        :raises RunError: it cannot be reached
        """
        assert self._executor_made is None, "the lane is joined before the first wait"
        self.lane_address = address
        self._lane = self._middleware.make_lane(
            self.node, address, self._secret, self._raise_pending
        )

    @property
    def transport(self) -> Literal["lane", "dds"]:
        """What carries the messages of the run: ``lane`` or ``dds``."""
        return "dds" if self._lane is None else "lane"

    def parameter(self, name: str, default: Any) -> Any:
        """Declare a ROS parameter and give its value (``--ros-args -p name:=value``).

        It cannot be changed later: all of a process depends on it from its start.
        """
        descriptor = ParameterDescriptor(description=DESCRIPTIONS.get(name, ""), read_only=True)
        value: Parameter = self.node.declare_parameter(name, default, descriptor)
        return value.value

    def writer(
        self, topic: str, type_name: str, qos: QoSProfile, short: ShortForm | None = None
    ) -> Writer:
        """Make a writer of a type of the catalogue.

        :param short: of records that travel without content on a lane
        """
        return self.port_writer(topic, CATALOGUE.codec(type_name), qos, short=short)

    def port_writer(
        self,
        topic: str,
        codec: WireCodec,
        qos: QoSProfile,
        *,
        short: ShortForm | None = None,
        for_onlookers: bool = False,
    ) -> Writer:
        """Make a writer of any type.

        :param short: of records that travel without content on a lane
        :param for_onlookers: no reader of the run reads the topic
        """
        sealer = Sealer(self._secret, topic) if self._is_sealed(topic) else None
        end = None
        if self._lane is not None and not for_onlookers:
            latched = qos.durability == DurabilityPolicy.TRANSIENT_LOCAL
            end = self._lane.writer(topics.edge(topic, codec), latched=latched)
        return Writer(
            self.node, topic, codec, qos, sealer, end, short=short, for_onlookers=for_onlookers
        )

    def outside_reader(
        self, topic: str, type_name: str, qos: QoSProfile, receive: Callable[[bytes], None]
    ) -> None:
        """Call ``receive`` with the bytes of each message of a topic of other programs.

        What ``receive`` raises comes out of :meth:`wait`.
        """
        kind = message_class(type_name)
        self.node.create_subscription(kind, topic, self._guarded(receive), qos, raw=True)

    def reader(
        self,
        topic: str,
        type_name: str,
        qos: QoSProfile,
        receive: Callable[[bytes], None],
        *,
        numbered: Receive | None = None,
        lazy: bool = False,
        alone: bool = False,
    ) -> None:
        """Call ``receive`` with the bytes of each message of a topic of the run.

        What ``receive`` raises comes out of :meth:`wait`.

        :param numbered: is called instead, also with stamp and sequence number, where the
            transport knows them
        :param lazy: the messages are only kept: no hurry
        :param alone: a wait ends after each of these messages, at the latest
        """
        if self._lane is None:
            self.outside_reader(topic, type_name, qos, receive)
            return
        latched = qos.durability == DurabilityPolicy.TRANSIENT_LOCAL
        take = numbered or (lambda data, stamp, seq: receive(data))
        self._lane.reader(topic, self._guarded(take), latched=latched, lazy=lazy, alone=alone)

    def _guarded(self, receive: Callable[_P, None]) -> Callable[_P, None]:
        """A receiver whose errors come out of :meth:`wait`: an executor must not see them."""

        def guarded(*message: _P.args, **nothing: _P.kwargs) -> None:
            self.handled += 1
            try:
                receive(*message, **nothing)
            except Exception as error:  # noqa: BLE001 - see above
                self._failure = self._failure or error

        return guarded

    def record_reader(
        self,
        topic: str,
        type_name: str,
        qos: QoSProfile,
        receive: Callable[[Any], None],
        *,
        sealed: bool = True,
        short: ShortForm | None = None,
    ) -> None:
        """Call ``receive`` with the record of each message of a topic.

        On a topic of the coordination protocol what is no such message, or comes from no process
        of this run, is refused: a line says so, and ``receive`` is not called. It refuses a message
        itself by raising ``ForeignMessageError``.

        :param sealed: whether the seal of such a message is checked
        :param short: of records that travel without content on a lane
        """
        decode = CATALOGUE.codec(type_name).decode
        # On a lane there are processes of the run only.
        checked = sealed and self._lane is None and self._is_sealed(topic)
        check = SealCheck(self._secret, topic) if checked else None
        if not topics.is_coordination(topic):
            self.reader(topic, type_name, qos, lambda data: receive(decode(data)[2]))
            return

        def take(data: bytes) -> None:
            fault = None if check is None else check.fault(data)
            if fault is None:
                try:
                    record = decode(data)[2]
                except ProtocolError as error:
                    fault = str(error)
                else:
                    take_record(record)
            if fault is not None:
                self._refuse(topic, fault)

        def take_record(record: Any) -> None:
            try:
                receive(record)
            except ForeignMessageError as error:
                self._refuse(topic, str(error))

        def take_numbered(data: bytes, stamp: int, seq: int) -> None:
            if data or short is None:
                take(data)
            else:
                take_record(short.unpack(stamp, seq))

        # States are followed one by one. Of progress only the newest counts.
        alone = not topics.is_progress(topic)
        self.reader(topic, type_name, qos, take, numbered=take_numbered, alone=alone)

    def _is_sealed(self, topic: str) -> bool:
        return bool(self._secret) and topics.is_coordination(topic)

    def _refuse(self, topic: str, fault: str) -> None:
        """Tell of a message that is ignored, and which nodes publish there.

        The middleware does not tell which of them sent it.
        """
        count = self._refused[topic] = self._refused.get(topic, 0) + 1
        if count not in _TOLD:
            return
        publishers = {name or _UNNAMED for name in self.publishing_nodes(topic)}
        print(
            f"{self.node.get_name()}: {topic}: refused a message ({count} so far): {fault}; "
            f"publishers there: {', '.join(sorted(publishers)) or 'none that is still known'}",
            flush=True,
        )

    def add_node(self, name: str) -> Node:
        """Make a further node, in the namespace of the first one, that :meth:`wait` serves."""
        node = self._middleware.make_node(
            name,
            namespace=self.node.get_namespace(),
            # The name given on the command line is that of the first one.
            use_global_arguments=False,
        )
        self._executor.add_node(node)
        self._further.append(node)
        return node

    def writers(self, topic: str) -> int:
        """Writers of a topic of the run that are known to be there."""
        if self._lane is not None:
            return self._lane.writers(topic)
        return int(self.node.count_publishers(topic))

    def publishing_nodes(self, topic: str) -> set[str]:
        """Full names of the nodes that are known to publish a topic; empty: not known yet."""
        if self._lane is not None:
            return self._lane.writer_nodes(topic)
        return {_node_of(info) for info in self.node.get_publishers_info_by_topic(topic)}

    @property
    def departures(self) -> int:
        """Ends of others that the lane has told; none without a lane."""
        return 0 if self._lane is None else self._lane.departures

    def urge(self) -> None:
        """What was sent leaves at the next wait, also for readers that are in no hurry."""
        if self._lane is not None:
            self._lane.urge()

    def sent(self, now_ns: int) -> None:
        """An activation has sent what it sends: others need not wait for it.

        :param now_ns: the time on :attr:`timer`
        """
        if self._lane is not None:
            self._lane.sent(now_ns)

    def flush(self) -> None:
        """What was sent leaves now, but for readers that are in no hurry."""
        if self._lane is not None:
            self._lane.flush()

    def wait(self, seconds: float, first: str = "") -> None:
        """Handle what is there, or arrives first, for at most ``seconds``.

        :param first: a topic of whose writer something is needed before there is anything to do

        :raises Cancelled: the process was asked to end
        """
        self._raise_pending()
        if first and self._lane is not None:
            self._lane.prefer(first)
        try:
            self._executor.spin_once(timeout_sec=seconds)
        except ExternalShutdownException:
            raise Cancelled("shutdown") from None
        self._raise_pending()

    def deliver(self, writer: Writer, readers: int) -> None:
        """Wait until the readers of a latched topic have what was sent, or seem to have gone.

        Also of a process that has not waited so far: on a lane its readers find it only now.

        :param readers: so many there are on a lane
        """
        if self._lane is not None:
            deadline = self.timer() + _FLUSH.nanoseconds
            while writer.readers < readers and self.timer() < deadline:
                self.wait(_POLL_S)
        writer.flush()

    def wake(self) -> None:
        """End a :meth:`wait` that is going on; any thread may call it."""
        if self._lane is not None:
            self._lane.wake()
            return
        # An executor has no wake() of its own everywhere; a task that does nothing is one.
        self._executor.create_task(_nothing)

    def stop(self, number: int) -> None:
        """Raise ``Cancelled`` at the next :meth:`wait`; any thread may call it.

        :param number: the signal that asked for it
        """
        self.stop_signal = number
        if self._lane is not None:
            self._lane.wake()

    def _raise_pending(self) -> None:
        if self._failure is not None:
            failure, self._failure = self._failure, None
            raise failure
        if self.stop_signal is not None:
            raise Cancelled(signal.Signals(self.stop_signal).name)

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Give up the node, and ROS itself unless another session of the process uses it.

        Has :meth:`ends_with` been called, the process ends within seconds, with that exit code,
        whatever the middleware does.
        """
        with self._middleware.giving_up(self._exit_code):
            waiting = self._executor_made or self._lane
            if waiting is not None:
                waiting.shutdown(timeout_sec=0.5)
            for node in (*self._further, self.node):
                node.destroy_node()
            if not self._is_hosted:
                self._middleware.end()

    def ends_with(self, code: int) -> None:
        """Say that the process has nothing to do any more but give up its nodes and end.

        :param code: its exit code
        """
        self._exit_code = code
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):
                stream.flush()


def _with_logging(arguments: list[str] | None) -> list[str] | None:
    """Arguments for rclpy: without a directory for its log, it writes no file.

    Otherwise every process would leave one in the home directory, which need not be writable.
    """
    if any(os.environ.get(name) for name in _LOG_DIRECTORIES):
        return arguments
    return [*(sys.argv if arguments is None else arguments), *_NO_LOG_FILE]


class _Teardown:
    """Ends a process that cannot end.

    Fast DDS can block for ever while nodes are given up (its listener and its discovery wait for
    each other; see its issues 6502 and 6513), with Python's lock held: then nothing of Python runs
    any more. The locks are its own, in an order that no caller chooses: leaving without giving up
    the nodes would avoid it, but then other processes keep the dead readers for the time of a
    lease, 20 s, and wait for their answers.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._running = 0
        self._timer = ExitTimer()

    @contextmanager
    def limited(self, code: int | None) -> Iterator[None]:
        """The process ends if the body takes too long; any thread may enter it.

        :param code: exit code of a process that ends anyway; None: it goes on after this
        """
        with self._lock:
            self._running += 1
            # One timer for all threads: each that enters prolongs it, the last one stops it.
            if code is None:
                self._timer.start(TEARDOWN_LIMIT_S, EXIT_HUNG)
            else:
                self._timer.start(LAST_TEARDOWN_LIMIT_S, code)
        try:
            yield
        finally:
            with self._lock:
                self._running -= 1
                if not self._running:
                    self._timer.cancel()


_TEARDOWN = _Teardown()


def _node_of(endpoint: TopicEndpointInfo) -> str:
    """The full name of an endpoint's node; empty while it is not known."""
    if "UNKNOWN" in endpoint.node_name:
        return ""
    return f"{endpoint.node_namespace.rstrip('/')}/{endpoint.node_name}"


def _nothing() -> None:
    """Wakes an executor up."""


def _make_executor(node: Node) -> Any:
    """Prefer the events executor: several times faster; it needs finite timeouts."""
    executor: Any
    try:
        from rclpy.experimental.events_executor import EventsExecutor

        executor = EventsExecutor()
    except ImportError:
        executor = SingleThreadedExecutor()
    executor.add_node(node)
    return executor
