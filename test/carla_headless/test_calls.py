# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The table of calls, in a process of its own.

Some objects of the client, as its manager of lights, still ask the server when they are deleted; if
it has ended by then, the client ends the whole process.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

CHECKS = Path(__file__).with_name("calls_of_the_client.py")
#: Longer than any machine needs [s].
HANG_S = 280


def test_the_table_of_calls_is_complete_and_true() -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:xdist", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, str(CHECKS)], capture_output=True, text=True, timeout=HANG_S, check=False
    )
    # What the client does while the process ends says nothing about the calls.
    assert "13 passed" in done.stdout and "failed" not in done.stdout, done.stdout + done.stderr
