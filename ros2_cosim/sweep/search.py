# SPDX-License-Identifier: Apache-2.0
"""Which points of a sweep are run, in which order.

A plan is a generator: it gives batches of points and is sent, for each, the runs of its points. A
batch never depends on how many workers there are, or which run was done first: a search finds the
same everywhere.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ros2_cosim.kernel.errors import ConfigurationError
from ros2_cosim.sweep.design import Point, between, points_of, range_of
from ros2_cosim.sweep.settings import Boundary, Falsification, Parameter, SweepSettings
from ros2_cosim.sweep.store import SweepRun

#: What is known in the end, as plain data; None: a design has no finding.
Finding = Mapping[str, Any] | None
#: Gives batches of points, takes the runs of each point, returns what was found.
Plan = Generator[list[Point], list[list[SweepRun]], Finding]


def plan_of(settings: SweepSettings) -> Plan:
    """The plan of a sweep.

    :raises ConfigurationError: (when begun) the design has too many points
    """
    if isinstance(settings.search, Boundary):
        return _boundary(settings, settings.search)
    if isinstance(settings.search, Falsification):
        return _falsification(settings, settings.search)
    return _design(settings)


def _design(settings: SweepSettings) -> Plan:
    yield points_of(settings.design, settings.parameters)
    return None


@dataclass
class _Bracket:
    """Two values with other answers; ``low`` and ``high`` are sides of the boundary."""

    others: Point
    low: float
    high: float
    low_passes: bool = False
    note: str = ""

    def is_open(self, search: Boundary, parameter: Parameter) -> bool:
        """Whether halving goes on."""
        width = self.high - self.low
        return not self.note and width > search.tolerance and not (parameter.whole and width <= 1)

    def middle(self, parameter: Parameter) -> float:
        """The value to be tried next."""
        scale = Parameter(low=self.low, high=self.high, log=parameter.log)
        found = between(scale, 0.5)
        return int(found) if parameter.whole else found

    def data(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "at": dict(self.others),
            "passes": None if self.note else (self.low if self.low_passes else self.high),
            "fails": None if self.note else (self.high if self.low_passes else self.low),
            "note": self.note,
        }


def _boundary(settings: SweepSettings, search: Boundary) -> Plan:
    """Halve the range of one parameter until the boundary is known, at all points of the others.

    What the ends say decides: between two ends that say the same there may be more boundaries, and
    none is searched.
    """
    parameter = settings.parameters[search.along]
    others = {name: p for name, p in settings.parameters.items() if name != search.along}
    low, high = range_of(parameter)
    ends = (int(low), int(high)) if parameter.whole else (low, high)
    brackets = [_Bracket(point, *ends) for point in points_of(settings.design, others)]
    found = yield [{**b.others, search.along: end} for b in brackets for end in ends]
    for number, bracket in enumerate(brackets):
        at_low, at_high = (_passes(runs, search) for runs in found[2 * number : 2 * number + 2])
        if at_low is None or at_high is None:
            bracket.note = "a run failed at an end of the range"
        elif at_low == at_high:
            bracket.note = f"{'passes' if at_low else 'fails'} at both ends of the range"
        else:
            bracket.low_passes = at_low
    while open_ones := [b for b in brackets if b.is_open(search, parameter)]:
        values = [bracket.middle(parameter) for bracket in open_ones]
        found = yield [
            {**b.others, search.along: v} for b, v in zip(open_ones, values, strict=True)
        ]
        for bracket, value, runs in zip(open_ones, values, found, strict=True):
            passes = _passes(runs, search)
            if passes is None:
                bracket.note = f"a run failed at {value}"
            elif passes == bracket.low_passes:
                bracket.low = value
            else:
                bracket.high = value
    return {
        "kind": "boundary",
        "along": search.along,
        "verdict": search.verdict,
        "boundaries": [bracket.data() for bracket in brackets],
    }


def _passes(runs: Sequence[SweepRun], search: Boundary) -> bool | None:
    """Whether a point passes: with all of its seeds."""
    answers = [run.passed(search.verdict) for run in runs]
    if search.verdict is not None:
        for run, answer in zip(runs, answers, strict=True):
            if run.done and answer is None:
                raise ConfigurationError(
                    f"search.verdict: found '{search.verdict}'; the verdicts of the scenario are "
                    f"{', '.join(run.verdicts) or 'none'}"
                )
    return None if None in answers else all(answers)


def _falsification(settings: SweepSettings, search: Falsification) -> Plan:
    """Let Optuna's tree-structured Parzen estimator choose points, a batch at a time."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    sign = 1.0 if search.minimise else -1.0
    sampler = optuna.samplers.TPESampler(seed=search.seed, constant_liar=True)
    study = optuna.create_study(sampler=sampler)
    worst: tuple[float, SweepRun] | None = None
    history: list[float | None] = []
    left = search.points
    while left:
        trials = [study.ask() for _ in range(min(search.batch, left))]
        left -= len(trials)
        found = yield [
            {name: _suggest(trial, name, p) for name, p in settings.parameters.items()}
            for trial in trials
        ]
        for trial, runs in zip(trials, found, strict=True):
            known = [
                (sign * value, run)
                for run in runs
                if (value := _figure(run, search.figure)) is not None
            ]
            if len(known) < len(runs) or not known:
                study.tell(trial, state=optuna.trial.TrialState.FAIL)
                history.append(None)
                continue
            # The worst of its seeds; the first of those that are equal.
            best = min(known, key=lambda each: each[0])
            study.tell(trial, best[0])
            history.append(sign * best[0])
            if worst is None or best[0] < worst[0]:
                worst = best
        if search.until_failure and any(run.passed() is False for runs in found for run in runs):
            break
    return {
        "kind": "falsification",
        "figure": search.figure,
        "worst": None if worst is None else sign * worst[0],
        "run_id": None if worst is None else worst[1].run_id,
        "at": None if worst is None else dict(worst[1].parameters),
        "seed": None if worst is None else worst[1].seed,
        "history": history,
    }


def _suggest(trial: Any, name: str, parameter: Parameter) -> Any:
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
