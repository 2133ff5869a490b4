# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The request for a study, and the runs that follow from it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.time import format_ns, parse_duration
from ros2_cosim.lab.study.record import RunKey, StudyRun
from ros2_cosim.lab.study.schedule import Control, Job

FULL_FACTORS = "0.1:2.0:0.1"
QUICK_FACTORS = "1.0:2.0:1.0"
FULL_DURATION = "100s"
QUICK_DURATION = "2s"
#: Step widths: below what the shortest chain of the scenario leaves room for, up to many periods.
FULL_STEPS = "1ms,2.5ms,5ms,10ms,20ms,40ms,100ms"
QUICK_STEPS = "2.5ms,10ms"
FULL_REPETITIONS = 8
QUICK_REPETITIONS = 1
#: At most so many runs of each mode beyond the last factor.
MOST_DOUBLINGS = 8
QUICK_DOUBLINGS = 1
MODES = ("PRT", "HDE")
_MOST_FACTORS = 200
_MOST_STEPS = 50
#: A time-stepped run of 100 s has at most a million exchanges.
_SHORTEST_STEP_NS = 100_000
_HIGHEST = 1000.0
#: Wall time [s] that a run takes beside that of its simulated time, to start up and to end.
_AROUND_S = 6.0
#: Processes that start up keep all processors busy for seconds. A run without synchronisation that
#: is faster than this has less than 10 ms for the 5 ms of simulated time within which a message
#: must be there: beside it no other starts up.
_UNDISTURBED = 0.5
#: Real-time factor of a run as fast as possible, to tell how long it may take.
_FASTEST = 15.0
#: The same of a time-stepped run, which is made in this process.
_STEPPED = 20.0


@dataclass(frozen=True)
class StudyOptions:
    """What is run: ``factors`` in both modes, then up to ``doublings`` of the last beyond them.

    ``steps`` are the widths [ns] of the runs with time-stepped synchronisation.
    ``repetitions`` runs without synchronisation at ``repetition_factor`` are compared with the
    synchronised run, of which there are ``synchronised`` as fast as possible. ``together`` is the
    largest sum of the factors of runs that are under way at once, 0: one after the other.
    ``resume`` keeps the runs of an earlier attempt. ``modes`` are swept; ``changes`` of the
    scenario do not change its trace.
    """

    output: Path
    duration_ns: int
    factors: tuple[float, ...]
    repetitions: int
    doublings: int
    steps: tuple[int, ...]
    synchronised: int = 2
    repetition_factor: float = 1.0
    together: float = 0.0
    resume: bool = False
    modes: tuple[str, ...] = MODES
    changes: tuple[str, ...] = ()


def study_options(
    output: Path,
    *,
    quick: bool = False,
    duration: str | None = None,
    factors: str | None = None,
    steps: str | None = None,
    repetitions: int | None = None,
    resume: bool = False,
) -> StudyOptions:
    """Fill in what was not asked for.

    What is under way together asks no more of the machine than the fastest run of the sweep does
    by itself.

    :raises ConfigurationError: one of them is not understood
    """
    text = duration or (QUICK_DURATION if quick else FULL_DURATION)
    count = repetitions if repetitions is not None else FULL_REPETITIONS
    if quick and repetitions is None:
        count = QUICK_REPETITIONS
    if not 0 <= count <= 100:
        raise ConfigurationError(f"--repeat: found {count}; allowed is 0 to 100")
    duration_ns = parse_duration(text, "--duration", minimum=100_000_000)
    asked = parse_factors(factors or (QUICK_FACTORS if quick else FULL_FACTORS))
    return StudyOptions(
        output=output,
        duration_ns=duration_ns,
        factors=asked,
        repetitions=count,
        doublings=QUICK_DOUBLINGS if quick else MOST_DOUBLINGS,
        steps=parse_steps(steps or (QUICK_STEPS if quick else FULL_STEPS)),
        synchronised=1 if quick else 2,
        together=asked[-1],
        resume=resume,
    )


