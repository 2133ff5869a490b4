# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What the tests of several files look at and what takes long to make: once in a session of tests.

The workers of pytest are processes; a fixture of the session is made by each of them, and with
parameters again in each file.
"""

from __future__ import annotations

import fcntl
import os
import pickle
from collections.abc import Callable
from typing import TypeVar

import pytest

T = TypeVar("T")


def made_once(temporary: pytest.TempPathFactory, name: str, make: Callable[[], T]) -> T:
    """What the first that needs it makes; the others wait for it and read it.

    One that cannot make it leaves that to the next.

    :param name: of what is made, in this session of tests
    :param make: gives what :mod:`pickle` can write
    """
    directory = temporary.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        directory = directory.parent  # all workers of the session have theirs in it
    file = directory / f"{name}.pickle"
    with (directory / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not file.exists():
            file.write_bytes(pickle.dumps(make()))
    made: T = pickle.loads(file.read_bytes())
    return made
