# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Nodes of rclpy in the process of a test, whose callbacks another thread runs."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node


@contextmanager
def served(node: Node) -> Iterator[None]:
    """Run the callbacks of a node in a thread, within the body."""
    executor = SingleThreadedExecutor()
    executor.add_node(node)

    def spin() -> None:
        with suppress(ExternalShutdownException):
            executor.spin()

    thread = threading.Thread(target=spin)
    thread.start()
    try:
        yield
    finally:
        executor.shutdown()
        thread.join()
