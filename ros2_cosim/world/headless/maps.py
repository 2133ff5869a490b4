# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The maps that a server offers: OpenDRIVE files, named by their file names."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from ros2_cosim.core.documents.files import cause_of, read_bounded
from ros2_cosim.core.documents.installed import share_file
from ros2_cosim.core.documents.xml_reader import MAX_BYTES
from ros2_cosim.core.kernel.errors import ConfigurationError

# The maps that come with this package; the first one is loaded at the start.
_OWN_MAPS = ("town", "highway", "circuit")
_LISTED_PREFIX = "/Game/Carla/Maps/"
_SHORT_PREFIX = "Carla/Maps/"
GENERATED_MAP = "OpenDriveMap"


def full_name(name: str) -> str:
    """Name of a map as ``get_map_info`` gives it, for example ``Carla/Maps/highway``."""
    return _SHORT_PREFIX + name


#: Ends the names of CARLA's towns whose objects are in layers.
_LAYERED = "_Opt"


_SUFFIX: Final = ".xodr"

#: The towns that come with CARLA, by the names that programs load them by.
CARLA_TOWNS: Final = (
    *(f"Town{number:02}" for number in range(1, 8)),
    "Town10HD",
)


def own_maps() -> list[Path]:
    """The files of the maps that come with this package.

    :raises ConfigurationError: the package is not installed completely
    """
    return [share_file(f"config/{name}.xodr") for name in _OWN_MAPS]


class MapLibrary:
    """OpenDRIVE texts by map name (the stem of the file)."""

    def __init__(self, paths: Sequence[Path], *, town_names: bool = False) -> None:
        """Read the files.

        :param paths: files, and directories of which each ``*.xodr`` is a map; a file that is named
            twice counts once
        :param town_names: the first map has the names of those of CARLA's towns, too, that no file
            has
        :raises ConfigurationError: if a file cannot be read, two have the same name, or a directory
            has no map
        """
        self._texts: dict[str, str] = {}
        seen: dict[str, Path] = {}
        for path in (file for given in paths for file in _files(given)):
            name, place = path.stem, path.resolve()
            if seen.get(name) == place:
                continue
            if name in seen:
                raise ConfigurationError(f"two maps are called '{name}' (second: {path})")
            seen[name] = place
            try:
                self._texts[name] = read_bounded(path, MAX_BYTES).decode("utf-8")
            except OSError as error:
                raise ConfigurationError(f"map {path}: {cause_of(error)}") from None
            except UnicodeDecodeError as error:
                raise ConfigurationError(f"map {path}: cannot be read ({error})") from None
        if not self._texts:
            raise ConfigurationError("the server needs at least one map")
        #: CARLA's towns that are the first map by another name.
        self.stood_in_for: tuple[str, ...] = ()
        if town_names:
            self.stood_in_for = tuple(name for name in CARLA_TOWNS if name not in self._texts)

    def first(self) -> str:
        """Name of the map to start with."""
        return next(iter(self._texts))

    def listed(self) -> list[str]:
        """All names as ``get_available_maps`` gives them."""
        layered = [name + _LAYERED for name in self.stood_in_for]
        names = [*self._texts, *self.stood_in_for, *layered]
        return [_LISTED_PREFIX + name for name in sorted(names)]

    def find(self, name: str) -> tuple[str, str]:
        """Short name and OpenDRIVE text of a map given by any of its names.

        CARLA's towns with layers have the same roads: ``Town01_Opt`` is ``Town01`` by another name,
        unless there is a map of that name.

        :raises ConfigurationError: naming the maps there are
        """
        short = name.rsplit("/", 1)[-1]
        known = short if short in self._texts else short.removesuffix(_LAYERED)
        if known in self.stood_in_for:
            known = self.first()
        if known not in self._texts:
            hint = "; CARLA's towns: --map with their files, or --town-names"
            raise ConfigurationError(
                f"map not found: '{name}'; available maps: "
                + ", ".join(self.listed())
                + (hint if known in CARLA_TOWNS else "")
            )
        return short, self._texts[known]


def _files(given: Path) -> list[Path]:
    """The maps that a path stands for.

    :raises ConfigurationError: a directory without maps
    """
    try:
        found = sorted(given.glob(f"*{_SUFFIX}")) if given.is_dir() else [given]
    except OSError as error:
        raise ConfigurationError(f"map {given}: {cause_of(error)}") from None
    if not found:
        raise ConfigurationError(f"map {given}: found a directory without {_SUFFIX} files")
    return found
