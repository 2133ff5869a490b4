# SPDX-License-Identifier: Apache-2.0
"""The blueprint library: vehicles, sensors and static objects that can be spawned."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ros2_cosim.core.scene.simulator import CLASS_STEERING, SIZE, SIZE_TOLERANCE, STEERING
from ros2_cosim.world.headless.prop_catalogue import PROPS
from ros2_cosim.world.headless.sensor_attributes import CLIENT_SIDE, SENSORS, SensorKind
from ros2_cosim.world.headless.vehicle_catalogue import VEHICLES, VehicleEntry
from ros2_cosim.world.headless.wire_types import (
    ActorDescription,
    AttributeValue,
    BoundingBox,
    Vector,
)
from ros2_cosim.world.vehicle.parameters import VehicleParameters

# Attribute types of the protocol.
BOOL, INT, FLOAT, STRING, COLOR = 1, 2, 3, 4, 5

# Semantic tags of the protocol (CityObjectLabel).
TAG_LIGHT, TAG_SIGN, TAG_PEDESTRIAN, TAG_CAR, TAG_TRUCK, TAG_BUS = 7, 8, 12, 14, 15, 16
TAG_MOTORCYCLE, TAG_BICYCLE, TAG_STATIC = 18, 19, 20


_FORMS = {
    BOOL: re.compile(r"true|false"),
    # CARLA reads a whole number up to the first other character: "64.0" is 64.
    INT: re.compile(r"[-+]?[0-9]{1,18}(\.[0-9]{0,18})?"),
    FLOAT: re.compile(r"[-+]?([0-9]{1,18}\.?[0-9]{0,18}|\.[0-9]{1,18})([eE][-+]?[0-9]{1,2})?f?"),
    STRING: re.compile(r".{0,1000}", re.DOTALL),
    # Programs write "228, 239, 241", too.
    COLOR: re.compile(r" *[0-9]{1,3} *, *[0-9]{1,3} *, *[0-9]{1,3} *"),
}


#: Longest of what can be spawned in a size of its own [m].
MAX_SIZE = 100.0


@dataclass(frozen=True)
class Attribute:
    """One attribute of a blueprint; values are texts, as on the wire."""

    id: str
    type: int
    value: str
    recommended: tuple[str, ...] = ()
    modifiable: bool = False

    def accepts(self, value: str) -> bool:
        """True if the text is a value of the attribute's type."""
        return bool(_FORMS[self.type].fullmatch(value))

    def to_wire(self) -> list[Any]:
        """ActorAttribute of the protocol (values outside the recommended ones are allowed)."""
        return [self.id, self.type, self.value, list(self.recommended), self.modifiable, False]


