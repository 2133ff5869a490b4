# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What models of this room take from the scene: the road, and identity and size of vehicles."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from ros2_cosim.core.documents.files import cause_of, read_bounded
from ros2_cosim.core.documents.xml_reader import MAX_BYTES
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.participant import ModelContext
from ros2_cosim.core.scene.scene import (
    DEFAULT_CAR,
    DEFAULT_SIZE,
    SceneSettings,
    SceneVehicleSettings,
    scene_settings,
)
from ros2_cosim.world.map import RoadNetwork
from ros2_cosim.world.map.lane_boxes import LaneBoxes
from ros2_cosim.world.map.vehicle_info import VehicleInfo


def scene_road(context: ModelContext) -> RoadNetwork:
    """The road of the scene with its route, read once for all models of a process.

    :raises ConfigurationError: no map is named, or it cannot be read
    """
    return _read_road(_road_file(context), scene_settings(context).route)


def scene_boxes(context: ModelContext) -> LaneBoxes:
    """The road of the scene with the boxes on it, shared by all models of a process.

    :raises ConfigurationError: no map is named, or it cannot be read
    """
    return _boxes_on(_road_file(context), scene_settings(context).route)


def scene_road_text(context: ModelContext) -> str:
    """The OpenDRIVE text of the scene's map.

    :raises ConfigurationError: no map is named, or it cannot be read
    """
    return _road_text(_road_file(context))


def _road_file(context: ModelContext) -> Path:
    name = scene_settings(context).map
    if not name.endswith(".xodr"):
        raise ConfigurationError(f"scene.map: found {name!r}; allowed is the path of a .xodr file")
    return context.base_directory / name


@lru_cache(maxsize=4)
def _boxes_on(path: Path, route: tuple[int, ...]) -> LaneBoxes:
    return LaneBoxes(_read_road(path, route))


@lru_cache(maxsize=4)
def _read_road(path: Path, route: tuple[int, ...]) -> RoadNetwork:
    # A network does not change once it is read.
    return RoadNetwork.from_xodr(_road_text(path), f"scene.map: {path}").along(route)


def _road_text(path: Path) -> str:
    try:
        return read_bounded(path, MAX_BYTES).decode("utf-8")
    except OSError as error:
        raise ConfigurationError(f"scene.map: {path}: {cause_of(error)}") from None
    except UnicodeDecodeError as error:
        raise ConfigurationError(f"scene.map: {path}: {error}") from None


def scene_vehicles(context: ModelContext) -> dict[str, VehicleInfo]:
    """Identity and size of every vehicle of the scene, in the order of their names.

    :raises ConfigurationError: there is none, one lacks its size, or two have one identity
    """
    scene = scene_settings(context)
    if _sized and _sized[-1][0] is scene:
        return _sized[-1][1]
    if not scene.vehicles:
        raise ConfigurationError("scene.vehicles: found none; allowed is name: settings")
    result: dict[str, VehicleInfo] = {}
    taken: dict[int, str] = {}
    sizes = {name: _size(vehicle) for name, vehicle in sorted(scene.vehicles.items())}
    unsized = [name for name, size in sizes.items() if None in size]
    if unsized:
        raise ConfigurationError(
            f"scene.vehicles: found no length or width of {', '.join(unsized)}; allowed is to give "
            f"both, of all kinds but {DEFAULT_CAR}"
        )
    for name, (length, width) in sizes.items():
        number = scene.identity(name)
        if number in taken:
            raise ConfigurationError(
                f"scene.vehicles.{name}.id: found {number}; vehicles '{taken[number]}' and "
                f"'{name}' both have id {number}, each needs its own"
            )
        taken[number] = name
        assert length is not None and width is not None
        result[name] = VehicleInfo(number, length, width)
    _sized[:] = [(scene, result)]
    return result


#: The last scene and its vehicles: all models of a scenario ask.
_sized: list[tuple[SceneSettings, dict[str, VehicleInfo]]] = []


def _size(vehicle: SceneVehicleSettings) -> tuple[float | None, float | None]:
    """Length and width: of the usual car those of its kind, if the scenario does not say them."""
    usual = vehicle.blueprint in (None, DEFAULT_CAR)
    length, width = DEFAULT_SIZE[:2] if usual else (None, None)
    return vehicle.length or length, vehicle.width or width
