# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""DDS and rclpy, simulated: what :class:`~ros2_cosim.ros.node.session.Session` may count on.

Between one writer and one reader messages keep their order and all arrive (reliable); between
any two pairs every order is possible. Each side of a connection finds the other at a time of its
own. A reader gets what a writer sends from its discovery on, and what was kept if both are
latched. A writer that is given up takes what has not arrived along, unless it waits for it. A
process that cannot be reached for longer than the lease is forgotten; found again, it is new:
what was sent meanwhile is lost, what is latched comes again.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any, NamedTuple, Protocol

from rclpy.qos import DurabilityPolicy, QoSProfile
from simulation.world import Process, Thread, World

from ros2_cosim.core.kernel.model import Model
from ros2_cosim.core.kernel.time import FOREVER
from ros2_cosim.ros.node.writers import data_qos


class Onlooker(Protocol):
    """Sees what is published."""

    def published(self, process: str, topic: str, data: Any) -> None:
        """Take a message at the moment at which it is published."""

    def begins(self, name: str, model: Model) -> None:
        """A participant begins a run, with a model."""

    def activated(self, participant: str, time: int) -> None:
        """Take the time of an activation [ns]."""


class _Matched(NamedTuple):
    current_count: int


class _Time(NamedTuple):
    nanoseconds: int


class _Known(NamedTuple):
    found: int
    missed: int


class _Parameter(NamedTuple):
    value: Any


class EndpointInfo(NamedTuple):
    """What of :class:`rclpy.topic_endpoint_info.TopicEndpointInfo` the nodes of a run use."""

    node_name: str
    node_namespace: str
    topic_type: str
    qos_profile: QoSProfile


#: Topics of the lane are apart from those of DDS.
_LANE = "lane:"
#: How long a writer waits for its readers at its end.
_FLUSH_NS = 2_000_000_000


class Publisher:
    """One writer."""

    def __init__(self, node: SimulatedNode, kind: type, topic: str, qos: QoSProfile) -> None:
        self.node = node
        self.kind = kind
        self.topic = topic
        self.qos = qos
        self.is_latched = _is_latched(qos)
        #: A connection on one host is never cut, and its end is seen at once.
        self.is_on_lane = topic.startswith(_LANE)
        #: What later readers get.
        self.kept: deque[Any] = deque(maxlen=qos.depth)
        self.links: list[Link] = []
        self.is_gone = False

    @property
    def topic_name(self) -> str:
        """As rclpy's."""
        return self.topic

    def publish(self, data: Any) -> None:
        """Send a message to all readers that have been found."""
        process = self.node.process
        if process.is_dead or self.is_gone:
            return
        self.node.network.publishing(process)
        if not self.is_on_lane:  # the same is published in DDS
            self.node.network.onlooker.published(process.name, self.topic, data)
        if self.is_latched:
            self.kept.append(data)
        for link in self.links:
            if link.writer_knows:
                link.send(data)

    def get_subscription_count(self) -> int:
        """Readers that have been found."""
        return sum(link.writer_knows for link in self.links)

    def wait_for_all_acked(self, timeout: Any) -> bool:
        """Wait until all readers that have been found have everything."""
        process = self.node.process
        if process.is_dead:
            return False
        deadline = process.world.now + timeout.nanoseconds
        while any(link.under_way for link in self.links):
            left = deadline - process.world.now
            if left <= 0:
                return False
            self.node.network.awaits_ack(process)
            process.sleep(left, wakeable=True)
        return True


class Subscription:
    """One reader."""

    def __init__(
        self,
        node: SimulatedNode,
        kind: type,
        topic: str,
        qos: QoSProfile,
        callback: Callable[[Any], None],
    ) -> None:
        self.node = node
        self.kind = kind
        self.topic = topic
        self.qos = qos
        self.is_latched = _is_latched(qos)
        self.callback = callback
        self.is_gone = False


