# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The part ``realtime`` of ``summary.json``: deadlines, late parts, estimates."""

from pydantic import Field

from ros2_cosim.core.documents.settings import Section


class HistogramSummary(Section):
    """Delays on the wall clock, counted in classes."""

    classes: tuple[tuple[float | None, int], ...] = Field(
        default=(), description="[upper bound in s (null: none), count] of the classes that occur"
    )
    number: int = Field(default=0, ge=0, description="how many")
    mean_s: float = Field(default=0.0, ge=0.0, description="their mean")
    largest_s: float = Field(default=0.0, ge=0.0, description="the largest one")


class DeadlineSummary(Section):
    """One participant with a deadline in a paced run."""

    policy: str = Field(description="what was done about a missed one")
    deadline_s: float = Field(gt=0.0, description="after the time of an activation, simulated")
    overruns: int = Field(ge=0, description="activations that were complete after their deadline")
    jitter: HistogramSummary = Field(description="how late activations began")
    lateness: HistogramSummary = Field(description="by how much deadlines were missed")
    listed: tuple[tuple[float, float], ...] = Field(
        default=(), description="[simulated time of the activation, s missed] of the first 1000"
    )


class CouplingSummary(Section):
    """One slow part; times are simulated."""

    exchanges: int = Field(ge=0, description="how often data were exchanged")
    estimates: int = Field(ge=0, description="exchanges at which estimated data were used")
    late: int = Field(ge=0, description="results that were not there in time")
    since_s: float | None = Field(default=None, description="the first of them")
    never_delivered: int = Field(ge=0, description="results still missing at the end")
    mean_lateness_s: float = Field(ge=0.0, description="of late results")
    longest_lateness_s: float = Field(ge=0.0, description="of late results")
    load: float | None = Field(
        default=None, ge=0.0, description="computing time per time; above 1 it cannot catch up"
    )
    errors: tuple[tuple[str, str, float, float], ...] = Field(
        default=(), description="[port, field, mean and largest absolute error]"
    )
    learned: tuple[tuple[str, str, float, float], ...] = Field(
        default=(),
        description="[port, field, learned correction of its rate per s at the end, and at most]",
    )
    cases: tuple[tuple[float, float | None, float | None, str], ...] = Field(
        default=(), description="[due, s late (null: never there), largest error, of what]"
    )


class InputSummary(Section):
    """One estimated input of the fast part."""

    estimates: int = Field(ge=0, description="activations at which data were estimated")
    largest_error: float = Field(ge=0.0, description="largest absolute error")


class RealtimeSummary(Section):
    """A run against the wall clock, or with parts that were late."""

    rate: float | None = Field(default=None, gt=0.0, description="wanted real-time factor")
    hard: str = Field(default="", description="which means of hard real time were granted")
    ticks: int = Field(default=0, ge=0, description="times that were waited for")
    late_ticks: int = Field(default=0, ge=0, description="those that had passed already")
    slipped_s: float = Field(default=0.0, ge=0.0, description="wall time given up (policy slip)")
    jitter: HistogramSummary | None = Field(default=None, description="how late steps began")
    deadlines: dict[str, DeadlineSummary] = Field(default={}, description="by participants")
    couplings: dict[str, CouplingSummary] = Field(default={}, description="by slow parts")
    inputs: dict[str, dict[str, InputSummary]] = Field(
        default={}, description="by participants and their estimated inputs"
    )

    @property
    def overruns(self) -> int:
        """Missed deadlines of all participants together."""
        return sum(deadline.overruns for deadline in self.deadlines.values())

    def lines(self) -> list[str]:
        """The figures in a few lines of text."""
        found = []
        if self.rate is not None:
            found.append(f"paced at factor {self.rate:g}: {self.overruns} deadlines missed")
        if self.hard:
            found.append(self.hard)
        for name, coupling in self.couplings.items():
            found.append(
                f"{name}: {coupling.late} of {coupling.exchanges} results late, "
                f"{coupling.estimates} estimates, at most {coupling.longest_lateness_s:g} s late"
            )
        return found