def parse_factors(text: str) -> tuple[float, ...]:
    """Read ``first:last:step`` (both ends included) or a list ``0.5,1,2``; exactly, in decimals.

    :raises ConfigurationError: anything else, a factor that is not above 0, or too many
    """
    allowed = "--factors: found '{}'; allowed is first:last:step or a list, of numbers above 0"
    try:
        if ":" in text:
            first, last, step = (Fraction(part) for part in text.split(":"))
            if step <= 0 or last < first or (last - first) / step >= _MOST_FACTORS:
                raise ValueError(text)
            exact = [first + n * step for n in range(int((last - first) / step) + 1)]
        else:
            exact = sorted({Fraction(part) for part in text.split(",")})
        if not 0 < len(exact) <= _MOST_FACTORS or exact[0] <= 0 or exact[-1] > _HIGHEST:
            raise ValueError(text)
    except (ValueError, ZeroDivisionError):
        raise ConfigurationError(allowed.format(text)) from None
    return tuple(float(factor) for factor in exact)


def parse_steps(text: str) -> tuple[int, ...]:
    """Read a list of step widths, as ``1ms,2.5ms`` [ns], shortest first.

    :raises ConfigurationError: one is not a duration or too short, or there are too many
    """
    found = {parse_duration(part, "--steps", minimum=_SHORTEST_STEP_NS) for part in text.split(",")}
    if len(found) > _MOST_STEPS:
        raise ConfigurationError(
            f"--steps: found {len(found)} of them; allowed is {_MOST_STEPS} at most"
        )
    return tuple(sorted(found))


def planned_runs(options: StudyOptions) -> list[RunKey]:
    """The runs that are wanted in any case, in the order in which they are listed."""
    keys = [RunKey("HDE", "synchronised", None, n + 1) for n in range(options.synchronised)]
    keys += [RunKey("TSS", "stepped", None, 0, step) for step in options.steps]
    keys += [
        RunKey("PRT", "repetition", options.repetition_factor, n + 1)
        for n in range(options.repetitions)
    ]
    return keys + [RunKey(mode, "sweep", f, 0) for f in options.factors for mode in options.modes]


def runs_beyond(options: StudyOptions, mode: str) -> list[RunKey]:
    """The runs beyond the last factor, of which the first that breaks is the last."""
    factors = [options.factors[-1] * 2.0 ** (n + 1) for n in range(options.doublings)]
    return [RunKey(mode, "beyond", factor, 0) for factor in factors]


def directory_of(key: RunKey) -> str:
    """Where the files of a run are, below the output directory of the study."""
    if key.purpose == "synchronised":
        return f"hde-{key.repetition}"
    if key.step_ns is not None:
        return f"runs/tss-{format_ns(key.step_ns)}"
    # Exactly, so that no two have the same.
    name = f"{key.mode.lower()}-{repr(key.factor).removesuffix('.0')}"
    return f"runs/{name}-{key.repetition}" if key.repetition else f"runs/{name}"


def job_of(key: RunKey, duration_ns: int, run: Callable[[Control], StudyRun]) -> Job[StudyRun]:
    """A run as a job beside others: what it needs of the machine, and for how long."""
    # A run whose speed is not known beforehand needs the machine for itself.
    alone = key.purpose in ("synchronised", "stepped", "beyond")
    factor = _FASTEST if key.factor is None else key.factor
    if alone:
        factor = min(factor, _FASTEST)
    seconds = duration_ns / 1e9 / factor + _AROUND_S
    if key.step_ns is not None:
        # In this process, with nothing that starts up.
        seconds = duration_ns / 1e9 / _STEPPED
    # The repetitions are compared with one another and with HDE, not with other factors.
    quiet = key.mode == "PRT" and key.purpose == "sweep" and factor > _UNDISTURBED
    return Job(key.label, factor, seconds, run, alone, quiet)
