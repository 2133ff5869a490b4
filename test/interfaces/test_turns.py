# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Whose turn it is: read by another process, also after the death of the writer."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from ros2_cosim.core.process.turns import TurnReader, TurnWriter

NAMES = ("a", "b")
DYING = """
import os, sys
from ros2_cosim.core.process.turns import TurnWriter
turns = TurnWriter(("a", "b"))
turns.note("b")
print(turns.place, flush=True)
sys.stdin.readline()
os.kill(os.getpid(), 9)
"""


def test_the_reader_follows_the_writer() -> None:
    with TurnWriter(NAMES) as writer:
        reader = TurnReader(writer.place, os.getpid(), NAMES)
        seen = [reader.present]
        for name in ("b", "a", ""):
            writer.note(name)
            seen.append(reader.present)
    assert seen == ["", "b", "a", ""]


def test_the_last_turn_outlives_its_process() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", DYING], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        reader = TurnReader(process.stdout.readline().strip(), process.pid, NAMES)
        process.communicate("now\n")
    assert process.returncode == -9
    assert reader.present == "b"


@pytest.mark.parametrize("place", ["/etc/passwd", "/proc/1/fd/0", "/proc/{me}/fd/../../x", ""])
def test_nothing_but_memory_of_the_process_is_opened(place: str) -> None:
    with pytest.raises(OSError, match="allowed is open memory of process"):
        TurnReader(place.replace("{me}", str(os.getpid())), os.getpid(), NAMES)
