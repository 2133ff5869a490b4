# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What a recording holds besides with ``additional_data``, in CARLA's packets.

Lengths are centimetres, as in the rest of the file, but velocities metres per second. A vehicle's
physics is written when it appears, as are the times of a light, boxes and trigger volumes.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from math import isfinite
from typing import Any, Final, NamedTuple

from ros2_cosim.world.headless.actors import Actor, VehicleActor
from ros2_cosim.world.headless.physics_control import physics_control
from ros2_cosim.world.headless.signals import LightActor, SignActor
from ros2_cosim.world.headless.walkers import WalkerActor
from ros2_cosim.world.headless.wire_types import BoundingBox, Vector
from ros2_cosim.world.map.traffic_lights import GREEN, RED, YELLOW

KINEMATICS, BOXES, PLATFORM_TIME, PHYSICS, LIGHT_TIMES, TRIGGERS, BONES = 12, 13, 14, 15, 16, 17, 19
KINDS: Final = frozenset((KINEMATICS, BOXES, PLATFORM_TIME, PHYSICS, LIGHT_TIMES, TRIGGERS, BONES))

_CM: Final = 100.0
_COUNT = struct.Struct("<H")
_SIZE = struct.Struct("<I")
_SEVEN = struct.Struct("<I6f")  # an id with two vectors
_TIMES = struct.Struct("<I3f")
_TIME = struct.Struct("<d")
_ID = struct.Struct("<I")
_PHYSICS_HEAD = struct.Struct("<I5f?7f")
_POINT, _GEAR, _WHEEL = struct.Struct("<2f"), struct.Struct("<3f"), struct.Struct("<12f")
_POSE = struct.Struct("<6f")
# More points of a curve, gears or wheels than this are a broken file.
_MOST_ITEMS: Final = 1000


class Pair(NamedTuple):
    """An actor and two vectors: velocities [m/s, deg/s], or middle and half sizes of a box [m]."""

    id: int
    first: Vector
    second: Vector


class LightTimes(NamedTuple):
    """How long the states of a traffic light last [s]."""

    id: int
    green: float
    yellow: float
    red: float


class RecordedPhysics(NamedTuple):
    """A vehicle's physics: numbers with their names, curves, gears and wheels."""

    id: int
    numbers: dict[str, float]
    torque_curve: list[tuple[float, ...]]
    gears: list[tuple[float, ...]]
    steering_curve: list[tuple[float, ...]]
    wheels: list[tuple[float, ...]]


@dataclass
class Extras:
    """The additional data of one frame."""

    kinematics: list[Pair] = field(default_factory=list)
    boxes: list[Pair] = field(default_factory=list)
    triggers: list[Pair] = field(default_factory=list)
    platform_time: float | None = None
    physics: list[RecordedPhysics] = field(default_factory=list)
    light_times: list[LightTimes] = field(default_factory=list)
    bones: list[tuple[int, list[str]]] = field(default_factory=list)


_PHYSICS_NUMBERS: Final = (
    "max_rpm", "MOI", "damping_rate_full_throttle", "damping_rate_zero_throttle_clutch_engaged",
    "damping_rate_zero_throttle_clutch_disengaged", "use_gear_auto_box", "clutch_strength",
    "final_ratio", "mass", "drag_coefficient", "center_of_mass x", "center_of_mass y",
    "center_of_mass z",
)  # fmt: skip


