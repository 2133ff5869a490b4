# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Entities of OpenSCENARIO as vehicles of the scene."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from ros2_cosim.driving.openscenario.document import Element
from ros2_cosim.world.headless.blueprints import LIBRARY
from ros2_cosim.world.vehicle import VEHICLES as DYNAMICS
from ros2_cosim.world.vehicle.wheel_ground import TYPICAL_TRACK

#: Category -> kinds of the simulator's vehicles that may stand for it, and dynamics of drivers.
_KINDS: Final = {
    "car": (("car",), "sedan"),
    "van": (("van",), "van"),
    "truck": (("truck",), "truck"),
    "semitrailer": (("truck",), "truck"),
    "trailer": (("truck",), "truck"),
    "bus": (("bus",), "truck"),
    "motorbike": (("motorcycle",), "motorcycle"),
    "bicycle": (("bicycle",), "bicycle"),
}
#: The vehicle whose dynamics the drivers know best; taken where it is about as long [m].
_USUAL: Final = {"car": "tesla.model3", "van": "mercedes.sprinter"}
_ABOUT: Final = 0.6
_SMALLEST: Final = 0.1  # m
#: A mass [kg], diameters of wheels and tracks [m], angles [rad], and a wheelbase as a share of the
#: length, of vehicles lie within these.
_MASSES: Final = (1.0, 100_000.0)
_WIDTHS: Final = (0.1, 4.0)
_ANGLES: Final = (0.01, 1.4)
_WHEELBASES: Final = (0.2, 1.0)
#: A box whose middle is so far aside is not the vehicle's [m].
_ASIDE: Final = 0.05
#: What the scene calls them, and a factor, where that is not as a file does.
_KEYS: Final = {
    "maxSteering": ("max_steer_angle", 1.0),
    "wheelDiameter": ("wheel_radius", 0.5),
    "trackWidth": ("track", 1.0),
}
_PERFORMANCE: Final = {
    "maxSpeed": "max_speed",
    "maxAcceleration": "max_acceleration",
    "maxDeceleration": "max_deceleration",
}
_BLUEPRINTS: Final = {
    entry.id.removeprefix("vehicle."): entry for entry in LIBRARY.values() if entry.dynamics
}


class VehicleBox(NamedTuple):
    """Size [m], and how far its centre is ahead of the point that places mean [m]."""

    length: float
    width: float
    height: float
    centre: float

    def seen(self) -> dict[str, Any]:
        """As conditions look at it."""
        return {"length": self.length, "width": self.width, "centre": self.centre}

    def size(self) -> dict[str, Any]:
        """As the scene has it; a box as flat as paper is as high as the simulator's kind."""
        found = {"length": self.length, "width": self.width, "height": self.height}
        return {key: value for key, value in found.items() if value >= _SMALLEST}


class DescribedVehicle(NamedTuple):
    """A vehicle: its box, what stands for it, its limits, and how it is not as the file says.

    ``chassis`` has what the file says of mass [kg], wheelbase, radius and track of the wheels [m],
    and their largest angle [rad].
    """

    box: VehicleBox
    blueprint: str
    dynamics: str
    performance: dict[str, float]
    chassis: dict[str, float]
    differences: list[str]


class StandingKind(NamedTuple):
    """What stands still: its box, and the simulator's kind of it."""

    box: VehicleBox
    blueprint: str


#: Entities that stay where they start -> the simulator's kind of them.
STANDING: Final = {
    "MiscObject": "static.prop.streetbarrier",
    "Pedestrian": "walker.pedestrian.0001",
}


def read_standing(element: Element) -> StandingKind:
    """An element ``MiscObject`` or ``Pedestrian``; its size is that of the kind, if it has none.

    :raises ConfigurationError: its size is out of bounds
    """
    blueprint = STANDING[element.tag]
    if element.find("BoundingBox") is None:
        extent = LIBRARY[blueprint].extent
        size = (2.0 * extent.x, 2.0 * extent.y, 2.0 * extent.z)
        return StandingKind(VehicleBox(*size, 0.0), blueprint)
    return StandingKind(_box(element), blueprint)