@dataclass(frozen=True)
class Blueprint:
    """One kind of actor: identity, attributes, size and, for vehicles, dynamics.

    ``extent`` holds half sizes [m] (length, width, height); the box stands on the ground, its
    centre above the actor's origin, except a walker's, whose origin is its middle.
    """

    uid: int
    id: str
    tags: tuple[str, ...]
    attributes: tuple[Attribute, ...]
    extent: Vector = Vector()
    semantic_tag: int = 0
    dynamics: VehicleParameters | None = None
    hull_width: float = 0.0
    class_dynamics: VehicleParameters | None = None
    """With the steering of the vehicle's class, as scenarios drive it; see ``STEERING``."""

    def driven(self, chosen: Mapping[str, str]) -> VehicleParameters | None:
        """Dynamics of a vehicle with the given attribute values."""
        of_class = chosen.get(STEERING) == CLASS_STEERING
        return self.class_dynamics if of_class and self.class_dynamics else self.dynamics

    def sways(self, chosen: Mapping[str, str]) -> bool:
        """Whether a vehicle with the given attribute values wanders about its way."""
        return chosen.get(STEERING) != CLASS_STEERING

    def sized(self, size: Sequence[float]) -> Blueprint:
        """This kind of actor with another length, width and height [m]; see ``SIZE``."""
        half = [
            0.5 * given if given > 0.0 and abs(given - 2.0 * own) > SIZE_TOLERANCE else own
            for given, own in zip(size, self.extent, strict=True)
        ]
        extent = Vector(*half)
        if extent == self.extent:
            return self
        hull = self.hull_width if extent.y == self.extent.y else 0.0
        return replace(self, extent=extent, hull_width=hull)

    def chosen_size(self, chosen: Mapping[str, str]) -> Blueprint:
        """This kind of actor in the size of the given attribute values.

        :raises ValueError: that is none
        """
        text = chosen.get(SIZE, "")
        if not text or not any(a.id == SIZE for a in self.attributes):
            return self
        try:
            length, width, height = map(float, text.split())
        except ValueError:
            length = width = height = -1.0
        if not all(0.0 <= value <= MAX_SIZE for value in (length, width, height)):
            raise ValueError(
                f"attribute '{SIZE}' of blueprint '{self.id}': found '{text[:40]}'; allowed are "
                f"length, width and height, each 0 to {MAX_SIZE:g} m"
            )
        return self.sized((length, width, height))

    @property
    def hull(self) -> Vector:
        """Half sizes of what collides: the box, unless ``hull_width`` says that it is narrower."""
        return self.extent._replace(y=self.hull_width) if self.hull_width else self.extent

    @property
    def kind(self) -> str:
        """First part of the id: ``vehicle``, ``walker``, ``sensor``, ``static`` and the like."""
        return self.id.partition(".")[0]

    @property
    def streams(self) -> bool:
        """True for sensors whose data the server streams (the others the client computes)."""
        return self.kind == "sensor" and self.id != CLIENT_SIDE

    def bounding_box(self, actor_id: int) -> BoundingBox:
        """Box of an actor of this kind; the origin of a walker is its middle."""
        centre = 0.0 if self.kind == "walker" else self.extent.z
        return BoundingBox(Vector(0.0, 0.0, centre), self.extent, actor_id=actor_id)

    def to_wire(self) -> list[Any]:
        """ActorDefinition of the protocol."""
        return [self.uid, self.id, ",".join(self.tags), [a.to_wire() for a in self.attributes]]

    def describe(self, chosen: dict[str, str]) -> ActorDescription:
        """Description of an actor of this kind with the given attribute values.

        :raises ValueError: naming an attribute that does not exist or may not be changed
        """
        known = {attribute.id: attribute for attribute in self.attributes}
        for name, value in chosen.items():
            if name not in known:
                raise ValueError(
                    f"blueprint '{self.id}' has no attribute '{name}'; it has: "
                    + ", ".join(sorted(known))
                )
            if not known[name].modifiable and value != known[name].value:
                raise ValueError(f"attribute '{name}' of blueprint '{self.id}' is read-only")
            if not known[name].accepts(value):
                raise ValueError(f"attribute '{name}' of blueprint '{self.id}': '{value[:40]}'")
        values = tuple(
            AttributeValue(a.id, a.type, _whole(a, chosen.get(a.id, a.value)))
            for a in sorted(self.attributes, key=lambda a: a.id)
        )
        return ActorDescription(self.uid, self.id, values)


def _whole(attribute: Attribute, value: str) -> str:
    """A value; a whole number without what stands behind its point."""
    return value.partition(".")[0] if attribute.type == INT else value


#: A client's navigation drives the walker that this is attached to.
WALKER_CONTROLLER = "controller.ai.walker"

_ROLE_NAMES = ("autopilot", "scenario", "ego_vehicle", "hero")


def _role(value: str = "") -> Attribute:
    return Attribute("role_name", STRING, value, _ROLE_NAMES, modifiable=True)


def _size() -> Attribute:
    return Attribute(SIZE, STRING, "", modifiable=True)