def packets(
    new: Iterable[Actor], moving: Iterable[Actor], platform_time: float
) -> Iterator[tuple[int, bytes]]:
    """The packets of a frame (kind, content).

    :param new: actors that appear in it
    :param moving: vehicles and walkers
    :param platform_time: seconds since the recording began, by the machine's clock
    """
    moving = list(moving)
    new = list(new)
    yield KINEMATICS, _listed(_SEVEN.pack(a.id, *a.numbers[6:9], *a.numbers[9:12]) for a in moving)
    yield BOXES, _listed(_box(a.id, a.bounding_box) for a in new if not isinstance(a, SignActor))
    triggers = [_box(a.id, a.trigger) for a in new if isinstance(a, SignActor)]
    if triggers:
        yield TRIGGERS, _listed(triggers)
    yield PLATFORM_TIME, _TIME.pack(platform_time)
    vehicles = [_physics(a) for a in new if isinstance(a, VehicleActor)]
    if vehicles:
        yield PHYSICS, _listed(vehicles)
    times = [_light_times(a) for a in new if isinstance(a, LightActor)]
    if times:
        yield LIGHT_TIMES, _listed(times)
    walkers = [_bones(a) for a in moving if isinstance(a, WalkerActor)]
    if walkers:
        yield BONES, _listed(walkers)


def take(extras: Extras, kind: int, content: memoryview) -> None:
    """Read a packet.

    :raises struct.error: it does not hold what it says
    """
    reader = _Reader(content)
    if kind == PLATFORM_TIME:
        (extras.platform_time,) = reader.row(_TIME)
        return
    (count,) = reader.row(_COUNT)
    for _ in range(count):
        if kind == PHYSICS:
            extras.physics.append(_physics_of(reader))
        elif kind == LIGHT_TIMES:
            extras.light_times.append(LightTimes(*reader.row(_TIMES)))
        elif kind == BONES:
            extras.bones.append(_bones_of(reader))
        else:
            number, *parts = reader.row(_SEVEN)
            scale = 1.0 if kind == KINEMATICS else _CM
            first, second = (Vector(*(p / scale for p in parts[i : i + 3])) for i in (0, 3))
            rows = {KINEMATICS: extras.kinematics, BOXES: extras.boxes, TRIGGERS: extras.triggers}
            rows[kind].append(Pair(number, first, second))


def texts(extras: Extras) -> Iterator[str]:
    """The lines that a recording's information has of it."""
    if extras.kinematics:
        yield f" Dynamic actors: {len(extras.kinematics)}"
    for number, velocity, turn in extras.kinematics:
        yield f"  Id: {number} linear_velocity: {_place(velocity)} angular_velocity: {_place(turn)}"
    for title, rows in (("bounding boxes", extras.boxes), ("trigger volumes", extras.triggers)):
        if rows:
            yield f" Actor {title}: {len(rows)}"
        for number, middle, half in rows:
            origin, extension = (_place(Vector(*(_CM * p for p in v))) for v in (middle, half))
            yield f"  Id: {number} origin: {origin} extension: {extension}"
    if extras.platform_time is not None:
        yield f" Current platform time: {extras.platform_time:g}"
    if extras.physics:
        yield f" Physics Control events: {len(extras.physics)}"
    for physics in extras.physics:
        yield from _physics_texts(physics)
    if extras.light_times:
        yield f" Traffic Light time events: {len(extras.light_times)}"
    for times in extras.light_times:
        yield (
            f"  Id: {times.id} green_time: {times.green:g} yellow_time: {times.yellow:g} "
            f"red_time: {times.red:g}"
        )
    if extras.bones:
        yield f" Walkers Bones: {len(extras.bones)}"
    for number, lines in extras.bones:
        yield f"  Id: {number}"
        yield from lines


def _physics_texts(physics: RecordedPhysics) -> Iterator[str]:
    yield f"  Id: {physics.id}"
    for name, value in physics.numbers.items():
        yield f"   {name} = {value:g}"
    for title, curve in (
        ("torque_curve", physics.torque_curve), ("steering_curve", physics.steering_curve)
    ):  # fmt: skip
        yield f"   {title} = " + " ".join(f"({x:g}, {y:g})" for x, y in curve)
    yield "   forward_gears:"
    for number, (ratio, down, up) in enumerate(physics.gears):
        yield f"    gear {number}: ratio {ratio:g} down_ratio {down:g} up_ratio {up:g}"
    yield "   wheels:"
    for number, wheel in enumerate(physics.wheels):
        friction, damping, steer, radius, brake, hand_brake = wheel[:6]
        yield (
            f"    wheel {number}: tire_friction {friction:g} damping_rate {damping:g} "
            f"max_steer_angle {steer:g} radius {radius:g} max_brake_torque {brake:g} "
            f"max_handbrake_torque {hand_brake:g} position {_place(Vector(*wheel[9:]))}"
        )


