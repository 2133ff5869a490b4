# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""SUMO below the scene: ``simulator: {kind: sumo}``.

The vehicles of the scene drive in SUMO's lanes. Their pedals give an acceleration by the same
forces as in the headless server; SUMO moves them by it, together with its own vehicles, which
see them and are seen by them. SUMO's vehicles stay in the middle of their lane: steering has no
effect, as there is no yaw and no suspension.

SUMO is called in this process (``libsumo``), which runs one simulation at a time.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any, Final
from xml.sax.saxutils import quoteattr

from ros2_cosim.core.kernel.errors import ConfigurationError, RunError
from ros2_cosim.core.kernel.exactmath import cos, float32, hypot, sin, tan, total
from ros2_cosim.core.kernel.model import Repeatability
from ros2_cosim.core.kernel.random_streams import RandomStream
from ros2_cosim.core.scene.named_simulator import NamedSimulator, SimulatorContext
from ros2_cosim.core.scene.simulator import (
    Body,
    Contact,
    MapChoice,
    Motion,
    Pose,
    Size,
    Stranger,
    due_contacts,
)
from ros2_cosim.world.headless.blueprints import LIBRARY
from ros2_cosim.world.map import RoadNetwork
from ros2_cosim.world.sumo.installation import check_installation, convert_network, load_library
from ros2_cosim.world.sumo.lights import SumoLights
from ros2_cosim.world.sumo.network import LanePlace, SumoNetwork
from ros2_cosim.world.sumo.settings import DrivenVehicle, SumoOptions
from ros2_cosim.world.vehicle.parameters import VehicleParameters
from ros2_cosim.world.vehicle.pedals import (
    coasting_acceleration,
    engine_drag,
    max_acceleration,
    max_deceleration,
    max_drive_force,
)

_NS: Final = 1e9
_DEGREE: Final = 3.141592653589793 / 180.0
#: SUMO's vehicle type for what only takes commands, and for an object that stands.
_COMMANDED: Final = "commanded"
#: Farther from a lane than this an object is not on it [m].
_BESIDE: Final = 2.0
#: Objects in a row across a lane are one for SUMO; they are this near to each other [m].
_ROW: Final = 2.0
#: Of drawn places for SUMO's own vehicles: so many for each are tried.
_TRIES: Final = 200
_SPACE: Final = 15.0  # [m], between two of them
_FASTEST: Final = 100.0  # [m/s]
#: SUMO takes no look at safe speeds, right of way and lights for a vehicle that is commanded.
_NO_CHECKS: Final = 0
#: SUMO's keepRoute: exactly there, whatever road that is, or none.
_ANYWHERE: Final = 2


@dataclass
class _Actor:
    """A vehicle of the scene, or an object; ``extent`` are half sizes [m]."""

    name: str
    extent: tuple[float, float, float]
    dynamics: VehicleParameters | None = None
    driven: bool = False
    throttle: float = 0.0
    brake: float = 0.0
    speed: float = 0.0
    #: Of a vehicle of another simulator: where it is put next, its front and SUMO's angle [deg].
    target: tuple[float, float, float] | None = None
    #: SUMO's roads that it drives along.
    way: tuple[str, ...] = ()
    #: Of an object, which does not move; of a vehicle, after the last tick.
    motion: Motion = field(default=Motion(Pose(0, 0, 0, 0, 0, 0), (0, 0, 0), (0, 0, 0), (0, 0, 0)))


