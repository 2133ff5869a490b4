# SPDX-License-Identifier: Apache-2.0
"""Parameters of a vehicle's dynamics and ready-made vehicles.

The values are typical of the class of vehicle, not those of one product. Drag, rolling
resistance and air density follow the usual ranges (Rajamani, "Vehicle Dynamics and Control",
2nd ed., table 4.1 and section 4.1).
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Final

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


SEDAN = VehicleParameters(
    name="sedan",
    mass=1650.0,
    yaw_inertia=2700.0,
    front_axle=1.38,
    rear_axle=1.46,
    cg_height=0.55,
    length=4.79,
    width=1.85,
    height=1.49,
    wheel_radius=0.34,
    drag_area=0.66,
    rolling_resistance=0.010,
    max_power=140_000.0,
    max_drive_force=7_500.0,
    engine_braking_force=500.0,
    max_brake_force=16_500.0,
    max_speed=60.0,
    max_reverse_speed=10.0,
    friction=1.0,
    front_stiffness=19.0,
    rear_stiffness=22.0,
    max_steer_angle=0.61,
    max_steer_rate=0.6,
    throttle_lag=0.15,
    brake_lag=0.08,
    steer_lag=0.08,
)

VAN = VehicleParameters(
    name="van",
    mass=2400.0,
    yaw_inertia=5200.0,
    front_axle=1.70,
    rear_axle=1.95,
    cg_height=0.80,
    length=5.92,
    width=1.99,
    height=2.56,
    wheel_radius=0.36,
    drag_area=1.45,
    rolling_resistance=0.011,
    max_power=110_000.0,
    max_drive_force=8_500.0,
    engine_braking_force=800.0,
    max_brake_force=22_000.0,
    max_speed=46.0,
    max_reverse_speed=7.0,
    friction=0.95,
    front_stiffness=15.0,
    rear_stiffness=17.5,
    max_steer_angle=0.66,
    max_steer_rate=0.5,
    throttle_lag=0.20,
    brake_lag=0.10,
    steer_lag=0.10,
)

TRUCK = VehicleParameters(
    name="truck",
    mass=12_000.0,
    yaw_inertia=45_000.0,
    front_axle=2.60,
    rear_axle=2.20,
    cg_height=1.30,
    length=8.00,
    width=2.50,
    height=3.60,
    wheel_radius=0.50,
    drag_area=5.20,
    rolling_resistance=0.007,
    max_power=220_000.0,
    max_drive_force=40_000.0,
    engine_braking_force=6_000.0,
    max_brake_force=84_000.0,
    max_speed=27.0,
    max_reverse_speed=4.0,
    friction=0.80,
    front_stiffness=8.5,
    rear_stiffness=10.5,
    max_steer_angle=0.70,
    max_steer_rate=0.4,
    throttle_lag=0.35,
    brake_lag=0.25,
    steer_lag=0.15,
)

MOTORCYCLE = replace(
    SEDAN,
    name="motorcycle",
    mass=290.0,
    yaw_inertia=110.0,
    front_axle=0.72,
    rear_axle=0.72,
    cg_height=0.6,
    length=2.1,
    width=0.8,
    height=1.5,
    wheel_radius=0.31,
    drag_area=0.5,
    rolling_resistance=0.015,
    max_power=50_000.0,
    max_drive_force=1_600.0,
    engine_braking_force=100.0,
    max_brake_force=2_700.0,
    max_reverse_speed=2.0,
    friction=1.0,
)
# Its motor is stronger than a rider: CARLA's bicycles take part in its traffic.
BICYCLE = replace(
    MOTORCYCLE,
    name="bicycle",
    mass=90.0,
    yaw_inertia=22.0,
    front_axle=0.52,
    rear_axle=0.52,
    length=1.7,
    wheel_radius=0.34,
    max_power=1_500.0,
    max_drive_force=250.0,
    engine_braking_force=5.0,
    max_brake_force=600.0,
    max_speed=15.0,
)

VEHICLES = {v.name: v for v in (SEDAN, VAN, TRUCK, MOTORCYCLE, BICYCLE)}
