# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The narrow interface that makes the simulator exchangeable, and its value types.

All values are in CARLA's frame and units (left-handed, metres, m/s, degrees), and every number from
a simulator is a float32 value: CARLA sends such values, and an implementation without a network
connection must round to them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple, Protocol

from ros2_cosim.core.scene.sensors import Measurement, SensorBlueprint

CONTACT_DELAY_TICKS: Final = 3
#: A scene is driven so many steps before its time 0, until pedals and suspensions are at rest.
SETTLE_TICKS: Final = 100
"""Contacts of a tick are reported this many ticks later (see ``Simulator.contacts``)."""

#: Attribute of the vehicles of the headless server: scenarios drive them with the steering of
#: their class, which is that of a real car and keeps exactly to its way; what CARLA's clients spawn
#: has CARLA's.
STEERING: Final = "steering"
CLASS_STEERING: Final = "class"
#: Attribute of what stands on the ground in the headless server: "LENGTH WIDTH HEIGHT" [m], 0 for
#: that of its kind, as is what differs by less than ``SIZE_TOLERANCE``; empty: as its kind. A
#: vehicle may have "MASS WHEELBASE" [kg, m] after it, which act while scenarios drive it.
SIZE: Final = "dimensions"
#: So far [m] a size of a scenario may be from that of a vehicle or object in the simulator.
SIZE_TOLERANCE: Final = 0.05

WEATHER_PRESETS = tuple(
    f"{sky}{time}"
    for sky in ("Clear", "Cloudy", "Wet", "WetCloudy", "SoftRain", "MidRainy", "HardRain")
    for time in ("Noon", "Sunset", "Night")
)


class Pose(NamedTuple):
    """Location [m] and rotation [deg]."""

    x: float
    y: float
    z: float
    pitch: float
    yaw: float
    roll: float


class Motion(NamedTuple):
    """State of an actor: pose, velocity [m/s] and acceleration [m/s^2] as world vectors.

    ``angular_velocity`` is in deg/s.
    """

    pose: Pose
    velocity: tuple[float, float, float]
    angular_velocity: tuple[float, float, float]
    acceleration: tuple[float, float, float]


class Body(NamedTuple):
    """An actor's box: centre relative to the actor's origin and half sizes [m]."""

    centre: tuple[float, float, float]
    extent: tuple[float, float, float]


class Size(NamedTuple):
    """Of a vehicle or object in the scenario [m]; 0: not given.

    A vehicle also has a mass [kg], and its front wheels a largest angle [rad].
    """

    length: float = 0.0
    width: float = 0.0
    height: float = 0.0
    mass: float = 0.0
    wheelbase: float = 0.0
    wheel_radius: float = 0.0
    max_steer_angle: float = 0.0
    track: float = 0.0

    def text(self) -> str:
        """The value of attribute ``SIZE``."""
        given = self if any(self[3:]) else self[:3]
        return " ".join(map(repr, given))


class Stranger(NamedTuple):
    """A vehicle that the bridge has not spawned: the simulator's own, or another client's."""

    actor: int
    body: Body
    motion: Motion


class Contact(NamedTuple):
    """A contact felt by ``actor`` in tick ``tick``; impulse [N s, world frame].

    Ticks count the calls of ``Simulator.tick`` from 1. ``other`` is an actor id, 0 for scenery.
    """

    tick: int
    actor: int
    other: int
    impulse: tuple[float, float, float]


def due_contacts(felt: list[Contact], tick: int) -> list[Contact]:
    """Take out of ``felt`` what ``Simulator.contacts`` reports after a tick, in order."""
    due = tick - CONTACT_DELAY_TICKS
    ready = sorted(contact for contact in felt if contact.tick <= due)
    felt[:] = [contact for contact in felt if contact.tick > due]
    return ready


class MapChoice(NamedTuple):
    """The map to drive on: an OpenDRIVE text, or the name of a map that the simulator has."""

    opendrive: str = ""
    name: str = ""


class SensorMount(NamedTuple):
    """A sensor on a vehicle.

    ``pose`` is relative to the origin of the actor that carries it; ``attributes`` are texts, as
    on CARLA's wire.
    """

    name: str
    blueprint: SensorBlueprint
    carrier: int
    pose: Pose
    attributes: Mapping[str, str]


class Simulator(Protocol):
    """What the bridge needs of a simulator."""

    def prepare(self, chosen: MapChoice, weather: str, step_s: float) -> None:
        """Connect, start a fresh world, stop its free run: from now on only ``tick`` moves it.

        :raises ConnectionFailedError: no simulator answers
        :raises ConfigurationError: there is no such map
        """

    def opendrive(self) -> str:
        """OpenDRIVE text of the running map."""

    def spawn(self, blueprint: str, role: str, pose: Pose) -> tuple[int, Body]:
        """Spawn an actor (vehicles feel contacts); returns id and box.

        :raises ConfigurationError: unknown blueprint or no free space at the pose
        """

    def spawn_sized(self, blueprint: str, role: str, pose: Pose, size: Size) -> tuple[int, Body]:
        """As ``spawn``, of a size; its box says whether the simulator could give it.

        :raises ConfigurationError: unknown blueprint or no free space at the pose
        """

    def destroy(self, actor: int) -> None:
        """Remove an actor; what it has felt in former ticks is reported all the same."""

    def place(self, actor: int, pose: Pose, velocity: tuple[float, float, float]) -> None:
        """Put an actor somewhere with a velocity [m/s, world]; seen after the next tick."""

    def hold(self, actor: int) -> None:
        """Switch the physics of an actor off: from now on only ``place`` moves it."""

    def control(self, actor: int, throttle: float, steer: float, brake: float) -> None:
        """Set a vehicle's controls (CARLA's signs) for the following ticks.

        A ``throttle`` below zero presses the pedal in the reverse gear.
        """

    def tick(self) -> None:
        """Advance by one step and wait until its result is there.

        :raises ConnectionFailedError: the simulator went away
        """

    def motion(self, actor: int) -> Motion:
        """State of an actor after the last tick."""

    def strangers(self) -> list[Stranger]:
        """Vehicles that were not spawned through this interface, by ascending id.

        As of the last tick; an actor that has just appeared may be missing for a tick.
        """

    def begin_lights(self) -> None:
        """Set the traffic lights of the map to the begin of their phases, which ticks count.

        Called before the first tick, if the scene looks at lights.
        """

    def lights(self) -> dict[str, int]:
        """Signal of the map -> what its traffic light shows after the last tick.

        Red, yellow, green, off and unknown are 0 to 4.
        """

    def contacts(self) -> list[Contact]:
        """Contacts since the last call, of all ticks up to ``CONTACT_DELAY_TICKS`` before the last.

        The delay makes the answer independent of how quickly sensor data arrive: a contact
        that arrives later still is an error, never a different result.

        :raises CausalityError: a contact arrived after its tick had been reported
        """

    def attach(self, sensor: SensorMount) -> int:
        """Mount a sensor, which measures in the next tick and then once in each period.

        :returns: its id
        :raises ConfigurationError: there is no such sensor, or not with these attributes
        """

    def measurements(self, sensors: Sequence[int]) -> list[Measurement]:
        """What sensors have measured in the last tick.

        :param sensors: those that have measured then, by their periods
        :raises ConnectionFailedError: the simulator went away
        :raises RunError: one of them has not
        """

    def finish(self) -> None:
        """Called after the last step: check whether only this bridge moved the world.

        :raises CausalityError: another client has moved it, too
        """

    def close(self) -> None:
        """Remove what was spawned and let the simulator run freely again; never raises."""