class SumoWorld(NamedSimulator):
    """``Simulator`` on SUMO.

    The map is an OpenDRIVE file, which SUMO's ``netconvert`` converts. ``options.vehicles`` of
    SUMO's own begin to drive with the run, ``options.routes`` bring those of the user's files.

    :raises ConfigurationError: SUMO is not installed
    """

    Options = SumoOptions
    repeatable = Repeatability.SAME_MACHINE
    has_lights = True
    _one = Lock()

    @classmethod
    def check(cls, context: SimulatorContext, options: Any, vehicles: Mapping[str, str]) -> None:
        """Check whether SUMO is there, and files, vehicles and blueprints that are named."""
        check_installation()
        for name in options.drives:
            if name not in vehicles:
                raise ConfigurationError(
                    f"simulator.options.drives: found '{name}'; allowed are the vehicles of the "
                    f"scene, {', '.join(vehicles)}"
                )
        for key, name in (
            *(("routes", name) for name in options.routes),
            *([("network", options.network)] if options.network else []),
        ):
            if not (context.base_directory / name).is_file():
                raise ConfigurationError(
                    f"simulator.options.{key}: there is no file {context.base_directory / name}"
                )
        for name, blueprint in vehicles.items():
            found = LIBRARY.get(blueprint)
            if found is None or found.dynamics is None:
                raise ConfigurationError(
                    f"scene.vehicles.{name}.blueprint: found '{blueprint}'; allowed is a vehicle "
                    "of the headless simulator"
                )

    def __init__(self, context: SimulatorContext, options: SumoOptions) -> None:
        super().__init__(context, options)
        self._settings = options
        self._library: Any = None
        self._files: tempfile.TemporaryDirectory[str] | None = None
        self._opendrive = ""
        self._step = 0.0
        self._network: SumoNetwork | None = None
        self._lights: SumoLights | None = None
        self._actors: dict[int, _Actor] = {}
        self._names: dict[str, int] = {}
        #: Number of each vehicle of SUMO's own.
        self._strangers: dict[str, int] = {}
        self._routes = 0
        self._rows: list[tuple[LanePlace, int]] = []
        self._placed = False
        self._own_there = False
        self._ticks = 0
        self._felt: list[Contact] = []

    def prepare(self, chosen: MapChoice, weather: str, step_s: float) -> None:
        """Start SUMO on the map; the weather has no effect.

        :raises ConfigurationError: the map is none that SUMO can be given
        :raises RunError: SUMO runs already in this process
        """
        if not chosen.opendrive:
            raise ConfigurationError(
                f"scene.map: found '{chosen.name}'; with simulator sumo allowed is the path of a "
                "*.xodr file"
            )
        library = load_library()
        if not self._one.acquire(blocking=False):
            raise RunError("SUMO runs one simulation in a process, and one is running")
        self._library = library
        self._files = tempfile.TemporaryDirectory(prefix="cosim_sumo_")
        try:
            self._start(chosen.opendrive, Path(self._files.name), step_s)
        except BaseException:
            self.close()
            raise

    def _start(self, opendrive: str, directory: Path, step_s: float) -> None:
        options, base = self._settings, self.context.base_directory
        network = base / options.network if options.network else None
        if network is None:
            network = convert_network(opendrive, directory)
        types = directory / "types.rou.xml"
        types.write_text(_types_text(options), encoding="utf-8")
        routes = [str(types), *(str(base / name) for name in options.routes)]
        command = [
            "sumo", "--net-file", str(network), "--route-files", ",".join(routes),
            "--step-length", repr(step_s), "--seed", str(self.context.seed % 2**31),
            # A vehicle that stands stays; a vehicle that touches another does not disappear.
            "--time-to-teleport", "-1", "--collision.action", "warn",
            "--collision.mingap-factor", "0", "--collision.check-junctions", "true",
            "--no-step-log", "true", "--no-warnings", "true", "--xml-validation", "never",
        ]  # fmt: skip
        try:
            self._library.start(command)
        except Exception as error:
            raise ConfigurationError(
                f"simulator: SUMO does not start: {error} (its own words are in the output)"
            ) from None
        self._network = SumoNetwork(self._library)
        self._network.take_speed_limits(RoadNetwork.from_xodr(opendrive, "map of the scene"))
        self._opendrive, self._step = opendrive, step_s
        self._actors, self._names, self._rows, self._felt = {}, {}, [], []
        self._strangers = {}
        self._placed = self._own_there = False
        self._ticks = 0
        self._lights = None

    def begin_lights(self) -> None:
        """Let SUMO's junctions show the lights of the map."""
        roads = RoadNetwork.from_xodr(self._opendrive, "map of the scene")
        self._lights = SumoLights(self._library, roads)

    def lights(self) -> dict[str, int]:
        """What the lights show."""
        return {} if self._lights is None else self._lights.states()

    def opendrive(self) -> str:
        """OpenDRIVE text of the map."""
        return self._opendrive

    def spawn(self, blueprint: str, role: str, pose: Pose) -> tuple[int, Body]:
        """Add a vehicle to the lane that is nearest, or an object.

        :raises ConfigurationError: there is no such blueprint
        """
        return self.spawn_sized(blueprint, role, pose, Size())

    def spawn_sized(self, blueprint: str, role: str, pose: Pose, size: Size) -> tuple[int, Body]:
        """Add a vehicle or an object of a size.

        :raises ConfigurationError: there is no such blueprint
        """
        found = LIBRARY.get(blueprint)
        if found is None:
            raise ConfigurationError(f"{role}: cannot spawn {blueprint}: no such blueprint")
        found = found.sized(size)
        actor = self._next_number()
        extent = (found.extent.x, found.extent.y, found.extent.z)
        made = _Actor(f"scene.{actor}", extent, found.class_dynamics, role in self._settings.drives)
        made.motion = made.motion._replace(pose=_narrow_pose(pose))
        self._actors[actor] = made
        if found.kind == "vehicle":
            place = self._lane_at(pose, extent[0])
            kind = role if made.driven else _COMMANDED
            self._add(made, actor, place, kind, 2.0 * extent[0])
        else:
            self._add_object(made, actor, pose)
        return actor, Body(_narrow((0.0, 0.0, extent[2])), _narrow(extent))

    def place(self, actor: int, pose: Pose, velocity: tuple[float, float, float]) -> None:
        """Put a vehicle into the lane at a pose, with a velocity.

        The next tick takes it on by one step, and does not advance the others.
        """
        made, step = self._actors[actor], self._step
        after = pose._replace(x=pose.x + step * velocity[0], y=pose.y + step * velocity[1])
        yaw = pose.yaw * _DEGREE
        made.speed = max(0.0, velocity[0] * cos(yaw) + velocity[1] * sin(yaw))
        place = self._lane_at(after, made.extent[0])
        if place.road in made.way:
            self._library.vehicle.moveTo(made.name, place.lane_id, place.position)
            self._library.vehicle.setPreviousSpeed(made.name, made.speed, 0.0)
        else:
            self._library.vehicle.remove(made.name)
            self._enter(made, place)
        self._placed = True

    def mirror(self, size: tuple[float, float, float], x: float, y: float, yaw: float) -> int:
        """Add a vehicle that drives in another simulator, so that SUMO's vehicles see it.

        :param size: length, width and height [m]
        :param x: of its centre, in the map's frame (y to the left) [m]
        :param y: [m]
        :param yaw: from x to y [rad]
        :returns: its number
        """
        actor = self._next_number()
        extent = (0.5 * size[0], 0.5 * size[1], 0.5 * size[2])
        made = _Actor(f"scene.{actor}", extent)
        pose = Pose(x, -y, 0.0, 0.0, -yaw / _DEGREE, 0.0)
        made.motion = made.motion._replace(pose=pose)
        self._actors[actor] = made
        self._add(made, actor, self._lane_at(pose, extent[0]), _COMMANDED, size[0])
        return actor

    def follow(self, actor: int, x: float, y: float, yaw: float, speed: float) -> None:
        """Let a vehicle of another simulator be at a place after the next tick; see ``mirror``.

        :param speed: along its heading [m/s]
        """
        made = self._actors[actor]
        half = made.extent[0]
        front = (x + half * cos(yaw), y + half * sin(yaw))
        made.target = (*front, 90.0 - yaw / _DEGREE)
        made.speed = max(0.0, speed)

    def control(self, actor: int, throttle: float, steer: float, brake: float) -> None:
        """Set the pedals for the following ticks; steering has no effect."""
        made = self._actors[actor]
        made.throttle = min(1.0, max(0.0, float32(throttle)))
        made.brake = min(1.0, max(0.0, float32(brake)))

    def tick(self) -> None:
        """Advance SUMO by one step, or begin where vehicles have been placed."""
        self._ticks += 1
        if self._lights is not None:
            self._lights.step(int(self._step * _NS + 0.5))
        began = self._placed
        if not began:
            self._add_own_vehicles()
            for made in self._vehicles():
                if not made.driven:
                    self._library.vehicle.setSpeed(made.name, self._next_speed(made))
            self._move_mirrored()
            self._library.simulationStep()
        self._placed = False
        there = set(self._library.vehicle.getIDList())
        for made in self._vehicles():
            if made.name not in there:
                raise RunError(
                    f"SUMO: vehicle {self._names[made.name]} of the scene has left the roads: its "
                    "lane ends"
                )
            self._observe(made, began=began)
        if not began:
            self._feel()

    def motion(self, actor: int) -> Motion:
        """State of an actor."""
        return self._actors[actor].motion

    def strangers(self) -> list[Stranger]:
        """SUMO's own vehicles, numbered as they come."""
        vehicle = self._library.vehicle
        found = []
        for name in sorted(set(vehicle.getIDList()) - set(self._names)):
            if name not in self._strangers:
                self._strangers[name] = self._next_number()
            actor = self._strangers[name]
            half = tuple(
                0.5 * size
                for size in (
                    vehicle.getLength(name), vehicle.getWidth(name), vehicle.getHeight(name),
                )
            )  # fmt: skip
            pose, ahead = self._pose(name, half[0])
            velocity = _narrow(tuple(vehicle.getSpeed(name) * part for part in ahead))
            still = (0.0, 0.0, 0.0)
            body = Body((0.0, 0.0, float32(half[2])), _narrow(half))
            motion = Motion(_narrow_pose(pose), velocity, still, still)
            found.append(Stranger(actor, body, motion))
        return sorted(found)

    def contacts(self) -> list[Contact]:
        """Contacts of ticks before the last ones, each reported once."""
        return due_contacts(self._felt, self._ticks)

    def close(self) -> None:
        """End SUMO."""
        if self._library is None:
            return
        try:
            self._library.close()
        except Exception:  # it did not start
            pass
        self._library = self._network = None
        if self._files is not None:
            self._files.cleanup()
            self._files = None
        self._one.release()

    # Internals ---------------------------------------------------------------------------

    def _next_number(self) -> int:
        """That of the next vehicle or object, of the scenario or of SUMO."""
        return len(self._actors) + len(self._strangers) + 1

    def _number(self, name: str) -> int:
        """What has a name in SUMO; 0: nothing that is known."""
        return self._names.get(name) or self._strangers.get(name, 0)

    @property
    def _roads(self) -> SumoNetwork:
        if self._network is None:
            raise RunError("SUMO is not prepared")
        return self._network

    def _move_mirrored(self) -> None:
        """Put the vehicles of another simulator where they are, on or off SUMO's roads."""
        for made in self._actors.values():
            if made.target is not None:
                x, y, angle = made.target
                self._library.vehicle.setSpeed(made.name, made.speed)
                self._library.vehicle.moveToXY(made.name, "", -1, x, y, angle, _ANYWHERE)

    def _vehicles(self) -> Iterable[_Actor]:
        return (made for made in self._actors.values() if made.dynamics is not None)

    def _lane_at(self, pose: Pose, half_length: float) -> LanePlace:
        """The place of the front of something whose centre is at a pose."""
        yaw = pose.yaw * _DEGREE
        x = pose.x + half_length * cos(yaw)
        y = -(pose.y + half_length * sin(yaw))
        return self._roads.place_at(x, y)[0]

    def _add(self, made: _Actor, actor: int, place: LanePlace, kind: str, length: float) -> None:
        """Add something of its own length to SUMO."""
        types, name = self._library.vehicletype, made.name
        self._names[name] = actor
        types.copy(kind, name)
        types.setLength(name, length)
        types.setWidth(name, 2.0 * made.extent[1])
        self._enter(made, place)

    def _enter(self, made: _Actor, place: LanePlace) -> None:
        """Let something begin in a lane, which it keeps."""
        vehicle, name = self._library.vehicle, made.name
        made.way = tuple(self._roads.way_from(place, lambda count: 0))
        self._drive_off(name, name, place, made.speed, made.way)
        vehicle.setLaneChangeMode(name, 0)
        if not made.driven:
            vehicle.setSpeedMode(name, _NO_CHECKS)
            vehicle.setSpeed(name, made.speed)

    def _add_object(self, made: _Actor, actor: int, pose: Pose) -> None:
        """Let SUMO's vehicles see an object that stands in a lane."""
        front, beside = self._roads.place_at(pose.x, -pose.y)
        if beside > _BESIDE:
            return
        for other, first in self._rows:
            if other[:2] == front[:2] and abs(other.position - front.position) < _ROW:
                self._names.setdefault(made.name, first)
                return
        self._rows.append((front, actor))
        angle = self._library.lane.getAngle(front.lane_id, front.position)
        turn = (pose.yaw - (angle - 90.0)) * _DEGREE
        length = 2.0 * (made.extent[0] * abs(cos(turn)) + made.extent[1] * abs(sin(turn)))
        place = front._replace(position=front.position + 0.5 * length)
        self._add(made, actor, place, _COMMANDED, max(length, 0.1))

    def _drive_off(
        self, name: str, kind: str, place: LanePlace, speed: float, way: Sequence[str]
    ) -> None:
        """Put a vehicle on the road, at once."""
        vehicle = self._library.vehicle
        self._routes += 1
        route = f"route.{self._routes}"
        self._library.route.add(route, way)
        vehicle.add(name, route, typeID=kind, departLane=str(place.lane), departSpeed="0")
        vehicle.moveTo(name, place.lane_id, place.position)
        vehicle.setPreviousSpeed(name, speed, 0.0)

    def _add_own_vehicles(self) -> None:
        """SUMO's own vehicles, with the first step of the run: those of the scene stand there."""
        if self._own_there:
            return
        self._own_there = True
        options, roads = self._settings, self._roads
        if not options.vehicles:
            return
        draws = RandomStream(self.context.seed, "sumo", "placement")
        lengths = [roads.length(lane) for lane in roads.lanes]
        taken: list[tuple[float, float, float]] = []
        for made in self._actors.values():
            taken.append((made.motion.pose.x, -made.motion.pose.y, options.clearance))
        for number in range(1, options.vehicles + 1):
            place, x, y = self._free_place(draws, lengths, taken)
            taken.append((x, y, _SPACE))
            name = f"sumo.{number}"
            limit = float(self._library.lane.getMaxSpeed(place.lane_id))
            way = roads.way_from(place, draws.integers)
            self._drive_off(name, "own", place, min(limit, options.speed), way)

    def _free_place(
        self,
        draws: RandomStream,
        lengths: list[float],
        taken: list[tuple[float, float, float]],
    ) -> tuple[LanePlace, float, float]:
        lanes = self._roads.lanes
        for _ in range(_TRIES):
            way = draws.uniform_between(0.0, total(lengths))
            index = 0
            while index < len(lanes) - 1 and way > lengths[index]:
                way -= lengths[index]
                index += 1
            road, _, lane = lanes[index].rpartition("_")
            place = LanePlace(road, int(lane), min(way, lengths[index]))
            x, y = self._library.simulation.convert2D(road, place.position, place.lane)
            if all(hypot(x - a, y - b) > apart for a, b, apart in taken):
                return place, x, y
        raise ConfigurationError(
            f"simulator.options.vehicles: found {self._settings.vehicles}; the map has no room for "
            "more than some of them"
        )

    def _next_speed(self, made: _Actor) -> float:
        """Speed [m/s] after the next step, by the pedals."""
        assert made.dynamics is not None
        slope = tan(self._library.vehicle.getSlope(made.name) * _DEGREE)
        acceleration = pedal_acceleration(
            made.dynamics, made.throttle, made.brake, made.speed, slope
        )
        return max(0.0, made.speed + acceleration * self._step)

    def _pose(self, name: str, half: float) -> tuple[Pose, tuple[float, float, float]]:
        """Pose of the centre of a vehicle of half the length ``half`` [m], and where it heads."""
        vehicle = self._library.vehicle
        x, y, z = vehicle.getPosition3D(name)
        # SUMO's angles are clockwise from north, its y axis points there.
        yaw = vehicle.getAngle(name) - 90.0
        pitch = vehicle.getSlope(name)
        c, s, rise = cos(yaw * _DEGREE), sin(yaw * _DEGREE), sin(pitch * _DEGREE)
        level = cos(pitch * _DEGREE)
        pose = Pose(
            x - half * level * c, -y - half * level * s, z - half * rise, pitch, _wrapped(yaw), 0.0
        )
        return pose, (level * c, level * s, rise)

    def _observe(self, made: _Actor, *, began: bool) -> None:
        vehicle = self._library.vehicle
        pose, along = self._pose(made.name, made.extent[0])
        speed = made.speed if began else vehicle.getSpeed(made.name)
        change = (speed - made.speed) / self._step
        turn = 0.0 if began else _wrapped(pose.yaw - made.motion.pose.yaw) / self._step
        made.speed = speed
        made.motion = Motion(
            _narrow_pose(pose),
            _narrow(tuple(speed * part for part in along)),
            _narrow((0.0, 0.0, turn)),
            _narrow(tuple(change * part for part in along)),
        )

    def _feel(self) -> None:
        """Take over the contacts that SUMO has found in the last step."""
        for found in self._library.simulation.getCollisions():
            pair = (found.collider, found.victim)
            for one, other in (pair, pair[::-1]):
                actor = self._names.get(one, 0)
                made = self._actors.get(actor)
                if made is None or made.dynamics is None:
                    continue
                closing = found.colliderSpeed - found.victimSpeed
                sign = -1.0 if one == found.collider else 1.0
                yaw = made.motion.pose.yaw * _DEGREE
                size = sign * made.dynamics.mass * abs(closing)
                impulse = _narrow((size * cos(yaw), size * sin(yaw), 0.0))
                self._felt.append(Contact(self._ticks, actor, self._number(other), impulse))


