# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A program that draws random numbers, gives no seed, and prints them."""

import json
import os
import random
import secrets
import sys
import tempfile
import time
import uuid
from multiprocessing import get_context
from pathlib import Path

import numpy as np


class Timed:
    """A function of the system does not become a method."""

    clock = time.time


def _drawn_in_child(place: int) -> float:
    return random.random()


def _in_children() -> list[float]:
    """One number of each of two children, which are forked one after the other."""
    found = []
    for place in range(2):
        with get_context("fork").Pool(1) as pool:
            found.append(pool.apply(_drawn_in_child, (place,)))
    return found


if __name__ == "__main__":
    drawn = {
        "random": [random.random() for _ in range(3)],
        "generators": [random.Random().random(), random.Random().random()],
        "children": _in_children(),
        "numpy": np.random.rand(2).tolist(),
        "legacy": [np.random.RandomState().rand()],
        "modern": [np.random.default_rng().random(), np.random.default_rng().random()],
        "order": [hash("a"), hash("b")],
    }
    random.seed()
    np.random.seed()
    drawn["again"] = [random.random(), np.random.rand()]
    random.seed(1)
    np.random.seed(1)
    fixed = [random.random(), np.random.rand(), np.random.default_rng(1).random()]
    with tempfile.NamedTemporaryFile():
        pass
    for question in sys.argv[1:]:
        {
            "urandom": lambda: os.urandom(4),
            "secrets": lambda: secrets.token_hex(4),
            "uuid4": uuid.uuid4,
            "system": random.SystemRandom().random,
            "state": Path("/proc/self/stat").read_bytes,
            "clock": Timed().clock,
            "nothing": list,
        }[question]()
    print(json.dumps([drawn, fixed]))
