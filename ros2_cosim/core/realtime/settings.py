# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What a scenario says about deadlines and late parts: ``overrun``, ``coupling``, ``estimate``."""

from typing import Any, Final, Literal

from pydantic import Field, model_validator

from ros2_cosim.core.documents.settings import Number, PositiveDuration, Section, Whole

#: What may be done about a missed deadline.
Policy = Literal["record", "slip", "skip", "estimate", "stop"]


class OverrunSettings(Section):
    """The deadline of a participant's activations in a paced run."""

    policy: Policy = Field(default="record", description="what is done if it is missed")
    deadline: PositiveDuration | None = Field(
        default=None,
        description="from the time of the activation to its completion; default: its period",
    )


#: Keys of a rule that not every method reads: those that do.
_READ_BY: Final = {
    "order": ("extrapolate", "earlier"),
    "gain": ("rate",),
    "points": ("curve",),
    "x": ("map",),
    "y": ("map",),
    "values": ("map",),
    "file": ("earlier",),
}


class RuleSettings(Section):
    """How the numbers of some ports and fields are estimated; the first rule that fits counts."""

    ports: str = Field(default="*", description="pattern of ports, as of file names")
    fields: str = Field(default="*", description="pattern of fields")
    method: Literal["extrapolate", "rate", "curve", "map", "earlier"] = Field(
        default="extrapolate", description="how the numbers are estimated"
    )
    order: Whole = Field(default=1, ge=0, le=2, description="of the extrapolation")
    of: tuple[str, ...] = Field(
        default=(),
        description="`port.field` of the fast part, as last received: one for rate and curve, two "
        "for a map",
    )
    gain: Number = Field(default=1.0, description="of the method rate")
    points: tuple[tuple[Number, Number], ...] = Field(default=(), description="of a curve")
    x: tuple[Number, ...] = Field(default=(), description="of a map, by the first number")
    y: tuple[Number, ...] = Field(default=(), description="of a map, by the second number")
    values: tuple[tuple[Number, ...], ...] = Field(default=(), description="of a map, by x and y")
    file: str | None = Field(
        default=None, description="`values.json` of an earlier run with `keep_values`"
    )
    min: Number | None = Field(default=None, description="lowest estimate")
    max: Number | None = Field(default=None, description="highest estimate")
    max_rate: Number | None = Field(
        default=None,
        ge=0,
        allow_inf_nan=False,
        description="largest change per second since the last calculated value",
    )
    adapt: Number = Field(
        default=0.0,
        ge=0,
        le=1,
        description="learning: an error e, h seconds ahead, adds this times e / h to the rate",
    )

    @model_validator(mode="after")
    def _without_use(self) -> "RuleSettings":
        for key in self.model_dump(exclude_defaults=True):  # a resolved file gives all defaults
            methods = _READ_BY.get(key, (self.method,))
            if self.method not in methods:
                raise ValueError(
                    f"{key}: found with method {self.method}, which does not use it; allowed "
                    f"with method {' or '.join(methods)}"
                )
        return self

    @model_validator(mode="after")
    def _complete(self) -> "RuleSettings":
        wanted = {"rate": 1, "curve": 1, "map": 2}.get(self.method, 0)
        if len(self.of) != wanted:
            raise ValueError(
                f"method {self.method} takes {wanted} port.field in 'of', found {len(self.of)}"
            )
        if self.method == "curve" and not self.points:
            raise ValueError("method curve needs points: [[x, y], ...]")
        if self.method == "map" and not (self.x and self.y and self.values):
            raise ValueError("method map needs x, y and values")
        if self.method == "earlier" and self.file is None:
            raise ValueError("method earlier needs file, the values.json of an earlier run")
        if self.min is not None and self.max is not None and self.min > self.max:
            raise ValueError(f"min {self.min:g} is above max {self.max:g}")
        return self


class LatenessSettings(Section):
    """Lateness drawn from a seeded stream, for tests and demonstrations."""

    probability: Number = Field(ge=0, le=1, description="that a result is late")
    delay: Any = Field(
        description="how long a late computation takes, in simulated time, as the latency of an "
        "output"
    )


class CouplingSettings(Section):
    """The participant is a slow part: what it sends is estimated where it is late."""

    check: Whole | tuple[Whole, ...] = Field(
        default=1, description="exchange at every n-th step, or in a pattern such as `[2, 1]`"
    )
    overlap: bool = Field(
        default=False, description="whether a result is due at the next exchange only"
    )
    budget: PositiveDuration | None = Field(
        default=None,
        description="how long after its activation a result may come, in simulated time; default: "
        "80 % of the period; not with `overlap`",
    )
    stamp: Literal["used", "next"] = Field(
        default="used",
        description="whether tv is the stamp of the data used, or (with `overlap`) the next one",
    )
    between: Literal["hold", "estimate"] = Field(
        default="hold", description="what is done between two exchanges"
    )
    estimate: tuple[RuleSettings, ...] = Field(
        default=(RuleSettings(),), description="rules; the first one that fits counts"
    )
    silent: tuple[str, ...] = Field(
        default=(), description="sparse ports that send nothing where a result is late"
    )
    late: dict[str, str] = Field(
        default_factory=dict,
        description="port: sparse port of the same type that sends late results",
    )
    correction: dict[str, str] = Field(
        default_factory=dict, description="the same, for calculated minus estimated numbers"
    )
    lateness: LatenessSettings | None = Field(
        default=None, description="drawn lateness; default: measured"
    )
    buffer: Whole = Field(default=1000, ge=1, description="queued inputs at which the run ends")
    keep_values: bool = Field(
        default=False, description="write `values.json`, which the method `earlier` reads"
    )


class InputEstimateSettings(Section):
    """The estimator stands at an input of the fast part: what is not there is estimated."""

    max_age: PositiveDuration | None = Field(
        default=None, description="an older sample is missing; default: the participant's period"
    )
    rules: tuple[RuleSettings, ...] = Field(
        default=(RuleSettings(),), description="the first one that fits counts"
    )
    late: str | None = Field(
        default=None, description="input port that brings late results, for learning"
    )
