# SPDX-License-Identifier: Apache-2.0
"""The vehicles of CARLA 0.9.16: sizes, masses, attributes, and the dynamics they move with.

Sizes and attributes are those that a CARLA server shows to its clients, sizes rounded to a
centimetre or finer. Masses are kerb masses of the products that the vehicles are modelled on,
rounded (two-wheelers with a rider of 75 kg); CARLA's own vehicles mostly stay near them. Forces,
powers and resistances are those of a class of vehicles, scaled to the mass.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final, NamedTuple

from ros2_cosim.world.headless.wire_types import Vector
from ros2_cosim.world.vehicle.parameters import (
    BICYCLE,
    MOTORCYCLE,
    SEDAN,
    TRUCK,
    VAN,
    VehicleParameters,
)

#: Friction of the tyres of CARLA's vehicles sideways (``tire_friction``): they take bends at more
#: than gravity, and CARLA's traffic manager counts on it. Along the vehicle the class's own holds.
TYRE_FRICTION: Final = 3.5

#: Angle of the front wheels at full steering [rad]: CARLA's 70 degrees. It reaches them in 0.4 s.
_STEER_RANGE: Final = 1.22
_STEER_RATE: Final = 3.05

#: Highest centre of mass as a share of the wheelbase. The traffic manager brakes hard in bends at
#: 100 km/h; with more load on the front axle short vehicles, two-wheelers above all, turn around.
_LOW_CENTRE: Final = 0.12

_CLASSES: Final = {
    "car": SEDAN,
    "van": VAN,
    "truck": TRUCK,
    "bus": TRUCK,
    "motorcycle": MOTORCYCLE,
    "bicycle": BICYCLE,
}


class VehicleEntry(NamedTuple):
    """One vehicle: half sizes [m], mass [kg] (0: that of its class), attributes."""

    name: str
    base_type: str
    generation: int
    extent: Vector
    mass: float
    colors: tuple[str, ...]
    special_type: str = ""
    doors: bool = False
    lights: bool = True
    drivers: tuple[str, ...] = ()
    #: Half the width of what collides [m]; 0: that of the box.
    hull: float = 0.0

    @property
    def wheels(self) -> int:
        """Number of wheels."""
        return 2 if self.base_type in ("motorcycle", "bicycle") else 4

    def dynamics(self) -> VehicleParameters:
        """The class's dynamics with the size and mass of the vehicle, CARLA's steering, and a
        centre of mass that is low enough for CARLA's traffic manager.
        """
        found = replace(self._sized(), max_steer_angle=_STEER_RANGE, max_steer_rate=_STEER_RATE)
        return self._lowered(found)

    def class_dynamics(self) -> VehicleParameters:
        """The same with the steering of the class, which is that of a real car.

        The vehicles of mass 0 have the class's centre of mass, too.
        """
        return self._lowered(self._sized()) if self.mass else self._sized()

    @staticmethod
    def _lowered(real: VehicleParameters) -> VehicleParameters:
        return replace(real, cg_height=min(real.cg_height, _LOW_CENTRE * real.wheelbase))

    def _sized(self) -> VehicleParameters:
        base = _CLASSES[self.base_type]
        length = 2.0 * self.extent.x
        sized = replace(
            base,
            name=f"vehicle.{self.name}",
            length=length,
            width=2.0 * self.extent.y,
            height=2.0 * self.extent.z,
            lateral_grip=TYRE_FRICTION / base.friction,
        )
        if not self.mass:
            return sized
        heavier, longer = self.mass / base.mass, length / base.length
        return replace(
            sized,
            mass=self.mass,
            yaw_inertia=base.yaw_inertia * heavier * longer * longer,
            front_axle=base.front_axle * longer,
            rear_axle=base.rear_axle * longer,
            max_power=base.max_power * heavier,
            max_drive_force=base.max_drive_force * heavier,
            engine_braking_force=base.engine_braking_force * heavier,
            max_brake_force=base.max_brake_force * heavier,
        )


def _colors(text: str) -> tuple[str, ...]:
    return tuple(text.split())


_PAINTS: Final = "168,0,27 0,39,105 16,44,21 33,33,33"
_PALE: Final = f"217,217,217 {_PAINTS}"
_T2: Final = "73,12,12 22,31,73 215,89,0 105,103,0 0,33,5 158,40,82"


def _entry(
    name: str, base_type: str, generation: int, size: tuple[float, float, float], mass: float,
    colors: str, special_type: str = "", *, doors: bool = False, lights: bool = False,
    drivers: str = "", hull: float = 0.0,
) -> VehicleEntry:  # fmt: skip
    return VehicleEntry(
        name, base_type, generation, Vector(*size), mass, _colors(colors), special_type, doors,
        lights or generation > 1, tuple(drivers.split()), hull,
    )  # fmt: skip


# The entries of mass 0 have that of SEDAN and VAN.
VEHICLES: Final = (
    _entry("audi.a2", "car", 1, (1.853, 0.894, 0.775), 1000.0, _PAINTS),
    _entry("audi.etron", "car", 1, (2.428, 1.016, 0.825), 2490.0,
           "168,0,27 0,39,105 33,33,33 195,168,228", "electric"),
    _entry("audi.tt", "car", 1, (2.091, 0.997, 0.693), 0.0, _PAINTS, lights=True),
    _entry("bh.crossbike", "bicycle", 1, (0.755, 0.433, 0.806), 90.0,
           "20,78,217 0,112,39 255,202,0 180,0,0", drivers="2 3 7 8"),
    _entry("bmw.grandtourer", "car", 1, (2.306, 1.121, 0.834), 1470.0,
           "109,109,109 12,38,88 68,68,77 255,255,255 255,21,0 0,0,0"),
    _entry("carlamotors.carlacola", "truck", 1, (2.602, 1.313, 1.234), 5500.0, "255,68,0"),
    _entry("carlamotors.european_hgv", "truck", 2, (3.968, 1.446, 1.731), 9000.0,
           "231,0,0 255,255,255 28,28,28 42,61,156 127,127,127 255,103,0"),
    _entry("carlamotors.firetruck", "truck", 2, (4.234, 1.446, 1.914), 12000.0, "234,0,0",
           "emergency", doors=True),
    _entry("chevrolet.impala", "car", 1, (2.679, 1.017, 0.705), 1700.0,
           "61,86,143 0,12,49 0,0,0 71,12,12", lights=True),
    _entry("citroen.c3", "car", 1, (1.994, 0.925, 0.809), 1050.0, f"217,217,217 {_PAINTS}"),
    _entry("diamondback.century", "bicycle", 1, (0.828, 0.291, 0.810), 85.0,
           "214,0,0 50,96,242 78,247,119", drivers="4 5 6 7"),
    _entry("dodge.charger_2020", "car", 2, (2.504, 0.941, 0.767), 1900.0,
           "73,0,0 0,39,105 0,0,0 211,142,0", doors=True),
    _entry("dodge.charger_police", "car", 1, (2.487, 1.019, 0.771), 1900.0, "0,0,0 8,53,0",
           "emergency", lights=True),
    _entry("dodge.charger_police_2020", "car", 2, (2.619, 0.965, 0.819), 2000.0, "0,0,0",
           "emergency", doors=True),
    _entry("ford.ambulance", "van", 2, (3.183, 1.176, 1.216), 3200.0, "231,231,231",
           "emergency", doors=True),
    _entry("ford.crown", "car", 2, (2.683, 0.900, 0.787), 1900.0, "255,185,0", "taxi",
           doors=True),
    _entry("ford.mustang", "car", 1, (2.359, 0.947, 0.650), 1250.0,
           "0,12,58 85,0,0 160,160,160 0,21,0 0,0,0", lights=True),
    _entry("gazelle.omafiets", "bicycle", 1, (0.922, 0.330, 0.888), 95.0,
           "0,0,0 41,73,217 202,88,176", drivers="0 1 3 5"),
    _entry("harley-davidson.low_rider", "motorcycle", 1, (1.175, 0.383, 0.825), 375.0,
           "67,67,67 255,0,0 255,154,0 0,38,132", drivers="0 3 7 4"),
    _entry("jeep.wrangler_rubicon", "car", 1, (1.933, 0.953, 0.939), 1850.0, _PALE),
    _entry("kawasaki.ninja", "motorcycle", 1, (1.022, 0.398, 0.762), 245.0,
           "11,129,0 255,203,39 168,0,0 0,0,0", drivers="0 7 3 4"),
    _entry("lincoln.mkz_2017", "car", 1, (2.451, 1.064, 0.755), 1700.0, "16,16,16", lights=True),
    _entry("lincoln.mkz_2020", "car", 2, (2.446, 1.092, 0.755), 0.0, "0,0,0", doors=True,
           drivers="0"),
    _entry("mercedes.coupe", "car", 1, (2.513, 1.076, 0.825), 1750.0, _PALE, lights=True),
    _entry("mercedes.coupe_2020", "car", 2, (2.337, 0.906, 0.721), 1700.0,
           "73,0,0 0,21,81 0,0,0 187,187,187", doors=True),
    _entry("mercedes.sprinter", "van", 2, (2.958, 0.994, 1.280), 0.0,
           "167,166,175 255,255,255 115,115,115", doors=True),
    _entry("micro.microlino", "car", 1, (1.104, 0.740, 0.688), 515.0,
           "21,158,255 145,255,181 255,33,0 255,208,0 181,255,0", "electric"),
    _entry("mini.cooper_s", "car", 1, (1.903, 0.985, 0.738), 1150.0, _PALE),
    _entry("mini.cooper_s_2021", "car", 2, (2.276, 1.049, 0.884), 1250.0,
           "73,0,0 22,31,73 215,88,0 0,28,0", doors=True),
    _entry("mitsubishi.fusorosa", "bus", 2, (5.136, 1.972, 2.126), 5000.0, "255,255,255",
           doors=True, hull=1.05),  # its box holds the mirrors, which hit nothing in CARLA either
    _entry("nissan.micra", "car", 1, (1.817, 0.923, 0.751), 950.0,
           "243,243,243 83,83,86 187,0,0 28,0,46 0,0,0 17,21,99"),
    _entry("nissan.patrol", "car", 1, (2.302, 0.966, 0.927), 2400.0,
           "183,187,162 0,0,0 66,52,33 22,24,43 201,147,0"),
    _entry("nissan.patrol_2021", "car", 2, (2.783, 1.075, 1.023), 2750.0,
           "217,217,217 159,0,0 0,38,105 12,42,12 0,0,0", doors=True),
    _entry("seat.leon", "car", 1, (2.096, 0.908, 0.737), 1300.0,
           "42,61,214 21,38,98 38,38,38 79,33,85 155,0,0 0,0,0"),
    _entry("tesla.cybertruck", "truck", 1, (3.137, 1.195, 1.049), 3000.0, "", "electric",
           lights=True),
    _entry("tesla.model3", "car", 2, (2.396, 1.082, 0.744), 0.0,
           "17,37,103 75,86,173 180,42,42 0,0,0 137,0,0", "electric", doors=True),
    _entry("toyota.prius", "car", 1, (2.257, 1.003, 0.762), 1380.0,
           "255,0,0 215,255,143 96,102,99 28,46,58 23,51,236 227,227,227 0,0,0"),
    _entry("vespa.zx125", "motorcycle", 1, (0.909, 0.433, 0.795), 190.0,
           "255,203,39 30,121,154 168,0,0 0,0,0 208,208,208", drivers="0 2 3 6"),
    _entry("volkswagen.t2", "van", 1, (2.240, 1.035, 1.019), 1250.0, _T2, lights=True),
    _entry("volkswagen.t2_2021", "van", 2, (2.221, 0.887, 0.992), 1250.0, _T2, doors=True),
    _entry("yamaha.yzf", "motorcycle", 1, (1.105, 0.434, 0.765), 255.0,
           "0,0,0 206,206,206 0,12,49 42,99,159 61,68,66 33,55,61 255,0,0", drivers="0 2 3 6"),
)  # fmt: skip
