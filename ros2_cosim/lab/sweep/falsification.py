# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The search for the worst case, by Optuna."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator
from typing_extensions import Self

from ros2_cosim.core.documents.settings import Whole
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.lab.report.svg_plot import Chart, Line, line_chart
from ros2_cosim.lab.sweep.design import range_of
from ros2_cosim.lab.sweep.search import FoundTable, Plan, Search
from ros2_cosim.lab.sweep.store import SweepRun
from ros2_cosim.lab.sweep.varied import Count, Varied, VariedParameter


class Falsification(Search):
    """Searches the worst case: the smallest or the largest value of a figure."""

    kind: Literal["falsification"] = Field(description="this search")
    minimise: str | None = Field(default=None, description="figure, as `min_gap_m`")
    maximise: str | None = Field(default=None, description="figure")
    points: Count = Field(description="points that are tried")
    batch: Annotated[Whole, Field(ge=1, le=1000)] = Field(
        default=8, description="points chosen at once, whatever the number of workers"
    )
    seed: Annotated[Whole, Field(ge=0, lt=2**32)] = Field(default=1, description="of the search")
    until_failure: bool = Field(
        default=False, description="end with the batch in which a verdict is not met"
    )

    @model_validator(mode="after")
    def _one(self) -> Self:
        if (self.minimise is None) == (self.maximise is None):
            raise ValueError("allowed is one of minimise and maximise")
        return self

    @property
    def figure(self) -> str:
        """The figure that is searched by."""
        return str(self.minimise or self.maximise)

    def check(self, settings: Varied) -> None:
        """Check whether it has parameters, and chooses them alone."""
        if not settings.parameters:
            raise ValueError("a falsification needs parameters")
        if "design" in settings.model_fields_set:
            raise ValueError("design: a falsification chooses its points itself")

    def designed(self, settings: Varied) -> set[str]:
        """None."""
        return set()

    def plan(self, settings: Varied) -> Plan:
        """Let Optuna's tree-structured Parzen estimator choose points, a batch at a time."""
        import optuna

        optuna.logging.set_verbosity(optuna.logging.WARNING)
        sampler = optuna.samplers.TPESampler(seed=self.seed, constant_liar=True)
        study = optuna.create_study(sampler=sampler)
        worst: tuple[float, SweepRun] | None = None
        history: list[float | None] = []
        left = self.points
        while left:
            trials = [study.ask() for _ in range(min(self.batch, left))]
            left -= len(trials)
            found = yield [
                {name: _suggest(trial, name, p) for name, p in settings.parameters.items()}
                for trial in trials
            ]
            for trial, runs in zip(trials, found, strict=True):
                bad = self._worst(runs)
                history.append(None if bad is None else bad[0])
                if bad is None:
                    study.tell(trial, state=optuna.trial.TrialState.FAIL)
                    continue
                study.tell(trial, self._sign * bad[0])
                if worst is None or self._sign * bad[0] < self._sign * worst[0]:
                    worst = bad
            if self.until_failure and any(run.passed() is False for runs in found for run in runs):
                break
        value, run = worst or (None, None)
        return {
            "kind": "falsification",
            "figure": self.figure,
            "worst": value,
            "run_id": run and run.run_id,
            "at": run and dict(run.parameters),
            "seed": run and run.seed,
            "history": history,
        }

    @property
    def _sign(self) -> float:
        """Of what is made small."""
        return 1.0 if self.minimise else -1.0

    def _worst(self, runs: Sequence[SweepRun]) -> tuple[float, SweepRun] | None:
        """The worst of the seeds of a point, the first of equal ones; None: one failed."""
        figures = [_figure(run, self.figure) for run in runs]
        known = [(v, run) for v, run in zip(figures, runs, strict=True) if v is not None]
        if not known or len(known) < len(runs):
            return None
        return min(known, key=lambda each: self._sign * each[0])

    def told(self, finding: Mapping[str, Any]) -> list[str]:
        """The worst case."""
        return [f"worst {self.figure}: {finding['worst']} in run {finding['run_id']}"]

    def table(self, finding: Mapping[str, Any]) -> FoundTable:
        """The worst case, and where it is."""
        rows = [(self.figure, finding["worst"]), ("run", finding["run_id"])]
        return FoundTable("Worst case", ("", ""), [*rows, *(finding["at"] or {}).items()])

    def charts(self, finding: Mapping[str, Any]) -> list[Chart]:
        """How it came to the worst case."""
        tried = [(n, v) for n, v in enumerate(finding["history"], start=1) if v is not None]
        if not tried:
            return []
        xs, ys = zip(*tried, strict=True)
        svg = line_chart(
            [Line(self.figure, [float(x) for x in xs], [float(y) for y in ys], 0, dots=True)],
            y_label=self.figure,
            x_label="point",
        )
        title, note = "The search for the worst case", "The worst of the seeds of each point."
        return [Chart(title, note, svg)]


def _suggest(trial: Any, name: str, parameter: VariedParameter) -> Any:
    if parameter.values is not None:
        # By their numbers: Optuna takes no lists and mappings.
        return parameter.values[trial.suggest_categorical(name, range(len(parameter.values)))]
    low, high = range_of(parameter)
    if parameter.whole:
        return trial.suggest_int(name, int(low), int(high), log=parameter.log)
    return trial.suggest_float(name, low, high, log=parameter.log)


def _figure(run: SweepRun, name: str) -> float | None:
    """A figure of a run; None: the run failed.

    :raises ConfigurationError: it has no such figure
    """
    if not run.done:
        return None
    if name not in run.figures:
        raise ConfigurationError(
            f"search: found figure '{name}'; the figures of the scenario are "
            f"{', '.join(run.figures)}"
        )
    return run.figures[name]
