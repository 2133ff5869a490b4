# SPDX-License-Identifier: Apache-2.0
"""What every participant knows beforehand of the vehicles: identity and size."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ros2_cosim.interfaces.records import CLASS_CAR
from ros2_cosim.kernel.errors import ConfigurationError
from ros2_cosim.models.checks import require_positive


class VehicleInfo(NamedTuple):
    """Identity, footprint [m] and class of one vehicle."""

    id: int
    length: float
    width: float
    classification: int = CLASS_CAR


def check_vehicles(owner: str, vehicles: Mapping[str, VehicleInfo]) -> dict[str, VehicleInfo]:
    """Return the vehicles in the order of their names.

    :raises ConfigurationError: an identity used twice, or a size that is not positive
    """
    seen: dict[int, str] = {}
    for name in sorted(vehicles):
        info = vehicles[name]
        require_positive(f"{owner}: vehicle '{name}'", length=info.length, width=info.width)
        if info.id in seen:
            raise ConfigurationError(
                f"{owner}: vehicles '{seen[info.id]}' and '{name}' both have id {info.id};"
                " each needs its own"
            )
        seen[info.id] = name
    return {name: vehicles[name] for name in sorted(vehicles)}


def require_vehicle(owner: str, vehicles: Mapping[str, VehicleInfo], name: str) -> VehicleInfo:
    """Return the vehicle of that name.

    :raises ConfigurationError: there is none; the message lists the known ones
    """
    if not isinstance(name, str) or name not in vehicles:
        raise ConfigurationError(
            f"{owner}: found vehicle {name!r}; allowed are {', '.join(sorted(vehicles)) or 'none'}"
        )
    return vehicles[name]
