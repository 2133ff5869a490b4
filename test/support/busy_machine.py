# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A machine that does other work, too: what runs beside it is late now and then."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

#: It computes for half of the time. Without breaks it would take the time of the tests beside this
#: one, and show no more: it is the change that sets processes aside.
_BURNER = """
import os, random, time
parent = os.getppid()
while os.getppid() == parent:
    until = time.monotonic() + random.uniform(0.01, 0.1)
    while time.monotonic() < until:
        pass
    time.sleep(random.uniform(0.01, 0.1))
"""


@contextmanager
def busy_machine(more: int = 0) -> Iterator[None]:
    """One process per processor, and some more, that compute for moments."""
    count = (os.cpu_count() or 1) + more
    burners = [subprocess.Popen([sys.executable, "-S", "-c", _BURNER]) for _ in range(count)]
    try:
        yield
    finally:
        for burner in burners:
            burner.kill()
            burner.wait()
