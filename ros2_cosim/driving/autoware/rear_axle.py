# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Autoware's ``base_link``: the centre of the rear axle, on the ground.

So says the page design/autoware-interfaces/components/vehicle-dimensions of Autoware's
documentation. The reference point of this project is the centre of the footprint.
"""

from __future__ import annotations

from collections.abc import Iterable

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.participant import ModelContext
from ros2_cosim.core.messages.records import Acceleration, Odometry
from ros2_cosim.core.scene.scene import DEFAULT_DYNAMICS, scene_settings
from ros2_cosim.world.map import frames
from ros2_cosim.world.vehicle import VEHICLES, VehicleParameters


def at_rear_axle(o: Odometry, distance: float) -> Odometry:
    """The odometry of the rear axle, in ``map`` and in the vehicle's axes.

    :param distance: from the reference point back to the axle [m]
    """
    dx, dy, dz = frames.body_to_world((o.qx, o.qy, o.qz, o.qw), (0.0 - distance, 0.0, 0.0))
    return o._replace(
        x=o.x + dx,
        y=o.y + dy,
        z=o.z + dz,
        vy=o.vy - o.wz * distance,
        vz=o.vz + o.wy * distance,
    )


def acceleration_at_rear_axle(a: Acceleration, o: Odometry, distance: float) -> tuple[float, float]:
    """Along and across the vehicle [m/s^2]; across as far as the axle does not slip.

    So it is yaw rate times velocity, as autoware_simple_planning_simulator has it
    (publish_acceleration of the file that :mod:`.gears` names).

    :param o: of the reference point
    """
    return a.ax + o.wz * o.wz * distance, o.wz * o.vx


def dynamics_of(context: ModelContext, vehicle: str) -> VehicleParameters:
    """The dynamics that the scene names for a vehicle, or the usual ones.

    :raises ConfigurationError: there are none of that name
    """
    name = scene_settings(context).vehicles[vehicle].dynamics or DEFAULT_DYNAMICS
    if name not in VEHICLES:
        raise ConfigurationError(
            f"scene.vehicles.{vehicle}.dynamics: found {name!r}; allowed are "
            f"{', '.join(sorted(VEHICLES))}"
        )
    return VEHICLES[name]


def only_vehicle(context: ModelContext, side: str, kind: str, ports: Iterable[str]) -> str:
    """The vehicle of the only port of a kind.

    :raises ConfigurationError: there is none, or there are several
    """
    found = [port.removeprefix(kind) for port in ports if port.startswith(kind)]
    if len(found) != 1:
        raise ConfigurationError(
            f"participants.{context.name}.{side}: found {kind}... of "
            f"{', '.join(found) or 'no vehicle'}; allowed is one vehicle"
        )
    return found[0]