class Link:
    """The connection of one writer with one reader."""

    def __init__(self, writer: Publisher, reader: Subscription) -> None:
        self.writer = writer
        self.reader = reader
        self.network = writer.node.network
        self.writer_knows = False
        self.reader_knows = False
        self.under_way: deque[Any] = deque()
        #: A connection that was given up; what is under way on it is lost.
        self.is_cut = False
        world = self.network.world
        # Some pairs are slow all the time: then one topic is far behind another.
        self._mean = world.pace.message * world.random.choice((1, 1, 1, 1, 1, 1, 5, 30))
        self.find()

    def find(self) -> None:
        """Both sides find each other, each at a time of its own."""
        world, writer = self.network.world, self.writer
        world.after(world.draw(world.pace.discovery), self._writer_finds)
        reading = self.reader.node.process
        if self.network.knows(reading, writer):
            self.reader_finds()
        else:
            self.network.await_discovery(reading, writer)

    def _writer_finds(self) -> None:
        if self.is_cut:
            return
        until = self._unreachable_until()
        if until is not None:
            self.network.world.at(until, self._writer_finds)
            return
        self.writer_knows = True
        if self.writer.is_latched and self.reader.is_latched:
            for data in self.writer.kept:
                self.send(data)

    def reader_finds(self) -> None:
        """The process of the reader knows the writer."""
        if self.reader_knows or self.is_cut:
            return
        self.reader_knows = True
        for _ in self.under_way:
            self._later()

    def send(self, data: Any) -> None:
        """Put a message on its way."""
        self.under_way.append(data)
        if self.reader_knows:
            self._later()

    def _later(self) -> None:
        world = self.network.world
        world.after(world.draw(self._mean), self._arrive)

    def _arrive(self) -> None:
        """The oldest message under way arrives: reliable, in order."""
        if self.is_cut or not self.under_way:
            return
        process = self.reader.node.process
        until = self._unreachable_until()
        if until is not None:
            self.network.world.at(until, self._arrive)
            return
        self.network.met.add((process, self.writer.node.process))
        data = self.under_way.popleft()
        if not self.under_way:
            self.network.acked(self.writer.node.process)
        self.reader.node.take(self.reader, lambda: self.reader.callback(data))

    def _unreachable_until(self) -> int | None:
        if self.writer.is_on_lane:
            return None
        return self.network.unreachable_until(self.writer.node.process, self.reader.node.process)

    def cut(self) -> None:
        """Both sides forget each other."""
        self.is_cut = True
        self.writer_knows = self.reader_knows = False
        self.under_way.clear()
        self.network.acked(self.writer.node.process)


class Service:
    """One service: an answer is sent by :attr:`send_response`, which may be replaced."""

    def __init__(
        self, node: SimulatedNode, kind: Any, name: str, callback: Callable[[Any, Any], Any]
    ) -> None:
        self.node = node
        self.name = name
        self._kind = kind
        self._callback = callback
        self.send_response: Callable[[Any, Callable[[Any], None]], None] = _send

    def take(self, request: Any, answer: Callable[[Any], None]) -> None:
        """Handle a request, in its process."""
        response = self._callback(request, self._kind.Response())
        self.send_response(response, answer)


def _send(response: Any, answer: Callable[[Any], None]) -> None:
    answer(response)


class Logger:
    """Takes what nodes log."""

    def __init__(self, world: World, name: str) -> None:
        self._world = world
        self._name = name

    def warning(self, text: str) -> None:
        """Note it."""
        self._world.note("warning", self._name, text)


