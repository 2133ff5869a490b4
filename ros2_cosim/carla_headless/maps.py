# SPDX-License-Identifier: Apache-2.0
"""The maps that a server offers: OpenDRIVE files, named by their file names."""

from __future__ import annotations

from pathlib import Path

from ros2_cosim.documents.files import cause_of, read_bounded
from ros2_cosim.documents.installed import share_file
from ros2_cosim.documents.xml_reader import MAX_BYTES
from ros2_cosim.kernel.errors import ConfigurationError

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


def own_maps() -> list[Path]:
    """The files of the maps that come with this package.

    :raises ConfigurationError: the package is not installed completely
    """
    return [share_file(f"config/{name}.xodr") for name in _OWN_MAPS]


class MapLibrary:
    """OpenDRIVE texts by map name (the stem of the file)."""

    def __init__(self, paths: list[Path]) -> None:
        """Read the files.

        :raises ConfigurationError: if a file cannot be read or two have the same name
        """
        self._texts: dict[str, str] = {}
        for path in paths:
            if path.stem in self._texts:
                raise ConfigurationError(f"two maps are called '{path.stem}' (second: {path})")
            try:
                self._texts[path.stem] = read_bounded(path, MAX_BYTES).decode("utf-8")
            except OSError as error:
                raise ConfigurationError(f"map {path}: {cause_of(error)}") from None
            except UnicodeDecodeError as error:
                raise ConfigurationError(f"map {path}: cannot be read ({error})") from None
        if not self._texts:
            raise ConfigurationError("the server needs at least one map")

    def first(self) -> str:
        """Name of the map to start with."""
        return next(iter(self._texts))

    def listed(self) -> list[str]:
        """All names as ``get_available_maps`` gives them."""
        return [_LISTED_PREFIX + name for name in sorted(self._texts)]

    def find(self, name: str) -> tuple[str, str]:
        """Short name and OpenDRIVE text of a map given by any of its names.

        CARLA's towns with layers have the same roads: ``Town01_Opt`` is ``Town01`` by another name,
        unless there is a map of that name.

        :raises ConfigurationError: naming the maps there are
        """
        short = name.rsplit("/", 1)[-1]
        known = short if short in self._texts else short.removesuffix(_LAYERED)
        if known not in self._texts:
            raise ConfigurationError(
                f"map '{name}' not found; available maps: " + ", ".join(self.listed())
            )
        return short, self._texts[known]
