# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""An unmodified node as controller, beside a bare exchange of the same messages.

In the bare exchange two processes send each other the same messages with the same QoS: a plain
rclpy node on the events executor each, no clock. Both take turns.

    python bench/foreign_node.py [--rounds 5] [--count 1000] [--node COMMAND]

The node is ``foreign_controller.py``, or what COMMAND starts, in any language: its node
``controller`` reads ``front`` and ``ego`` and answers on ``demand`` at each 50 ms of ``/clock``.
"""

from __future__ import annotations

import argparse
import os
import resource
import shlex
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

_HERE = Path(__file__).resolve().parent
# Run as a file: the project lies beside this directory.
sys.path[:0] = [str(_HERE), str(_HERE.parent)]

from speed_baselines import Timed, measure  # noqa: E402

from ros2_cosim.core.kernel.model import Model, Traits  # noqa: E402
from ros2_cosim.core.kernel.participant import ModelContext, Step  # noqa: E402
from ros2_cosim.core.messages.records import Odometry  # noqa: E402
from ros2_cosim.core.run.request import RunRequest  # noqa: E402
from ros2_cosim.core.run.start import run_request  # noqa: E402
from ros2_cosim.ros.bringup.dds import loopback_environment  # noqa: E402

PERIOD_S = 0.05
SCENARIO = _HERE / "foreign_node.yaml"


class Taken(NamedTuple):
    """What one run took: wall and processor time [s] of an activation, time [s] to its start."""

    wall_s: float
    cpu_s: float
    start_s: float


class Vehicles(Model):
    """Two vehicles in a row; the second one follows the controller."""

    traits = Traits(cost_ns=50_000)

    def __init__(self, context: ModelContext, parameters: Any) -> None:
        self._front, self._ego, self._speed = 30.0, 0.0, 20.0

    def activate(self, step: Step) -> Mapping[str, Any]:
        """One step."""
        demand = step.latest["demand"]
        if demand is not None:
            self._speed += PERIOD_S * demand.value.ax
        self._front += 20.0 * PERIOD_S
        self._ego += self._speed * PERIOD_S
        still = Odometry(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, *[0.0] * 6)
        front = still._replace(x=self._front, vx=20.0)
        return {"front": front, "ego": still._replace(x=self._ego, vx=self._speed)}


def _run(seconds: float, command: str) -> Taken:
    """The node in a run of this project."""
    node = "participants.controller.parameters"
    other = [f"{node}.script=null", f"{node}.command={shlex.split(command)}"] if command else []
    moved: list[float] = []
    with tempfile.TemporaryDirectory() as out:
        began, cpu = time.perf_counter(), _cpu_of_children()
        summary = run_request(
            RunRequest(SCENARIO, set=(f"duration={seconds}s", *other), out=Path(out), record=False),
            progress=lambda time_ns: moved.append(time.perf_counter()) if time_ns > 0 else None,
        )
    assert summary.repeatable
    return Taken(summary.wall_time_s, _cpu_of_children() - cpu, moved[0] - began)


def _cpu_of_children() -> float:
    return sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])


def foreign(count: int, command: str) -> Taken:
    """Time of so many activations beyond the first hundred, and of the start."""
    short, long = (_run(steps * PERIOD_S, command) for steps in (100, 100 + count))
    wall, cpu = (b - a for a, b in zip(short[:2], long[:2], strict=True))
    return Taken(wall / count, cpu / count, min(short.start_s, long.start_s))


def bare(count: int) -> Taken:
    """Two plain nodes."""
    began = time.perf_counter()
    ready: list[float] = []
    workers = [(_peer, count), (_controller, count)]
    with tempfile.TemporaryDirectory() as directory:
        loopback = loopback_environment(os.environ, Path(directory))
        with patch.dict(os.environ, loopback):
            done = measure("", "", 2, 1.0, workers, lambda: ready.append(time.perf_counter()))
    return Taken(done.wall_s / count, done.cpu_s / count, ready[0] - began)


def _spin(
    node: Any, pipe: Connection, writers: Sequence[Any], count: int, begin: Callable[[], None]
) -> None:
    """Serve a node until it has received so many messages."""
    from rclpy.experimental.events_executor import EventsExecutor

    executor = EventsExecutor()
    executor.add_node(node)
    while not all(writer.get_subscription_count() for writer in writers):
        executor.spin_once(timeout_sec=0.02)
    with Timed(pipe):
        begin()
        while node.received < count:
            executor.spin_once(timeout_sec=1.0)
    executor.spin_once(timeout_sec=0.2)


def _peer(pipe: Connection, count: int) -> None:
    import rclpy
    from geometry_msgs.msg import AccelStamped
    from nav_msgs.msg import Odometry as Message

    rclpy.init()
    node: Any = rclpy.create_node("peer")
    node.received, message = 0, Message()
    writers = [node.create_publisher(Message, name, 10) for name in ("front", "ego")]

    def send() -> None:
        for writer in writers:
            message.pose.pose.position.x += 1.0
            writer.publish(message)

    def receive(demand: AccelStamped) -> None:
        node.received += 1
        if node.received < count:
            send()

    node.create_subscription(AccelStamped, "demand", receive, 10)
    _spin(node, pipe, writers, count, send)


def _controller(pipe: Connection, count: int) -> None:
    import rclpy
    from foreign_controller import Controller

    class Answering(Controller):
        """Publishes when the message of its vehicle has come, the last one of a step."""

        received = 0

        def on_ego(self, message: Any) -> None:
            super().on_ego(message)
            self.on_timer()
            self.received += 1

    rclpy.init()
    node = Answering()
    node.timer.cancel()
    _spin(node, pipe, [node.publisher], count, lambda: None)


def main() -> int:
    """Measure alternately, print medians."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--count", type=int, default=1000, help="activations, or exchanges")
    parser.add_argument("--node", default="", metavar="COMMAND", help="starts another controller")
    chosen = parser.parse_args()
    os.environ["PYTHONPATH"] = f"{_HERE}:{_HERE.parent}"
    print(f"{'':14s} {'wall [ms]':>9s} {'cpu [ms]':>9s} {'start [s]':>9s}")
    nodes, plain = [], []
    for _ in range(chosen.rounds):
        nodes.append(foreign(chosen.count, chosen.node))
        plain.append(bare(chosen.count))
        _print([nodes[-1], plain[-1]])
    print("medians")
    _print([Taken(*map(statistics.median, zip(*same, strict=True))) for same in (nodes, plain)])
    return 0


def _print(taken: Sequence[Taken]) -> None:
    for name, (wall, cpu, start) in zip(("foreign node", "bare exchange"), taken, strict=True):
        print(f"{name:14s} {1e3 * wall:9.3f} {1e3 * cpu:9.3f} {start:9.2f}")
    print(f"{'ratio':14s}", *(f"{a / b:9.2f}" for a, b in zip(*taken, strict=True)), flush=True)


if __name__ == "__main__":
    sys.exit(main())
