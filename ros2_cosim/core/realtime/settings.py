# SPDX-License-Identifier: Apache-2.0
"""What a scenario says about deadlines and late parts: ``overrun``, ``coupling``, ``estimate``."""

from __future__ import annotations

from typing import Any, Final, Literal

from pydantic import Field, model_validator

from ros2_cosim.core.documents.settings import Duration, PositiveDuration, Section

#: What may be done about a missed deadline.
Policy = Literal["record", "slip", "skip", "estimate", "stop"]


class OverrunSettings(Section):
    """The deadline of a participant's activations in a paced run."""

    policy: Policy = "record"
    #: From the time of the activation to its completion; None: its period.
    deadline: PositiveDuration | None = None


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

    ports: str = "*"
    fields: str = "*"
    method: Literal["extrapolate", "rate", "curve", "map", "earlier"] = "extrapolate"
    order: int = Field(default=1, ge=0, le=2)
    #: ``port.field`` of the fast part's data: one for rate and curve, two for a map.
    of: tuple[str, ...] = ()
    gain: float = Field(default=1.0, allow_inf_nan=False)
    points: tuple[tuple[float, float], ...] = ()
    x: tuple[float, ...] = ()
    y: tuple[float, ...] = ()
    values: tuple[tuple[float, ...], ...] = ()
    #: ``values.json`` of an earlier run of the scenario with ``keep_values``.
    file: str | None = None
    min: float | None = Field(default=None, allow_inf_nan=False)
    max: float | None = Field(default=None, allow_inf_nan=False)
    #: Largest rate of change [unit of the number per second].
    max_rate: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    #: Share of each error that is learned from.
    adapt: float = Field(default=0.0, ge=0, le=1)

    @model_validator(mode="after")
    def _without_use(self) -> RuleSettings:
        for key in self.model_dump(exclude_defaults=True):  # a resolved file gives all defaults
            methods = _READ_BY.get(key, (self.method,))
            if self.method not in methods:
                raise ValueError(
                    f"{key}: found with method {self.method}, which does not use it; allowed "
                    f"with method {' or '.join(methods)}"
                )
        return self

    @model_validator(mode="after")
    def _complete(self) -> RuleSettings:
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

    probability: float = Field(ge=0, le=1)
    #: How long a late computation takes, in simulated time: as the latency of an output.
    delay: Any
    otherwise: Duration = 0


class CouplingSettings(Section):
    """The participant is a slow part: what it sends is estimated where it is late."""

    #: Exchange at every step (1), every n-th, or in a pattern, as [2, 1].
    check: int | tuple[int, ...] = 1
    #: Compute beside the fast part: the result is due one exchange later.
    overlap: bool = False
    #: Without overlap: a result may come so long after its activation; None: 80 % of the period.
    budget: PositiveDuration | None = None
    #: The slow part's time stamp: that of the data used, or of the exchange it is made for.
    stamp: Literal["used", "next"] = "used"
    #: Between two exchanges: hold the last data, or estimate.
    between: Literal["hold", "estimate"] = "hold"
    estimate: tuple[RuleSettings, ...] = (RuleSettings(),)
    #: Sparse ports that carry a value at every exchange, and nothing where it is late.
    silent: tuple[str, ...] = ()
    #: Port -> sparse port that late results are delivered on afterwards.
    late: dict[str, str] = Field(default_factory=dict)
    #: Port -> sparse port for calculated minus estimated values.
    correction: dict[str, str] = Field(default_factory=dict)
    lateness: LatenessSettings | None = None
    buffer: int = Field(default=1000, ge=1)
    keep_values: bool = False


class InputEstimateSettings(Section):
    """The estimator stands at an input of the fast part: what is not there is estimated."""

    #: A sample older than this is missing; None: the participant's period.
    max_age: PositiveDuration | None = None
    rules: tuple[RuleSettings, ...] = (RuleSettings(),)
    #: Input port that late results come in on.
    late: str | None = None
