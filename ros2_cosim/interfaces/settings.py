# SPDX-License-Identifier: Apache-2.0
"""Building blocks of what is read from scenario files, checked by pydantic."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from ros2_cosim.kernel.errors import ConfigurationError
from ros2_cosim.kernel.time import parse_duration


class Section(BaseModel):
    """A mapping whose keys are all known, and which does not change."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def _duration(value: object, *, minimum: int = 0) -> int:
    try:
        return parse_duration(value, minimum=minimum)
    except ConfigurationError as error:
        # pydantic adds the place; only the rest of the message is wanted here.
        raise ValueError(str(error).removeprefix("duration: ")) from None


def _positive(value: object) -> int:
    return _duration(value, minimum=1)


#: Integer nanoseconds, written as "40ms", "1.5 s" or a plain number of nanoseconds.
Duration = Annotated[int, BeforeValidator(lambda value: _duration(value))]
PositiveDuration = Annotated[int, BeforeValidator(_positive)]
Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")]
