# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A node of the suite: start and stop, writers and readers, waiting.

Messages cross as CDR bytes, written and read by this project's own codecs: what is hashed
into the trace is what is on the wire, and no message object is built on the data path.

A session stands on a :class:`~ros2_cosim.ros.node.middleware.Middleware`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Literal, ParamSpec

from rclpy.clock import Clock, ClockType
from rclpy.executors import ExternalShutdownException
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile
from rclpy.timer import Timer

from ros2_cosim.core.kernel.errors import Cancelled, ProtocolError
from ros2_cosim.core.messages.catalogue import DEFAULT as CATALOGUE
from ros2_cosim.core.messages.cdr import WireCodec
from ros2_cosim.core.messages.namespaces import inside, process_name_of
from ros2_cosim.core.messages.protocol import ForeignMessageError
from ros2_cosim.core.messages.wiring import edge_topic
from ros2_cosim.core.process.seal import SealCheck, Sealer, secret_of
from ros2_cosim.ros.node import topics
from ros2_cosim.ros.node.lane_interface import Receive, Take, Watch
from ros2_cosim.ros.node.middleware import ROS, Executor, LaneExecutor, Middleware
from ros2_cosim.ros.node.node_parameters import DESCRIPTIONS, Told, declare
from ros2_cosim.ros.node.receipts import Receipts, by_numbers
from ros2_cosim.ros.node.short_forms import ShortForm
from ros2_cosim.ros.node.writers import FLUSH, Writer, message_class, node_of

_P = ParamSpec("_P")

#: Refused messages of one topic that are worth a line: a flood must not become one of lines.
_TOLD = frozenset(10**power for power in range(19))
#: A publisher is found before the name of its node is.
_UNNAMED = "a node whose name is not known yet"
_POLL_S = 0.02


