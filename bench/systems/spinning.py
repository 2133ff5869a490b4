# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Runs the nodes of a system in one executor, and notes which callbacks ran.

A program takes names of nodes, default all; ``--seconds`` ends it by the wall clock, and with
``--threads`` callbacks run in several threads. If the environment has ``CALLBACK_LOG``, a
directory, each callback adds a line to a file there: its node, what it was given, wall time [ns].
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import rclpy
from rclpy.executors import ExternalShutdownException, MultiThreadedExecutor, SingleThreadedExecutor
from rclpy.node import Node
from rclpy.utilities import remove_ros_args

_TURN_S = 0.05


class CallbackLog:
    """Lines about callbacks; each is written at once, for a program may be killed."""

    def __init__(self) -> None:
        place = os.environ.get("CALLBACK_LOG")
        path = Path(place, f"{os.getpid()}.log") if place else Path(os.devnull)
        self._file = path.open("a", buffering=1, encoding="utf-8")

    def note(self, node: str, given: str) -> None:
        """Note a callback that begins."""
        self._file.write(f"{node} {given} {time.monotonic_ns()}\n")


def spin(makers: Mapping[str, Callable[[CallbackLog], Node]]) -> None:
    """Run nodes until the program is ended.

    :param makers: name -> what makes the node
    """
    parser = argparse.ArgumentParser()
    parser.add_argument("nodes", nargs="*", choices=[*makers, []])
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--threads", action="store_true")
    given = parser.parse_args(remove_ros_args(sys.argv)[1:])
    rclpy.init()
    log = CallbackLog()
    executor = MultiThreadedExecutor() if given.threads else SingleThreadedExecutor()
    for name in given.nodes or makers:
        executor.add_node(makers[name](log))
    until = time.monotonic() + (given.seconds or 0.0)
    try:
        while given.seconds and time.monotonic() < until:
            # Always with one timeout: with another one rclpy begins anew with the first node.
            executor.spin_once(timeout_sec=_TURN_S)
        if not given.seconds:
            executor.spin()
    except (KeyboardInterrupt, ExternalShutdownException):
        pass
