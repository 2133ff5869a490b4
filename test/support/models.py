# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Models made as a run makes them: from a context and checked parameters."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from ros2_cosim.core.documents.settings import read_section
from ros2_cosim.core.kernel.model import Model
from ros2_cosim.core.kernel.participant import ModelContext
from ros2_cosim.world.map.vehicle_info import VehicleInfo

_Model = TypeVar("_Model", bound=Model)


def scene_of(vehicles: Mapping[str, VehicleInfo], **more: Any) -> dict[str, Any]:
    """A scene with identity and size of vehicles."""
    sizes = {n: {"id": v.id, "length": v.length, "width": v.width} for n, v in vehicles.items()}
    return {"vehicles": sizes, **more}


def made(
    kind: type[_Model],
    parameters: Mapping[str, Any],
    *,
    name: str,
    context: Mapping[str, Any] | None = None,
    **given: Any,
) -> _Model:
    """Check parameters and settings, then make the model.

    :param context: fields of the context that are not as usual
    :param given: further arguments of the constructor
    """
    fields: dict[str, Any] = {
        "name": name,
        "parameters": parameters,
        "scene": {},
        "run_seed": 1,
        "base_directory": Path("."),
    }
    found = ModelContext(**(fields | dict(context or {})))
    return kind(found, read_section(kind.Parameters, dict(parameters), place=found.where), **given)
