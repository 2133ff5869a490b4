# SPDX-License-Identifier: Apache-2.0
"""The section ``hosts`` of a scenario: other machines that a part of a run is on."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator

from ros2_cosim.core.documents.settings import Host, Name, Section
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

    #: By which all other hosts of the run reach it.
    address: Host
    #: ``ssh``: the run starts its part; ``hand``: the user does, or a program of the user.
    start: Literal["ssh", "hand"] = "ssh"
    #: For ssh; None: as the settings of ssh say.
    user: str | None = Field(default=None, pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}$")
    #: Python there, with this package; a script may stand for it. None: the path that it has here.
    python: _Program | None = None
    #: Words before the command that is to run there, instead of those of ssh.
    through: _Program | None = None
    #: Where the files of the scenario are there; None: in the same directory as here.
    directory: str | None = Field(default=None, pattern=r"^/")
    #: Where the run waits for a part that is started by hand; 0: at any free port.
    port: int = Field(default=0, ge=0, le=65535)
    #: Processes of the run that are there, beside its participants and what belongs to them.
    processes: tuple[Name, ...] = ()

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
