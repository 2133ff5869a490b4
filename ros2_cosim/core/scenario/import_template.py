# SPDX-License-Identifier: Apache-2.0
"""The section ``openscenario`` of a scenario file: a scenario that another format describes.

It stands for what the file of that format says: scene, world, and the participant that plays the
storyboard. Whatever else the scenario says holds before that. Running such a file itself is
running a scenario with this section alone.
"""

from __future__ import annotations

import re
import warnings
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from pydantic import Field

from ros2_cosim.core.documents.settings import PositiveDuration, Section, read_section
from ros2_cosim.core.kernel.errors import ConfigurationError, WithoutEffectWarning
from ros2_cosim.core.kernel.loading import is_own_module, refuse_code
from ros2_cosim.core.scenario.importing import IMPORTER_GROUP, Importer, ImportRequest
from ros2_cosim.core.scenario.scenario_error import ScenarioError
from ros2_cosim.driving.platoon_template import WorldTemplate, merged


class ImportTemplate(Section):
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
    duration: PositiveDuration = Field(
        default=120_000_000_000, description="of a run whose end no trigger brings"
    )
    period: PositiveDuration = Field(
        default=20_000_000, description="in which the storyboard looks and drives"
    )
    world: WorldTemplate = Field(
        default_factory=WorldTemplate, description="the plant of all vehicles; as of `platoon`"
    )


def is_imported(path: Path) -> bool:
    """Whether a file is of a format that an installed distribution can import."""
    return path.suffix[1:] in {entry.name for entry in entry_points(group=IMPORTER_GROUP)}


def as_scenario(path: Path) -> dict[str, Any]:
    """The scenario that stands for a file of another format."""
    name = re.sub(r"[^a-z0-9_]+", "_", path.stem.lower()).strip("_")
    if not re.match(r"[a-z]", name):
        name = f"scenario_{name}"
    return {"name": name, "openscenario": {"file": path.name, "parameters": {}, "world": {}}}


def with_import(data: dict[str, Any], origin: str) -> dict[str, Any]:
    """The data of a scenario file with its section ``openscenario`` resolved.

    :param data: with ``base_directory``
    :raises ScenarioError: the file says what is not supported, fault by fault
    :raises ConfigurationError: the section is wrong, or the file cannot be read
    """
    if "openscenario" not in data:
        return data
    rest = {key: value for key, value in data.items() if key != "openscenario"}
    template = read_section(
        ImportTemplate, data["openscenario"], origin=origin, place="openscenario"
    )
    base_directory = Path(data["base_directory"])
    importer = _importer(template.file, f"{origin}: openscenario.file")
    found = importer(
        ImportRequest(
            base_directory / template.file,
            base_directory,
            template.parameters,
            template.map,
            template.external,
            template.duration,
            template.period,
            template.world.model_dump(),
        )
    )
    if found.faults:
        raise ScenarioError(found.faults)
    for note in found.notes:
        warnings.warn(note, WithoutEffectWarning, stacklevel=2)
    return merged(found.data, rest)


def _importer(file: str, where: str) -> Importer:
    entries = {entry.name: entry for entry in sorted(entry_points(group=IMPORTER_GROUP))}
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
