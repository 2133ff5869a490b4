# SPDX-License-Identifier: Apache-2.0
"""One measured run, and processor time of running processes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

STEP_S = 0.01
#: A sensor sees every so many steps of the plant.
STEPS_PER_CYCLE = 4
DOUBLES = 30


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
    """Processor time so far of each living process, all its threads together (Linux)."""
    found = {}
    for pid in pids:
        total = 0
        for path in Path(f"/proc/{pid}/task").glob("*/schedstat"):
            try:
                total += int(path.read_text().split()[0])
            except (OSError, IndexError):
                continue  # the thread has ended
        if total:
            found[pid] = total / 1e9
    return found