def until_shut_down(node: Node, callback: Callable[_P, None]) -> Callable[_P, None]:
    """Make of a callback one that does nothing once the context of its node is shut down.

    That may happen at any moment, also in the middle of the callback: rclpy's signal handlers do
    it in their own thread. An error that follows from it is dropped.
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


class Session:
    """One ROS node with its executor; use as a context manager.

    Signals are turned into ``Cancelled`` at the next :meth:`wait`, so that a node closes
    its files in order. A SIGINT some seconds later ends the process as usual; a second SIGTERM
    does not, for Linux may send it several times when the process dies that started this one.

    :param name: of the node, if the arguments give it no other one
    :param arguments: of the process
    :param host: the session of a process that has several; this one then gets no signals, and
        its node has its name whatever that of the process is
    :param waits: whether it waits by itself; else its host, in the same thread, waits for it: they
        have one lane, and what they send each other they get at once
    :param standard: the node has what every ROS node has, parameter services and ``/rosout``
    :param simulated_time: the clocks of its nodes show simulated time, see :meth:`follow`; with a
        host, as for it
    :param middleware: what it stands on; None: rclpy, or what its host stands on
    """

    def __init__(
        self,
        name: str,
        arguments: list[str] | None = None,
        *,
        host: Session | None = None,
        waits: bool = True,
        standard: bool = True,
        simulated_time: bool = False,
        middleware: Middleware | None = None,
    ) -> None:
        inherited = host._middleware if host else ROS
        self._middleware: Middleware = middleware or inherited
        #: Monotonic wall clock [ns].
        self.timer: Callable[[], int] = self._middleware.now
        #: How often this process has taken part in the run before.
        self.repetition: int = host.repetition if host else 0
        #: What has reached this session.
        self.received = Receipts()
        self._simulated_time: bool = host._simulated_time if host else simulated_time
        #: What ROS's clock shows when simulated time is 0 [ns]; set before the first writer is
        #: made.
        self.start_ns: int = host.start_ns if host else 0
        self._is_hosted = host is not None
        self._exit_code: int | None = None
        #: Whether the run begins anew, with a further session.
        self._begins_anew = False
        #: Whether others of the run may know this session by what it has in the middleware.
        self._shows = False
        own_name = ["--ros-args", "-r", f"__node:={name}"] if host else None
        self._secret = secret_of()
        self._process = ""
        self._refused: dict[str, int] = {}
        #: Made before a signal can come.
        self._lane: LaneExecutor | None = None
        if host is None:
            self._middleware.begin(arguments, self.stop)
        self.node = self._middleware.make_node(
            name,
            cli_args=own_name,
            enable_rosout=standard,
            start_parameter_services=standard,
            simulated_time=self._simulated_time,
        )
        space = self.node.get_namespace().rstrip("/")
        self._full_name = f"{space}/{self.node.get_name()}"
        #: The session that waits for this one.
        self._waiter: Session | None = None
        #: Where the lane is joined that other sessions of the process join, too.
        self.lane_address = ""
        self._executor_made: Executor | None = None
        self._further: list[Node] = []
        if host is not None and not waits:
            self._waiter = host
            self._lane = host._lane
            host._take_in(self.node)
        elif host is not None and host.lane_address:
            self.join_lane(host.lane_address)

    @property
    def _executor(self) -> Executor:
        """What this session waits with, from its first wait on."""
        if self._executor_made is None:
            self._executor_made = self._lane or self._middleware.make_executor(self.node)
        return self._executor_made

    @property
    def process(self) -> str:
        """The name of its process in the plan of the run: without another one, as its node."""
        return self._process or process_name_of(self.node.get_name())

    @process.setter
    def process(self, name: str) -> None:
        self._process = name

    def join_lane(self, address: str) -> None:
        """Exchange the messages of the run on its lane; before any writer or reader is made.

        :param address: where the switchboard of the run is
        :raises RunError: it cannot be reached
        """
        assert self._executor_made is None, "the lane is joined before the first wait"
        self.lane_address = address
        self._lane = self._middleware.make_lane(
            self.node, address, self._secret, self.raise_pending
        )

    @property
    def own_lane(self) -> LaneExecutor | None:
        """The lane that this session waits on by itself; None: it waits in another way."""
        return None if self._waiter is not None else self._lane

    def watch(self, watch: Watch) -> None:
        """Have somewhere noted what the waits of this session consist of; on a lane only."""
        if self._lane is not None:
            self._lane.watch = watch

    @property
    def transport(self) -> Literal["lane", "dds"]:
        """What carries the messages of the run: ``lane`` or ``dds``."""
        return "dds" if self._lane is None else "lane"

    def parameter(self, name: str, default: Any) -> Any:
        """Declare a ROS parameter and give its value (``--ros-args -p name:=value``).

        It cannot be changed later: all of a process depends on it from its start.

        :raises ConfigurationError: the value has another type than ``default``, or is out of range
        """
        if self.node.has_parameter(name):
            return self.node.get_parameter(name).value
        return declare(self.node, name, default, DESCRIPTIONS.get(name, Told("")))

    def writer(
        self,
        topic: str,
        type_name: str,
        qos: QoSProfile,
        short: ShortForm | None = None,
        silence: int = 0,
    ) -> Writer:
        """Make a writer of a type of the catalogue.

        :param short: of records that travel without content on a lane
        :param silence: see :meth:`.lane_interface.RunLane.writer`
        """
        codec = CATALOGUE.codec(type_name, start_ns=self.start_ns)
        return self.port_writer(topic, codec, qos, short=short, silence=silence)

    def port_writer(
        self,
        topic: str,
        codec: WireCodec,
        qos: QoSProfile,
        *,
        short: ShortForm | None = None,
        silence: int = 0,
        for_onlookers: bool = False,
    ) -> Writer:
        """Make a writer of any type.

        :param short: of records that travel without content on a lane
        :param silence: see :meth:`.lane_interface.RunLane.writer`
        :param for_onlookers: no reader of the run reads the topic
        """
        sealer = Sealer(self._secret, topic) if self._is_sealed(topic) else None
        end = None
        if self._lane is not None and not for_onlookers:
            latched = qos.durability == DurabilityPolicy.TRANSIENT_LOCAL
            edge = edge_topic(topic, codec)
            end = self._lane.writer(
                edge,
                latched=latched,
                owner=self._full_name,
                shown=short is not None,
                silence=silence,
            )
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
        name = inside(self.node, topic)

        def guarded(data: bytes) -> None:
            self.received.handled += 1
            try:
                receive(data)
            except Exception as error:  # a middleware must not see it
                self.received.failed(error)

        self.node.create_subscription(kind, name, guarded, qos, raw=True)

    def reader(
        self,
        topic: str,
        type_name: str,
        qos: QoSProfile,
        receive: Callable[[bytes], None],
        *,
        numbered: Receive | None = None,
        take: Take | None = None,
        lazy: bool = False,
        alone: bool = False,
        unused: bool = False,
    ) -> None:
        """Call ``receive`` with the bytes of each message of a topic of the run.

        What ``receive`` raises comes out of :meth:`wait`.

        :param numbered: is called instead, also with stamp and sequence number, where the
            transport knows them
        :param take: is called instead, with the value, for messages of the same thread
        :param lazy: the messages are only kept: no hurry
        :param alone: a wait ends after each of these messages, at the latest
        :param unused: on a lane none comes
        """
        if self._lane is None:
            self._shows = True
            self.outside_reader(topic, type_name, qos, receive)
            return
        latched = qos.durability == DurabilityPolicy.TRANSIENT_LOCAL
        self._lane.reader(
            topic,
            self.received.guarded(numbered or (lambda data, stamp, seq: receive(data))),
            latched=latched,
            lazy=lazy,
            alone=alone,
            unused=unused,
            owner=self._full_name,
            take=None if take is None else self.received.guarded(take),
        )

    def record_reader(
        self,
        topic: str,
        type_name: str,
        qos: QoSProfile,
        receive: Callable[[Any], None],
        *,
        sealed: bool = True,
        lazy: bool = False,
        numbers: Callable[[int, int], None] | None = None,
    ) -> None:
        """Call ``receive`` with the record of each message of a topic.

        On a topic of the coordination protocol what is not such a message, or comes from no process
        of this run, is refused: a line says so, and ``receive`` is not called. It refuses a message
        itself by raising ``ForeignMessageError``.

        :param sealed: whether the seal of such a message is checked
        :param lazy: nothing waits for what follows from it: no hurry
        :param numbers: takes the two numbers of records that travel without content on a lane
        """
        decode = CATALOGUE.codec(type_name).decode
        # On a lane there are processes of the run only.
        checked = sealed and self._lane is None and self._is_sealed(topic)
        check = SealCheck(self._secret, topic) if checked else None
        if not topics.is_coordination(topic):
            self.reader(topic, type_name, qos, lambda data: receive(decode(data)[2]), lazy=lazy)
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

        # States are followed one by one. Of progress only the newest counts.
        alone = not topics.is_progress(topic)
        numbered = by_numbers(take, numbers)
        self.reader(topic, type_name, qos, take, numbered=numbered, lazy=lazy, alone=alone)

    def _is_sealed(self, topic: str) -> bool:
        return bool(self._secret) and topics.is_coordination(topic)

    def _refuse(self, topic: str, fault: str) -> None:
        """Report a message that is ignored, and which nodes publish there.

        The middleware does not tell which of them sent it.
        """
        count = self._refused[topic] = self._refused.get(topic, 0) + 1
        if count not in _TOLD:
            return
        publishers = {name or _UNNAMED for name in self.publishing_nodes(topic)}
        print(
            f"{self.process}: {topic}: refused a message "
            f"({count} so far): {fault}; "
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
            simulated_time=self._simulated_time,
        )
        self._take_in(node)
        return node

    def follow(self, node: Node, time_of: Callable[[], int]) -> None:
        """Let the clock of a node of this session show simulated time.

        :param time_of: gives it [ns], whenever the clock is read; below 0: the run has not begun
        """
        self._middleware.follow(node, lambda: self.start_ns + max(time_of(), 0))

    def _take_in(self, node: Node) -> None:
        """Serve a further node, and give it up with this session."""
        self._executor.add_node(node)
        self._further.append(node)

    def writers(self, topic: str) -> int:
        """Writers of a topic of the run that are known to be there."""
        if self._lane is not None:
            return self._lane.writers(topic)
        return int(self.node.count_publishers(inside(self.node, topic)))

    def publishing_nodes(self, topic: str) -> set[str]:
        """Full names of the nodes that are known to publish a topic; empty: not known yet."""
        if self._lane is not None:
            return self._lane.writer_nodes(topic)
        found = self.node.get_publishers_info_by_topic(inside(self.node, topic))
        return {node_of(info) for info in found}

    @property
    def departures(self) -> int:
        """Ends of others that the lane has told; none without a lane."""
        return 0 if self._lane is None else self._lane.departures

    def aim(self, target: int) -> None:
        """Ring for all that read what this session shows, and end a wait when they are so far.

        :param target: simulated time [ns] that the completions of all have to reach
        """
        if self._lane is not None:
            self._lane.aim(target)

    def sent(self, now_ns: int) -> None:
        """An activation has sent what it sends: others need not wait for it.

        :param now_ns: the time on :attr:`timer`
        """
        if self._lane is not None:
            self._lane.sent(now_ns)

    def flush(self) -> None:
        """Send the waiting messages now, except to readers that are in no hurry."""
        if self._lane is not None:
            self._lane.flush()

    def wait(self, seconds: float, first: str = "") -> None:
        """Handle what is there, or arrives first, for at most ``seconds``.

        :param first: a topic of whose writer something is needed before there is anything to do

        :raises Cancelled: the process was asked to end
        """
        self.raise_pending()
        self.serve(seconds, first)
        self.raise_pending()

    def rest(self, until: int) -> None:
        """Say that what waits here does nothing before a time [ns], whatever comes."""
        if self._lane is not None:
            self._lane.rest(until)

    def serve(self, seconds: float, first: str = "") -> None:
        """The same, and what a receiver raises, or a signal, is left for :meth:`raise_pending`.

        :raises Cancelled: the middleware was shut down
        """
        if self._waiter is not None:
            self._waiter.serve(seconds, first)
            return
        if first and self._lane is not None:
            self._lane.prefer(first)
        try:
            self._executor.spin_once(timeout_sec=seconds)
        except ExternalShutdownException:
            raise Cancelled("shutdown") from None

    @property
    def handled(self) -> int:
        """Messages that have been handled."""
        return self.received.handled

    @property
    def stop_signal(self) -> int | None:
        """The signal that asked the process to end."""
        return self.received.stop_signal

    def deliver(
        self, writer: Writer, readers: int, asked_to_end: Callable[[], bool] = lambda: False
    ) -> None:
        """Wait until the readers of a latched topic have what was sent, or seem to have gone.

        Also of a process that has not waited so far: on a lane its readers find it only now.

        :param readers: so many there are on a lane
        :param asked_to_end: whether this process is: then it does not wait
        """
        if self._lane is not None:
            deadline = self.timer() + FLUSH.nanoseconds
            # Readers of a run before this one have gone, which is known after a wait only.
            self.wait(0.0)
            while writer.readers < readers and self.timer() < deadline and not asked_to_end():
                self.wait(_POLL_S)
        if not asked_to_end():
            writer.flush()

    def wake(self) -> None:
        """End a :meth:`wait` that is going on; any thread may call it."""
        if self._lane is not None:
            self._lane.wake()
            return
        # An executor has no wake() of its own everywhere; a task that does nothing is one.
        (self._waiter or self)._executor.create_task(_nothing)

    def stop(self, number: int) -> None:
        """Raise ``Cancelled`` at the next :meth:`wait`; any thread may call it.

        :param number: the signal that asked for it
        """
        self.received.stop_signal = number
        if self._lane is not None:
            self._lane.wake()

    def raise_pending(self) -> None:
        """Raise what a receiver has raised.

        :raises Cancelled: the process was asked to end
        """
        self.received.raise_pending()

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Give up the node, and ROS itself unless another session of the process uses it.

        Has :meth:`ends_with` been called, the process ends within seconds, with that exit code,
        whatever the middleware does. Has :meth:`begins_anew` been called, the node stays for the
        session that follows, and only what the run has on its lane is given up.
        """
        if self._waiter is not None:
            return  # its node ends with the session that waits for it
        nodes = (*self._further, self.node)
        stays = self._begins_anew and not self._shows
        if stays and self._lane is None:
            self._middleware.set_aside(nodes, self._executor)
            return
        with self._middleware.giving_up(self._exit_code):
            waiting = self._executor_made or self._lane
            if waiting is not None:
                waiting.shutdown(timeout_sec=0.5)
            if stays:
                self._middleware.set_aside(nodes, None)
                return
            for node in nodes:
                node.destroy_node()
            if not self._is_hosted:
                self._middleware.end()

    def begins_anew(self) -> None:
        """Say that the run begins anew, with a session of the same name in this process.

        Without a lane others of the run take the node's end for that of the former run: there it is
        given up all the same.
        """
        self._begins_anew = True

    def ends_with(self, code: int) -> None:
        """Say that the process has nothing to do any more but give up its nodes and end.

        :param code: its exit code
        """
        self._exit_code = code
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):
                stream.flush()


def _nothing() -> None:
    """Wakes an executor up."""
