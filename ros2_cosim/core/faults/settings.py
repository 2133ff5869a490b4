# SPDX-License-Identifier: Apache-2.0
"""The section ``faults`` of a scenario."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from pydantic import Field, model_validator
from typing_extensions import Self

from ros2_cosim.core.documents.settings import Duration, Number, PositiveDuration, Section, Whole
from ros2_cosim.core.kernel.time import format_ns

Kind = Literal["drop", "delay", "freeze", "stuck", "noise", "bias", "bit_error", "replace"]
#: Kind -> the keys that belong to it alone.
KEYS: Final[dict[str, tuple[str, ...]]] = {
    "drop": (),
    "delay": ("delay",),
    "freeze": (),
    "stuck": ("field",),
    "noise": ("field", "std"),
    "bias": ("field", "offset"),
    "bit_error": ("field", "bit"),
    "replace": ("field", "value"),
}
#: Those that may be left out.
_OPTIONAL = frozenset({"bit"})


class FaultCondition(Section):
    """Holds while a number is above, or below, a limit."""

    port: str | None = Field(
        default=None,
        description="input port of the same participant; default: the message itself",
    )
    field: str = Field(description="field of the message")
    above: Number | None = Field(default=None, description="limit")
    below: Number | None = Field(default=None, description="limit")

    @model_validator(mode="after")
    def _one(self) -> Self:
        if (self.above is None) == (self.below is None):
            raise ValueError("allowed is one of above and below")
        return self


class FaultSettings(Section):
    """One fault at one port."""

    port: str = Field(
        pattern=r"^[a-z][a-z0-9_]*\..+$", description="`participant.port`, an input or an output"
    )
    side: Literal["input", "output"] | None = Field(
        default=None, description="which of the two, where both have the name"
    )
    kind: Kind = Field(description="what happens to messages")
    active: Annotated[bool, Field(strict=True)] = Field(
        default=True, description="whether it acts at all; a change during the run may switch it"
    )
    from_time: Duration = Field(default=0, alias="from", description="when it begins")
    until: PositiveDuration | None = Field(default=None, description="when it ends; default: never")
    when: FaultCondition | None = Field(default=None, description="it acts only while this holds")
    probability: Annotated[Number, Field(ge=0, le=1)] = Field(
        default=1.0, description="with which it acts on a message [1]"
    )
    field: str | None = Field(default=None, description="field of the message; of lists: of all")
    delay: PositiveDuration | None = Field(default=None, description="by how much")
    std: Annotated[Number, Field(ge=0)] | None = Field(
        default=None, description="standard deviation, in the unit of the field"
    )
    offset: Number | None = Field(default=None, description="what is added")
    bit: Annotated[Whole, Field(ge=0, le=63)] | None = Field(
        default=None, description="which bit turns, 63 is the sign; default: drawn"
    )
    value: Any = Field(default=None, description="what the field is")

    @property
    def participant(self) -> str:
        """The participant that has the port."""
        return self.port.partition(".")[0]

    @property
    def port_name(self) -> str:
        """The name of the port at its participant."""
        return self.port.partition(".")[2]

    @model_validator(mode="after")
    def _fits(self) -> Self:
        wanted = KEYS[self.kind]
        given = {
            "field": self.field,
            "delay": self.delay,
            "std": self.std,
            "offset": self.offset,
            "bit": self.bit,
            "value": self.value,
        }
        for key, found in given.items():
            # Not whether it was given: a resolved scenario says null where there is nothing.
            is_there = found is not None
            if is_there and key not in wanted:
                raise ValueError(f"{key} does not belong to kind {self.kind}")
            if not is_there and key in wanted and key not in _OPTIONAL:
                raise ValueError(f"{key} is missing: kind {self.kind} needs it")
        if self.until is not None and self.until <= self.from_time:
            raise ValueError(
                f"until: found {format_ns(self.until)}; allowed is more than from, "
                f"{format_ns(self.from_time)}"
            )
        return self
