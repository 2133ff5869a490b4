# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What stands and moves in a world, for programs that look at it and change it during a run.

A world that has entities is an :class:`EntityWorld`. To look changes nothing. What changes the run
are :class:`EntityOrders`, the value of a parameter of the world: they are made as any other
change of a run is, at a simulated time, recorded and repeated. Poses and velocities are those of
the map frame (REP-103, SI); the reference point of a vehicle is the centre of its footprint.
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from enum import IntEnum
from typing import Annotated, Any, Final, Literal, NamedTuple

from pydantic import Field

from ros2_cosim.core.documents.settings import Number, Section, Whole
from ros2_cosim.core.kernel.participant import ModelContext

#: The parameter of the world that takes orders.
ORDERS: Final = "entities"
#: So many commands are carried out in one step; further ones wait for the next.
MAX_COMMANDS: Final = 100
#: Their text has at most so many bytes: a PDU over UDP holds it.
MAX_BYTES: Final = 48_000
#: Vehicles that are spawned are numbered from here, as messages and collisions name them.
FIRST_SPAWNED_ID: Final = 10_001
#: Names are words, with a namespace before them.
NAME_PATTERN: Final = r"[A-Za-z_]\w*(/[A-Za-z_]\w*)*"

Pose = tuple[float, float, float, float, float, float, float]
Vector = tuple[float, float, float]


class EntityCommand(Section):
    """One thing to do to an entity at the begin of a step."""

    do: Literal["spawn", "delete", "set"] = Field(description="what is done")
    name: str = Field(pattern=f"^{NAME_PATTERN}$", max_length=64, description="of the entity")
    blueprint: str = Field(default="", max_length=64, description="kind in CARLA, of one spawned")
    pose: tuple[Number, Number, Number, Number, Number, Number, Number] | None = Field(
        default=None, description="x, y, z (m) and quaternion x, y, z, w; default: as it is"
    )
    velocity: tuple[Number, Number, Number] | None = Field(
        default=None, description="in the map (m/s); default: as it is"
    )


class EntityOrders(Section):
    """What is done to the entities of a world; each change of a run has its own."""

    number: Annotated[Whole, Field(ge=1)] = Field(
        description="greater than that of the orders before: each are carried out once"
    )
    commands: Annotated[tuple[EntityCommand, ...], Field(max_length=MAX_COMMANDS)] = Field(
        description="carried out in this order"
    )


class OrderQueue:
    """Orders on their way into a scene, each taken once.

    :ivar taken: the number of the last ones
    :ivar given: that of the last ones that have gone into the scene
    :ivar spawned: name and blueprint of each that was to be spawned, from ``FIRST_SPAWNED_ID`` on
    """

    def __init__(self) -> None:
        self.taken = self.given = 0
        self.spawned: list[tuple[str, str]] = []
        #: Number and command, the latter as bytes: a checkpoint keeps them.
        self._waiting: list[tuple[int, bytes]] = []

    def take(self, orders: EntityOrders | None) -> None:
        """Take orders, unless they have been taken."""
        if orders is not None and orders.number > self.taken:
            self.taken = orders.number
            self._waiting += [(orders.number, packed([each])) for each in orders.commands]

    def due(self) -> tuple[EntityCommand, ...]:
        """The commands of the next step."""
        found, self._waiting = self._waiting[:MAX_COMMANDS], self._waiting[MAX_COMMANDS:]
        if found:
            self.given = found[-1][0]
        commands = tuple(command for _, data in found for command in unpacked(data))
        self.spawned += [(each.name, each.blueprint) for each in commands if each.do == "spawn"]
        return commands


def packed(commands: Iterable[EntityCommand]) -> bytes:
    """Commands as bytes; their numbers keep all bits."""
    return json.dumps([[*dict(c).values()] for c in commands], separators=(",", ":")).encode()


def unpacked(data: bytes) -> tuple[EntityCommand, ...]:
    """What ``packed`` has made."""
    rows = json.loads(data) if data else []
    names = list(EntityCommand.model_fields) if rows else []  # seldom: this takes 6 us
    return tuple(EntityCommand(**dict(zip(names, row, strict=True))) for row in rows)


class EntityKind(IntEnum):
    """What an entity is (constants of ``simulation_interfaces/msg/EntityCategory``)."""

    OBJECT = 0
    ROBOT = 1
    HUMAN = 2
    DYNAMIC_OBJECT = 4
    STATIC_OBJECT = 5


class EntityMotion(NamedTuple):
    """Where an entity is at a time [ns], and how it moves; vectors in the map frame."""

    time_ns: int
    pose: Pose
    velocity: Vector = (0.0, 0.0, 0.0)
    turn: Vector = (0.0, 0.0, 0.0)
    acceleration: Vector = (0.0, 0.0, 0.0)


class Volume(NamedTuple):
    """A box [m] by two corners, relative to a pose."""

    low: Vector
    high: Vector


class Entity(NamedTuple):
    """An entity: ``keeps`` and ``stays`` say why it cannot be set and deleted; empty: it can."""

    name: str
    kind: EntityKind
    description: str
    tags: tuple[str, ...]
    motion: EntityMotion
    volume: Volume
    keeps: str = ""
    stays: str = ""


class Spawnable(NamedTuple):
    """A kind of entity that can be spawned."""

    uri: str
    description: str
    volume: Volume


class NamedPlace(NamedTuple):
    """A pose with a name; ``volume`` is relative to it, and free of other things by itself."""

    name: str
    description: str
    tags: tuple[str, ...]
    pose: Pose
    volume: Volume


class Offer(NamedTuple):
    """What a world has for programs: its map, why it does not spawn (empty: it does), and what
    ROS's clock shows when simulated time is 0 [ns].
    """

    participant: str
    map: str
    no_spawning: str
    start_ns: int


class EntityBook(ABC):
    """The entities of a world as of its last activation, with the orders that wait."""

    @abstractmethod
    def entities(self) -> Sequence[Entity]:
        """All of them, in the order of their numbers."""

    @abstractmethod
    def spawnables(self) -> Sequence[Spawnable]:
        """Kinds that can be spawned."""

    @abstractmethod
    def places(self) -> Sequence[NamedPlace]:
        """Named poses; none of a map that only the simulator has."""

    @abstractmethod
    def in_the_way(self, blueprint: str, pose: Pose, planned: Sequence[EntityCommand]) -> str:
        """The entity that a new one would overlap; empty: there is none.

        :param planned: others that are to be spawned with it
        """

    @abstractmethod
    def next_number(self) -> int:
        """For further orders."""

    @abstractmethod
    def expect(self, orders: EntityOrders) -> None:
        """Show what orders do that are on their way."""


class EntityPlace(NamedTuple):
    """Where entities are: what the world has, and its book."""

    offer: Offer
    book: EntityBook


class EntityWorld(ABC):
    """A model of a world whose entities can be looked at, and changed by its ``entities``."""

    @classmethod
    @abstractmethod
    def offer(cls, context: ModelContext, parameters: Any) -> Offer:
        """What the world has, without making it."""

    @abstractmethod
    def entity_book(self) -> EntityBook:
        """Its entities."""
