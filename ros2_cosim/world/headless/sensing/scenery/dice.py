# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Numbers drawn by a map: the same on every machine."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TypeVar

from ros2_cosim.world.headless.sensing.draws import Draws

_Item = TypeVar("_Item")
_AT_ONCE = 64


def seed_of(opendrive: str) -> int:
    """A seed from the text of a map."""
    digest = hashlib.sha256(opendrive.encode("utf-8")).digest()
    return int.from_bytes(digest[:8], "big")


class Dice:
    """Draws one after the other; those of another name do not depend on them."""

    def __init__(self, seed: int, name: str) -> None:
        self._draws = Draws(seed, f"scenery {name}")
        self._ready: list[float] = []

    def share(self) -> float:
        """A number in [0, 1)."""
        if not self._ready:
            self._ready = self._draws.uniform(_AT_ONCE)[::-1].tolist()
        return self._ready.pop()

    def between(self, low: float, high: float) -> float:
        """A number from low to below high."""
        return low + (high - low) * self.share()

    def whole(self, low: int, high: int) -> int:
        """A whole number from low to high."""
        return low + int(self.share() * (high - low + 1))

    def pick(self, items: Sequence[_Item]) -> _Item:
        """One of several, each as likely as the others."""
        return items[int(self.share() * len(items))]

    def falls(self, chance: float) -> bool:
        """Whether something with a chance happens."""
        return self.share() < chance
