# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The blueprint library: vehicles, sensors and static objects that can be spawned."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ros2_cosim.core.documents.installed import package_table
from ros2_cosim.core.scene.simulator import (
    CLASS_STEERING,
    SIZE,
    SIZE_TOLERANCE,
    STEERING,
    Size,
)
from ros2_cosim.world.headless.vehicle_dynamics import Equipment, EquippedVehicle, dynamics_of
from ros2_cosim.world.headless.wire_types import (
    ActorDescription,
    AttributeValue,
    BoundingBox,
    Vector,
)
from ros2_cosim.world.vehicle.parameters import VehicleParameters, loaded

# Attribute types of the protocol.
BOOL, INT, FLOAT, STRING, COLOR = 1, 2, 3, 4, 5
_TYPES = {"bool": BOOL, "int": INT, "float": FLOAT, "string": STRING, "color": COLOR}

# Semantic tags of the protocol (CityObjectLabel).
TAG_LIGHT, TAG_SIGN = 7, 8

_FORMS = {
    BOOL: re.compile(r"true|false"),
    # CARLA reads a whole number up to the first other character: "64.0" is 64.
    INT: re.compile(r"[-+]?[0-9]{1,18}(\.[0-9]{0,18})?"),
    FLOAT: re.compile(r"[-+]?([0-9]{1,18}\.?[0-9]{0,18}|\.[0-9]{1,18})([eE][-+]?[0-9]{1,2})?f?"),
    STRING: re.compile(r".{0,1000}", re.DOTALL),
    # Programs write "228, 239, 241", too.
    COLOR: re.compile(r" *[0-9]{1,3} *, *[0-9]{1,3} *, *[0-9]{1,3} *"),
}


#: Longest of what can be spawned in its own size [m].
MAX_SIZE = 100.0
#: Heaviest of it [kg].
MAX_MASS = 1.0e6
_AXES = 3
#: Of what a ``Size`` has beside: mass [kg], wheelbase, radius [m], angle [rad], track [m].
_MOST = (MAX_MASS, MAX_SIZE, 10.0, 1.4, MAX_SIZE)
_LONGEST = 200


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
    ``centre`` ahead and to the right of the actor's origin [m]. A walker's origin is its middle.
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
    """Those of the vehicle's class, as scenarios drive it; see ``STEERING``."""
    equipment: Equipment | None = None
    class_equipment: Equipment | None = None
    unsupported: str = ""
    """Why a sensor cannot be spawned."""
    centre: tuple[float, float] = (0.0, 0.0)
    likeness: str = ""
    """Id of the blueprint whose body it has; empty: its own."""

    def default(self, name: str) -> str:
        """The value of an attribute unless another is chosen; empty: it has no such attribute."""
        return next((a.value for a in self.attributes if a.id == name), "")

    def driven(self, chosen: Mapping[str, str]) -> EquippedVehicle:
        """How a vehicle with the given attribute values moves."""
        of_class = chosen.get(STEERING) == CLASS_STEERING
        dynamics = self.class_dynamics if of_class else self.dynamics
        equipment = self.class_equipment if of_class else self.equipment
        assert dynamics is not None and equipment is not None
        return EquippedVehicle(dynamics, equipment)

    def sways(self, chosen: Mapping[str, str]) -> bool:
        """Whether a vehicle with the given attribute values wanders about its way."""
        return chosen.get(STEERING) != CLASS_STEERING

    def sized(self, size: Sequence[float]) -> Blueprint:
        """This kind of actor with another length, width and height [m]; see ``SIZE``.

        The other parts of a ``Size`` may follow: a vehicle has them while scenarios drive it.
        """
        half = [
            0.5 * given if given > 0.0 and abs(given - 2.0 * own) > SIZE_TOLERANCE else own
            for given, own in zip(size[:_AXES], self.extent, strict=True)
        ]
        extent = Vector(*half)
        found, rest = self, size[_AXES:]
        if self.class_dynamics is not None and self.class_equipment is not None and any(rest):
            *chassis, track = rest
            kit = self.class_equipment
            kit = kit._replace(track=track or kit.track)
            driven = loaded(self.class_dynamics, *chassis)
            found = replace(self, class_dynamics=driven, class_equipment=kit)
        if extent == self.extent:
            return found
        hull = self.hull_width if extent.y == self.extent.y else 0.0
        return replace(found, extent=extent, hull_width=hull, centre=(0.0, 0.0))

    def chosen_size(self, chosen: Mapping[str, str]) -> Blueprint:
        """This kind of actor in the size of the given attribute values.

        :raises ValueError: that is not a blueprint
        """
        text = chosen.get(SIZE, "")
        if not text or not any(a.id == SIZE for a in self.attributes):
            return self
        try:
            size = [float(part) for part in text[:_LONGEST].split()]
        except ValueError:
            size = []
        # What a vehicle also has, if it is given.
        most = [MAX_SIZE] * _AXES + list(_MOST)[: len(size) - _AXES]
        if len(size) not in (_AXES, len(Size._fields)) or not all(
            0.0 <= value <= limit for value, limit in zip(size, most, strict=True)
        ):
            raise ValueError(
                f"attribute '{SIZE}' of blueprint '{self.id}': found '{text[:40]}'; allowed are "
                f"length, width and height, each 0 to {MAX_SIZE:g} m, and after them mass, "
                "wheelbase, wheel_radius, max_steer_angle and track, each 0 to "
                f"{', '.join(f'{most:g}' for most in _MOST)}"
            )
        return self.sized(size)

    @property
    def front(self) -> float:
        """How far the front of the box is ahead of the actor's origin [m]."""
        return self.extent.x + self.centre[0]

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
        middle = 0.0 if self.kind == "walker" else self.extent.z
        return BoundingBox(Vector(*self.centre, middle), self.extent, actor_id=actor_id)

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