class SimulatedNode:
    """What of :class:`rclpy.node.Node` the nodes of a run use."""

    def __init__(self, network: Network, process: Process, name: str) -> None:
        self.network = network
        self.process = process
        self._executor: SimulatedExecutor | None = None
        #: What arrives before it is served.
        self._early: list[tuple[object, Callable[[], None]]] = []
        self._name = name
        self._endpoints: list[Publisher | Subscription | Service] = []

    def serve_by(self, executor: SimulatedExecutor) -> None:
        """Hand over to an executor what arrives, and what has arrived."""
        self._executor = executor
        for source, event in self._early:
            executor.take(source, event)

    def take(self, source: object, event: Callable[[], None]) -> None:
        """Something has arrived; see :meth:`SimulatedExecutor.take`."""
        if self._executor is None:
            self._early.append((source, event))
        else:
            self._executor.take(source, event)

    def get_name(self) -> str:
        """As rclpy's."""
        return self._name

    def get_namespace(self) -> str:
        """As rclpy's."""
        return "/"

    def get_logger(self) -> Logger:
        """As rclpy's."""
        return Logger(self.network.world, self._name)

    def get_clock(self) -> SimulatedNode:
        """As rclpy's."""
        return self

    def now(self) -> _Time:
        """As that of rclpy's clock."""
        return _Time(self.network.world.now)

    def has_parameter(self, name: str) -> bool:
        """As rclpy's, of a node that is new."""
        return False

    def declare_parameter(self, name: str, default: Any, descriptor: Any = None) -> _Parameter:
        """As rclpy's."""
        return _Parameter(self.network.parameters.get((self.process.name, name), default))

    def create_publisher(
        self,
        kind: Any,
        topic: str,
        qos: QoSProfile | int,
        *,
        event_callbacks: Any = None,
        qos_overriding_options: Any = None,
    ) -> Publisher:
        """As rclpy's; there is an onlooker of everything, and nothing is overridden."""
        if event_callbacks is not None:
            event_callbacks.matched(_Matched(1))
        publisher = Publisher(self, kind, topic, _profile(qos))
        self._endpoints.append(publisher)
        self.network.add_writer(publisher)
        return publisher

    def create_subscription(
        self,
        kind: Any,
        topic: str,
        callback: Callable[[Any], None],
        qos: QoSProfile | int,
        *,
        raw: bool = False,
    ) -> Subscription:
        """As rclpy's."""
        assert raw, "the nodes of a run read bytes"
        subscription = Subscription(self, kind, topic, _profile(qos), callback)
        self._endpoints.append(subscription)
        self.network.add_reader(subscription)
        return subscription

    def create_service(self, kind: Any, name: str, callback: Callable[[Any, Any], Any]) -> Service:
        """As rclpy's."""
        service = Service(self, kind, name.replace("~", f"/{self._name}"), callback)
        self._endpoints.append(service)
        self.network.services[service.name] = service
        return service

    def count_publishers(self, topic: str) -> int:
        """Writers of a topic that this process knows."""
        return len(self.network.writers_known(self.process, topic))

    def get_publishers_info_by_topic(self, topic: str) -> list[EndpointInfo]:
        """Writers of a topic that this process knows."""
        found = self.network.writers_known(self.process, topic)
        return [self._info(writer) for writer in found]

    def get_subscriptions_info_by_topic(self, topic: str) -> list[EndpointInfo]:
        """Readers of a topic that this process knows."""
        found = self.network.readers_known(self.process, topic)
        return [self._info(reader) for reader in found]

    def _info(self, endpoint: Publisher | Subscription) -> EndpointInfo:
        name = self.network.name_known(self.process, endpoint.node)
        package, kind = endpoint.kind.__module__.partition(".")[0], endpoint.kind.__name__
        return EndpointInfo(name, "/", f"{package}/msg/{kind}", endpoint.qos)

    def destroy_node(self) -> None:
        """Give up all that the node has; one of a process that was killed gives up nothing."""
        if self.process.is_dead:
            return
        self.network.withdraw(self._endpoints, 0)
        self._endpoints = []


def _profile(qos: QoSProfile | int) -> QoSProfile:
    return QoSProfile(depth=qos) if isinstance(qos, int) else qos


def _is_latched(qos: QoSProfile) -> bool:
    return bool(qos.durability == DurabilityPolicy.TRANSIENT_LOCAL)


