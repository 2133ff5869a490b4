# SPDX-License-Identifier: Apache-2.0
"""How the nodes of this directory run: as any node does, until they are asked to end."""

import sys
from collections.abc import Callable

import rclpy
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node


def run(make_node: Callable[[], Node], spin: Callable[[Node], None] = rclpy.spin) -> None:
    """Make a node and let it work.

    :param spin: how it works
    """
    try:
        rclpy.init()
        spin(make_node())
    except (KeyboardInterrupt, ExternalShutdownException):
        pass
    finally:
        rclpy.try_shutdown()


def spin_by_turns(node: Node) -> None:
    """Spin once, again and again; with the events executor if the command line says so."""
    executor = SingleThreadedExecutor()
    if "events" in sys.argv:
        from rclpy.experimental.events_executor import EventsExecutor

        executor = EventsExecutor()
    executor.add_node(node)
    while rclpy.ok():
        executor.spin_once(timeout_sec=1.0)
