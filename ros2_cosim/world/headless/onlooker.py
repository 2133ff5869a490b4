# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What a page shows of a world from above, and its cameras' pictures.

The thread that has the world makes them while others look, at most so many times a second; nothing
of the world changes by it. Places are in the map frame of the roads, angles in rad.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from time import monotonic
from typing import TYPE_CHECKING, Final, NamedTuple

from ros2_cosim.core.kernel.exactmath import PI, radians, sincos
from ros2_cosim.world.headless.actors import Actor, VehicleActor
from ros2_cosim.world.headless.debug_shapes import DebugShape, Kind
from ros2_cosim.world.headless.materials import Colour
from ros2_cosim.world.headless.signals import LightActor
from ros2_cosim.world.headless.street_lights import LightState
from ros2_cosim.world.headless.wire_types import Vector, Weather
from ros2_cosim.world.map import frames

if TYPE_CHECKING:
    from ros2_cosim.world.headless.sensing.hub import SensorHub
    from ros2_cosim.world.headless.world import World

LOOKED_S: Final = 2.0
"""So long after the last request the world is looked at."""

PICTURE_PERIOD_S: Final = 0.04
"""The world is looked at no more often than once in this time of the wall clock."""

CAMERA_PERIOD_S: Final = 0.2
"""A camera is rendered at most once in this time of the wall clock, however many pages look."""

LOOK_AT_WORLD: Final = "cosim_world"
"""The remote method that gives a ``WorldPicture``."""

LOOK_AT_CAMERA: Final = "cosim_camera"
"""The remote method that gives a ``CameraPicture`` of a camera, by its number, or None."""

#: Fields of view are drawn up to this distance [m] where a sensor names none, or a longer one.
_FARTHEST = 60.0
#: Roles that many vehicles have, which are not names.
_USUAL_ROLES = ("", "autopilot", "hero_fake", "prop", "default")

_OF_CHANGES = ("sensor.camera.dvs", "sensor.camera.optical_flow")
_TELEMETRY: Final[Colour] = (36, 96, 200)

Point = tuple[float, float]


class ShownVehicle(NamedTuple):
    """A vehicle: centre of its box [m], heading, speed and acceleration along it, size, control."""

    id: int
    name: str
    x: float
    y: float
    yaw: float
    speed: float
    acceleration: float
    lateral: float
    length: float
    width: float
    throttle: float
    brake: float
    steer: float


class SeenBox(NamedTuple):
    """A walker or a prop: ``kind`` is that of its blueprint."""

    id: int
    kind: str
    x: float
    y: float
    yaw: float
    length: float
    width: float


class SeenSignal(NamedTuple):
    """A traffic light: direction from which it is seen, and its state in the protocol."""

    x: float
    y: float
    yaw: float
    state: int


class SeenShape(NamedTuple):
    """A shape that a client has drawn: its corners or ends, its size [m]."""

    kind: str
    points: tuple[Point, ...]
    size: float
    text: str
    colour: Colour


class SeenField(NamedTuple):
    """The field of view of a sensor: a sector, a full circle for a lidar."""

    sensor: int
    x: float
    y: float
    yaw: float
    angle: float
    range: float


class SeenCamera(NamedTuple):
    """A camera: ``kind`` is the last word of its blueprint."""

    id: int
    kind: str
    carrier: int
    width: int
    height: int


class WorldPicture(NamedTuple):
    """A world in one frame; ``lamps`` are street lights and whether they shine."""

    episode: int
    frame: int
    time_s: float
    vehicles: tuple[ShownVehicle, ...]
    boxes: tuple[SeenBox, ...]
    signals: tuple[SeenSignal, ...]
    lamps: tuple[tuple[float, float, bool], ...]
    shapes: tuple[SeenShape, ...]
    fields: tuple[SeenField, ...]
    cameras: tuple[SeenCamera, ...]


class CameraPicture(NamedTuple):
    """Pixels of a camera: rows from the top left of blue, green, red, alpha."""

    kind: str
    width: int
    height: int
    pixels: bytes