#: The sensor whose data the client itself computes.
CLIENT_SIDE = "sensor.other.lane_invasion"

#: A prop that shows a mesh of CARLA's content.
MESH = "static.prop.mesh"

#: A box in which tyres have another friction; half sizes in cm.
FRICTION_TRIGGER = "static.trigger.friction"


def _attribute(blueprint: str, row: list[Any], own: Any) -> Attribute:
    """An attribute of the catalogue: its choices, the default first, or a value and choices."""
    name, form, value, *choices = row
    value = own.get(name, value)
    if isinstance(value, list):
        value, choices = value[0], [value]
    value = value.replace("{id}", blueprint)
    return Attribute(name, _TYPES[form], value, tuple(*choices), modifiable=bool(choices))


class _Library(Mapping[str, Blueprint]):
    """The catalogue of CARLA 0.9.16; a blueprint is made when it is first asked for.

    Sizes and attributes are those that a CARLA server shows to its clients, sizes rounded to a
    centimetre or finer; so are the middles of boxes that are more than 5 cm beside the origin
    (recorded with CARLA 0.9.15: tmuehlen80/graph_coverage 90e9d345, example_data/carla).
    ``streetbarrier`` alone is not: it lies across the road at yaw 0, where
    CARLA's lies along it, because the roadblocks of scenarios are placed so. Gender, age and
    generation of walkers follow its catalogue of pedestrians as far as that shows them. The hull
    of the bus is narrower than its box, which holds the mirrors: they hit nothing in CARLA either.
    """

    def __init__(self) -> None:
        data = package_table("world/headless/blueprints.json")
        self._sets: Any = data["attribute_sets"]
        self._entries: dict[str, tuple[Any, Any]] = {
            group["prefix"] + name: (group, entry)
            for group in data["groups"]
            for name, entry in group["entries"].items()
        }
        self._uids = {name: uid for uid, name in enumerate(self._entries, start=1)}
        self._made: dict[str, Blueprint] = {}

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __getitem__(self, name: str) -> Blueprint:
        found = self._made.get(name)
        return found or self._made.setdefault(name, self._make(name, *self._entries[name]))

    def _make(self, name: str, group: Any, entry: Any) -> Blueprint:
        own = entry.get("values", {})
        rows = list(group["attributes"])
        for given in entry.get("attributes", ()):
            rows += self._sets[given] if isinstance(given, str) else [given]
        known = [row for row in rows if own.get(row[0], row[2]) is not None]
        blueprint = Blueprint(
            self._uids[name],
            name,
            tuple(name.split(".")),
            tuple(_attribute(name, row, own) for row in known),
            Vector(*entry.get("extent", ())),
            entry.get("semantic_tag", group.get("semantic_tag", 0)),
            hull_width=entry.get("hull_width", 0.0),
            centre=tuple(entry.get("centre", (0.0, 0.0))),
            unsupported=entry.get("unsupported", ""),
        )
        if blueprint.kind != "vehicle":
            return blueprint
        base_type = own.get("base_type", "car")
        own, real = dynamics_of(
            name, base_type, blueprint.extent, entry.get("mass", 0.0), blueprint.hull_width
        )
        return replace(
            blueprint, dynamics=own.parameters, class_dynamics=real.parameters,
            equipment=own.equipment, class_equipment=real.equipment,
        )  # fmt: skip


LIBRARY: Mapping[str, Blueprint] = _Library()
"""Blueprints by id, in the order of their uids."""

SPECTATOR = Blueprint(0, "spectator", ("spectator",), ())
"""The free camera: always present, never spawned by a client."""


def traffic_blueprint(name: str) -> Blueprint:
    """The blueprint of a traffic light or sign; a map has them, no client spawns them."""
    tag = TAG_LIGHT if name == "traffic.traffic_light" else TAG_SIGN
    role = Attribute("role_name", STRING, "default")
    return Blueprint(0, name, tuple(name.split(".")), (role,), semantic_tag=tag)
