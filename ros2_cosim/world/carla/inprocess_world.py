# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The headless world model in this process: no sockets, no ``carla`` package, same numbers.

Everything that would cross the wire as float32 is rounded here in the same way, so that a run
gives the same bits as one through ``ClientWorld`` and the headless server.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final

from ros2_cosim.core.kernel.errors import ConfigurationError, RunError
from ros2_cosim.core.kernel.exactmath import float32
from ros2_cosim.core.kernel.named_tuples import NEW
from ros2_cosim.core.scene.named_simulator import HeadlessOptions
from ros2_cosim.core.scene.sensors import Fix, Inertia, Measurement, Payload
from ros2_cosim.core.scene.simulator import (
    CLASS_STEERING,
    SIZE,
    STEERING,
    Body,
    Contact,
    MapChoice,
    Motion,
    Pose,
    SensorMount,
    Size,
    Stranger,
    due_contacts,
)
from ros2_cosim.world.carla.parameters import BARRIER, SceneParameters
from ros2_cosim.world.carla.weather import WEATHER
from ros2_cosim.world.headless.actors import Actor, box_at
from ros2_cosim.world.headless.blueprints import LIBRARY
from ros2_cosim.world.headless.contact import OrientedBox
from ros2_cosim.world.headless.maps import MapLibrary
from ros2_cosim.world.headless.onlooker import WorldOnlooker
from ros2_cosim.world.headless.sensing.hub import SensorHub
from ros2_cosim.world.headless.sensing.payloads import inertial, measured, satellite
from ros2_cosim.world.headless.snapshot import IS_COMPILED, Numbers
from ros2_cosim.world.headless.wire_types import (
    ORIGIN,
    ActorRecord,
    Rotation,
    Transform,
    Vector,
    VehicleControl,
    Weather,
)
from ros2_cosim.world.headless.world import CallError, World

_VECTOR: Final = struct.Struct("<3f")


def standing_box(blueprint: str, size: Size, pose: Pose) -> OrientedBox | None:
    """The box of what stands on the ground at a pose, None if the headless world has no such kind.

    :param size: of the scenario [m]
    """
    known = LIBRARY.get(blueprint)
    if known is None:
        return None
    known = known.sized(size)
    return box_at(_transform(pose), known.hull, known.centre[0])


def check_blueprints(scene: SceneParameters) -> None:
    """Check whether the headless world has vehicles and objects of a scene.

    :raises ConfigurationError: it does not
    """
    for spec in scene.vehicles:
        if spec.blueprint not in LIBRARY:
            known = sorted(name for name in LIBRARY if name.startswith("vehicle."))
            near = get_close_matches(spec.blueprint, known, n=3) or known[:3]
            raise ConfigurationError(
                f"scene.vehicles.{spec.name}.blueprint: found '{spec.blueprint}'; the headless "
                f"simulator has {len(known)} vehicles, among them {', '.join(near)}"
            )
    for entry in scene.objects:
        if entry.blueprint not in LIBRARY:
            raise ConfigurationError(
                f"scene.objects.{entry.name}.blueprint: found '{entry.blueprint}', which the "
                f"headless simulator does not have; allowed is for instance {BARRIER}"
            )