_SENSOR_TYPES = {"bool": BOOL, "int": INT, "float": FLOAT, "str": STRING}
_SENSOR_ROLES = (
    "front", "back", "left", "right", "front_left", "front_right", "back_left", "back_right"
)  # fmt: skip


def _sensor(uid: int, kind: SensorKind) -> Blueprint:
    attributes = [
        Attribute("role_name", STRING, "front", _SENSOR_ROLES, modifiable=True),
        Attribute("ros_name", STRING, kind.id, modifiable=True),
    ]
    for name, form, recommended in kind.attributes:
        attributes.append(
            Attribute(name, _SENSOR_TYPES[form], recommended[0], recommended, modifiable=True)
        )
    return Blueprint(uid, kind.id, tuple(kind.id.split(".")), tuple(attributes))


FRICTION_TRIGGER = "static.trigger.friction"
"""A box in which tyres have another friction."""

_SEMANTIC_TAGS = {
    "car": TAG_CAR,
    "van": TAG_CAR,
    "truck": TAG_TRUCK,
    "bus": TAG_BUS,
    "motorcycle": TAG_MOTORCYCLE,
    "bicycle": TAG_BICYCLE,
}


def _truth(value: bool) -> str:
    return "true" if value else "false"


def _vehicle(uid: int, entry: VehicleEntry) -> Blueprint:
    name = f"vehicle.{entry.name}"
    attributes = [
        Attribute("base_type", STRING, entry.base_type),
        Attribute("generation", INT, str(entry.generation)),
        Attribute("has_dynamic_doors", BOOL, _truth(entry.doors)),
        Attribute("has_lights", BOOL, _truth(entry.lights)),
        Attribute("number_of_wheels", INT, str(entry.wheels)),
        Attribute("object_type", STRING, ""),
        Attribute("special_type", STRING, entry.special_type),
        Attribute("sticky_control", BOOL, "true", ("true", "false"), modifiable=True),
        Attribute("ros_name", STRING, name, modifiable=True),
        _role("autopilot"),
        Attribute(STEERING, STRING, "carla", ("carla", CLASS_STEERING), modifiable=True),
        _size(),
    ]
    if entry.colors:
        attributes.append(Attribute("color", COLOR, entry.colors[0], entry.colors, modifiable=True))
    if entry.drivers:
        attributes.append(
            Attribute("driver_id", INT, entry.drivers[0], entry.drivers, modifiable=True)
        )
    return Blueprint(
        uid,
        name,
        tuple(name.split(".")),
        tuple(attributes),
        entry.extent,
        _SEMANTIC_TAGS[entry.base_type],
        entry.dynamics(),
        entry.hull,
        entry.class_dynamics(),
    )


def _ids(text: str) -> frozenset[int]:
    """Numbers and ranges of numbers: ``1 4-6``."""
    found: set[int] = set()
    for part in text.split():
        first, _, last = part.partition("-")
        found |= set(range(int(first), int(last or first) + 1))
    return frozenset(found)


# CARLA 0.9.16 has walkers 0001 to 0052. Gender, age and generation follow its catalogue of
# pedestrians as far as that shows them; walking and running speeds are CARLA's.
_WALKER_COUNT = 52
_CHILDREN = _ids("9-14 48 49")
_ELDERLY = _ids("30-32 37")
_WOMEN = _ids("1 5-8 10 11 13 15 19 22 23 25 28 31 32 34 35 38 40 42 43 46-48")
_NO_WHEELCHAIR = _ids("9-14 30 48 49")
_FIRST_GENERATION = _ids("1-14")
_BRISK = _ids("1 5-8 15")
_TALLER_CHILDREN = _ids("12-14")
_ADULT_EXTENT = Vector(0.188, 0.188, 0.93)
_CHILD_EXTENT, _TALLER_CHILD_EXTENT = Vector(0.25, 0.25, 0.55), Vector(0.188, 0.188, 0.65)


