# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Private topics between an adapter and its foreign node, and the barrier.

The barrier is a call of the node's parameter service. A node that runs its callbacks one after
the other answers it behind the callbacks of what it has seen: executors take subscriptions before
services, or both in order of arrival. But an executor looks at its subscriptions first and at its
services then: a call that comes between is answered before the callback of a message that came
before the call. So the callbacks of all messages have returned when a second call is answered,
which has been sent right behind the first one and is taken at a later look.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from math import inf
from typing import Any, NamedTuple, cast

import rclpy
from rclpy.duration import Duration
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.node import Node
from rclpy.qos import (
    DurabilityPolicy,
    QoSCompatibility,
    QoSProfile,
    ReliabilityPolicy,
    qos_check_compatible,
)
from rclpy.topic_endpoint_info import TopicEndpointInfo

from ros2_cosim.core.kernel.time import SECOND
from ros2_cosim.core.messages.namespaces import inside
from ros2_cosim.ros.foreign.foreign_threads import process_of_endpoint
from ros2_cosim.ros.node.answers import REPEAT_S, answer_of
from ros2_cosim.ros.node.writers import ClockWriter, data_qos, message_class, node_of

_POLL_S = 0.1
#: Longest wait for an answer [ns] before other messages are taken: a longer wait could fill the
#: queues of the middleware, which then drops messages.
_CALL_NS = 5_000_000
#: A client of ROS keeps ten answers.
_CALLS_AT_ONCE = 8
#: Larger messages are cut to pieces on the wire: a small request could overtake them.
_LARGE = 32_768
#: Topics that every node reads or writes; the first one it writes in any case.
_OF_EACH_NODE = "/parameter_events"
COMMON = (_OF_EACH_NODE, "/rosout")
#: Topics and services of an action have this behind its name.
ACTION = "/_action/"
_INPUT_QOS = data_qos(latched=True)
#: Bytes in front of a message that say how it is encoded.
_HEAD = 4


class ForeignMessage(NamedTuple):
    """A message of the foreign node: its bytes, DDS number and wall time of publication."""

    data: bytes
    number: int
    published_ns: int


class ForeignWriting(NamedTuple):
    """How a foreign node writes to an output port.

    ``latched``: it is sent once, to readers of any time. ``best_effort``: it may be without
    reliable delivery.
    """

    type_name: str
    latched: bool = False
    best_effort: bool = False

    @property
    def qos(self) -> QoSProfile:
        """That of the reader."""
        qos = data_qos(latched=self.latched)
        if self.best_effort:
            qos.reliability = ReliabilityPolicy.BEST_EFFORT
        return qos