def pedal_acceleration(
    dynamics: VehicleParameters, throttle: float, brake: float, speed: float, slope: float
) -> float:
    """Acceleration [m/s^2] by the pedals (0..1) at a forward speed: the inverse of ``pedals_for``.

    :param slope: rise over run in driving direction
    """
    coasting = coasting_acceleration(dynamics, speed, slope)
    drive = throttle * (max_drive_force(dynamics, speed) + engine_drag(dynamics, speed))
    found = coasting + (drive - brake * dynamics.max_brake_force) / dynamics.mass
    highest = max(max_acceleration(dynamics, speed, slope), coasting)
    return max(-max_deceleration(dynamics, speed, slope), min(highest, found))


def _types_text(options: SumoOptions) -> str:
    """Vehicle types as a route file of SUMO."""
    lines = [
        "<routes>",
        f'  <vType id="{_COMMANDED}" minGap="0" maxSpeed="{_FASTEST}" speedDev="0"/>',
        f'  <vType id="own" carFollowModel="{options.model}" maxSpeed="{options.speed!r}"/>',
    ]
    lines += [_driven_type(name, driven) for name, driven in options.drives.items()]
    return "\n".join([*lines, "</routes>"]) + "\n"


def _driven_type(name: str, driven: DrivenVehicle) -> str:
    return (
        f'  <vType id={quoteattr(name)} carFollowModel="{driven.model}" tau="{driven.time_gap!r}" '
        f'minGap="{driven.min_gap!r}" maxSpeed="{driven.speed!r}" speedFactor="10" speedDev="0"/>'
    )


def _wrapped(angle: float) -> float:
    """An angle [deg] between two full turns, within half a turn."""
    return angle - 360.0 if angle > 180.0 else angle + 360.0 if angle < -180.0 else angle


def _narrow_pose(pose: Pose) -> Pose:
    return Pose(*(float32(value) for value in pose))


def _narrow(values: tuple[float, ...]) -> tuple[float, float, float]:
    x, y, z = (float32(value) for value in values)
    return x, y, z
