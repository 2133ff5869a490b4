# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Random numbers of a foreign node's Python program get seeds.

A generator to which the program gives no seed takes one from the operating system, so each run has
other numbers. Here it takes one that depends on a given number alone: the generators of ``random``
and of ``numpy.random``, the global ones and those that the program makes.

:mod:`.led_program` imports this module from beside it, so it uses the standard library only.
"""

from __future__ import annotations

import os
import random
from collections import Counter
from contextlib import suppress
from hashlib import shake_256
from importlib import import_module
from typing import Any

#: Bits of the seed of a generator of ``random``.
_SEED_BITS = 128


class ProgramSeeds:
    """Gives seeds to the generators of this process.

    :param seed: all of them depend on it
    """

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._given: Counter[str] = Counter()
        #: The seed that a child process gets, if one is forked.
        self._of_child = 0

    def plant(self) -> None:
        """Seed the generators that there are, and those that are made from now on."""
        self._plant_random()
        with suppress(ImportError):
            self._plant_numpy()

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
