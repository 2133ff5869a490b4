# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What a foreign node's Python program reads that differs from run to run.

That is random numbers (``os.urandom``, ``secrets``, ``uuid4``) and, while the program uses ROS, the
wall clock (functions of ``time``; clocks of rclpy that do not follow simulated time) and the state
of the machine (files in ``/proc`` and ``/sys``: load, memory, temperatures). Calls of
``datetime.now()`` and of compiled code are not noticed.

:mod:`.led_program` imports this module from beside it, so it uses the standard library only.
"""

from __future__ import annotations

import os
import random
import sys
import time
from collections.abc import Callable, Collection
from contextlib import suppress
from importlib import import_module
from types import FrameType
from typing import Any

_CLOCKS = ("time", "time_ns", "monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns")
#: Modules that ask for random numbers in the name of what calls them.
_ASK_FOR_OTHERS = ("random", "secrets", "uuid")
#: Where Linux shows the state of the machine.
_STATE = ("/proc/", "/sys/")
_HERE = os.path.dirname(__file__)


class ProgramQuestions:
    """Hears what this process asks the operating system for.

    :param tell: called when the program first asks for a kind (``random_numbers``, ``wall_clock``,
        ``machine``), with that kind and the place in its source
    """

    def __init__(self, tell: Callable[[str, str], None]) -> None:
        self._tell = tell
        self._told: set[str] = set()

    def hear(self) -> None:
        """Hear questions from now on."""
        whole: Any = random
        os.urandom = whole._urandom = _Heard(os.urandom, self._on_random)
        for name in _CLOCKS:
            setattr(time, name, _Heard(getattr(time, name), self._on_clock))
        sys.addaudithook(self._on_event)
        with suppress(ImportError):
            self._hear_clocks_of_ros()

    def _hear_clocks_of_ros(self) -> None:
        clock, time_class = import_module("rclpy.clock"), import_module("rclpy.time").Time
        now, read = clock.Clock.now, self._on_time

        class WallTime(time_class):  # type: ignore[misc, valid-type]
            """Time of the wall. As a message it is a stamp, which the adapter makes anew."""

            @property
            def nanoseconds(self) -> int:
                read()
                return int(super().nanoseconds)

            def to_msg(self) -> Any:
                return time_class(nanoseconds=super().nanoseconds).to_msg()

        def heard(asked: Any) -> Any:
            shown = now(asked)
            simulated = isinstance(asked, clock.ROSClock) and asked.ros_time_is_active
            if not simulated and _asker(()):
                shown.__class__ = WallTime
            return shown

        clock.Clock.now = heard

    def _on_random(self) -> None:
        self._on("random_numbers", _ASK_FOR_OTHERS)

    def _on_clock(self) -> None:
        self._on("wall_clock", (), uses_ros=True)

    def _on_time(self) -> None:
        self._on("wall_clock", ("rclpy",), uses_ros=True)

    def _on_event(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open" and str(arguments[0]).startswith(_STATE):
            self._on("machine", sys.stdlib_module_names, uses_ros=True)

    def _on(self, kind: str, others: Collection[str], *, uses_ros: bool = False) -> None:
        """Report a question, if the program asks it.

        :param others: modules that ask in the name of what calls them
        :param uses_ros: only while rclpy runs; before, imports ask for much that changes nothing
        """
        if kind in self._told or not (place := _asker(others)):
            return
        if uses_ros:
            rclpy = sys.modules.get("rclpy")
            if rclpy is None or not rclpy.ok():
                return
        self._told.add(kind)
        self._tell(kind, place)


class _Heard:
    """A function that reports each call. Like a function of C, it does not become a method."""

    def __init__(self, plain: Callable[..., Any], tell: Callable[[], None]) -> None:
        self._plain = plain
        self._tell = tell

    def __call__(self, *arguments: Any) -> Any:
        self._tell()
        return self._plain(*arguments)


def _asker(others: Collection[str]) -> str:
    """Where the program asks; empty: a library does, for its own purposes.

    So do names of temporary files, keys between processes, and the ids of goals in ROS.
    """
    frame = sys._getframe(1)
    while frame.f_back and (frame.f_code.co_filename == __file__ or _package(frame) in others):
        frame = frame.f_back
    file = frame.f_code.co_filename
    if _package(frame) in {*sys.stdlib_module_names, "rclpy"} or os.path.dirname(file) == _HERE:
        return ""
    return f"{file}:{frame.f_lineno}"


def _package(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__")).partition(".")[0]