class SimulatedExecutor:
    """Hands what has arrived to a node, one event at a time.

    :param ordered: whether in the order of arrival; else only that of each topic is kept, as by
        an executor with a wait set
    """

    def __init__(self, process: Process, *, ordered: bool) -> None:
        self._process = process
        self._ordered = ordered
        self._inbox: list[tuple[object, Callable[[], None]]] = []
        #: The one that waits here.
        self._thread: Thread | None = None

    def add_node(self, node: SimulatedNode) -> None:
        """Serve a node."""
        node.serve_by(self)

    def take(self, source: object, event: Callable[[], None]) -> None:
        """Something has arrived.

        :param source: events of one source keep their order
        """
        self._inbox.append((source, event))
        if self._thread is not None:
            self._thread.wake()

    def create_task(self, callback: Callable[[], None]) -> None:
        """Make an event of a call."""
        self.take(callback, callback)

    def spin_once(self, timeout_sec: float | None = None) -> None:
        """Handle one event, or wait for so long."""
        process, inbox = self._process, self._inbox
        self._thread = process.world.thread
        if not inbox and timeout_sec:
            process.sleep(int(timeout_sec * 1e9), wakeable=True)
        else:
            # The process is not alone on its machine: what it does takes a while.
            process.sleep(process.world.draw(process.world.pace.step))
        if inbox:
            self._handle()

    def _handle(self) -> None:
        self._inbox.pop(self._choose())[1]()

    def _choose(self) -> int:
        if self._ordered or len(self._inbox) == 1:
            return 0
        sources: set[int] = set()
        heads = []
        for index, (source, _) in enumerate(self._inbox):
            if id(source) not in sources:
                sources.add(id(source))
                heads.append(index)
        return self._process.world.random.choice(heads)

    def shutdown(self, timeout_sec: float | None = None) -> None:
        """Serve no node any more."""
        self._inbox.clear()


class _LaneWriter:
    """The writing end of a topic; see :class:`~ros2_cosim.ros.node.lane_interface.TopicWriter`."""

    def __init__(self, publisher: Publisher) -> None:
        self._publisher = publisher

    @property
    def readers(self) -> int:
        return self._publisher.get_subscription_count()

    @property
    def reader_nodes(self) -> list[str]:
        found = [link.reader for link in self._publisher.links if link.writer_knows]
        return [f"/{reader.node.get_name()}" for reader in found]

    def send(self, data: bytes, stamp: int = 0, seq: int = 0, value: Any = None) -> None:
        self._publisher.publish((data, stamp, seq))

    def reach(self, time: int) -> None:
        """Only whom the board wakes up depends on it."""

    def flush(self) -> bool:
        return self._publisher.wait_for_all_acked(_Time(_FLUSH_NS))


class SimulatedLane(SimulatedExecutor):
    """The lane of one session; see :class:`~ros2_cosim.ros.node.lane_interface.Lane`.

    Topics of one connection may overtake each other here, and messages under way end with their
    writer, which is more than happens there.

    :param node: of the session
    """

    def __init__(self, node: SimulatedNode, process: Process, *, ordered: bool) -> None:
        super().__init__(process, ordered=ordered)
        self._node = node
        self._nodes: dict[str, SimulatedNode] = {}
        self._goes_on = True

    def add_node(self, node: SimulatedNode) -> None:
        """Serve a node; in one thread it may be one of several."""
        super().add_node(node)
        self._nodes[f"/{node.get_name()}"] = node

    def writer(
        self, topic: str, *, latched: bool, owner: str, shown: bool, silence: int
    ) -> _LaneWriter:
        """Write a topic; what is shown takes its time here, too, and each message comes."""
        qos = data_qos(latched=latched)
        return _LaneWriter(self._nodes[owner].create_publisher(bytes, _LANE + topic, qos))

    def reader(
        self,
        topic: str,
        receive: Callable[[bytes, int, int], None],
        *,
        latched: bool,
        lazy: bool,
        alone: bool,
        unused: bool,
        owner: str,
        take: Callable[[Any, int, int], None] | None = None,
    ) -> None:
        """Read a topic; what comes from the same thread takes its time, too."""

        def arrive(message: tuple[bytes, int, int]) -> None:
            self._goes_on = not alone
            receive(*message)

        qos = data_qos(latched=latched)
        self._nodes[owner].create_subscription(bytes, _LANE + topic, arrive, qos, raw=True)

    def writers(self, topic: str) -> int:
        """Writers that are known to be there."""
        return self._node.count_publishers(_LANE + topic)

    def writer_nodes(self, topic: str) -> set[str]:
        """The nodes of these writers."""
        found = self._node.network.writers_known(self._process, _LANE + topic)
        return {f"/{writer.node.get_name()}" for writer in found}

    @property
    def departures(self) -> int:
        """Ends of others that have been seen."""
        return self._node.network.departures

    def prefer(self, topic: str) -> None:
        """The world decides what comes first."""

    def rest(self, until: int) -> None:
        """What is sent comes when the world decides so."""

    def aim(self, target: int) -> None:
        """Everything leaves at once here, and takes its time."""

    def sent(self, now_ns: int) -> None:
        """The same."""

    def flush(self) -> None:
        """The same."""

    def wake(self) -> None:
        """End a wait."""
        if self._thread is not None:
            self._thread.wake()

    def _handle(self) -> None:
        """All that is there is handled in one go, up to a message that is handled alone."""
        self._goes_on = True
        while self._inbox and self._goes_on:
            self._inbox.pop(self._choose())[1]()


