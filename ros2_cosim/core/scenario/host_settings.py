# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The section ``hosts`` of a scenario: other machines that a part of a run is on."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator

from ros2_cosim.core.documents.settings import Host, Name, Section, Whole
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.loading import refuse_code


def _program(value: str) -> str:
    try:
        refuse_code(f"found '{value}', which")
    except ConfigurationError as error:  # the place comes from where the section is read
        raise ValueError(str(error)) from None
    return value


#: A program, or the words of a command.
_Program = Annotated[str, Field(min_length=1, max_length=1000), AfterValidator(_program)]


class HostSettings(Section):
    """One other machine.

    Its part of the run is one command there, ``cosim join``. The run starts it, or prints it.
    """

    address: Host = Field(description="by which all other hosts of the run reach it")
    start: Literal["ssh", "hand"] = Field(
        default="ssh", description="whether the run starts its part there, or prints the command"
    )
    user: str | None = Field(
        default=None,
        pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}$",
        description="for ssh; default: as the settings of ssh say",
    )
    python: _Program | None = Field(
        default=None,
        description="Python there, with this package, or a script that stands for it; default: as "
        "here",
    )
    through: _Program | None = Field(
        default=None,
        description="words before the command that runs there, instead of ssh, as "
        "`docker exec -i lab2`",
    )
    directory: str | None = Field(
        default=None,
        pattern=r"^/",
        description="where the files of the scenario are there; default: as here",
    )
    port: Whole = Field(
        default=0,
        ge=0,
        le=65535,
        description="for `start: hand`, where the run waits for it; 0: at any free port",
    )
    processes: tuple[Name, ...] = Field(
        default=(),
        description="what is there beside its participants: `simulator`, `NAME_slave`",
    )

    @model_validator(mode="after")
    def _check(self) -> HostSettings:
        if self.start == "hand":
            given = {"user": self.user, "python": self.python, "through": self.through}
            for key, value in given.items():
                if value is not None:
                    raise ValueError(f"found '{key}' with start: hand; it is allowed only with ssh")
        elif self.port:
            raise ValueError("found 'port' with start: ssh; it is allowed only with hand")
        if self.through is not None and self.user is not None:
            raise ValueError("found 'user' with 'through'; allowed is one of them")
        return self
