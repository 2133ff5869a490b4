# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Control laws that are computed by a file of another tool, as an FMU."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from pydantic import Field

from ros2_cosim.core.documents.settings import Section
from ros2_cosim.core.kernel.model import Repeatability
from ros2_cosim.driving.controllers.measurement import Measurement


class FileLaw(Section, ABC):
    """A law whose parameters name a file: checked without it being loaded, opened to drive."""

    file: str = Field(min_length=1, description="relative to the scenario")

    #: How far two runs agree.
    repeatable: ClassVar[Repeatability] = Repeatability.SAME_MACHINE

    @abstractmethod
    def check(self, where: str) -> None:
        """Check whether the file fits; nothing of it is run.

        :param where: the place of the parameters, for messages
        :raises ConfigurationError: it does not
        """

    @abstractmethod
    def open(self, where: str) -> None:
        """Load the file; until :meth:`close` the law can be asked.

        :raises ConfigurationError: it does not fit, or cannot be loaded
        """

    @abstractmethod
    def close(self) -> None:
        """Release the file."""

    @abstractmethod
    def acceleration(self, measurement: Measurement) -> float:
        """Return the demanded acceleration [m/s^2]."""

    @property
    @abstractmethod
    def unsaved(self) -> str:
        """Why its state cannot be saved; empty if it can."""

    @abstractmethod
    def save_state(self) -> Any:
        """What it remembers, as plain data."""

    @abstractmethod
    def restore_state(self, state: Any) -> None:
        """Go back to a state that ``save_state`` gave.

        :raises ConfigurationError: it is not a state of this file
        """


def with_place(parameters: Mapping[str, Any], base_directory: Path | None) -> dict[str, Any]:
    """Parameters of such a law, with the file's path made independent of the working directory."""
    file = parameters.get("file")
    if not isinstance(file, str) or not file:
        return dict(parameters)  # what is wrong is said where the parameters are read
    return {**parameters, "file": str((base_directory or Path.cwd()) / file)}
