# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The search for where passing turns into failing, along one parameter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import Field

from ros2_cosim.core.documents.settings import Number
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.lab.sweep.design import between, points_of, range_of
from ros2_cosim.lab.sweep.search import FoundTable, Plan, Point, Search
from ros2_cosim.lab.sweep.store import SweepRun
from ros2_cosim.lab.sweep.varied import Varied, VariedParameter


class Boundary(Search):
    """Searches where passing turns into failing, along one parameter, by halving."""

    kind: Literal["boundary"] = Field(description="this search")
    along: str = Field(description="parameter with a range; the others take the design's points")
    tolerance: Annotated[Number, Field(gt=0)] = Field(
        description="largest distance between the two sides of the boundary"
    )
    verdict: str | None = Field(default=None, description="verdict that must be met; default: all")

    def check(self, settings: Varied) -> None:
        """Check whether there is a range to search along."""
        along = settings.parameters.get(self.along)
        if along is None or along.values is not None:
            raise ValueError(
                f"search.along: found '{self.along}'; allowed is a parameter with low and high"
            )

    def designed(self, settings: Varied) -> set[str]:
        """All others."""
        return set(settings.parameters) - {self.along}

    def told(self, finding: Mapping[str, Any]) -> list[str]:
        """The two sides of each boundary."""
        lines = []
        for each in finding["boundaries"]:
            at = _place(each["at"])
            place = f"boundary of {self.along}{f' at {at}' if at else ''}"
            sides = f"passes {each['passes']}, fails {each['fails']}"
            lines.append(f"{place}: {each['note'] or sides}")
        return lines

    def table(self, finding: Mapping[str, Any]) -> FoundTable:
        """The same."""
        rows = [
            (_place(each["at"]), each["passes"], each["fails"], each["note"])
            for each in finding["boundaries"]
        ]
        return FoundTable(f"Boundary along {self.along}", ("At", "Passes", "Fails", ""), rows)

    def plan(self, settings: Varied) -> Plan:
        """Halve the range until the boundary is known, at all points of the other parameters.

        What the ends say decides: between two ends that say the same there may be more
        boundaries, and none is searched.
        """
        parameter = settings.parameters[self.along]
        others = {name: p for name, p in settings.parameters.items() if name != self.along}
        low, high = range_of(parameter)
        ends = (int(low), int(high)) if parameter.whole else (low, high)
        brackets = [_Bracket(point, *ends) for point in points_of(settings.design, others)]
        found = yield [{**b.others, self.along: end} for b in brackets for end in ends]
        for bracket, *at_ends in zip(brackets, found[::2], found[1::2], strict=True):
            bracket.take_ends(*(_passes(runs, self) for runs in at_ends))
        while open_ones := [b for b in brackets if b.is_open(self, parameter)]:
            values = [bracket.middle(parameter) for bracket in open_ones]
            found = yield [
                {**b.others, self.along: v} for b, v in zip(open_ones, values, strict=True)
            ]
            for bracket, value, runs in zip(open_ones, values, found, strict=True):
                bracket.take(value, _passes(runs, self))
        return {
            "kind": "boundary",
            "along": self.along,
            "verdict": self.verdict,
            "boundaries": [bracket.data() for bracket in brackets],
        }


def _place(others: Point) -> str:
    return ", ".join(f"{name} {value}" for name, value in others.items())


@dataclass
class _Bracket:
    """Two values with other answers; ``low`` and ``high`` are sides of the boundary."""

    others: Point
    low: float
    high: float
    low_passes: bool = False
    note: str = ""

    def is_open(self, search: Boundary, parameter: VariedParameter) -> bool:
        """Whether the bracket is still to be halved."""
        width = self.high - self.low
        return not self.note and width > search.tolerance and not (parameter.whole and width <= 1)

    def take_ends(self, at_low: bool | None, at_high: bool | None) -> None:
        """Whether both ends pass; None: a run failed."""
        if at_low is None or at_high is None:
            self.note = "a run failed at an end of the range"
        elif at_low == at_high:
            self.note = f"{'passes' if at_low else 'fails'} at both ends of the range"
        else:
            self.low_passes = at_low

    def take(self, value: float, passes: bool | None) -> None:
        """Whether a value between the sides passes; None: a run failed."""
        if passes is None:
            self.note = f"a run failed at {value}"
        elif passes == self.low_passes:
            self.low = value
        else:
            self.high = value

    def middle(self, parameter: VariedParameter) -> float:
        """The value to be tried next."""
        scale = VariedParameter(low=self.low, high=self.high, log=parameter.log)
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


def _passes(runs: Sequence[SweepRun], search: Boundary) -> bool | None:
    """Whether a point passes: with all of its seeds."""
    answers = [run.passed(search.verdict) for run in runs]
    for run in runs:
        if run.done and not run.verdicts:
            raise ConfigurationError(
                f"search: run {run.run_id} has no verdicts, so that none can fail; allowed is a "
                "scenario with a participant that judges, such as the model platoon_referee"
            )
    if search.verdict is not None:
        for run, answer in zip(runs, answers, strict=True):
            if run.done and answer is None:
                raise ConfigurationError(
                    f"search.verdict: found '{search.verdict}'; the verdicts of the scenario are "
                    f"{', '.join(run.verdicts) or 'none'}"
                )
    return None if None in answers else all(answers)
