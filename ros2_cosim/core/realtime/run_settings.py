# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""How a run goes against the wall clock: by ``--rate``, ``--hard`` and ``--arrivals``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ros2_cosim.core.realtime.arrivals import read_arrivals
from ros2_cosim.core.realtime.hard_realtime import request_hard_realtime
from ros2_cosim.core.realtime.pacing import Pacer
from ros2_cosim.core.realtime.wall_clock import MonotonicClock


class RealtimeRun(NamedTuple):
    """The wall clock of a run, or an arrival record in its place.

    ``pacer`` is None for a run as fast as possible. ``arrivals`` is the record of an earlier
    run (participant -> time of an exchange [ns] -> completed computations), None: no replay.
    """

    pacer: Pacer | None = None
    arrivals: Mapping[str, Mapping[int, int]] | None = None
    #: What hard real time was granted; empty if it was not requested.
    hard: str = ""

    def facts(self) -> dict[str, Any] | None:
        """What the summary says of the run as a whole; None where it was not paced."""
        pacer = self.pacer
        if pacer is None:
            return None
        return {
            "rate": pacer.rate,
            "hard": self.hard,
            "ticks": pacer.waits,
            "late_ticks": pacer.late,
            "slipped_s": pacer.slipped_ns / 1e9,
            "jitter": pacer.jitter.plain(),
        }


AS_FAST_AS_POSSIBLE = RealtimeRun()


def realtime_run(
    rate: float | None, *, hard: bool, arrivals: Path | None, floating: bool = False
) -> RealtimeRun:
    """Prepare this process for a run.

    :param rate: real-time factor, None: as fast as possible
    :param hard: ask the operating system for hard real time
    :param arrivals: file with the arrival record to repeat
    :param floating: another process does the pacing
    :raises ConfigurationError: the arrival record cannot be read
    """
    recorded = None if arrivals is None else read_arrivals(arrivals)
    if rate is None:
        return RealtimeRun(None, recorded)
    clock = MonotonicClock()
    statement = ""
    if hard:
        statement = request_hard_realtime(absolute_timer=clock.absolute).statement()
    return RealtimeRun(Pacer(rate, clock, floating=floating), recorded, statement)