class ForeignTopics:
    """Publishers, subscriptions and the barrier towards one foreign node.

    A topic that the node reads and writes, such as ``/tf``, has one private topic: a name is
    remapped for both. Both sides hear themselves there; what this one hears of itself is left out.

    :param name: the participant
    :param node_name: full name of the foreign node in a run without a namespace
    :param inputs: port -> ROS type
    :param outputs: port -> how the node writes to it
    :param read_and_written: of the full name of the node: output port -> input port of one topic
    :param check: called while waiting; raises if waiting makes no sense any more
    """

    def __init__(
        self,
        name: str,
        node_name: str,
        inputs: Mapping[str, str],
        outputs: Mapping[str, ForeignWriting],
        read_and_written: Callable[[str], Mapping[str, str]],
        *,
        barrier: bool,
        clock: bool,
        check: Callable[[], None],
        start_ns: int = 0,
    ) -> None:
        self._name = name
        self._check = check
        self.node = Node(
            f"{name}_gate",
            enable_rosout=False,
            start_parameter_services=False,
            # The namespace is that of its process, the name is not.
            cli_args=["--ros-args", "-r", f"__node:={name}_gate"],
        )
        #: Full name of the foreign node.
        self.node_name = inside(self.node, node_name)
        #: Output port -> input port of the same topic.
        self.shared = read_and_written(self.node_name)
        self._inputs, self._outputs = inputs, outputs
        self.received: dict[str, list[ForeignMessage]] = {port: [] for port in outputs}
        #: Input port of a topic that the node also writes -> how many were published, and number ->
        #: message of those that have not been heard yet.
        self._published = dict.fromkeys(self.shared.values(), 0)
        self._unheard: dict[str, dict[int, bytes]] = {port: {} for port in self._published}
        # First the readers, then the client: the foreign node learns of them in this order.
        # Its answer to a request therefore shows that it knows all readers.
        self._readers = []
        for port, writing in outputs.items():
            receive: Any = self._receiver(port)  # rclpy's types lack the message information
            reader = self.node.create_subscription(
                message_class(writing.type_name),
                self.output_topic(port),
                receive,
                writing.qos,
                raw=True,
            )
            self._readers.append((reader, receive))
        self._writers = {
            port: self.node.create_publisher(
                message_class(type_name), self.input_topic(port), _INPUT_QOS
            )
            for port, type_name in inputs.items()
        }
        self._clock = (
            ClockWriter(self.node, start_ns, gate_topic(name, "clock"), to_all=True)
            if clock
            else None
        )
        self._client = None
        if barrier:
            from rcl_interfaces.srv import GetParameters

            self._request = GetParameters.Request()
            self._client = self.node.create_client(
                GetParameters, f"{self.node_name}/get_parameters"
            )
        #: Wall time [ns] at which the barrier was requested last; 0: it never was.
        self.asked_ns = 0
        #: What is waited for: of so many readers and clients.
        self._waits: Any = None
        self._waits_for = 0, 0
        #: The same, of answers of the barrier alone.
        self._calls: Any = None

    def input_topic(self, port: str) -> str:
        """The private topic that stands for an input topic of the foreign node."""
        return inside(self.node, gate_topic(self._name, "in", port))

    def output_topic(self, port: str) -> str:
        """The private topic that stands for an output topic of the foreign node."""
        if port in self.shared:
            return self.input_topic(self.shared[port])
        return inside(self.node, gate_topic(self._name, "out", port))

    @property
    def clock_topic(self) -> str:
        """The foreign node's own ``/clock``."""
        return inside(self.node, gate_topic(self._name, "clock"))

    def missing(self) -> list[str]:
        """What of the foreign node has not been found yet."""
        missing = [
            f"a subscription of {writer.topic_name}"
            for port, writer in self._writers.items()
            if writer.get_subscription_count() == int(port in self._published)
        ]
        if self._clock is not None and not self._clock.readers:
            missing.append(f"a subscription of {self.clock_topic}")
        missing += [
            f"a publisher of {self.output_topic(port)}"
            for port in self.received
            if not self.publishers(port)
        ]
        if self._client is not None and not self._client.service_is_ready():
            missing.append(f"the service {self.node_name}/get_parameters")
        return missing

    def greet(self) -> None:
        """First barrier: repeated until answered, for the answer may get lost at the start."""
        if self._client is None:
            # There is no service to ask; let both sides find each other. A loss is detected.
            self.wait_until(_never, REPEAT_S)
            return
        answer_of(self._client, self._request, self.wait_until)
        for messages in self.received.values():
            messages.sort(key=lambda message: message.number)

    def publishers(self, port: str) -> int:
        """How many publishers of others write to an output port."""
        return int(self.node.count_publishers(self.output_topic(port))) - int(port in self.shared)

    @property
    def writes(self) -> dict[str, ForeignWriting]:
        """Full topic of an output -> how the node writes it."""
        return {self.output_topic(port): writing for port, writing in self._outputs.items()}

    def forget(self) -> None:
        """Drop what has come so far."""
        self._take_what_came()
        for messages in self.received.values():
            messages.clear()

    def strangers(self) -> str:
        """A private topic that another program publishes on, too; empty: none is seen."""
        count = self.node.count_publishers
        for port, writer in self._writers.items():
            if count(writer.topic_name) > 1 + int(port in self._published):
                return str(writer.topic_name)
        for port in self.received:
            if self.publishers(port) > 1:
                return self.output_topic(port)
        if self._clock is not None and count(self.clock_topic) > 1:
            return self.clock_topic
        return ""

    def misfits(self) -> list[str]:
        """What of the foreign node exchanges no messages with this side, and why, by port."""
        find = self.node.get_subscriptions_info_by_topic, self.node.get_publishers_info_by_topic
        found = []
        for port, type_name in self._inputs.items():
            for info in self._of_node(find[0](self.input_topic(port))):
                if info.topic_type != type_name:
                    wrong = f"the node reads {info.topic_type}; allowed is {type_name}"
                else:
                    wrong = _qos_misfit(_INPUT_QOS, info.qos_profile)
                found += [f"input '{port}': {wrong}"] if wrong else []
        for port, writing in self._outputs.items():
            for info in self._of_node(find[1](self.output_topic(port))):
                if info.topic_type != writing.type_name:
                    wrong = f"the node publishes {info.topic_type}; allowed is {writing.type_name}"
                elif _is_best_effort(info) and not writing.best_effort:
                    wrong = (
                        "the node publishes without reliable delivery; set best_effort: true on "
                        "the output to accept that"
                    )
                else:
                    wrong = _qos_misfit(info.qos_profile, writing.qos)
                found += [f"output '{port}': {wrong}"] if wrong else []
        return found

    def _of_node(self, endpoints: Iterable[TopicEndpointInfo]) -> list[TopicEndpointInfo]:
        # An endpoint is found before the name of its node: on a private topic it counts at once.
        return [info for info in endpoints if node_of(info) in (self.node_name, "")]

    def latches(self, topic: str) -> bool:
        """Whether the node writes a topic to readers of any time."""
        ends = self._of_node(self.node.get_publishers_info_by_topic(topic))
        latched = DurabilityPolicy.TRANSIENT_LOCAL
        return any(end.qos_profile.durability == latched for end in ends)

    def readers(self) -> frozenset[bytes]:
        """What the middleware calls the subscriptions by which the node reads its inputs."""
        infos = self.node.get_subscriptions_info_by_topic
        ends = [
            end for port in self._writers for end in self._of_node(infos(self.input_topic(port)))
        ]
        return frozenset(bytes(end.endpoint_gid) for end in ends)

    def process(self) -> int | None:
        """The process that the node is in; None: it cannot be seen from here."""
        readers = self.node.get_subscriptions_info_by_topic
        writers = self.node.get_publishers_info_by_topic
        outputs = [self.output_topic(port) for port in self.received]
        inputs = [self.input_topic(port) for port in self._writers]
        # Of each topic the ends of this side, and those of the other one; others may be among both.
        sides = [(writers(topic), readers(topic)) for topic in inputs]
        sides += [(readers(topic), writers(topic)) for topic in outputs]
        name = self.node.get_name()
        mine = [end.endpoint_gid for ends, _ in sides for end in ends if end.node_name == name]
        theirs = [end.endpoint_gid for _, ends in sides for end in ends if end.node_name != name]
        if not theirs or not mine:
            return None
        return process_of_endpoint(bytes(theirs.pop()), bytes(mine.pop()))

    def has_twin(self) -> bool:
        """Whether several other programs of this machine have a node of the foreign node's name."""
        ends = self.node.get_publishers_info_by_topic(_OF_EACH_NODE)
        own = self.node.get_fully_qualified_name()
        gids = [(node_of(end), bytes(end.endpoint_gid)) for end in ends]
        mine = next((gid for name, gid in gids if name == own), b"")
        those = [gid for name, gid in gids if name == self.node_name]
        # Where one was killed, others take it for there for a while. Nodes of this process do not
        # answer while it waits.
        there = {process_of_endpoint(gid, mine) for gid in those} if len(those) > 1 else set()
        return len(there - {None, os.getpid()}) > 1

    def best_effort(self, port: str) -> bool:
        """Whether a reader of an input port does without reliable delivery."""
        readers = self.node.get_subscriptions_info_by_topic(self.input_topic(port))
        return any(_is_best_effort(reader) for reader in readers)

    def hears_itself(self) -> bool:
        """Whether the foreign node reads what it publishes, as nodes of one process may do."""
        count = self.node.count_subscribers
        return bool(self.shared) or any(count(self.output_topic(p)) > 1 for p in self.received)

    def undeclared(self, allowed: Iterable[str]) -> list[str]:
        """Topics that the foreign node reads beside its inputs, its clock and actions.

        The private topic of an output has no other publisher: what it reads there is its own.
        """
        found = self._names_of_node(self.node.get_subscriber_names_and_types_by_node)
        known = {*COMMON, *self._within(allowed), self.clock_topic}
        known |= {self.output_topic(port) for port in self.received}
        own = self.input_topic("")
        return sorted(
            topic for topic in found - known if not topic.startswith(own) and ACTION not in topic
        )

    def called(self, allowed: Iterable[str]) -> list[str]:
        """Services and actions of other nodes of which the foreign node is a client."""
        found = self._names_of_node(self.node.get_client_names_and_types_by_node)
        found -= self._names_of_node(self.node.get_service_names_and_types_by_node)
        return sorted({name.partition(ACTION)[0] for name in found} - self._within(allowed))

    def _names_of_node(
        self, by_node: Callable[[str, str], Iterable[tuple[str, list[str]]]]
    ) -> set[str]:
        """Full names of what the foreign node has of one kind; none while it is not known."""
        space, _, name = self.node_name.rpartition("/")
        try:
            return {full_name for full_name, _ in by_node(name, space or "/")}
        except Exception:  # rclpy has no common class for "node not found yet"
            return set()

    def _within(self, names: Iterable[str]) -> set[str]:
        """Full names, also as they are in the namespace of the run."""
        names = set(names)
        return names | {inside(self.node, name) for name in names if name.startswith("/")}

    def publish(self, port: str, data: bytes, *, acknowledge: bool) -> None:
        """Hand one message over.

        :param acknowledge: whether the middleware must confirm it, small as it may be
        """
        writer = self._writers[port]
        if port in self._published:
            self._published[port] += 1
            self._unheard[port][self._published[port]] = data
        writer.publish(data)
        if acknowledge or len(data) > _LARGE:
            while not writer.wait_for_all_acked(Duration(seconds=_POLL_S)):
                self._check()

    def show_time(self, time_ns: int) -> None:
        """Set the foreign node's clock."""
        assert self._clock is not None
        self._clock.show(time_ns)

    def barrier(self, looks: int = 1, *, last: bool = False) -> None:
        """Return when the callbacks of all that was handed over have run.

        :param looks: how often the node looks for messages after all had come. At the first look
            it finds the messages, at the second one the timers that a message made due. None are
            enough to receive what it published before this call.
        :param last: a call more, right behind the others, receives what those callbacks published
        """
        self.asked_ns = time.time_ns()
        answered: list[int] = []
        for calls in _parts(looks + 1 + last):
            answered += self._call(calls)
        if last:
            self.asked_ns = answered[-2]
        self._take_what_came()
        self._take_answers()

    def _call(self, calls: int) -> list[int]:
        """Send several calls at once; return the wall time [ns] of each answer of the node.

        Other messages are taken later: each wake-up takes time from the node.
        """
        client: Any = self._client
        handle, kind = client.handle, client.srv_type.Response
        if self._calls is None:
            self._calls = self._wait_set(0, 1)
        answered: list[int] = []
        with handle:
            numbers = [handle.send_request(self._request) for _ in range(calls)]
            while len(answered) < calls:
                self._check()
                self._calls.clear_entities()
                self._calls.add_client(handle)
                self._calls.wait(_CALL_NS)
                before = len(answered)
                while (header := handle.take_response(kind)[0]) is not None:
                    # Asked once more, a former one may not have been waited for any longer.
                    if header.request_id.sequence_number in numbers:
                        answered.append(int(header.source_timestamp))
                if len(answered) == before:
                    self._take_what_came()
                    if not rclpy.ok():
                        raise KeyboardInterrupt
        return answered

    def _wait_set(self, readers: int, clients: int) -> Any:
        context = self.node.context.handle
        return rclpy_implementation.WaitSet(readers, 0, 0, clients, 0, 0, context)

    def _take_what_came(self) -> None:
        """Receive what came before an answer; this side, too, looks at one after the other."""
        for subscription, receive in self._readers:
            with (handle := subscription.handle):
                take, kind, raw = handle.take_message, subscription.msg_type, subscription.raw
                while taken := take(kind, raw):
                    receive(*taken)

    def wait_until(self, condition: Callable[[], bool], seconds: float = inf) -> None:
        """Handle what arrives until the condition holds; ``check`` may end the waiting.

        :param seconds: for so long at most
        """
        deadline = time.monotonic() + seconds
        while not condition() and time.monotonic() < deadline:
            self._check()
            self._look()
            if not rclpy.ok():
                raise KeyboardInterrupt

    def listen(
        self, type_: Any, topic: str, receive: Callable[[bytes], None], qos: QoSProfile
    ) -> None:
        """Read the bytes of a topic, too, while waiting."""
        # rclpy's types lack the raw message.
        reader = self.node.create_subscription(type_, topic, cast(Any, receive), qos, raw=True)
        self._readers.append((reader, lambda message, _: receive(message)))

    def _look(self) -> None:
        """Wait a little for something to come, and handle what has come.

        An executor of rclpy takes longer: it makes a task of each message, and a set to wait for,
        of all that a node may have, at each look.
        """
        clients: list[Any] = list(self.node.clients)
        sizes = len(self._readers), len(clients)
        if self._waits is None or self._waits_for != sizes:
            self._waits, self._waits_for = self._wait_set(*sizes), sizes
        self._waits.clear_entities()
        for reader, _ in self._readers:
            self._waits.add_subscription(reader.handle)
        for client in clients:
            self._waits.add_client(client.handle)
        self._waits.wait(int(_POLL_S * SECOND))
        self._take_what_came()
        self._take_answers()

    def _take_answers(self) -> None:
        """Give the answers that came to their requests."""
        clients: list[Any] = list(self.node.clients)
        for client in clients:
            take, kind = client.handle.take_response, client.srv_type.Response
            while (header := (answer := take(kind))[0]) is not None:
                with suppress(KeyError):  # asked once more, it was not waited for any longer
                    client.get_pending_request(header.request_id.sequence_number).set_result(
                        answer[1]
                    )

    def close(self) -> None:
        """Leave the ROS graph."""
        if rclpy.ok():
            self._waits = self._calls = None
            self.node.destroy_node()

    def _receiver(self, port: str) -> Callable[[bytes, dict[str, Any]], None]:
        messages = self.received[port]
        unheard = self._unheard[self.shared[port]] if port in self.shared else {}

        def receive(data: bytes, info: dict[str, Any]) -> None:
            number = int(info["publication_sequence_number"] or 0)
            if _is_same(data, unheard.get(number)):
                del unheard[number]
                return
            messages.append(ForeignMessage(data, number, int(info["source_timestamp"])))

        return receive


def _parts(calls: int) -> Iterator[int]:
    """Cut a number of calls, so that their answers fit into the queue of a client."""
    while calls > 0:
        yield min(calls, _CALLS_AT_ONCE)
        calls -= _CALLS_AT_ONCE


def _is_best_effort(endpoint: TopicEndpointInfo) -> bool:
    return bool(endpoint.qos_profile.reliability == ReliabilityPolicy.BEST_EFFORT)


def _qos_misfit(writer: QoSProfile, reader: QoSProfile) -> str:
    """Why a writer serves no such reader; empty: it does."""
    fits, reason = qos_check_compatible(writer, reader)
    if fits != QoSCompatibility.ERROR:
        return ""
    return f"the node's quality of service does not fit: {reason.rstrip('; ')}"


def _is_same(heard: bytes, published: bytes | None) -> bool:
    """Whether this is what was published; the middleware fills it up to whole words."""
    if published is None or len(heard) - len(published) not in range(4):
        return False
    return heard[_HEAD : len(published)] == published[_HEAD:]


def gate_topic(participant: str, *what: str) -> str:
    """A private topic of a participant: its clock, or ``in`` or ``out`` and a port."""
    return "/".join(("/gate", participant, *what))


def _never() -> bool:
    return False
