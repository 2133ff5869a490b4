# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What ``static.prop.mesh`` shows: meshes of CARLA's content, by their paths.

This server has none of these meshes. A mesh with the name of a vehicle or a prop of the catalogue,
as CARLA's parked vehicles have, gets the size and body of that. Another one has no body, as in
CARLA where a mesh cannot be loaded. The label is that of the mesh's folder, as in CARLA
(``ATagger::GetLabelByFolderName``).
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from dataclasses import replace
from difflib import get_close_matches
from functools import cache
from typing import Final

from ros2_cosim.world.headless.blueprints import LIBRARY, MAX_SIZE, MESH, Blueprint
from ros2_cosim.world.headless.wire_types import Vector

_logger = logging.getLogger(__name__)

_FOLDERS: Final = (
    "", "Road", "SideWalk", "Building", "Wall", "Fence", "Pole", "TrafficLight", "TrafficSign",
    "Vegetation", "Terrain", "Sky", "Pedestrian", "Rider", "Car", "Truck", "Bus", "Train",
    "Motorcycle", "Bicycle", "Static", "Dynamic", "Other", "Water", "RoadLine", "Ground", "Bridge",
    "RailTrack", "GuardRail",
)  # fmt: skip
"""Folders of CARLA's content, each at the place of its label."""
_VEHICLES: Final = frozenset(("Car", "Truck", "Bus", "Motorcycle", "Bicycle"))
#: Programs also write ``StaticMesh'/Game/...'``.
_PATH: Final = re.compile(r"/Game/Carla/Static/(\w+)/(?:[^'/]+/)*([^'/]+)")
_LEAST_MATCH: Final = 4  # letters that the names of a mesh and a vehicle have in common
_LIKE: Final = 0.85  # as difflib counts
_PROPS: Final = "static.prop."


def of_mesh(blueprint: Blueprint, chosen: Mapping[str, str]) -> Blueprint:
    """The kind of actor that a mesh makes of ``static.prop.mesh``; other kinds do not change.

    :raises ValueError: the scale is not one
    """
    if blueprint.id != MESH:
        return blueprint
    scale = _scale(chosen)
    path = chosen.get("mesh_path", "")
    found = _PATH.search(path)
    model = _model_of(*found.groups()) if found else None
    if found is None or model is None:
        _logger.warning("mesh '%s' is not known: the actor has no body", path[:200])
        return blueprint
    x, y, z = LIBRARY[model].extent
    folder = found.group(1)
    return replace(
        blueprint,
        extent=Vector(scale * x, scale * y, scale * z),
        semantic_tag=_FOLDERS.index(folder) if folder in _FOLDERS else 0,
        likeness=model,
    )


def _scale(chosen: Mapping[str, str]) -> float:
    text = chosen.get("scale") or "1"
    try:
        scale = float(text.rstrip("f"))
    except ValueError:
        scale = 0.0
    if not 0.0 < scale <= MAX_SIZE:
        raise ValueError(
            f"attribute 'scale' of blueprint '{MESH}': found '{text[:40]}'; allowed is above 0 to "
            f"{MAX_SIZE:g}"
        )
    return scale


@cache
def _model_of(folder: str, asset: str) -> str | None:
    """The blueprint that has the name of a mesh."""
    name = asset.rpartition(".")[2].lower().removeprefix("sm_")
    plain = re.sub("[^a-z0-9]", "", name).removesuffix("parked")
    if folder in _VEHICLES:
        return _vehicle(plain)
    props = {
        re.sub("[^a-z0-9]", "", known.removeprefix(_PROPS)): known
        for known in LIBRARY
        if known.startswith(_PROPS)
    }
    near = get_close_matches(plain, props, n=1, cutoff=_LIKE)
    return props[near[0]] if near else None


def _vehicle(plain: str) -> str | None:
    """The vehicle with most of its words in a name: the newest, then a car, the shortest name."""
    best: tuple[tuple[int, int, bool, int], str] | None = None
    for known, blueprint in LIBRARY.items():
        if blueprint.kind != "vehicle":
            continue
        words = re.findall("[a-z0-9]{2,}", known.partition(".")[2])
        common = sum(len(word) for word in words if word in plain)
        key = (
            common, int(blueprint.default("generation")), blueprint.default("base_type") == "car",
            0 - len(words),
        )  # fmt: skip
        if common >= _LEAST_MATCH and (best is None or key > best[0]):
            best = key, known
    return best[1] if best else None
