# SPDX-License-Identifier: Apache-2.0
"""The dynamics that the vehicles of CARLA 0.9.16 move with.

Masses are kerb masses of the products that the vehicles are modelled on,
rounded (two-wheelers with a rider of 75 kg); CARLA's own vehicles mostly stay near them. Forces,
powers and resistances are those of a class of vehicles, scaled to the mass.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from ros2_cosim.world.headless.wire_types import Vector
from ros2_cosim.world.vehicle.parameters import VEHICLES, VehicleParameters

#: Friction of the tyres of CARLA's vehicles sideways (``tire_friction``): they take bends at more
#: than gravity, and CARLA's traffic manager counts on it. Along the vehicle the class's own holds.
TYRE_FRICTION: Final = 3.5

#: Angle of the front wheels at full steering [rad]: CARLA's 70 degrees. It reaches them in 0.4 s.
_STEER_RANGE: Final = 1.22
_STEER_RATE: Final = 3.05

#: Highest centre of mass as a share of the wheelbase. The traffic manager brakes hard in bends at
#: 100 km/h; with more load on the front axle short vehicles, two-wheelers above all, turn around.
_LOW_CENTRE: Final = 0.12

#: Kinds of vehicles whose class has another name.
_CLASSES: Final = {"car": "sedan", "bus": "truck"}


def dynamics_of(
    name: str, base_type: str, extent: Vector, mass: float
) -> tuple[VehicleParameters, VehicleParameters]:
    """The dynamics of a vehicle as clients drive it, and with the steering of its class.

    The first are the class's dynamics with the size and mass of the vehicle, CARLA's steering, and
    a centre of mass that is low enough for CARLA's traffic manager. The second have the steering
    of a real car, and the centre of mass of the class where ``mass`` is 0, which means the class's.
    """
    base = VEHICLES[_CLASSES.get(base_type, base_type)]
    length = 2.0 * extent.x
    real = replace(
        base,
        name=name,
        length=length,
        width=2.0 * extent.y,
        height=2.0 * extent.z,
        lateral_grip=TYRE_FRICTION / base.friction,
    )
    if mass:
        heavier, longer = mass / base.mass, length / base.length
        real = replace(
            real,
            mass=mass,
            yaw_inertia=base.yaw_inertia * heavier * longer * longer,
            front_axle=base.front_axle * longer,
            rear_axle=base.rear_axle * longer,
            max_power=base.max_power * heavier,
            max_drive_force=base.max_drive_force * heavier,
            engine_braking_force=base.engine_braking_force * heavier,
            max_brake_force=base.max_brake_force * heavier,
        )
    low = replace(real, cg_height=min(real.cg_height, _LOW_CENTRE * real.wheelbase))
    carla = replace(low, max_steer_angle=_STEER_RANGE, max_steer_rate=_STEER_RATE)
    return carla, low if mass else real
