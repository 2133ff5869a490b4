# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""One measured run, and processor time of running processes."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

STEP_S = 0.01
#: A sensor sees every so many steps of the plant.
STEPS_PER_CYCLE = 4
DOUBLES = 30
#: Kind of the clock of a process that counts its time as the scheduler does (clock_getcpuclockid).
_SCHED = 2


@dataclass(frozen=True)
class Result:
    """What a run took.

    ``cpu_s`` is the processor time of all processes together during ``cpu_sim_s`` seconds of
    simulated time; start and end of the run are not in it. ``processes`` and ``participants``
    say where it went, in microseconds of processor time per simulated second, and in
    microseconds of wall time per activation.
    """

    workload: str
    subject: str
    size: int
    sim_s: float
    wall_s: float
    cpu_s: float
    cpu_sim_s: float
    messages: int = 0
    note: str = ""
    processes: Mapping[str, float] = field(default_factory=dict)
    participants: Mapping[str, Mapping[str, float]] = field(default_factory=dict)

    @property
    def rtf(self) -> float:
        """Simulated seconds per second of wall time."""
        return self.sim_s / self.wall_s

    @property
    def cpu_per_sim_s(self) -> float:
        """Processor seconds of all processes per simulated second."""
        return self.cpu_s / self.cpu_sim_s if self.cpu_sim_s else float("nan")

    @property
    def steps_per_s(self) -> float:
        """Steps of 10 ms per second of wall time."""
        return self.sim_s / STEP_S / self.wall_s

    def as_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        derived = {
            "rtf": self.rtf,
            # A run too short for two readings has none.
            "cpu_per_sim_s": self.cpu_per_sim_s if self.cpu_sim_s else None,
            "steps_per_s": self.steps_per_s,
        }
        return {**asdict(self), **derived}


def loop_messages(steps: int) -> int:
    """Data messages of the loop: the plant's, and of each cycle those of 2 + 2 others."""
    return steps + 4 * ((steps + STEPS_PER_CYCLE - 1) // STEPS_PER_CYCLE)


def cpu_seconds(pids: Iterable[int]) -> dict[int, float]:
    """Processor time so far of each living process, with threads that have ended (Linux)."""
    found = {}
    for pid in pids:
        with contextlib.suppress(OSError):  # the process has ended
            found[pid] = time.clock_gettime(~pid << 3 | _SCHED)
    return found
