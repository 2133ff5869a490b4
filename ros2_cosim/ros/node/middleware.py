# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What a session stands on: rclpy, or a simulated network of the tests."""

from __future__ import annotations

import faulthandler
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from threading import Lock
from types import FrameType
from typing import Any, Protocol

import rclpy
from rclpy.clock import ClockType
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions
from rclpy.time import Time

from ros2_cosim.core.documents.files import cause_of
from ros2_cosim.core.kernel.errors import RunError
from ros2_cosim.core.process.processes import EXIT_HUNG, ExitTimer
from ros2_cosim.core.sockets.switchboard import CallerEnd
from ros2_cosim.ros.node.lane import SocketLane
from ros2_cosim.ros.node.lane_interface import RunLane
from ros2_cosim.ros.node.lasting_node import LastingNode, asked_for
from ros2_cosim.ros.node.ros_events import RosEvents

#: Variables that say where files of rclpy's log go.
_LOG_DIRECTORIES = ("ROS_LOG_DIR", "ROS_HOME")
_NO_LOG_FILE = ("--ros-args", "--disable-external-lib-logs")


#: Giving up a node takes some hundredths of a second; a process that needs longer has hung [s].
#: A process that goes on afterwards, or others in it, gets the time of a busy machine.
TEARDOWN_LIMIT_S = 20.0
#: A process that ends has sent and written everything: cutting it short loses no data.
LAST_TEARDOWN_LIMIT_S = 2.0
#: Interrupts that come within this time [s] are one: ``ros2 launch`` passes on what the terminal
#: has sent to all processes already, and is itself as slow as the machine is busy.
SAME_INTERRUPT_S = 5.0


class Executor(Protocol):
    """Calls what nodes wait for; one event at a time."""

    def add_node(self, node: Any) -> Any:
        """Serve a further node."""

    def spin_once(self, timeout_sec: float | None = None) -> None:
        """Handle one event, or return when the time is over."""

    def create_task(self, callback: Callable[[], None]) -> Any:
        """Make an event of a call; any thread may do so."""

    def shutdown(self, timeout_sec: float | None = None) -> Any:
        """Serve no node any more."""


class LaneExecutor(Executor, RunLane, Protocol):
    """A lane that waits, also for what nodes wait for."""

    def wake(self) -> None:
        """End a wait; any thread and any signal handler may call it."""


class Middleware(Protocol):
    """What a session stands on: transport, time, and the signals of its process."""

    def now(self) -> int:
        """Monotonic wall time [ns]."""

    def begin(self, arguments: list[str] | None, on_signal: Callable[[int], None]) -> None:
        """Begin in this process.

        :param arguments: of the process
        :param on_signal: called with the number of a signal that asks the process to end
        """

    def make_node(self, name: str, **options: Any) -> Node:
        """Make a node; the options are those of :class:`~.lasting_node.LastingNode`."""

    def follow(self, node: Node, time_of: Callable[[], int]) -> None:
        """Let the clock of a node show a time [ns], which ``time_of`` gives at each reading."""

    def make_executor(self, node: Node) -> Executor:
        """Make an executor that serves a node."""

    def make_lane(
        self, node: Node, address: str, secret: str, interrupted: Callable[[], None]
    ) -> LaneExecutor:
        """Join the lane of a run.

        :param node: is served as by an executor
        :param address: where the switchboard of the run is
        :param secret: of the run
        :param interrupted: called while a reader is waited for; what it raises ends that
        :raises RunError: the switchboard cannot be reached
        """

    def set_aside(self, nodes: Sequence[Node], executor: Executor | None) -> None:
        """Take nodes from a session that ends, for those of their names that follow.

        What :meth:`make_node` gives then has nothing to do with the session before.

        :param executor: what served them, and serves them again; None: it has been shut down
        """

    def giving_up(self, code: int | None) -> AbstractContextManager[None]:
        """Surrounds the giving up of nodes.

        :param code: exit code of a process that ends anyway; None: it goes on after this
        """

    def end(self) -> None:
        """End in this process."""


