# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What the bridge knows beforehand of the vehicles of the scene."""

from __future__ import annotations

from typing import NamedTuple

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.scene.scene import (
    DEFAULT_CAR,
    DEFAULT_DYNAMICS,
    DEFAULT_SIZE,
    SceneSettings,
)
from ros2_cosim.world.vehicle import VEHICLES, VehicleParameters


class BridgeVehicle(NamedTuple):
    """One vehicle: identity, kind in CARLA, size [m], and the dynamics that are assumed."""

    name: str
    id: int
    blueprint: str
    length: float
    width: float
    height: float
    dynamics: VehicleParameters

    @property
    def is_truck(self) -> bool:
        """Whether it counts as a truck."""
        return self.dynamics.name == "truck"


def bridge_vehicles(scene: SceneSettings) -> dict[str, BridgeVehicle]:
    """Name -> vehicle; a size that the scene does not say is that of the usual car.

    Of another blueprint only the simulator knows it: it is that of the dynamics.

    :raises ConfigurationError: there are no dynamics of the name that it gives
    """
    vehicles = {}
    for name, settings in scene.vehicles.items():
        dynamics = VEHICLES.get(settings.dynamics or DEFAULT_DYNAMICS)
        if dynamics is None:
            raise ConfigurationError(
                f"scene.vehicles.{name}.dynamics: found {settings.dynamics!r}; allowed are "
                f"{', '.join(sorted(VEHICLES))}"
            )
        size = (dynamics.length, dynamics.width, dynamics.height)
        length, width, height = DEFAULT_SIZE if settings.blueprint is None else size
        vehicles[name] = BridgeVehicle(
            name,
            scene.identity(name),
            settings.blueprint or DEFAULT_CAR,
            length if settings.length is None else settings.length,
            width if settings.width is None else settings.width,
            height if settings.height is None else settings.height,
            dynamics,
        )
    return vehicles