class Network:
    """All that is between the processes.

    :param lease_ns: a process that cannot be reached for so long is forgotten
    :param onlooker: sees what is published
    :param parameters: (process, ROS parameter) -> value
    """

    def __init__(
        self,
        world: World,
        *,
        lease_ns: int,
        onlooker: Onlooker,
        parameters: dict[tuple[str, str], Any],
    ) -> None:
        self.world = world
        self.lease_ns = lease_ns
        self.onlooker = onlooker
        self.parameters = parameters
        self.services: dict[str, Service] = {}
        #: Called before each message that a process publishes; it may kill the process.
        self.publishing: Callable[[Process], None] = lambda process: None
        self._writers: dict[str, list[Publisher]] = {}
        self._readers: dict[str, list[Subscription]] = {}
        #: Process -> topic -> writer -> when the process finds and when it misses it [ns].
        self._known: dict[str, dict[str, dict[Publisher, _Known]]] = {}
        #: (Process, node of another one) -> since when it knows the name of the node [ns].
        self._named: dict[tuple[str, SimulatedNode], int] = {}
        #: (Reader, writer): a message of that one has arrived at this one.
        self.met: set[tuple[Process, Process]] = set()
        self._processes: list[Process] = []
        self._cuts: dict[frozenset[str], int] = {}
        self._waiting_for_ack: set[Process] = set()
        #: Ends of writers on the lane that have been seen.
        self.departures = 0

    # --- processes --------------------------------------------------------------------------

    def join(self, process: Process) -> None:
        """A process comes: it finds the writers of all others."""
        self._processes.append(process)
        self._known[process.name] = defaultdict(dict)
        for writers in self._writers.values():
            for writer in writers:
                self._discover(process, writer)

    def leave(self, process: Process) -> None:
        """A process has ended."""
        self._processes.remove(process)

    def vanish(self, process: Process, nodes: list[SimulatedNode]) -> None:
        """A process was killed: the others forget it when its lease is over."""
        if process in self._processes:
            self._processes.remove(process)
        for node in nodes:
            self.withdraw(node._endpoints, self.lease_ns)

    def cut(self, one: Process, other: Process, duration: int) -> None:
        """Let nothing through between two processes for a while [ns]."""
        pair = frozenset((one.name, other.name))
        self.world.note("cut", sorted(pair), duration)
        self._cuts[pair] = self.world.now + duration
        if duration > self.lease_ns:
            self.world.after(self.lease_ns, lambda: self.forget(one, other))

    def frozen(self, process: Process, duration: int) -> None:
        """A process is frozen: beyond its lease, all others forget it."""
        if duration > self.lease_ns:
            for other in list(self._processes):
                if other is not process:
                    self.world.after(
                        self.lease_ns, lambda other=other: self._forget_frozen(process, other)
                    )

    def _forget_frozen(self, process: Process, other: Process) -> None:
        if process.is_frozen:
            self.forget(process, other)

    def unreachable_until(self, one: Process, other: Process) -> int | None:
        """When [ns] messages between two processes get through again; None: they do now."""
        now = self.world.now
        until = max(other.thaws, one.thaws)
        if self._cuts:
            until = max(until, self._cuts.get(frozenset((one.name, other.name)), 0))
        return until if until > now else None

    def forget(self, one: Process, other: Process) -> None:
        """Two processes have not reached each other for too long; later they find each other."""
        if one not in self._processes or other not in self._processes:
            return
        self.world.note("forget", one.name, other.name)
        for reading, writing in ((one, other), (other, one)):
            for writers in self._writers.values():
                for writer in writers:
                    if writer.node.process is writing and not writer.is_on_lane:
                        self._discover(reading, writer)
                        for link in [k for k in writer.links if k.reader.node.process is reading]:
                            link.cut()
                            writer.links.remove(link)
                            self._connect(writer, link.reader)

    # --- endpoints --------------------------------------------------------------------------

    def add_writer(self, writer: Publisher) -> None:
        """A writer is made."""
        self._writers.setdefault(writer.topic, []).append(writer)
        own = self._known[writer.node.process.name][writer.topic]
        own[writer] = _Known(self.world.now, FOREVER)
        for process in self._processes:
            if process is not writer.node.process:
                self._discover(process, writer)
        for reader in self._readers.get(writer.topic, ()):
            self._connect(writer, reader)

    def add_reader(self, reader: Subscription) -> None:
        """A reader is made."""
        self._readers.setdefault(reader.topic, []).append(reader)
        for writer in self._writers.get(reader.topic, ()):
            self._connect(writer, reader)

    def _connect(self, writer: Publisher, reader: Subscription) -> None:
        if reader.is_latched and not writer.is_latched:
            return  # what it asks for is not offered
        writer.links.append(Link(writer, reader))

    def _discover(self, process: Process, writer: Publisher) -> None:
        mean = self.world.pace.discovery * self.world.random.choice((1, 1, 1, 4))
        found = self.world.now + self.world.draw(mean)
        self._known[process.name][writer.topic][writer] = _Known(found, FOREVER)
        if self._reads(process, writer.topic):
            self.await_discovery(process, writer)

    def _reads(self, process: Process, topic: str) -> bool:
        return any(reader.node.process is process for reader in self._readers.get(topic, ()))

    def await_discovery(self, process: Process, writer: Publisher) -> None:
        """A process that reads from a writer finds it, then or later."""
        due = self._known[process.name][writer.topic][writer].found

        def found() -> None:
            known = self._known[process.name][writer.topic].get(writer)
            if writer.is_gone or process.has_ended or known is None or known.found != due:
                return
            until = self.unreachable_until(process, writer.node.process)
            if until is not None and not writer.is_on_lane:
                self._known[process.name][writer.topic][writer] = _Known(until, FOREVER)
                self.await_discovery(process, writer)
                return
            for link in writer.links:
                if link.reader.node.process is process:
                    link.reader_finds()

        self.world.at(due, found)

    def knows(self, process: Process, writer: Publisher) -> bool:
        """Whether a process has found a writer."""
        known = self._known[process.name][writer.topic].get(writer)
        return known is not None and known.found <= self.world.now < known.missed

    def writers_known(self, process: Process, topic: str) -> list[Publisher]:
        """The writers of a topic that a process knows."""
        now = self.world.now
        known = self._known[process.name].get(topic, {})
        return [writer for writer, (found, missed) in known.items() if found <= now < missed]

    def readers_known(self, process: Process, topic: str) -> list[Subscription]:
        """The readers of a topic that a process, which writes there, knows."""
        writers = [w for w in self._writers.get(topic, ()) if w.node.process is process]
        found = {link.reader: None for w in writers for link in w.links if link.writer_knows}
        return list(found)

    def name_known(self, process: Process, node: SimulatedNode) -> str:
        """The name of a node of which a process knows an endpoint; it comes apart from that."""
        if node.process is not process:
            now = self.world.now
            if (process.name, node) not in self._named:
                late = self.world.random.random() < 0.3
                delay = self.world.draw(self.world.pace.discovery) if late else 0
                self._named[process.name, node] = now + delay
            if self._named[process.name, node] > now:
                return "_NODE_NAME_UNKNOWN_"
        return node.get_name()

    def withdraw(
        self,
        endpoints: list[Publisher | Subscription | Service],
        delay: int,
    ) -> None:
        """Endpoints are given up; the other sides learn of it, each at a time of its own.

        :param delay: time [ns] that this takes at least
        """
        for endpoint in endpoints:
            if isinstance(endpoint, Service):
                if self.services.get(endpoint.name) is endpoint:
                    del self.services[endpoint.name]
                continue
            endpoint.is_gone = True
            if endpoint.topic.startswith(_LANE):
                delay = 0
            if isinstance(endpoint, Publisher):
                self._writers[endpoint.topic].remove(endpoint)
                self._known[endpoint.node.process.name][endpoint.topic].pop(endpoint, None)
                for process in self._processes:
                    self._miss(process, endpoint, delay)
            else:
                self._readers[endpoint.topic].remove(endpoint)
                writers = self._writers.get(endpoint.topic, ())
                for link in [k for w in writers for k in w.links if k.reader is endpoint]:
                    # Nothing arrives at it any more; its writers wait for it until they know.
                    link.reader_knows = False
                    later = delay + self.world.draw(self.world.pace.discovery)
                    self.world.after(later, lambda link=link: self._part(link))

    def _miss(self, process: Process, writer: Publisher, delay: int) -> None:
        """A process notes that a writer is gone."""
        known = self._known[process.name][writer.topic].get(writer)
        if known is None:
            return
        missed = self.world.now + delay + self.world.draw(self.world.pace.discovery)
        self._known[process.name][writer.topic][writer] = known._replace(missed=missed)
        for link in [k for k in writer.links if k.reader.node.process is process]:
            self.world.at(missed, partial(self._part, link))
        if writer.is_on_lane:
            self.world.at(missed, self._depart)

    def _depart(self) -> None:
        self.departures += 1

    @staticmethod
    def _part(link: Link) -> None:
        link.cut()
        if link in link.writer.links:
            link.writer.links.remove(link)

    # --- waiting ----------------------------------------------------------------------------

    def awaits_ack(self, process: Process) -> None:
        """A process waits until its messages have arrived."""
        self._waiting_for_ack.add(process)

    def acked(self, process: Process) -> None:
        """Messages of a process have arrived, or their reader is gone."""
        if process in self._waiting_for_ack:
            self._waiting_for_ack.discard(process)
            process.wake()

    # --- services ---------------------------------------------------------------------------

    def call(self, name: str, request: Any, answer: Callable[[Any], None]) -> bool:
        """Send a request to a service; whether it is there.

        :param answer: takes the response, if one comes
        """
        service = self.services.get(name)
        if service is None:
            return False
        process = service.node.process

        def back(response: Any) -> None:
            if not process.is_dead:
                self.world.after(self.world.draw(self.world.pace.message), lambda: answer(response))

        def arrive() -> None:
            if self.services.get(name) is service and not process.has_ended:
                service.node.take(service, lambda: service.take(request, back))

        self.world.after(self.world.draw(self.world.pace.message), arrive)
        return True


