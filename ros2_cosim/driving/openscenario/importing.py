# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The interface of importers: a file of another format as a scenario.

Importers are entry points of :data:`IMPORTER_GROUP`; their name is the suffix of the files.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

IMPORTER_GROUP: Final = "ros2_cosim.importers"


class ImportRequest(NamedTuple):
    """The request to an importer.

    ``parameters`` replace those that the file declares; ``map`` (an OpenDRIVE file) that which it
    names; ``external`` are entities that others drive. ``world`` has model, period and parameters
    of the plant. Relative paths begin in ``base_directory``.
    """

    file: Path
    base_directory: Path
    parameters: Mapping[str, Any]
    map: str | None
    external: tuple[str, ...]
    world: Mapping[str, Any]


class Imported(NamedTuple):
    """What an importer gives: plain data of a scenario, what is wrong, what has no effect."""

    data: dict[str, Any]
    faults: list[str]
    notes: list[str]


Importer = Callable[[ImportRequest], Imported]