def picture_of_world(world: World) -> WorldPicture:
    """What there is to see from above."""
    vehicles, boxes, signals, cameras, fields = [], [], [], [], []
    for actor in world.actors.values():
        if isinstance(actor, VehicleActor):
            vehicles.append(shown_vehicle(actor))
        elif isinstance(actor, LightActor):
            x, y, yaw = _place(world, actor)
            signals.append(SeenSignal(x, y, yaw, actor.light.state))
        elif actor.blueprint.kind == "sensor":
            fields += _field(world, actor)
            if _is_shown(actor):
                width, height = (int(actor.number(f"image_size_{axis}")) for axis in "xy")
                kind = actor.blueprint.id.rpartition(".")[2]
                cameras.append(SeenCamera(actor.id, kind, actor.parent, width, height))
        elif min(actor.bounding_box.extent) > 0.0:
            extent = actor.bounding_box.extent
            x, y, yaw = _place(world, actor)
            kind = actor.blueprint.kind
            boxes.append(SeenBox(actor.id, kind, x, y, yaw, 2.0 * extent.x, 2.0 * extent.y))
    burning = {state.id for state in world.lamps.burning()}
    return WorldPicture(
        world.episode, world.frame, world.elapsed_s, tuple(vehicles), tuple(boxes), tuple(signals),
        tuple(_lamp(state, state.id in burning) for state in world.lamps.states()),
        (*(_shape(s) for s in world.shapes.alive(world.elapsed_s, world.step_s)),
         *(_telemetry(v) for v in world.vehicles() if v.shows_telemetry)),
        tuple(fields), tuple(cameras),
    )  # fmt: skip


def _is_shown(sensor: Actor) -> bool:
    """Whether it is a camera whose pictures are shown; those of changes show no single moment."""
    kind = sensor.blueprint
    return kind.id.startswith("sensor.camera.") and kind.streams and kind.id not in _OF_CHANGES


def picture_of_camera(
    world: World, hub: SensorHub, weather: Weather, number: int
) -> CameraPicture | None:
    """What a camera shows now; None: it is not a camera, or its pictures are not shown."""
    from ros2_cosim.world.headless.sensing.cameras import Camera

    sensor = world.actors.get(number)
    if sensor is None or not _is_shown(sensor):
        return None
    payload = hub.glance(world, sensor, weather)
    if payload is None:
        return None
    width, height, pixels = Camera.pixels_of(payload)
    return CameraPicture(sensor.blueprint.id.rpartition(".")[2], width, height, pixels)


def shown_vehicle(actor: VehicleActor) -> ShownVehicle:
    """A vehicle as it is now."""
    n = actor.numbers
    yaw = frames.yaw_to_ros(n[4])
    sin, cos = sincos(yaw)
    ax, ay, _ = frames.vector_to_ros(*n[12:15])
    box = actor.bounding_box
    x, y, _ = frames.vector_to_ros(*n[:3])
    return ShownVehicle(
        actor.id,
        name_of(actor),
        x + cos * box.location.x,
        y + sin * box.location.x,
        yaw,
        actor.body.forward_speed(),
        ax * cos + ay * sin,
        ay * cos - ax * sin,
        2.0 * box.extent.x,
        2.0 * box.extent.y,
        actor.control.throttle,
        actor.control.brake,
        0.0 - radians(actor.steer_angle(0)),
    )


def name_of(actor: Actor) -> str:
    """The role of an actor where it is a name, else its kind and id."""
    role = actor.attribute("role_name") or ""
    if role not in _USUAL_ROLES:
        return role
    return f"{actor.blueprint.id.partition('.')[2]} {actor.id}"


def _place(world: World, actor: Actor) -> tuple[float, float, float]:
    location, rotation = world.pose(actor)
    x, y, _ = frames.vector_to_ros(*location)
    return x, y, frames.yaw_to_ros(rotation.yaw)


def _lamp(state: LightState, shines: bool) -> tuple[float, float, bool]:
    x, y, _ = frames.vector_to_ros(*state.location)
    return x, y, shines


def _field(world: World, actor: Actor) -> list[SeenField]:
    kind = actor.blueprint.id
    if kind.startswith("sensor.camera."):
        angle, reach = actor.number("fov"), _FARTHEST
    elif kind.startswith("sensor.lidar."):
        angle, reach = actor.number("horizontal_fov"), actor.number("range")
    elif kind == "sensor.other.radar":
        angle, reach = actor.number("horizontal_fov"), actor.number("range")
    else:
        return []
    x, y, yaw = _place(world, actor)
    return [SeenField(actor.id, x, y, yaw, min(radians(angle), 2.0 * PI), min(reach, _FARTHEST))]


def _shape(shape: DebugShape) -> SeenShape:
    size, places = shape.thickness, [shape.start]
    if shape.kind in (Kind.LINE, Kind.ARROW):
        places.append(shape.end)
    elif shape.kind is Kind.BOX:
        sin, cos = sincos(radians(shape.rotation.yaw))
        half = shape.end
        places = [
            Vector(shape.start.x + u * cos - v * sin, shape.start.y + u * sin + v * cos)
            for u, v in (
                (half.x, half.y), (-half.x, half.y), (-half.x, -half.y), (half.x, -half.y)
            )
        ]  # fmt: skip
    elif shape.kind is Kind.POINT:
        size = shape.size
    points = tuple(frames.vector_to_ros(*place)[:2] for place in places)
    return SeenShape(shape.kind.name.lower(), points, size, shape.text, shape.colour)