class SimulatedMiddleware:
    """The middleware of one process; see :class:`~ros2_cosim.ros.node.session.Middleware`."""

    def __init__(self, network: Network, process: Process, *, ordered: bool) -> None:
        self._network = network
        self._process = process
        self._ordered = ordered
        self.nodes: list[SimulatedNode] = []

    def now(self) -> int:
        """Wall time [ns]."""
        return self._network.world.now

    def begin(self, arguments: list[str] | None, on_signal: Callable[[int], None]) -> None:
        """Come into the network."""
        self._process.on_signal = on_signal
        self._network.join(self._process)

    def make_node(self, name: str, **options: Any) -> Any:
        """Make a node."""
        node = SimulatedNode(self._network, self._process, name)
        self.nodes.append(node)
        return node

    def follow(self, node: Any, time_of: Callable[[], int]) -> None:
        """Nothing: the nodes have no clock."""

    def make_executor(self, node: Any) -> Any:
        """Make an executor that serves a node."""
        executor = SimulatedExecutor(self._process, ordered=self._ordered)
        executor.add_node(node)
        return executor

    def make_lane(
        self, node: Any, address: str, secret: str, interrupted: Callable[[], None]
    ) -> Any:
        """Join the lane of the run."""
        lane = SimulatedLane(node, self._process, ordered=self._ordered)
        lane.add_node(node)
        return lane

    def set_aside(self, nodes: Sequence[Any], executor: Any) -> None:
        """Give up what the nodes have: here all of it is on the lane, which the process leaves."""
        leaves = self.nodes[0] in nodes
        for node in nodes:
            node.destroy_node()
        if leaves:
            self.end()

    def giving_up(self, code: int | None) -> AbstractContextManager[None]:
        """Nothing to be done."""
        return nullcontext()

    def end(self) -> None:
        """Leave the network; a process that was killed is missed later."""
        if not self._process.is_dead:
            self.nodes.clear()
            self._network.leave(self._process)
