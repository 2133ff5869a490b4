# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""An ordinary ROS node without simulated time that talks until it is killed.

Arguments: topic, ROS type, and a file that it creates when it has had a reader for a while.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import rclpy

from ros2_cosim.ros.node.writers import message_class


def main() -> None:
    """Talk twenty times a second."""
    topic, type_name, talks = sys.argv[1:4]
    rclpy.init()
    node = rclpy.create_node("talker")
    kind = message_class(type_name)
    publisher = node.create_publisher(kind, topic, 10)
    sent = 0
    while True:
        if publisher.get_subscription_count():
            sent += 1
            publisher.publish(kind(acceleration=float(sent)))
        if sent == 10:
            Path(talks).touch()
        time.sleep(0.05)


if __name__ == "__main__":
    main()