def _box(element: Element) -> VehicleBox:
    """The BoundingBox of an entity."""
    size = element.one("BoundingBox", "Dimensions")
    length, width = size.number("length"), size.number("width")
    for name, value in (("length", length), ("width", width)):
        if not _SMALLEST <= value <= 50.0:
            raise size.error(f"{name}: found {value:g}; allowed is 0.1 to 50 m")
    centre = element.one("BoundingBox", "Center").number("x")
    if abs(centre) > length:
        raise element.one("BoundingBox", "Center").error(
            f"x: found {centre:g}; allowed is at most the length, {length:g} m"
        )
    aside = element.one("BoundingBox", "Center").number("y", 0.0)
    if abs(aside) > _ASIDE:
        raise element.one("BoundingBox", "Center").error(f"y: found {aside:g}; supported is 0 m")
    height = size.number("height", 0.0)
    if not 0.0 <= height <= 50.0:
        raise size.error(f"height: found {height:g}; allowed is 0 to 50 m")
    return VehicleBox(length, width, height, centre)


def read_vehicle(element: Element) -> DescribedVehicle:
    """An element ``Vehicle``.

    :raises ConfigurationError: its category is not supported, or it has no size
    """
    category = element.text("vehicleCategory")
    if category not in _KINDS:
        raise element.error(
            f"vehicleCategory: found '{category}'; supported are {', '.join(_KINDS)}"
        )
    box = _box(element)
    kinds, dynamics = _KINDS[category]
    name = element.label().removeprefix("vehicle.")
    if name not in _BLUEPRINTS:
        name = _nearest(kinds, box.length, box.width)
    for trailer in element.each("Trailer"):
        # Catalogues have references that parameters leave empty.
        if any(
            child.tag != "TrailerRef" or child.text("entityRef") for child in trailer.children()
        ):
            raise trailer.error("not supported; supported are vehicles without trailers")
    limits, performance = element.find("Performance"), {}
    if limits is not None:
        performance = {key: limits.amount(n, positive=True) for n, key in _PERFORMANCE.items()}
    chassis, differences = _chassis(element, dynamics, box)
    return DescribedVehicle(box, f"vehicle.{name}", dynamics, performance, chassis, differences)


def _chassis(
    element: Element, dynamics: str, box: VehicleBox
) -> tuple[dict[str, float], list[str]]:
    """What a file says of mass and axles, and which of it no vehicle can have."""
    here, found, differences = DYNAMICS[dynamics], {}, []
    asked = []
    if element.has("mass"):
        asked.append(("mass", element.number("mass"), _MASSES, here.mass, "kg"))
    front, rear = (element.find("Axles", tag) for tag in ("FrontAxle", "RearAxle"))
    if front is not None and rear is not None:
        base = front.number("positionX") - rear.number("positionX")
        shares = (_WHEELBASES[0] * box.length, _WHEELBASES[1] * box.length)
        asked.append(("wheelbase", base, shares, here.wheelbase, "m"))
    if front is not None:
        asked += [
            (name, front.number(name), limits, has, unit)
            for name, limits, has, unit in (
                ("maxSteering", _ANGLES, here.max_steer_angle, "rad"),
                ("wheelDiameter", _WIDTHS, 2.0 * here.wheel_radius, "m"),
                ("trackWidth", _WIDTHS, TYPICAL_TRACK * box.width, "m"),
            )
            if front.has(name)
        ]
    for name, wanted, (least, most), has, unit in asked:
        key, factor = _KEYS.get(name, (name, 1.0))
        if least <= wanted <= most:
            found[key] = round(factor * wanted, 6)
        else:
            differences.append(
                f"{name} {wanted:g} {unit} has no effect: the vehicle drives as its class, "
                f"'{dynamics}' with {has:g} {unit}"
            )
    return found, differences


def _nearest(kinds: tuple[str, ...], length: float, width: float) -> str:
    """The simulator's vehicle of about this size."""
    usual = _USUAL.get(kinds[0])
    if usual is not None and abs(2.0 * _BLUEPRINTS[usual].extent.x - length) <= _ABOUT:
        return usual

    def off(name: str) -> float:
        extent = _BLUEPRINTS[name].extent
        return abs(2.0 * extent.x - length) + abs(2.0 * extent.y - width)

    candidates = (
        name for name, entry in _BLUEPRINTS.items() if entry.default("base_type") in kinds
    )
    return min(candidates, key=off)
