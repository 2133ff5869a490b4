# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A relay between a writer and a reader that does to messages what a bad transport does.

Arguments: source topic, target topic, ROS type, fault (none, delay, drop, duplicate or
reorder), the number of the message that it happens to, and the reader.
"""

from __future__ import annotations

import random
import sys
import time

import rclpy
from rclpy.executors import SingleThreadedExecutor

from ros2_cosim.ros.node import topics
from ros2_cosim.ros.node.writers import data_qos, message_class


def main() -> None:
    """Relay until the process is killed."""
    source, target, type_name, fault, position, reader = sys.argv[1:7]
    rclpy.init()
    node = rclpy.create_node("relay")
    kind = message_class(type_name)
    publisher = node.create_publisher(kind, target, data_qos())
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    # A reader is known by the node that publishes its progress: the relay stands in for it.
    node.create_publisher(message_class(topics.COMPLETION_TYPE), topics.completion(reader), 1)
    # The writer begins when its readers are there: the relay listens only once its own one is.
    while publisher.get_subscription_count() < 1:
        executor.spin_once(timeout_sec=0.05)
    number = 0
    held: list[bytes] = []
    dice = random.SystemRandom()

    def receive(data: bytes) -> None:
        nonlocal number
        hit = number == int(position)
        number += 1
        if fault == "delay":
            time.sleep(dice.uniform(0.0, 0.02))
        elif hit and fault == "drop":
            return
        elif hit and fault == "reorder":
            held.append(data)
            return
        publisher.publish(data)
        if hit and fault == "duplicate":
            publisher.publish(data)
        while held:
            publisher.publish(held.pop())

    node.create_subscription(kind, source, receive, data_qos(), raw=True)
    while True:
        executor.spin_once(timeout_sec=0.2)


if __name__ == "__main__":
    main()