def _walker(uid: int, number: int) -> Blueprint:
    child = number in _CHILDREN
    age = "child" if child else "elderly" if number in _ELDERLY else "adult"
    chair = "false" if number in _NO_WHEELCHAIR else "true"
    speeds = (
        ("0.0", "1.1", "2.0") if child else ("0.0", "1.8" if number in _BRISK else "1.7", "4.0")
    )
    name = f"walker.pedestrian.{number:04d}"
    return Blueprint(
        uid,
        name,
        tuple(name.split(".")),
        (
            Attribute("age", STRING, age),
            Attribute("can_use_wheelchair", BOOL, chair),
            Attribute("gender", STRING, "female" if number in _WOMEN else "male"),
            Attribute("generation", INT, "1" if number in _FIRST_GENERATION else "2"),
            Attribute("is_invincible", BOOL, "true", ("true",), modifiable=True),
            Attribute("ros_name", STRING, name, modifiable=True),
            Attribute("role_name", STRING, "pedestrian", ("pedestrian",), modifiable=True),
            Attribute("speed", FLOAT, speeds[0], speeds, modifiable=True),
            _size(),
            Attribute(
                "use_wheelchair",
                BOOL,
                "false",
                ("false", "true") if chair == "true" else ("false",),
                modifiable=True,
            ),
        ),
        _TALLER_CHILD_EXTENT
        if number in _TALLER_CHILDREN
        else _CHILD_EXTENT
        if child
        else _ADULT_EXTENT,
        TAG_PEDESTRIAN,
    )


def _friction_trigger(uid: int) -> Blueprint:
    """A box in which tyres have another friction; half sizes in cm."""
    numbers = {"friction": "3.5", "extent_x": "1.0", "extent_y": "1.0", "extent_z": "1.0"}
    attributes = [_role("default")]
    attributes += [
        Attribute(name, FLOAT, value, (value,), modifiable=True) for name, value in numbers.items()
    ]
    name = FRICTION_TRIGGER
    return Blueprint(uid, name, tuple(name.split(".")), tuple(attributes))


def _library() -> dict[str, Blueprint]:
    entries = [_vehicle(uid, entry) for uid, entry in enumerate(VEHICLES, start=1)]
    uid = len(entries)
    for kind in SENSORS:
        uid += 1
        entries.append(_sensor(uid, kind))
    for prop, extent in PROPS:
        uid += 1
        name = f"static.prop.{prop}"
        size = Attribute("size", STRING, "medium")
        entries.append(
            Blueprint(
                uid,
                name,
                tuple(name.split(".")),
                (
                    _role("prop"),
                    size,
                    _size(),
                    Attribute("ros_name", STRING, name, modifiable=True),
                ),
                extent,
                semantic_tag=TAG_STATIC,
            )
        )
    for number in range(1, _WALKER_COUNT + 1):
        uid += 1
        entries.append(_walker(uid, number))
    entries.append(_friction_trigger(uid := uid + 1))
    for name in (WALKER_CONTROLLER,):
        uid += 1
        attributes = (_role("default"), Attribute("ros_name", STRING, name, modifiable=True))
        entries.append(Blueprint(uid, name, tuple(name.split(".")), attributes))
    return {entry.id: entry for entry in entries}


LIBRARY: dict[str, Blueprint] = _library()
"""Blueprints by id, in the order of their uids."""

SPECTATOR = Blueprint(0, "spectator", ("spectator",), ())
"""The free camera: always present, never spawned by a client."""


def traffic_blueprint(name: str) -> Blueprint:
    """The blueprint of a traffic light or sign; a map has them, no client spawns them."""
    tag = TAG_LIGHT if name == "traffic.traffic_light" else TAG_SIGN
    role = Attribute("role_name", STRING, "default")
    return Blueprint(0, name, tuple(name.split(".")), (role,), semantic_tag=tag)
