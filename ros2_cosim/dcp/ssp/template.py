# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The section ``ssp`` of a scenario file: a system of FMUs that an SSP describes.

It stands for the participants of its components. Whatever else the scenario says holds before
that. Running such a file itself is running a scenario with this section alone.
"""

from __future__ import annotations

import warnings
from collections.abc import Collection
from pathlib import Path
from typing import Any

from pydantic import Field

from ros2_cosim.core.documents.settings import PositiveDuration
from ros2_cosim.core.kernel.errors import WithoutEffectWarning
from ros2_cosim.core.scenario.templates import Template
from ros2_cosim.dcp.ssp.scenario import import_ssp

SUFFIXES = (".ssp", ".ssd")


class SspTemplate(Template):
    """A scenario from a file of System Structure and Parameterization (SSP) 1.0 or 2.0."""

    file: str = Field(
        min_length=1, description="the .ssp, or an unpacked .ssd, relative to this one"
    )
    period: PositiveDuration | None = Field(
        default=None,
        description="between communication points; default: as annotated, else the shortest step "
        "that an FMU suggests",
    )

    def stands_for(self, rest: dict[str, Any], origin: str) -> dict[str, Any]:
        """What the file says, as plain data.

        :raises ScenarioError: it has what is not run, fault by fault
        :raises ConfigurationError: a document cannot be read
        """
        directory = Path(rest["base_directory"])
        found = import_ssp(directory / self.file, directory, self.period)
        for note in found.notes:
            warnings.warn(note, WithoutEffectWarning, stacklevel=2)
        return found.data

    @classmethod
    def suffixes(cls) -> Collection[str]:
        """Packages, and unpacked descriptions."""
        return SUFFIXES
