# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Simulators that a scenario names beside ``headless`` and ``carla``.

``simulator.kind`` is a name of the entry point group ``ros2_cosim.simulators``, or
``module:Class``; the class is a :class:`NamedSimulator`. Example (part of a scenario)::

    simulator:
      kind: my_package.my_simulator:MySimulator
      options: {grip: 0.6}
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any, ClassVar, Final, Literal, NamedTuple

from pydantic import Field

from ros2_cosim.core.documents.offered import offered
from ros2_cosim.core.documents.settings import Section, read_section
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.loading import load_named
from ros2_cosim.core.kernel.model import Repeatability
from ros2_cosim.core.scene.sensors import Measurement
from ros2_cosim.core.scene.simulator import (
    Body,
    Contact,
    MapChoice,
    Motion,
    Pose,
    SensorMount,
    Size,
    Stranger,
)

SIMULATOR_GROUP: Final = "ros2_cosim.simulators"

#: CARLA, and the server that stands in for it: what the bridge knows by itself.
CARLA_KINDS: Final = ("headless", "carla")


class HeadlessOptions(Section):
    """Options of simulator ``headless``."""

    scenery: Literal["full", "plain", "none"] = Field(
        default="full",
        description="full: sensors see scenery that is made from the map; plain: pictures of it "
        "lack shadows and grain; none: sensors see only what the map itself has",
    )


class SimulatorContext(NamedTuple):
    """What a simulator receives from the scenario.

    ``base_directory`` is where relative paths of the scenario begin, ``seed`` that of the run.
    """

    base_directory: Path
    seed: int


class NamedSimulator(ABC):
    """A simulator of its own kind below the scene; :class:`Simulator` says what the methods do.

    It is made before the run, in the process that steps it, and may be prepared again after
    ``close``. ``Options`` is the pydantic class of ``simulator.options``, None if there are none.
    ``repeatable`` says how far two runs of it agree, ``has_sensors`` whether it has those of the
    section ``scene.sensors``: then it has the methods ``attach`` and ``measurements``.
    """

    Options: ClassVar[type[Any] | None] = None
    repeatable: ClassVar[Repeatability] = Repeatability.EVERYWHERE
    has_sensors: ClassVar[bool] = False
    has_lights: ClassVar[bool] = False
    has_spawning: ClassVar[bool] = False

    @classmethod
    def check(cls, context: SimulatorContext, options: Any, vehicles: Mapping[str, str]) -> None:
        """See what ``Options`` cannot say, without starting a simulator.

        :param vehicles: name of a vehicle of the scene -> its blueprint
        :raises ConfigurationError: something is wrong; the message names its place
        """

    def __init__(self, context: SimulatorContext, options: Any) -> None:
        """:param options: an instance of ``Options``, None if there is no such class"""
        self.context = context
        self.options = options

    @abstractmethod
    def prepare(self, chosen: MapChoice, weather: str, step_s: float) -> None:
        """Start a fresh world; from now on only ``tick`` moves it."""

    @abstractmethod
    def opendrive(self) -> str:
        """OpenDRIVE text of the map."""

    @abstractmethod
    def spawn(self, blueprint: str, role: str, pose: Pose) -> tuple[int, Body]:
        """Add an actor; returns id and box."""

    def spawn_sized(self, blueprint: str, role: str, pose: Pose, size: Size) -> tuple[int, Body]:
        """As ``spawn``, of a size [m]; the box refuses a simulator that does not give it."""
        return self.spawn(blueprint, role, pose)

    def destroy(self, actor: int) -> None:  # scenes in which vehicles are spawned are refused
        """Remove an actor; of a simulator with ``has_spawning``."""

    @abstractmethod
    def place(self, actor: int, pose: Pose, velocity: tuple[float, float, float]) -> None:
        """Put an actor somewhere with a velocity [m/s, world]; seen after the next tick."""

    def hold(self, actor: int) -> None:  # scenes with recorded road users are refused
        """Switch the physics of an actor off."""

    @abstractmethod
    def control(self, actor: int, throttle: float, steer: float, brake: float) -> None:
        """Set a vehicle's controls for the following ticks; throttle below 0: reverse gear."""

    @abstractmethod
    def tick(self) -> None:
        """Advance by one step."""

    @abstractmethod
    def motion(self, actor: int) -> Motion:
        """State of an actor after the last tick."""

    def strangers(self) -> list[Stranger]:
        """Vehicles that were not spawned through this interface; a simulator may have none."""
        return []

    def begin_lights(self) -> None:  # most have none
        """Set the traffic lights to the begin of their phases; of one with ``has_lights``."""

    def lights(self) -> dict[str, int]:
        """Signal of the map -> what its traffic light shows; of a simulator with ``has_lights``."""
        return {}

    @abstractmethod
    def contacts(self) -> list[Contact]:
        """Contacts since the last call, ``CONTACT_DELAY_TICKS`` after they happened."""

    def attach(self, sensor: SensorMount) -> int:
        """Mount a sensor on a vehicle; returns its id."""
        raise ConfigurationError(
            f"scene.sensors.{sensor.name}: found a sensor; {type(self).__name__} has none"
        )

    def measurements(self, sensors: Sequence[int]) -> list[Measurement]:
        """What sensors have measured in the last tick."""
        return []

    def finish(self) -> None:  # most have no other clients
        """Called after the last step: check whether only the bridge moved the world."""

    @abstractmethod
    def close(self) -> None:
        """Release everything; never raises."""


