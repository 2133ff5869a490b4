# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""How often runs fail, and how well that is known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ros2_cosim.lab.sweep.store import SweepRun

#: Confidence of the intervals.
CONFIDENCE = 0.95
ALL_VERDICTS = "all verdicts"


class FailureRate(NamedTuple):
    """A share of runs in which a verdict is not met.

    ``low`` and ``high`` are the ends of the exact interval (Clopper and Pearson, Biometrika 26,
    1934), which holds for points and seeds drawn at random.
    """

    verdict: str
    not_met: int
    runs: int
    rate: float
    low: float
    high: float


def rates_of(runs: Sequence[SweepRun]) -> list[FailureRate]:
    """The rates of all verdicts together, and of each; runs that failed have no verdict."""
    verdicts = list(dict.fromkeys(name for run in runs for name in run.verdicts))
    rates = []
    for name in (None, *verdicts):
        answers = [met for run in runs if (met := run.passed(name)) is not None and run.verdicts]
        if answers:
            rates.append(_rate(name or ALL_VERDICTS, answers.count(False), len(answers)))
    return rates


def _rate(verdict: str, not_met: int, runs: int) -> FailureRate:
    # Not scipy.stats: to import it takes as long as dozens of runs.
    from scipy.special import betaincinv

    tail, met = (1.0 - CONFIDENCE) / 2.0, runs - not_met
    low = betaincinv(not_met, met + 1, tail) if not_met else 0.0
    high = betaincinv(not_met + 1, met, 1.0 - tail) if met else 1.0
    return FailureRate(verdict, not_met, runs, not_met / runs, float(low), float(high))
