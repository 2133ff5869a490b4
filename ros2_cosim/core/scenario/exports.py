# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Other forms of a recorded run: what writes them, and which of them a scenario wants.

A distribution offers them as entry points of the group ``ros2_cosim.exports``: classes derived from
:class:`Export`. The section ``bag.exports`` names them with their parameters. What one writes is in
``DIR/NAME/``, made from the bag when the run has ended, however that was.
"""

from __future__ import annotations

import shutil
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Final

from ros2_cosim.core.documents.files import cause_of
from ros2_cosim.core.documents.offered import find_kind
from ros2_cosim.core.documents.settings import Section, read_section
from ros2_cosim.core.kernel.errors import StorageError
from ros2_cosim.core.messages.seams import NoParameters
from ros2_cosim.core.scenario.schema import Scenario

EXPORT_GROUP: Final = "ros2_cosim.exports"


class Export(ABC):
    """Writes a run in another form.

    :param parameters: an instance of ``Parameters``
    :param where: how messages call the place of the settings
    :raises ConfigurationError: the scenario does not have what this needs
    """

    Parameters: ClassVar[type[Section]] = NoParameters

    @abstractmethod
    def __init__(self, scenario: Scenario, parameters: Any, where: str) -> None: ...

    @abstractmethod
    def versions(self) -> Mapping[str, str]:
        """Name -> version of the formats, for the summary of the run."""

    @abstractmethod
    def write(self, bag: Path, directory: Path) -> None:
        """Write files into a directory, which is there and empty.

        :raises OSError, CosimError: they cannot be written, or the bag cannot be read
        """


def exports_of(scenario: Scenario) -> dict[str, Export]:
    """The exports that a scenario wants, by name.

    :raises ConfigurationError: one is not there, or its settings are wrong
    """
    found = {}
    for name, given in scenario.bag.exports.items():
        where = f"bag.exports.{name}"
        kind: type[Export] = find_kind(EXPORT_GROUP, name, where, "export", Export)
        found[name] = kind(scenario, read_section(kind.Parameters, given, place=where), where)
    return found


def export_versions(scenario: Scenario) -> dict[str, str]:
    """Versions of all formats that a scenario wants."""
    return {k: v for e in exports_of(scenario).values() for k, v in e.versions().items()}


def write_exports(scenario: Scenario, bag: Path) -> None:
    """Write all that a scenario wants of a complete bag, each beside the bag.

    :raises StorageError: there is no room for it
    :raises CosimError: it cannot be made
    """
    for name, export in exports_of(scenario).items():
        directory = bag.parent / name
        try:
            shutil.rmtree(directory, ignore_errors=True)
            directory.mkdir()
            export.write(bag, directory)
        except OSError as error:
            raise StorageError(f"bag.exports.{name}: {directory}: {cause_of(error)}") from None
