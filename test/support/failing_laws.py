# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Control laws that fail, never return or crash at their sixth activation, and what is said."""

from __future__ import annotations

import ctypes
import time
from pathlib import Path

#: How scenarios name them: FILE:Class.
FILE = Path(__file__).resolve()


class Counting:
    calls = 0

    def acceleration(self, measurement: object) -> float:
        self.calls += 1
        if self.calls > 5:
            self.end()
        return 0.0

    def end(self) -> None:
        raise NotImplementedError


class Failing(Counting):
    def end(self) -> None:
        raise KeyError("kp")


class Endless(Counting):  # Python interrupts it between two of its sleeps; it costs no time
    def end(self) -> None:
        all(not time.sleep(0.1) for _ in iter(int, 1))  # type: ignore[func-returns-value]


class Crashing(Counting):
    def end(self) -> None:
        ctypes.string_at(0)


#: Seconds of wall time that a run waits for one of them (``watchdog_s``).
PATIENCE_S = 0.3
WORDS = {
    "Failing": "participant 'cacc1' failed in its activation 6 at 200ms: KeyError: 'kp' "
    f"({FILE}, line 30)",
    "Endless": "participant 'cacc1' has not returned from its activation 6 at 200ms for "
    f"{PATIENCE_S} s of wall time ({FILE}, line 35)",
    "Crashing": f"participant 'cacc1' ({FILE}) crashed by SIGSEGV in its activation at 200ms",
}
