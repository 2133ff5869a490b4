# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Section VI of Baron et al. in its own range: a car-following scenario that takes its time.

First the declared times are fixed by the factor that the synchronised run reaches. Then come the
runs without synchronisation over the factor, and over the idle share at factor 1. Nothing is
changed afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import log
from pathlib import Path
from threading import Event
from typing import Any

from ros2_cosim.core.kernel.time import SECOND
from ros2_cosim.lab.study.causality import run_study, study_scenario
from ros2_cosim.lab.study.declared_load import (
    Reached,
    calibrate,
    changes,
    computed,
    processor_times,
)
from ros2_cosim.lab.study.plan import StudyOptions
from ros2_cosim.lab.study.published import Figure
from ros2_cosim.lab.study.record import STUDY_FILE, RunKey, Study, StudyRun, read_study
from ros2_cosim.lab.study.runs import perform
from ros2_cosim.lab.study.schedule import Control
from ros2_cosim.lab.study.table import deviation, largest_deviation

#: What the synchronised run of the publication reaches.
PUBLISHED_FACTOR = 1.29
#: Simulated time [ns] of a computed run: it repeats every 40 ms.
_COMPUTED_NS = SECOND


@dataclass(frozen=True)
class StudyForm:
    """How long the runs are [ns simulated], and how many.

    ``multiples`` of the declared times are used for the runs over the idle share.
    """

    calibration_ns: int
    sweep_ns: int
    factors: tuple[float, ...]
    repetitions: int
    synchronised: int
    idle_ns: int
    multiples: tuple[float, ...]
    together: float = 2.0


FULL = StudyForm(
    20 * SECOND,
    100 * SECOND,
    tuple(n / 10 for n in range(1, 21)),
    8,
    2,
    40 * SECOND,
    (0.0, 0.1, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0),
)
QUICK = StudyForm(2 * SECOND, 2 * SECOND, (0.1, 1.0, 2.0), 1, 1, SECOND, (0.0, 2.0))


@dataclass
class LoadRecord:
    """What is known of the declared times; plain data, so that a study can be resumed.

    ``known`` are the runs that fixed ``busy``, the computational share of a step at factor 1.
    ``idle`` has (idle share, late, early, order, all messages) at factor 1.
    """

    known: list[Reached] = field(default_factory=list)
    busy: float | None = None
    idle: list[list[float]] = field(default_factory=list)

    @property
    def configuration(self) -> str:
        """The declared times, as changes of the scenario."""
        return "" if self.busy is None else " ".join(f"--set {c}" for c in changes(self.busy))


class LoadExperiments:
    """The experiments with declared times.

    :param output: directory of the study
    :param on_change: called when ``load`` has changed
    """

    def __init__(
        self,
        form: StudyForm,
        load: LoadRecord,
        output: Path,
        on_change: Callable[[], None],
        tell: Callable[[str], None],
        on_line: Callable[[str, str], None],
    ) -> None:
        self.form = form
        self.load = load
        self._output = output
        self._on_change = on_change
        self._tell = tell
        self._on_line = on_line

    def calibration(self) -> dict[str, Figure]:
        """Fix the declared times; then what a pace does to the synchronised run."""
        load = self.load
        if load.busy is None:
            load.busy = calibrate(PUBLISHED_FACTOR, self._reached, load.known)
            self._on_change()
        times = {f"time of {n}": Figure(t / 1e6) for n, t in processor_times(load.busy).items()}
        slow, fast = (self._one("HDE", factor, load.busy).rtf for factor in (1.0, 2.0))
        return {
            **times,
            "busy at 1.0": Figure(load.busy),
            "without times": Figure(load.known[0].rtf),
            "paced at 1.0": Figure(slow),
            "paced at 2.0": Figure(fast),
        }

    def computed(self) -> dict[str, Figure]:
        """Violations of timing [%] that the declared times alone give."""
        assert self.load.busy is not None
        return {
            f"timing at {factor:g}": Figure(sum(computed_shares(factor, self.load.busy).values()))
            for factor in self.form.factors
        }

    def sweep(self) -> dict[str, Figure]:
        """Runs over the factor, and repetitions."""
        form, output = self.form, self._output / "sweep"
        assert self.load.busy is not None
        options = StudyOptions(
            output,
            form.sweep_ns,
            form.factors,
            form.repetitions,
            0,
            (),
            synchronised=form.synchronised,
            together=form.together,
            resume=(output / STUDY_FILE).is_file(),
            modes=("PRT",),
            changes=tuple(changes(self.load.busy)),
        )
        return figures_of(run_study(options, tell=self._tell, on_line=self._on_line))

    def idle(self) -> dict[str, Figure]:
        """Runs at factor 1 with other multiples of the declared times."""
        load, form = self.load, self.form
        assert load.busy is not None
        for multiple in form.multiples[len(load.idle) :]:
            run = self._one("PRT", 1.0, multiple * load.busy, form.idle_ns)
            share = 1.0 - multiple * load.busy
            load.idle.append([share, run.late, run.early, run.order, run.messages])
            self._on_change()
        timing = {
            multiple: 100.0 * (late + early) / max(1.0, messages)
            for multiple, (_, late, early, _, messages) in zip(
                form.multiples, load.idle, strict=True
            )
        }
        found = {f"timing with {multiple:g} times": Figure(t) for multiple, t in timing.items()}
        study = self.study()
        runs = study.sweep("PRT") if study else []
        same = [run for run in runs if run.factor == 2.0 and run.timing and run.kept_up]
        if same and 2.0 in timing:
            share = 100.0 * same[0].share(same[0].timing)
            found["ratio"] = Figure(timing[2.0] / share)
        return found

    def study(self) -> Study | None:
        """The runs over the factor that there are."""
        output = self._output / "sweep"
        return read_study(output) if (output / STUDY_FILE).is_file() else None

    def _reached(self, busy: float) -> float:
        run = self._one("HDE", None, busy)
        self._tell(f"computational share {busy:.4f}: factor {run.rtf:.3f}")
        return run.rtf

    def _one(self, mode: str, factor: float | None, busy: float, time_ns: int = 0) -> StudyRun:
        """One run by itself; its files are replaced by those of the next."""
        scenario = study_scenario(time_ns or self.form.calibration_ns, changes(busy))
        key = RunKey(mode, "synchronised" if factor is None else "sweep", factor, 0)
        control = Control(Event())
        return perform(key, scenario, self._output / "one", control, on_line=self._on_line)