class Ros:
    """rclpy, as a middleware."""

    #: Monotonic wall time [ns]; the function itself, for it is called several times in a step.
    now = staticmethod(time.perf_counter_ns)

    def __init__(self) -> None:
        #: The signal that has asked the process to end, and when the first interrupt came.
        self._signal: int | None = None
        self._interrupted_at: float | None = None
        #: Nodes that the run before has left, by the parameters of the request for them.
        self._aside: dict[str, LastingNode] = {}
        self._executors: dict[Node, Executor] = {}

    def begin(self, arguments: list[str] | None, on_signal: Callable[[int], None]) -> None:
        """Begin in this process.

        A SIGINT some seconds after the first one ends it as usual: one key in a terminal may send
        two, its own and that of the launcher. A second SIGTERM does not, for Linux may send it
        several times when the process dies that started this one. A signal that comes while the
        process begins anew, and has no session, reaches the next one.
        """

        def handle(number: int, frame: FrameType | None) -> None:
            self._signal = number
            if number == signal.SIGINT:
                now = time.monotonic()
                if self._interrupted_at is None:
                    self._interrupted_at = now
                elif now - self._interrupted_at > SAME_INTERRUPT_S:
                    signal.signal(number, signal.SIG_DFL)
                    signal.raise_signal(number)
            on_signal(number)

        if not self._aside:
            self._signal = self._interrupted_at = None
            # rclpy's own handlers would tear the context down under a node that is closing.
            rclpy.init(
                args=_with_logging(arguments), signal_handler_options=SignalHandlerOptions.NO
            )
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, handle)
        if self._signal is not None:
            on_signal(self._signal)

    def make_node(self, name: str, **options: Any) -> Node:
        """Make a node, or take over the one that was set aside."""
        return self._aside.pop(asked_for(name, options), None) or LastingNode(name, **options)

    def follow(self, node: Node, time_of: Callable[[], int]) -> None:
        """Let the clock of a node show a time [ns], which ``time_of`` gives at each reading.

        To set it before each activation would take some of them a tenth of their time.
        """
        clock: Any = node.get_clock()

        def now() -> Time:
            time = Time(nanoseconds=time_of(), clock_type=ClockType.ROS_TIME)
            clock.set_ros_time_override(time)
            return type(clock).now(clock)

        clock.now = now

    def make_executor(self, node: Node) -> Executor:
        """Make an executor that serves a node."""
        return self._executors.pop(node, None) or _make_executor(node)

    def set_aside(self, nodes: Sequence[Node], executor: Executor | None) -> None:
        """Keep nodes, and what they have in the middleware, for sessions that follow."""
        for node in nodes:
            assert isinstance(node, LastingNode)
            node.leave()
            self._aside[node.asked] = node
            if executor is not None:
                self._executors[node] = executor

    def make_lane(
        self, node: Node, address: str, secret: str, interrupted: Callable[[], None]
    ) -> LaneExecutor:
        """Join the lane of a run.

        :raises RunError: its switchboard cannot be reached
        """
        try:
            line = CallerEnd(address, secret)
        except OSError as error:
            raise RunError(
                f"the lane of the run cannot be reached: {cause_of(error)}; a run with "
                "--transport dds does without"
            ) from None
        lane = SocketLane(line, node.get_fully_qualified_name(), interrupted)
        # Services and onlookers, too.
        lane.nodes = RosEvents(lane.create_task)
        lane.add_node(node)
        return lane

    def giving_up(self, code: int | None) -> AbstractContextManager[None]:
        """Bound the time that the giving up of nodes may take."""
        return _TEARDOWN.limited(code)

    def end(self) -> None:
        """Give ROS up."""
        for node in self._aside.values():
            node.destroy_node()
        self._aside.clear()
        self._executors.clear()
        rclpy.try_shutdown()


#: The middleware of a process.
ROS = Ros()


def _with_logging(arguments: list[str] | None) -> list[str] | None:
    """Arguments for rclpy: without a directory for its log, it writes no file.

    Otherwise every process would leave one in the home directory, which need not be writable.
    """
    if any(os.environ.get(name) for name in _LOG_DIRECTORIES):
        return arguments
    return [*(sys.argv if arguments is None else arguments), *_NO_LOG_FILE]


class _Teardown:
    """Ends a process that cannot end.

    Fast DDS can block for ever while nodes are given up (its listener and its discovery wait for
    each other; see its issues 6502 and 6513), with Python's lock held: then nothing of Python runs
    any more. The locks are its own, in an order that no caller chooses: leaving without giving up
    the nodes would avoid it, but then other processes keep the dead readers for the time of a
    lease, 20 s, and wait for their answers. A process that goes on sets its nodes aside instead.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._running = 0
        self._timer = ExitTimer()

    @contextmanager
    def limited(self, code: int | None) -> Iterator[None]:
        """The process ends if the body takes too long; any thread may enter it.

        :param code: exit code of a process that ends anyway; None: it goes on after this
        """
        with self._lock:
            self._running += 1
            # One timer for all threads: each that enters prolongs it, the last one stops it.
            if code is None:
                self._timer.start(TEARDOWN_LIMIT_S, EXIT_HUNG)
            else:
                self._timer.start(LAST_TEARDOWN_LIMIT_S, code)
        try:
            yield
        finally:
            with self._lock:
                self._running -= 1
                if not self._running:
                    self._timer.cancel()


_TEARDOWN = _Teardown()


def _make_executor(node: Node) -> Any:
    """Prefer the events executor: several times faster; it needs finite timeouts."""
    executor: Any
    try:
        from rclpy.experimental.events_executor import EventsExecutor

        executor = EventsExecutor()
        faulthandler.disable()  # that enables it; the starter reports a crash in one line
    except ImportError:
        executor = SingleThreadedExecutor()
    executor.add_node(node)
    return executor
