# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Parameters of a vehicle's dynamics and ready-made vehicles.

The values are typical of the class of vehicle, not those of one product. Drag, rolling
resistance and air density follow the usual ranges (Rajamani, "Vehicle Dynamics and Control",
2nd ed., table 4.1 and section 4.1).
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Final

from ros2_cosim.core.documents.installed import package_table
from ros2_cosim.core.kernel.errors import ConfigurationError

GRAVITY: Final = 9.81
AIR_DENSITY: Final = 1.184


@dataclass(frozen=True)
class VehicleParameters:
    """One type of vehicle; SI units.

    The centre of gravity lies above the centre of the footprint, which is the reference point.
    """

    name: str
    mass: float
    yaw_inertia: float
    """About the vertical axis through the centre of gravity [kg m^2]."""
    front_axle: float
    """Distance from the centre of gravity forward to the front axle [m]."""
    rear_axle: float
    """Distance from the centre of gravity back to the rear axle [m]."""
    cg_height: float
    length: float
    width: float
    height: float
    wheel_radius: float
    drag_area: float
    """Drag coefficient times frontal area [m^2]."""
    rolling_resistance: float
    max_power: float
    """Power at the wheels at full throttle [W]."""
    max_drive_force: float
    """Force at the wheels at full throttle while power does not limit it [N]."""
    engine_braking_force: float
    """Drag of the engine at closed throttle, fading out towards standstill [N]."""
    max_brake_force: float
    """Force of the service brake at full pedal, before tyre friction limits it [N]."""
    max_speed: float
    """Speed at which the drive force is cut off [m/s]."""
    max_reverse_speed: float
    friction: float
    """Friction coefficient between tyre and road."""
    front_stiffness: float
    """Lateral force of the front axle per slip angle and load [1/rad]."""
    rear_stiffness: float
    """Lateral force of the rear axle per slip angle and load [1/rad]; more than in front
    makes the vehicle understeer, as all road vehicles do."""
    max_steer_angle: float
    """Angle of the front wheels at steer 1 [rad]."""
    max_steer_rate: float
    """[rad/s]"""
    throttle_lag: float
    """Time constant of the drive force [s]."""
    brake_lag: float
    """Time constant of the brake force [s]."""
    steer_lag: float
    """Time constant of the front wheels' angle [s]."""
    lateral_grip: float = 1.0
    """Largest lateral force of a tyre as a share of ``friction`` times load: 1 for real tyres;
    those of CARLA's vehicles hold more."""

    def __post_init__(self) -> None:
        """Check that every number is positive; ConfigurationError names the one that is not."""
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name != "name" and not 0.0 < value < 1e9:
                raise ConfigurationError(
                    f"vehicle {self.name!r}: {field.name}={value!r} must be positive and finite"
                )
        if self.max_steer_angle > 1.4:
            raise ConfigurationError(
                f"vehicle {self.name!r}: max_steer_angle={self.max_steer_angle!r} rad must be at "
                "most 1.4"
            )

    @property
    def wheelbase(self) -> float:
        """Distance between the axles [m]."""
        return self.front_axle + self.rear_axle


def loaded(
    p: VehicleParameters,
    mass: float,
    wheelbase: float,
    wheel_radius: float = 0.0,
    max_steer_angle: float = 0.0,
) -> VehicleParameters:
    """A vehicle with another mass [kg], wheelbase, radius of wheels [m], angle [rad]; 0: its own.

    Its forces grow with its mass, so that the same pedals mean the same acceleration.
    """
    heavier = mass / p.mass if mass > 0.0 else 1.0
    longer = wheelbase / p.wheelbase if wheelbase > 0.0 else 1.0
    return replace(
        p,
        mass=p.mass * heavier,
        yaw_inertia=p.yaw_inertia * heavier * longer * longer,
        front_axle=p.front_axle * longer,
        rear_axle=p.rear_axle * longer,
        max_power=p.max_power * heavier,
        max_drive_force=p.max_drive_force * heavier,
        engine_braking_force=p.engine_braking_force * heavier,
        max_brake_force=p.max_brake_force * heavier,
        wheel_radius=wheel_radius or p.wheel_radius,
        max_steer_angle=max_steer_angle or p.max_steer_angle,
    )


VEHICLES: Final[dict[str, VehicleParameters]] = {
    name: VehicleParameters(name=name, **figures)
    for name, figures in package_table("world/vehicle/vehicles.json").items()
}
"""One of each class. The motor of the bicycle is stronger than a rider: CARLA's bicycles take part
in its traffic."""
SEDAN: Final = VEHICLES["sedan"]
TRUCK: Final = VEHICLES["truck"]
