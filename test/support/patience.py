# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Waiting for what comes about, however long that takes on a busy machine."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final, TypeVar

#: It only guards against hanging [s]; pytest ends a test after 300 s.
HANG_S: Final = 240.0

Found = TypeVar("Found")


def until(
    condition: Callable[[], Found],
    meanwhile: Callable[[], object] = lambda: time.sleep(0.01),
    so_far: Callable[[], object] = lambda: "it never came to that",
) -> Found:
    """What a condition gives as soon as it holds.

    :param meanwhile: called before each further look; it may see that there is no hope
    :param so_far: what is said of a condition that does not come to hold
    """
    limit = time.monotonic() + HANG_S
    while not (found := condition()):
        assert time.monotonic() < limit, so_far()
        meanwhile()
    return found