class SimulatorKind(NamedTuple):
    """What ``simulator.kind`` names, with its checked options."""

    kind: type[NamedSimulator]
    options: Any

    def make(self, context: SimulatorContext) -> NamedSimulator:
        """Make the simulator."""
        return self.kind(context, self.options)


def available_simulators() -> dict[str, EntryPoint]:
    """Name -> entry point of every simulator that an installed distribution offers."""
    return offered(SIMULATOR_GROUP)


def headless_options(settings: Mapping[str, Any]) -> HeadlessOptions:
    """The options of simulator ``headless`` in the section ``simulator``; none of another one.

    :raises ConfigurationError: they are wrong
    """
    given = settings.get("options") if settings["kind"] == CARLA_KINDS[0] else None
    return read_section(HeadlessOptions, dict(given or {}), place="simulator.options")


def find_simulator(settings: Mapping[str, Any]) -> SimulatorKind | None:
    """Find the simulator that the section ``simulator`` names, without making it.

    :returns: None for ``headless`` and ``carla``
    :raises ConfigurationError: there is none of that name, or its options are wrong
    """
    name, options = str(settings["kind"]), dict(settings.get("options") or {})
    if name in CARLA_KINDS:
        if name == CARLA_KINDS[0]:
            headless_options(settings)
        elif options:
            raise ConfigurationError(
                f"simulator.options: found {', '.join(options)}; {name} takes no options"
            )
        return None
    kind = _load(name)
    if kind.Options is None:
        if options:
            raise ConfigurationError(
                f"simulator.options: found {', '.join(options)}; {name} takes no options"
            )
        return SimulatorKind(kind, None)
    return SimulatorKind(kind, read_section(kind.Options, options, place="simulator.options"))


def _load(name: str) -> type[NamedSimulator]:
    targets = dict.fromkeys(CARLA_KINDS, "")
    targets |= {known: entry.value for known, entry in available_simulators().items()}
    place = "simulator.kind"
    found = load_named(name, targets, where=place, noun="simulator", form="module:Class")
    where = f"{place}: found '{name}'"
    if not (isinstance(found, type) and issubclass(found, NamedSimulator)):
        raise ConfigurationError(f"{where}; allowed is a class derived from NamedSimulator")
    if inspect.isabstract(found):
        raise ConfigurationError(
            f"{where}, which lacks {', '.join(sorted(found.__abstractmethods__))}"
        )
    return found