def _place(vector: Vector) -> str:
    return f"({vector.x:g}, {vector.y:g}, {vector.z:g})"


def _listed(entries: Iterable[bytes]) -> bytes:
    rows = list(entries)
    return _COUNT.pack(len(rows)) + b"".join(rows)


def _box(number: int, box: BoundingBox) -> bytes:
    sizes = (_CM * part for part in (*box.location, *box.extent))
    return _SEVEN.pack(number, *sizes)


def _physics(vehicle: VehicleActor) -> bytes:
    (curve, rpm, inertia, full, closed, opened, automatic, _, clutch, final, gears, mass, drag,
     centre, steering, wheels, _) = physics_control(vehicle)  # fmt: skip
    head = _PHYSICS_HEAD.pack(
        vehicle.id, rpm, inertia, full, closed, opened, automatic, clutch, final, mass, drag,
        *centre,
    )  # fmt: skip
    rows = [[*wheel[:9], *wheel[9]] for wheel in wheels]
    parts = [head]
    for form, items in ((_POINT, curve), (_GEAR, gears), (_POINT, steering), (_WHEEL, rows)):
        parts += [_SIZE.pack(len(items)), *(form.pack(*item) for item in items)]
    return b"".join(parts)


def _light_times(actor: LightActor) -> bytes:
    times = actor.light.controller.times
    return _TIMES.pack(actor.id, times[GREEN], times[YELLOW], times[RED])


def _bones(walker: WalkerActor) -> bytes:
    bones = walker.skeleton.poses(walker.state.transform)
    parts = [_ID.pack(walker.id), _COUNT.pack(len(bones))]
    for bone in bones:
        (x, y, z), (pitch, yaw, roll) = bone.relative
        name = bone.name.encode()
        pose = _POSE.pack(_CM * x, _CM * y, _CM * z, roll, pitch, yaw)
        parts += [_COUNT.pack(len(name)), name, pose]
    return b"".join(parts)


class _Reader:
    """Reads a packet from its beginning."""

    def __init__(self, content: memoryview) -> None:
        self._content = content
        self._at = 0

    def row(self, form: struct.Struct) -> tuple[Any, ...]:
        row = form.unpack_from(self._content, self._at)
        self._at += form.size
        if not all(map(isfinite, row)):
            raise struct.error("a number that is not finite")
        return row

    def rows(self, form: struct.Struct) -> list[tuple[float, ...]]:
        (count,) = self.row(_SIZE)
        if count > _MOST_ITEMS:
            raise struct.error("too many items")
        return [self.row(form) for _ in range(count)]

    def text(self) -> str:
        (size,) = self.row(_COUNT)
        end = self._at + size
        if end > len(self._content):
            raise struct.error("text beyond the end")
        value = bytes(self._content[self._at : end]).decode()
        self._at = end
        return value


def _physics_of(reader: _Reader) -> RecordedPhysics:
    number, *values = reader.row(_PHYSICS_HEAD)
    numbers = dict(zip(_PHYSICS_NUMBERS, map(float, values), strict=True))
    curves = [reader.rows(form) for form in (_POINT, _GEAR, _POINT, _WHEEL)]
    return RecordedPhysics(number, numbers, *curves)


def _bones_of(reader: _Reader) -> tuple[int, list[str]]:
    (number,) = reader.row(_ID)
    (count,) = reader.row(_COUNT)
    lines = []
    for _ in range(count):
        name = reader.text()
        x, y, z, roll, pitch, yaw = reader.row(_POSE)
        lines.append(
            f'     Bone: "{name}" relative: Loc({x:g}, {y:g}, {z:g}) '
            f"Rot({roll:g}, {pitch:g}, {yaw:g})"
        )
    return number, lines