class InProcessWorld:
    """``Simulator`` on ``carla_headless.World``."""

    def __init__(self, maps: tuple[Path, ...] = (), options: HeadlessOptions | None = None) -> None:
        """:param maps: OpenDRIVE files that can be chosen by name"""
        self._maps = maps
        self._scenery = (options or HeadlessOptions()).scenery
        self._world: World | None = None
        self._vehicles: set[int] = set()
        self._ticks = 0
        self._felt: list[Contact] = []
        self._hub = SensorHub()
        self._weather = Weather()
        #: For a page that shows the world; its pictures are made by the thread of the run.
        self.onlooker = WorldOnlooker(lambda: self.world, lambda: self._hub, lambda: self._weather)

    def prepare(self, chosen: MapChoice, weather: str, step_s: float) -> None:
        """Build the world; only pictures show the weather."""
        self._hub = SensorHub()
        self._weather = WEATHER[weather]
        text = chosen.opendrive or MapLibrary(list(self._maps)).find(chosen.name)[1]
        self._world = World(
            text,
            step_s,
            has_scenery=self._scenery != "none",
            is_plain=self._scenery != "full",
        )
        self._world.scenery_maker = self._hub.name_parts
        self._world.lamps.follow_sun(self._weather.sun_altitude_angle)
        self._vehicles.clear()
        self._felt.clear()
        self._ticks = 0

    @property
    def world(self) -> World:
        """The world model.

        :raises RunError: before ``prepare`` and after ``close``
        """
        if self._world is None:
            raise RunError("the in-process world is not prepared")
        return self._world

    def opendrive(self) -> str:
        """OpenDRIVE text of the map."""
        return self.world.opendrive

    def spawn(self, blueprint: str, role: str, pose: Pose) -> tuple[int, Body]:
        """Spawn an actor."""
        return self.spawn_sized(blueprint, role, pose, Size())

    def spawn_sized(self, blueprint: str, role: str, pose: Pose, size: Size) -> tuple[int, Body]:
        """Spawn an actor of a size."""
        try:
            attributes = {"role_name": role}
            if size != Size():
                attributes[SIZE] = size.text()
            known = LIBRARY.get(blueprint)
            if known is not None and known.kind == "vehicle":
                attributes[STEERING] = CLASS_STEERING
            actor = self.world.spawn(blueprint, _transform(pose), attributes)
        except CallError as error:
            raise ConfigurationError(f"{role}: cannot spawn {blueprint}: {error}") from None
        if actor.blueprint.kind == "vehicle":
            self._vehicles.add(actor.id)
        box = actor.bounding_box
        return actor.id, Body(_narrow(box.location), _narrow(box.extent))

    def vehicles(self) -> list[list[int | str]]:
        """Number and blueprint of each vehicle that is there."""
        return [[vehicle.id, vehicle.blueprint.id] for vehicle in self.world.vehicles()]

    def complete(self, vehicles: Sequence[Any]) -> None:
        """Make those that ``vehicles`` has named and that are not there; a state says where.

        :raises CallError: there are no such vehicles
        """
        steers = {STEERING: CLASS_STEERING}
        for number, blueprint in vehicles:
            if number not in self.world.actors:
                self.world.spawn_anywhere(blueprint, ORIGIN, steers, actor_id=number)

    def destroy(self, actor: int) -> None:
        """Remove an actor."""
        self.world.destroy(actor)

    def place(self, actor: int, pose: Pose, velocity: tuple[float, float, float]) -> None:
        """Teleport with a velocity."""
        self.world.set_transform(actor, _transform(pose))
        self.world.set_target_velocity(actor, Vector(*_narrow(velocity)))

    def hold(self, actor: int) -> None:
        """Switch the physics of an actor off."""
        self.world.simulate_physics(actor, False)

    def control(self, actor: int, throttle: float, steer: float, brake: float) -> None:
        """Set controls, limited to their ranges as the server limits them."""
        throttle, steer, brake = _narrow((throttle, steer, brake))
        is_reverse, throttle = throttle < 0.0, min(1.0, abs(throttle))
        steer, brake = min(1.0, max(-1.0, steer)), min(1.0, max(0.0, brake))
        values = throttle, steer, brake, False, is_reverse, False, 0
        self.world.apply_control(actor, NEW(VehicleControl, values))

    def tick(self) -> None:
        """Advance by one step."""
        self.world.tick()
        self._ticks += 1
        for event in self.world.collisions:
            if event.actor in self._vehicles:
                self._felt.append(
                    Contact(self._ticks, event.actor, event.other, _narrow(event.impulse))
                )

    def motion(self, actor: int) -> Motion:
        """State of an actor."""
        x, y, z, pitch, yaw, roll, vx, vy, vz, wx, wy, wz, ax, ay, az = self.numbers(actor)
        pose = NEW(Pose, (x, y, z, pitch, yaw, roll))
        return NEW(Motion, (pose, (vx, vy, vz), (wx, wy, wz), (ax, ay, az)))

    def numbers(self, actor: int) -> Numbers:
        """The same as numbers: compiled, none of them becomes an object."""
        return self.world.require(actor).exposed_numbers()

    def strangers(self) -> list[Stranger]:
        """None: no other client reaches this world."""
        return []

    def begin_lights(self) -> None:
        """They are there already: no time has passed."""

    def lights(self) -> dict[str, int]:
        """What the lights of the world show."""
        return self.world.signals.states()

    def contacts(self) -> list[Contact]:
        """Contacts of ticks before the last one, each reported once."""
        return due_contacts(self._felt, self._ticks)

    def attach(self, sensor: SensorMount) -> int:
        """Mount a sensor on an actor."""
        try:
            actor = self.world.spawn(
                sensor.blueprint, _transform(sensor.pose), sensor.attributes, sensor.carrier
            )
            self._hub.prepare(self.world, actor)
        except CallError as error:
            raise ConfigurationError(f"scene.sensors.{sensor.name}: {error}") from None
        return actor.id

    def measurements(self, sensors: Sequence[int]) -> list[Measurement]:
        """What sensors measure in the present state."""
        return [self._measurement(self.world.require(sensor)) for sensor in sensors]

    def _measurement(self, sensor: Actor) -> Measurement:
        payloads = self._hub.messages(self.world, sensor, self._weather, _no_record, headed=False)
        kind = sensor.blueprint.id
        if len(payloads) != 1:
            raise RunError(f"{kind}: {len(payloads)} measurements where 1 is due")
        if kind == "sensor.other.gnss":
            return Fix(*satellite(payloads[0]))
        if kind == "sensor.other.imu":
            *vectors, compass = inertial(payloads[0])
            felt, rates = vectors[:3], vectors[3:]
            return Inertia(*_narrow(_triple(felt)), *_narrow(_triple(rates)), float32(compass))
        return Payload(measured(kind, payloads[0]))

    def finish(self) -> None:
        """No other client reaches this world."""

    def close(self) -> None:
        """Forget the world."""
        self._world = None


def _no_record(actor: Actor) -> ActorRecord:
    raise RunError(f"actor {actor.id}: a sensor of events is not read in process")


def _triple(values: Sequence[float]) -> tuple[float, float, float]:
    x, y, z = values
    return x, y, z


def _transform(pose: Pose) -> Transform:
    x, y, z, pitch, yaw, roll = (float32(value) for value in pose)
    return Transform(Vector(x, y, z), Rotation(pitch, yaw, roll))


def _narrow(values: tuple[float, float, float]) -> tuple[float, float, float]:
    x, y, z = values
    if not IS_COMPILED:  # one call instead of three
        x, y, z = _VECTOR.unpack(_VECTOR.pack(x, y, z))
        return x, y, z
    return float32(x), float32(y), float32(z)
