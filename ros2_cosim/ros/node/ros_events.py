# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What ROS has for a node that waits for something else: services, onlookers, messages of others.

In a run with a lane these are rare. A thread waits for them, which costs nothing meanwhile, and has
each handled in the thread of the session, so that a node still does one thing at a time.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Event, Thread
from typing import Any

from rclpy.event_handler import EventHandler
from rclpy.executors import (
    ExternalShutdownException,
    ShutdownException,
    SingleThreadedExecutor,
)
from rclpy.node import Node

#: How long the thread may take to end [s]; it does nothing that lasts.
_END_S = 5.0


class RosEvents:
    """Serves nodes.

    :param hand_over: has something called in the thread of the session; any thread may call it
    """

    def __init__(self, hand_over: Callable[[Callable[[], None]], None]) -> None:
        self._hand_over = hand_over
        self._executor = SingleThreadedExecutor()
        self._closing = Event()
        self._handled = Event()
        self._thread = Thread(target=self._serve, name="ros events", daemon=True)

    def add_node(self, node: Node) -> None:
        """Serve a further node."""
        self._executor.add_node(node)
        if not self._thread.is_alive():
            self._thread.start()

    def close(self) -> None:
        """Serve no node any more; called in the thread of the session."""
        self._closing.set()
        self._handled.set()
        self._executor.shutdown()
        if self._thread.is_alive():
            self._thread.join(_END_S)

    def _serve(self) -> None:
        while not self._closing.is_set():
            handler: Any
            entity: Any
            try:
                handler, entity, _ = self._executor.wait_for_ready_callbacks()
            except (ShutdownException, ExternalShutdownException):
                return
            except Exception:
                if not self._closing.is_set():
                    raise
                return  # it has been taken apart while this thread was in it
            if isinstance(entity, EventHandler):
                # Notes that there are onlookers: the next message is for them, too, also one that
                # is sent before the session waits again.
                handler()
                continue
            self._handled.clear()
            self._hand_over(lambda handler=handler: self._handle(handler))  # type: ignore[misc]
            self._handled.wait()

    def _handle(self, handler: Any) -> None:
        """Call back; what the callback raises is raised here."""
        try:
            if not self._closing.is_set():
                handler()
                handler.result()
        finally:
            self._handled.set()
