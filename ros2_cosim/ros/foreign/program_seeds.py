# SPDX-License-Identifier: Apache-2.0
"""Random numbers of a foreign node's Python program: they get seeds, or are reported.

A generator to which the program gives no seed takes one from the operating system, so each run has
other numbers. Here it takes one that depends on a given number alone: the generators of ``random``
and of ``numpy.random``, the global ones and those that the program makes. What the program
asks of the operating system itself (``os.urandom``, ``secrets``, ``uuid4``) is reported. So is what
it reads of the state of the machine, once it uses ROS: load, memory, temperatures.

:mod:`.led_program` imports this module from beside it, so it uses the standard library only.
"""

from __future__ import annotations

import os
import random
import sys
from collections import Counter
from collections.abc import Callable, Collection
from contextlib import suppress
from hashlib import shake_256
from importlib import import_module
from types import FrameType
from typing import Any

#: Bits of the seed of a generator of ``random``.
_SEED_BITS = 128
#: Modules that ask the operating system in the name of what calls them.
_ASK_FOR_OTHERS = ("random", "secrets", "uuid")
_HERE = os.path.dirname(__file__)
#: Where Linux shows the state of the machine.
_STATE = ("/proc/", "/sys/")


class ProgramSeeds:
    """Gives seeds to the generators of this process.

    :param seed: all of them depend on it
    :param asked: called each time the program asks the operating system for what differs from run
        to run, with what that is and the place in its source
    """

    def __init__(self, seed: int, asked: Callable[[str], None]) -> None:
        self._seed = seed
        self._asked = asked
        self._given: Counter[str] = Counter()
        #: The seed that a child process gets, if one is forked.
        self._of_child = 0

    def plant(self) -> None:
        """Seed the generators that there are, and those that are made from now on."""
        self._plant_random()
        with suppress(ImportError):
            self._plant_numpy()
        self._hear_questions()

    def bits(self, generators: str, count: int) -> int:
        """The next seed of one kind of generators, of so many bits."""
        self._given[generators] += 1
        text = f"{self._seed} {generators} {self._given[generators]}"
        number = int.from_bytes(shake_256(text.encode()).digest(-(-count // 8)), "little")
        return number & ((1 << count) - 1)

    def _plant_random(self) -> None:
        plain = random.Random.seed

        def seeded(generator: random.Random, a: Any = None, version: int = 2) -> None:
            plain(generator, self.bits("random", _SEED_BITS) if a is None else a, version)

        whole: Any = random
        whole.Random.seed = seeded
        # The functions of the module are methods of one generator, bound when it was imported.
        whole.seed = seeded.__get__(whole.seed.__self__)
        random.seed()
        os.register_at_fork(before=self._before_fork, after_in_child=self._in_child)

    def _before_fork(self) -> None:
        self._of_child = self.bits("fork", _SEED_BITS)

    def _in_child(self) -> None:
        self._seed = self._of_child
        self._given.clear()
        random.seed()

    def _plant_numpy(self) -> None:
        # From here numpy takes the entropy of all that is not seeded.
        import_module("numpy.random.bit_generator").randbits = (  # type: ignore[attr-defined]
            lambda count: self.bits("numpy", count)
        )
        import_module("numpy.random").seed()

    def _hear_questions(self) -> None:
        plain = os.urandom

        def heard(size: int, /) -> bytes:
            if place := _asker(_ASK_FOR_OTHERS):
                self._asked(f"for random numbers ({place})")
            return plain(size)

        whole: Any = random
        os.urandom = whole._urandom = heard
        sys.addaudithook(self._hear_reading)

    def _hear_reading(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event != "open" or not str(arguments[0]).startswith(_STATE):
            return
        rclpy = sys.modules.get("rclpy")
        # What a library looks up when it is imported, as the number of processors, is not meant.
        if rclpy is not None and rclpy.ok() and (place := _asker(sys.stdlib_module_names)):
            self._asked(f"for the state of the machine ({arguments[0]}, {place})")


def _asker(others: Collection[str]) -> str:
    """Where the program asks; empty: a library does, for its own purposes.

    So do names of temporary files, keys between processes, and the ids of goals in ROS.

    :param others: modules that ask in the name of what calls them
    """
    frame = sys._getframe(2)
    while frame.f_back and _package(frame) in others:
        frame = frame.f_back
    file = frame.f_code.co_filename
    if _package(frame) in {*sys.stdlib_module_names, "rclpy"} or os.path.dirname(file) == _HERE:
        return ""
    return f"{file}:{frame.f_lineno}"


def _package(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__")).partition(".")[0]
