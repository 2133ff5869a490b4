# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Recorded inputs as ROS topics, for a node that runs already; its answers are collected.

The node gets nothing of simulated time but ``/clock``, and cannot be waited for: messages are
published at the pace of real time, and its answers count by the stamps in their headers.
"""

from __future__ import annotations

import heapq
import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node

from ros2_cosim.core.kernel.errors import ProtocolError, RunError
from ros2_cosim.core.messages.cdr import NS_PER_S, WireCodec
from ros2_cosim.core.messages.raw import CarrierCodec
from ros2_cosim.core.record.bag import BagWriter
from ros2_cosim.core.record.bag_reader import start_of
from ros2_cosim.core.record.comparison import PlacedMessage, in_order
from ros2_cosim.ros.node import topics
from ros2_cosim.ros.node.writers import data_qos, message_class

#: After the last message the node is waited for until it has been silent for so long [s].
QUIET_S = 2.0
#: So long [s] at once events are waited for.
_POLL_S = 0.05


class TopicReplay:
    """Plays topics of a bag, and listens to others; use as a context manager.

    :param inputs: topic -> type and whether late readers get the last message, of what is played
    :param outputs: topic -> codec, of what is listened to
    """

    def __init__(
        self, inputs: Mapping[str, tuple[str, bool]], outputs: Mapping[str, WireCodec]
    ) -> None:
        self._outputs = outputs
        self._now = 0
        self._heard_at = time.monotonic()
        #: What the node has answered, in the order of arrival.
        self.answers: list[PlacedMessage] = []
        self._counts = dict.fromkeys(outputs, 0)
        # A separate context: the caller may have one.
        self._context = rclpy.Context()
        rclpy.init(context=self._context)
        self._node = Node("cosim_replay", context=self._context)
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self._node)
        clock = message_class(topics.CLOCK_TYPE)
        self._clock = self._node.create_publisher(clock, topics.CLOCK, 10)
        self._publishers = {
            topic: self._node.create_publisher(
                message_class(kind), topic, data_qos(latched=latched)
            )
            for topic, (kind, latched) in inputs.items()
        }
        for topic, codec in outputs.items():
            plain = codec.inner if isinstance(codec, CarrierCodec) else codec
            self._node.create_subscription(
                message_class(plain.type_name),
                topic,
                partial(self._hear, topic),
                data_qos(),
                raw=True,
            )

    def __enter__(self) -> TopicReplay:
        return self

    def __exit__(self, *_: object) -> None:
        self._executor.shutdown()
        self._node.destroy_node()
        rclpy.try_shutdown(context=self._context)

    def wait(self, patience_s: float) -> None:
        """Wait until a node reads what is played and sends what is listened to.

        :raises RunError: none does
        """
        deadline = time.monotonic() + patience_s
        while missing := self._missing():
            if time.monotonic() > deadline:
                raise RunError(
                    f"--to-topics: no node {', and none '.join(missing)}; is it started, in the "
                    "same ROS domain?"
                )
            self._executor.spin_once(timeout_sec=_POLL_S)

    def _missing(self) -> list[str]:
        return [
            *(f"reads {t}" for t, p in self._publishers.items() if not p.get_subscription_count()),
            *(f"sends {t}" for t in self._outputs if not self._node.count_publishers(t)),
        ]

    def play(self, bag: Path) -> None:
        """Publish the messages of a bag as fast as they were sent, and wait for the answers."""
        begun, start_ns = time.monotonic(), start_of(bag)
        for message in in_order(bag, self._publishers):
            self._until(begun + message.stamp / NS_PER_S)
            if message.stamp > self._now or not message.stamp:
                self._now = message.stamp
                self._tell_time(start_ns + message.stamp)
            self._publishers[message.topic].publish(message.data)
        self._heard_at = time.monotonic()
        while time.monotonic() < (quiet := self._heard_at + QUIET_S):
            self._until(quiet)

    def _tell_time(self, time_ns: int) -> None:
        message = message_class(topics.CLOCK_TYPE)()
        message.clock.sec, message.clock.nanosec = divmod(time_ns, NS_PER_S)
        self._clock.publish(message)

    def _until(self, due: float) -> None:
        """Serve the node until a wall time [s]."""
        while (left := due - time.monotonic()) > 0.0:
            self._executor.spin_once(timeout_sec=min(left, _POLL_S))

    def _hear(self, topic: str, data: Any) -> None:
        self._heard_at = time.monotonic()
        codec = self._outputs[topic]
        plain = bytes(data)
        stamp = self._now
        if not isinstance(codec, CarrierCodec):
            try:
                stamp = codec.decode(plain)[0]
            except ProtocolError as error:
                raise RunError(f"--to-topics: {topic}: {error}") from None
        self.answers.append(PlacedMessage(stamp, topic, self._counts[topic], plain))
        self._counts[topic] += 1

    def write(self, bag: Path, others: Mapping[str, object], writer: BagWriter) -> None:
        """Write the answers into a bag, between what is recorded of other topics."""
        for message in heapq.merge(in_order(bag, others), sorted(self.answers)):
            writer.write(message.topic, message.stamp, message.number, message.data)
