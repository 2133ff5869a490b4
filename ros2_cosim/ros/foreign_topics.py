# SPDX-License-Identifier: Apache-2.0
"""Private topics between an adapter and its foreign node, and the barrier.

The barrier is a call of the node's parameter service. A node that runs its callbacks one
after the other answers it only when the callback of every message handed over before has
returned: executors take subscriptions before services, or both in order of arrival.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from math import inf
from typing import Any, NamedTuple

import rclpy
from rclpy.duration import Duration
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import ReliabilityPolicy

from ros2_cosim.interfaces.namespaces import inside
from ros2_cosim.ros.foreign_threads import process_of_endpoint
from ros2_cosim.ros.writers import ClockWriter, data_qos, message_class

_POLL_S = 0.1
#: An answer that has not come by then is asked for again [s].
REPEAT_S = 0.5
#: Larger messages are cut to pieces on the wire: a small request could overtake them.
_LARGE = 32_768
#: Topics that every node reads or writes.
_COMMON = ("/parameter_events", "/rosout")
#: Topics and services of an action have this behind its name.
_ACTION = "/_action/"


class ForeignMessage(NamedTuple):
    """A message of the foreign node: its bytes, DDS number and wall time of publication."""

    data: bytes
    number: int
    published_ns: int


class ForeignTopics:
    """Publishers, subscriptions and the barrier towards one foreign node.

    :param name: the participant
    :param node_name: full name of the foreign node in a run without a namespace
    :param inputs: port -> ROS type
    :param outputs: port -> (ROS type, whether it is sent once, to readers of any time)
    :param check: called while waiting; raises if waiting makes no sense any more
    """

    def __init__(
        self,
        name: str,
        node_name: str,
        inputs: Mapping[str, str],
        outputs: Mapping[str, tuple[str, bool]],
        *,
        barrier: bool,
        clock: bool,
        check: Callable[[], None],
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
        self.received: dict[str, list[ForeignMessage]] = {port: [] for port in outputs}
        # First the readers, then the client: the foreign node learns of them in this order.
        # Its answer to a request therefore shows that it knows all readers.
        for port, (type_name, latched) in outputs.items():
            receive: Any = self._receiver(port)  # rclpy's types know no message information
            self.node.create_subscription(
                message_class(type_name),
                self.output_topic(port),
                receive,
                data_qos(latched=latched),
                raw=True,
            )
        self._writers = {
            port: self.node.create_publisher(
                message_class(type_name), self.input_topic(port), data_qos(latched=True)
            )
            for port, type_name in inputs.items()
        }
        self._clock = ClockWriter(self.node, _clock_topic(name), to_all=True) if clock else None
        self._client = None
        if barrier:
            from rcl_interfaces.srv import GetParameters

            self._request = GetParameters.Request()
            self._client = self.node.create_client(
                GetParameters, f"{self.node_name}/get_parameters"
            )
        #: Wall time [ns] at which the last answer to the barrier was here; 0: there was none.
        self.answered_ns = 0
        self._executor = SingleThreadedExecutor()
        self._executor.add_node(self.node)

    def input_topic(self, port: str) -> str:
        """The private topic that stands for an input topic of the foreign node."""
        return inside(self.node, f"/gate/{self._name}/in/{port}")

    def output_topic(self, port: str) -> str:
        """The private topic that stands for an output topic of the foreign node."""
        return inside(self.node, f"/gate/{self._name}/out/{port}")

    @property
    def clock_topic(self) -> str:
        """The foreign node's own ``/clock``."""
        return inside(self.node, _clock_topic(self._name))

    def missing(self) -> list[str]:
        """What of the foreign node has not been found yet."""
        missing = [
            f"a subscription of {writer.topic_name}"
            for writer in self._writers.values()
            if not writer.get_subscription_count()
        ]
        if self._clock is not None and not self._clock.readers:
            missing.append(f"a subscription of {self.clock_topic}")
        missing += [
            f"a publisher of {self.output_topic(port)}"
            for port in self.received
            if not self.node.count_publishers(self.output_topic(port))
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
        answered = False
        while not answered:
            future = self._client.call_async(self._request)
            self.wait_until(future.done, REPEAT_S)
            answered = future.done()
            if not answered:
                self._client.remove_pending_request(future)
        for messages in self.received.values():
            messages.sort(key=lambda message: message.number)

    def publishers(self, port: str) -> int:
        """How many publishers write to an output port."""
        return int(self.node.count_publishers(self.output_topic(port)))

    def process(self) -> int | None:
        """The process that the node is in; None: it cannot be seen from here."""
        mine = [
            info.endpoint_gid
            for port in self.received
            for info in self.node.get_subscriptions_info_by_topic(self.output_topic(port))
            if info.node_name == self.node.get_name()
        ] + [
            info.endpoint_gid
            for port in self._writers
            for info in self.node.get_publishers_info_by_topic(self.input_topic(port))
        ]
        theirs = [
            info.endpoint_gid
            for port in self.received
            for info in self.node.get_publishers_info_by_topic(self.output_topic(port))
        ] + [
            info.endpoint_gid
            for port in self._writers
            for info in self.node.get_subscriptions_info_by_topic(self.input_topic(port))
        ]
        return process_of_endpoint(bytes(theirs[0]), bytes(mine[0])) if theirs and mine else None

    def best_effort(self, port: str) -> bool:
        """Whether a reader of an input port does without reliable delivery."""
        readers = self.node.get_subscriptions_info_by_topic(self.input_topic(port))
        return any(r.qos_profile.reliability == ReliabilityPolicy.BEST_EFFORT for r in readers)

    def undeclared(self, allowed: Iterable[str]) -> list[str]:
        """Topics that the foreign node reads beside its inputs, its clock and actions."""
        found = self._names_of_node(self.node.get_subscriber_names_and_types_by_node)
        known = {*_COMMON, *self._within(allowed), self.clock_topic}
        own = self.input_topic("")
        return sorted(
            topic for topic in found - known if not topic.startswith(own) and _ACTION not in topic
        )

    def called(self, allowed: Iterable[str]) -> list[str]:
        """Services and actions of other nodes of which the foreign node is a client."""
        found = self._names_of_node(self.node.get_client_names_and_types_by_node)
        found -= self._names_of_node(self.node.get_service_names_and_types_by_node)
        return sorted({name.partition(_ACTION)[0] for name in found} - self._within(allowed))

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

    def publish(self, port: str, data: bytes, *, acknowledge: bool = False) -> None:
        """Hand one message over."""
        writer = self._writers[port]
        writer.publish(data)
        if acknowledge or len(data) > _LARGE:
            while not writer.wait_for_all_acked(Duration(seconds=_POLL_S)):
                self._check()

    def show_time(self, time_ns: int) -> None:
        """Set the foreign node's clock."""
        assert self._clock is not None
        self._clock.show(time_ns)

    def barrier(self) -> None:
        """Return when the callbacks of all that was handed over have run."""
        assert self._client is not None
        future = self._client.call_async(self._request)
        self.wait_until(future.done)
        future.result()
        self.answered_ns = time.time_ns()

    def wait_until(self, condition: Callable[[], bool], seconds: float = inf) -> None:
        """Handle what arrives until the condition holds; ``check`` may end the waiting.

        :param seconds: for so long at most
        """
        deadline = time.monotonic() + seconds
        while not condition() and time.monotonic() < deadline:
            self._check()
            try:
                self._executor.spin_once(timeout_sec=_POLL_S)
            except ExternalShutdownException:
                raise KeyboardInterrupt from None

    def close(self) -> None:
        """Leave the ROS graph."""
        if rclpy.ok():
            self._executor.shutdown(timeout_sec=0.5)
            self.node.destroy_node()

    def _receiver(self, port: str) -> Callable[[bytes, dict[str, Any]], None]:
        messages = self.received[port]

        def receive(data: bytes, info: dict[str, Any]) -> None:
            number = int(info["publication_sequence_number"] or 0)
            messages.append(ForeignMessage(data, number, int(info["source_timestamp"])))

        return receive


def _clock_topic(participant: str) -> str:
    return f"/gate/{participant}/clock"


def _never() -> bool:
    return False
