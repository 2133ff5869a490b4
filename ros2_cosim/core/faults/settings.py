# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The section ``faults`` of a scenario, and what a kind of faults is.

A kind is an entry point of the group ``ros2_cosim.faults``: a class derived from
:class:`FaultSettings`, whose fields are the keys that belong to it, and whose method ``changed``
says what becomes of a message. Example: :mod:`ros2_cosim.core.faults.kinds`.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Final, Literal, NamedTuple

from pydantic import (
    Field,
    ModelWrapValidatorHandler,
    ValidationError,
    ValidationInfo,
    model_validator,
)
from pydantic_core import InitErrorDetails, PydanticCustomError
from typing_extensions import Self

from ros2_cosim.core.documents.offered import find_kind
from ros2_cosim.core.documents.settings import Duration, Number, PositiveDuration, Section
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.guesses import did_you_mean
from ros2_cosim.core.kernel.random_streams import RandomStream
from ros2_cosim.core.kernel.time import format_ns

FAULT_GROUP: Final = "ros2_cosim.faults"


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


class Act(NamedTuple):
    """What a fault sees of a message on which it acts.

    Simulated time [ns]; the newest message that passed before the fault began, or the first one on
    which it acts; the fault's random numbers.
    """

    time: int
    kept: Any
    stream: RandomStream


class FaultSettings(Section, ABC):
    """One fault at one port: the keys that all kinds share.

    The kind that the data name determines the class of the instance.
    """

    port: str = Field(
        pattern=r"^[a-z][a-z0-9_]*\..+$", description="`participant.port`, an input or an output"
    )
    side: Literal["input", "output"] | None = Field(
        default=None, description="which of the two, where both have the name"
    )
    kind: str = Field(description="what happens to messages")
    active: Annotated[bool, Field(strict=True)] = Field(
        default=True, description="whether it acts at all; a change during the run may switch it"
    )
    from_time: Duration = Field(default=0, alias="from", description="when it begins")
    until: PositiveDuration | None = Field(default=None, description="when it ends; default: never")
    when: FaultCondition | None = Field(default=None, description="it acts only while this holds")
    probability: Annotated[Number, Field(ge=0, le=1)] = Field(
        default=1.0, description="with which it acts on a message [1]"
    )

    #: Whether a message may be lost: an output has to be one that need not send.
    loses: ClassVar[bool] = False
    #: Whether a message may arrive later: only at an input that is not handled.
    delays: ClassVar[bool] = False

    @abstractmethod
    def changed(self, value: Any, act: Act) -> Any:
        """The message after the fault has acted on it; None: it is lost."""

    @property
    def delay_ns(self) -> int:
        """The delay of a message on which it acts [ns]."""
        return 0

    @property
    def participant(self) -> str:
        """The participant that has the port."""
        return self.port.partition(".")[0]

    @property
    def port_name(self) -> str:
        """The name of the port at its participant."""
        return self.port.partition(".")[2]

    @model_validator(mode="wrap")
    @classmethod
    def _of_its_kind(
        cls, data: Any, handler: ModelWrapValidatorHandler[Self], info: ValidationInfo
    ) -> Self:
        name = data.get("kind") if isinstance(data, Mapping) else None
        if cls is not FaultSettings or not isinstance(name, str):
            return handler(data)
        kind = _kind(name)
        known = {field.alias or key: None for key, field in kind.model_fields.items()}
        # A scenario that an earlier version resolved says null where there is nothing.
        given = {key: found for key, found in data.items() if key in known or found is not None}
        for key in given:
            if key not in known:
                raise ValueError(
                    f"{key} does not belong to kind {name}; {did_you_mean(str(key), known)}allowed "
                    f"are {', '.join(known)}"
                )
        return kind.model_validate(given, context=info.context)

    @model_validator(mode="after")
    def _ends_later(self) -> Self:
        if self.until is not None and self.until <= self.from_time:
            raise ValueError(
                f"until: found {format_ns(self.until)}; allowed is more than from, "
                f"{format_ns(self.from_time)}"
            )
        return self


def _kind(name: str) -> Any:
    try:
        return find_kind(FAULT_GROUP, name, "kind", "fault", FaultSettings)
    except ConfigurationError as error:
        text = {"text": str(error).removeprefix("kind: ")}
        found = PydanticCustomError("value_error", "{text}", text)
        place = InitErrorDetails(type=found, loc=("kind",), input=name)
        raise ValidationError.from_exception_data("faults", [place]) from None