def _telemetry(actor: VehicleActor) -> SeenShape:
    """What ``show_debug_telemetry`` shows: a text at the vehicle."""
    speed, control = actor.body.forward_speed(), actor.control
    text = (
        f"{speed:.1f} m/s, gear {actor.gear()}, throttle {control.throttle:.2f}, "
        f"brake {control.brake:.2f}, steer {control.steer:.2f}"
    )
    x, y, _ = frames.vector_to_ros(*actor.numbers[:3])
    return SeenShape("string", ((x, y),), 0.0, text, _TELEMETRY)


class WorldOnlooker:
    """Passes pictures from the thread that has the world to those that look.

    :param world: the world now
    :param hub: what its sensors measure with
    :param weather: the weather now
    """

    def __init__(
        self,
        world: Callable[[], World],
        hub: Callable[[], SensorHub],
        weather: Callable[[], Weather],
    ) -> None:
        self._world, self._hub, self._weather = world, hub, weather
        self._changed = threading.Condition()
        self._looked = self._served = float("-inf")
        self._picture: WorldPicture | None = None
        #: Camera -> when a page last asked for it; what it showed, and when.
        self._wanted: dict[int, float] = {}
        self._shown: dict[int, tuple[float, CameraPicture | None]] = {}

    def serve(self) -> None:
        """Look at the world if others do; called again and again by the thread that has it."""
        now = monotonic()
        if now - self._served < PICTURE_PERIOD_S:
            return
        self._served = now
        with self._changed:
            looked = now - self._looked < LOOKED_S
            wanted = [
                camera
                for camera, asked in self._wanted.items()
                if now - asked < LOOKED_S
                and now - self._shown.get(camera, (float("-inf"), None))[0] >= CAMERA_PERIOD_S
            ]
        if not looked and not wanted:
            return
        picture = picture_of_world(self._world()) if looked else None
        made = {camera: self._render(camera) for camera in wanted}
        with self._changed:
            self._picture = picture or self._picture
            for camera, image in made.items():
                self._shown[camera] = now, image
            known = {camera.id for camera in self._picture.cameras} if self._picture else set()
            for gone in self._shown.keys() - known - self._wanted.keys():
                del self._shown[gone]
            self._changed.notify_all()

    def picture(self, timeout_s: float) -> WorldPicture | None:
        """The newest picture, the first one as soon as there is one; None: there was none."""
        with self._changed:
            self._looked = monotonic()
            self._changed.wait_for(lambda: self._picture is not None, timeout_s)
            return self._picture

    def camera(self, number: int, timeout_s: float) -> CameraPicture | None:
        """The newest picture of a camera; None: there is no such camera.

        :raises TimeoutError: the server has not looked for so long
        """
        with self._changed:
            self._wanted[number] = monotonic()
            if not self._changed.wait_for(lambda: number in self._shown, timeout_s):
                raise TimeoutError(f"camera {number}: no picture for {timeout_s:g} s")
            found = self._shown[number][1]
            if found is None:
                self._wanted.pop(number, None)
                self._shown.pop(number, None)
            return found

    def _render(self, number: int) -> CameraPicture | None:
        return picture_of_camera(self._world(), self._hub(), self._weather(), number)


class Glances:
    """Pictures for other programs, made by the thread that has the world when they ask.

    However many programs ask, and however often, no more is made than a ``WorldOnlooker`` makes.

    :param world: the world now
    :param hub: what its sensors measure with
    :param weather: the weather now
    :param clock: the wall clock [s]
    """

    def __init__(
        self,
        world: Callable[[], World],
        hub: Callable[[], SensorHub],
        weather: Callable[[], Weather],
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._now_world, self._hub, self._weather, self._clock = world, hub, weather, clock
        self._picture: tuple[float, WorldPicture] | None = None
        self._cameras: dict[int, tuple[float, CameraPicture]] = {}

    def world(self) -> WorldPicture:
        """The world, at most ``PICTURE_PERIOD_S`` ago."""
        now = self._clock()
        if self._picture is None or now - self._picture[0] >= PICTURE_PERIOD_S:
            self._picture = now, picture_of_world(self._now_world())
        return self._picture[1]

    def camera(self, number: int) -> CameraPicture | None:
        """What a camera showed at most ``CAMERA_PERIOD_S`` ago; None: there is no such camera."""
        now = self._clock()
        self._cameras = {
            camera: shown
            for camera, shown in self._cameras.items()
            if now - shown[0] < CAMERA_PERIOD_S
        }
        if number not in self._cameras:
            world = self._now_world()
            found = picture_of_camera(world, self._hub(), self._weather(), number)
            if found is None:
                return None
            self._cameras[number] = now, found
        return self._cameras[number][1]