def figures_of(study: Study) -> dict[str, Figure]:
    """What the runs over the factor show. A run that did not keep up has no shares."""
    found: dict[str, Figure] = {}
    asked = study.sweep("PRT")
    for run in asked:
        shares = {
            **{kind: run.share(getattr(run, kind)) for kind in ("timing", "order")},
            "untied": run.share(run.order - run.tied),
        }
        for kind, share in shares.items():
            kept = f"did not keep up: {run.rtf:.2f}"
            found[f"{kind} at {run.factor:g}"] = Figure(100.0 * share if run.kept_up else kept)
        for name, reader in run.readers.items():
            late = Figure(100.0 * run.share(reader["late"]))
            found[f"late at {run.factor:g} for {name}"] = late
    found["runs"] = Figure(float(len(asked)))
    sweep = [run for run in asked if run.kept_up]
    found["loss"] = Figure(float(sum(run.loss for run in study.runs)))
    found["HDE factor"] = _spread([run.rtf for run in study.unpaced])
    found["HDE violations"] = Figure(float(sum(run.violations for run in study.hde)))
    found["HDE traces"] = Figure(float(len({run.trace_sha256 for run in study.hde})))
    found["length"] = Figure(study.duration_s)
    factors = [run.factor or 0.0 for run in sweep]
    if len(sweep) > 3:
        order = correlation(factors, [run.share(run.order) for run in sweep])
        if order is not None:
            found["order over factor"] = Figure(order)
        some = [(run.factor or 0.0, log(run.share(run.timing))) for run in sweep if run.timing]
        grown = correlation([f for f, _ in some], [value for _, value in some])
        if grown is not None:
            found["exponential"] = Figure(grown * grown)
    repeated = study.repetitions
    found["repetitions"] = Figure(float(len(repeated)))
    found["different tracks"] = Figure(float(len({tuple(r.track["way"]) for r in repeated})))
    deviations = [d for run in repeated if (d := largest_deviation(run, study)) is not None]
    ratios = [ratio for run in repeated if (ratio := _divergence(run, study)) is not None]
    if ratios:
        found["divergence"] = _spread(ratios)
    if deviations:
        found["largest deviation"] = Figure(max(deviations), min(deviations), max(deviations))
    return found


def _divergence(run: StudyRun, study: Study) -> float | None:
    """Mean amount of the deviation from HDE in the second half of a run by that in the first."""
    amounts = [abs(value) for value in deviation(run, study)[1]]
    half = len(amounts) // 2
    first, second = sum(amounts[:half]), sum(amounts[half : 2 * half])
    return second / first if first > 0.0 else None


def _spread(values: Sequence[float]) -> Figure:
    return Figure(sum(values) / max(1, len(values)), min(values), max(values))


def correlation(x: Sequence[float], y: Sequence[float]) -> float | None:
    """Pearson's coefficient; None if one of the two does not vary."""
    mean_x, mean_y = sum(x) / max(1, len(x)), sum(y) / max(1, len(y))
    pairs = [(a - mean_x, b - mean_y) for a, b in zip(x, y, strict=True)]
    size = sum(a * a for a, _ in pairs) * sum(b * b for _, b in pairs)
    return sum(a * b for a, b in pairs) / size**0.5 if size > 0.0 else None


def computed_shares(factor: float, busy: float) -> dict[str, float]:
    """Shares [%] of late and early messages that the declared times alone give."""
    counts = computed(study_scenario(_COMPUTED_NS), factor, busy).values()
    messages = sum(count.messages for count in counts)
    total: dict[str, Any] = {k: sum(getattr(c, k) for c in counts) for k in ("late", "early")}
    return {kind: 100.0 * count / messages for kind, count in total.items()}
