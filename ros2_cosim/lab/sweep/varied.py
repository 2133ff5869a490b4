# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What a sweep varies, and how its points are chosen."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator
from typing_extensions import Self

from ros2_cosim.core.documents.settings import Number, Section, Whole

#: More runs than this are requested by mistake: a row and a directory each.
MAX_RUNS = 100_000

Count = Annotated[Whole, Field(ge=1, le=MAX_RUNS)]


class VariedParameter(Section):
    """A value of the scenario that is varied: ``values`` that it takes, or a range."""

    places: tuple[str, ...] | None = Field(
        default=None,
        min_length=1,
        description="keys of the scenario, as those of `--set`, that all get the value; "
        "default: the name of the parameter",
    )
    values: tuple[Any, ...] | None = Field(
        default=None, min_length=1, description="the values that it takes"
    )
    low: Number | None = Field(default=None, description="lower end of a range")
    high: Number | None = Field(default=None, description="upper end of a range")
    steps: Annotated[Whole, Field(ge=2, le=MAX_RUNS)] | None = Field(
        default=None, description="values in a range, ends included; grids need it"
    )
    whole: bool = Field(default=False, description="whole numbers of the range only")
    log: bool = Field(default=False, description="evenly spaced in the logarithm")
    unit: str = Field(default="", description="unit after a number, as `ms`")

    @model_validator(mode="after")
    def _one(self) -> Self:
        if (self.values is None) == (self.low is None or self.high is None):
            raise ValueError("allowed are either values, or low and high")
        if self.low is not None and self.high is not None:
            if not self.low < self.high:
                raise ValueError(f"low is {self.low:g}, high {self.high:g}; low must be smaller")
            if self.log and self.low <= 0:
                raise ValueError(f"log: found low {self.low:g}; allowed is a number above 0")
            if self.whole and (self.low % 1 or self.high % 1):
                raise ValueError("whole: the ends of the range must be whole numbers, too")
        elif self.steps or self.whole or self.log:
            raise ValueError("steps, whole and log belong to a range of low and high")
        return self


def _parameter(value: object) -> object:
    """A list stands for the values."""
    return {"values": value} if isinstance(value, (list, tuple)) else value


class Design(Section):
    """How the points are chosen."""

    kind: Literal["grid", "random", "latin_hypercube", "sobol", "rows"] = Field(
        default="grid",
        description="all combinations, `samples` points that fill the space, or given `rows`",
    )
    rows: Annotated[tuple[dict[str, Any], ...], Field(min_length=1, max_length=MAX_RUNS)] | None = (
        Field(
            default=None,
            description="sets of values, parameter -> value, each with all combinations of the "
            "other parameters",
        )
    )
    samples: Count | None = Field(default=None, description="number of points; not for a grid")
    seed: Annotated[Whole, Field(ge=0, lt=2**63)] = Field(
        default=1, description="seed of the choice; runs have their own seeds"
    )

    @model_validator(mode="after")
    def _number(self) -> Self:
        if (self.kind == "rows") == (self.rows is None):
            raise ValueError("rows belong to the kind rows, and only to it")
        combined = self.kind in ("grid", "rows")
        if combined == (self.samples is not None):
            raise ValueError(
                f"a design of {self.kind} has as many points as combinations; leave samples out"
                if combined
                else f"samples is missing: the number of points of {self.kind}"
            )
        return self


class Varied(Section):
    """The parameters and the design of a sweep: what a search looks at."""

    parameters: dict[str, Annotated[VariedParameter, BeforeValidator(_parameter)]] = Field(
        default_factory=dict, description="what is varied; a list stands for its `values`"
    )
    design: Design = Field(default=Design(), description="how points are chosen")

    @model_validator(mode="after")
    def _of_rows(self) -> Self:
        for name in (name for row in self.design.rows or () for name in row):
            if name not in self.parameters:
                known = ", ".join(self.parameters) or "none"
                raise ValueError(f"design.rows: found '{name}'; the parameters are {known}")
        return self
