# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""How the nodes of this directory run: as any node does, until they are asked to end."""

import sys
from collections.abc import Callable

import rclpy
from rclpy.executors import Executor, ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node


def run(
    make_node: Callable[[], Node],
    make_executor: Callable[[], Executor | None] = lambda: None,
) -> None:
    """Make a node and let it work, with the usual executor or one of its own."""
    try:
        rclpy.init()
        rclpy.spin(make_node(), make_executor())
    except (KeyboardInterrupt, ExternalShutdownException):
        pass
    finally:
        rclpy.try_shutdown()


def run_by_turns(make_node: Callable[[], Node]) -> None:
    """Spin; with the events executor, again and again, if the command line says so."""
    try:
        rclpy.init()
        executor, limit_s = SingleThreadedExecutor(), None
        if "events" in sys.argv:
            from rclpy.experimental.events_executor import EventsExecutor

            executor, limit_s = EventsExecutor(), 1.0
        executor.add_node(make_node())
        while rclpy.ok():
            executor.spin_once(timeout_sec=limit_s)
    except (KeyboardInterrupt, ExternalShutdownException):
        pass
    finally:
        rclpy.try_shutdown()
