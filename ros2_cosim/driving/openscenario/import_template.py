# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The section ``openscenario`` of a scenario file: a scenario that another format describes.

It stands for what the file of that format says: scene, world, and the participant that plays the
storyboard. Whatever else the scenario says holds before that. Running such a file itself is
running a scenario with this section alone.
"""

from __future__ import annotations

import warnings
from collections.abc import Collection
from pathlib import Path
from typing import Any

from pydantic import Field

from ros2_cosim.core.documents.offered import offered
from ros2_cosim.core.kernel.errors import ConfigurationError, WithoutEffectWarning
from ros2_cosim.core.kernel.loading import is_own_module, refuse_code
from ros2_cosim.core.scenario.scenario_error import ScenarioError
from ros2_cosim.core.scenario.templates import Template
from ros2_cosim.core.scene.world_outputs import usual_world
from ros2_cosim.driving.openscenario.importing import IMPORTER_GROUP, Importer, ImportRequest


class ImportTemplate(Template):
    """A scenario from a file of ASAM OpenSCENARIO XML."""

    file: str = Field(min_length=1, description="the .xosc file, relative to this one")
    parameters: dict[str, str | bool | int | float] = Field(
        default_factory=dict, description="parameters of the file: values before those it declares"
    )
    map: str | None = Field(
        default=None, description="OpenDRIVE file instead of the LogicFile, relative to this one"
    )
    external: tuple[str, ...] = Field(
        default=(), description="entities that participants of this file drive, not the storyboard"
    )

    def stands_for(self, rest: dict[str, Any], origin: str) -> dict[str, Any]:
        """What the file says, as plain data.

        :raises ScenarioError: the file says what is not supported, fault by fault
        :raises ConfigurationError: the file cannot be read
        """
        base_directory = Path(rest["base_directory"])
        importer = _importer(self.file, f"{origin}: openscenario.file")
        found = importer(
            ImportRequest(
                base_directory / self.file,
                base_directory,
                self.parameters,
                self.map,
                self.external,
                usual_world(rest),
            )
        )
        if found.faults:
            raise ScenarioError(found.faults)
        for note in found.notes:
            warnings.warn(note, WithoutEffectWarning, stacklevel=2)
        return found.data

    @classmethod
    def suffixes(cls) -> Collection[str]:
        """Those of the installed importers."""
        return [f".{suffix}" for suffix in offered(IMPORTER_GROUP)]


def _importer(file: str, where: str) -> Importer:
    entries = offered(IMPORTER_GROUP)
    entry = entries.get(Path(file).suffix[1:])
    if entry is None:
        raise ConfigurationError(
            f"{where}: found '{file}'; allowed is a file that ends in "
            + " or ".join(f".{name}" for name in entries)
        )
    if not is_own_module(entry.module):
        refuse_code(f"{where}: found '{file}', whose importer {entry.value}")
    importer: Importer = entry.load()
    return importer
