# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Which sensor measures in a frame, and what its messages are.

What measures computes with numpy. A world without sensors does not import it, nor the sensors: that
takes longer than a short run.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from functools import cache, cached_property, partial
from importlib import import_module
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple

from ros2_cosim.core.kernel.time import SECOND
from ros2_cosim.world.headless.sensing.device import Device, SensedFrame
from ros2_cosim.world.headless.snapshot import pack_sensor_header
from ros2_cosim.world.headless.wire_types import ActorRecord, Transform, Weather
from ros2_cosim.world.headless.world import CallError

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

    from ros2_cosim.world.headless.actors import Actor
    from ros2_cosim.world.headless.sensing.gbuffers import Buffer, GBuffers
    from ros2_cosim.world.headless.sensing.path_loss import RadioFactory
    from ros2_cosim.world.headless.sensing.raster import Lens, View
    from ros2_cosim.world.headless.sensing.scene import SceneBuilder, TriangleScene
    from ros2_cosim.world.headless.sensing.shadows import Shade, ShadowMaps
    from ros2_cosim.world.headless.sensing.v2x import Airwaves
    from ros2_cosim.world.headless.world import World

Record = Callable[["Actor"], ActorRecord]

_V2X = "sensor.other.v2x"

# Pictures of one frame that are kept: rigs of cameras have fewer places.
_MOST_VIEWS = 16
# M_TRIM_THRESHOLD and M_MMAP_THRESHOLD [bytes] of mallopt(3), the second at its most.
_MEMORY = ((-1, 256 * 1024 * 1024), (-3, 32 * 1024 * 1024))

DEVICES = {
    "sensor.camera.cosmos_visualization": "control_camera.ControlCamera",
    "sensor.camera.depth": "cameras.DepthCamera",
    "sensor.camera.dvs": "event_camera.EventCamera",
    "sensor.camera.instance_segmentation": "cameras.InstanceCamera",
    "sensor.camera.normals": "cameras.NormalsCamera",
    "sensor.camera.optical_flow": "cameras.FlowCamera",
    "sensor.camera.rgb": "cameras.RgbCamera",
    "sensor.camera.semantic_segmentation": "cameras.SemanticCamera",
    "sensor.lidar.ray_cast": "lidar.RayCastLidar",
    "sensor.lidar.ray_cast_semantic": "lidar.SemanticLidar",
    "sensor.other.collision": "events.Collision",
    "sensor.other.gnss": "motion.Gnss",
    "sensor.other.imu": "motion.Imu",
    "sensor.other.obstacle": "events.Obstacle",
    "sensor.other.radar": "radar.Radar",
    "sensor.other.v2x": "v2x.CamReceiver",
    "sensor.other.v2x_custom": "v2x.CustomReceiver",
}
"""Module and class of the sensors that the server streams, by their blueprints."""


@cache
def device_of(blueprint: str) -> type[Device]:
    """The class of a sensor that the server streams."""
    module, _, name = DEVICES[blueprint].partition(".")
    kind: type[Device] = vars(import_module(f"{__package__}.{module}"))[name]
    return kind


def nanoseconds(seconds: float) -> int:
    """A time in whole nanoseconds, as the world counts it."""
    return int(seconds * SECOND + 0.5)


def is_due(age_ns: int, step_ns: int, period_ns: int) -> bool:
    """Whether a sensor of an age measures in the frame that has just been computed.

    It does in the first one after its spawn, and then once for each period, however period and
    step divide.
    """
    if period_ns <= step_ns:
        return True
    return (age_ns - step_ns) // period_ns != (age_ns - 2 * step_ns) // period_ns


class _Known(NamedTuple):
    """A sensor, its period, and when it was spawned."""

    device: Device
    period_ns: int
    born_ns: int


class Sight:
    """What there is to see in a world; it follows from the world, and is kept to be quick."""

    def __init__(self) -> None:
        # Cameras of several kinds in one place share a picture.
        self._viewed: TriangleScene | None = None
        self._views: dict[tuple[Transform, Lens], tuple[list[View], Lock]] = {}
        self._lock = Lock()
        self._of_frame: tuple[tuple[int, int], TriangleScene] | None = None

    @cached_property
    def _scenes(self) -> SceneBuilder:
        from ros2_cosim.world.headless.sensing.scene import SceneBuilder

        return SceneBuilder()

    @cached_property
    def _shadows(self) -> ShadowMaps:
        from ros2_cosim.world.headless.sensing.shadows import ShadowMaps

        return ShadowMaps()

    def shade(self, scene: TriangleScene, pose: Transform, weather: Weather) -> Shade | None:
        """The shadows around a place; any thread may ask."""
        with self._lock:
            maps = self._shadows
        return maps.around(scene, pose.location, weather)

    def scene(self, world: World) -> TriangleScene:
        """The triangles of the present moment."""
        return self._scenes.scene(world)

    def scene_of_frame(self, world: World) -> TriangleScene:
        """The triangles of a frame while it is measured: nothing moves between its sensors."""
        frame = world.episode, world.frame
        if self._of_frame is None or self._of_frame[0] != frame:
            self._of_frame = frame, self.scene(world)
        return self._of_frame[1]

    def name_parts(self, world: World) -> None:
        """Make the parts of the map known among its things."""
        self._scenes.complete(world)

    def view(self, scene: TriangleScene, pose: Transform, lens: Lens) -> View:
        """What a camera of a lens sees in a place; any thread may ask."""
        from ros2_cosim.world.headless.sensing.axes import axes_of
        from ros2_cosim.world.headless.sensing.raster import render

        with self._lock:
            if scene is not self._viewed or len(self._views) >= _MOST_VIEWS:
                self._viewed = scene
                self._views.clear()
            made, lock = self._views.setdefault((pose, lens), ([], Lock()))
        with lock:
            if not made:
                made.append(render(scene, axes_of(pose), lens))
        return made[0]


def _keep_memory() -> None:
    """Have memory of a picture kept for the next one: the system clears what it gives anew."""
    from ctypes import CDLL

    with suppress(AttributeError):  # another C library than glibc
        for option, size in _MEMORY:
            CDLL(None).mallopt(option, size)


def _no_record(actor: Actor) -> ActorRecord:
    raise CallError(f"actor {actor.id}: a camera names no actor")


class SensorHub:
    """The sensors of one world that clients have listened to."""

    def __init__(self) -> None:
        self._episode = 0
        self._devices: dict[int, _Known] = {}
        self._measured: dict[int, int] = {}
        self._gbuffers: dict[int, GBuffers] = {}
        self._sight = Sight()
        self._threads: ThreadPoolExecutor | None = None
        #: Makes the channels of V2X sensors that want the project's own; None: there is none.
        self.radio: RadioFactory | None = None
        self._air: Airwaves | None = None

    def scene(self, world: World) -> TriangleScene:
        """What rays and cameras see at the present moment."""
        return self._sight.scene(world)

    def name_parts(self, world: World) -> None:
        """Make the parts of the map known among its things."""
        self._sight.name_parts(world)

    def prepare(self, world: World, sensor: Actor) -> None:
        """Take up a sensor that has just been spawned.

        :raises CallError: the sensor is not supported, or not with these attributes
        """
        self._follow(world)
        reason = sensor.blueprint.unsupported
        if reason:
            raise CallError(f"Spawn failed: '{sensor.blueprint.id}' is not supported: {reason}")
        if sensor.blueprint.id.startswith(_V2X):
            self._begin_air(sensor)
        if sensor.blueprint.streams:
            try:
                self._known(world, sensor)
            except ValueError as error:
                raise CallError(f"Spawn failed: {error}") from None

    def _begin_air(self, sensor: Actor) -> None:
        from ros2_cosim.world.headless.sensing.path_loss import NAKAGAMI
        from ros2_cosim.world.headless.sensing.v2x import Airwaves

        if self.radio is None and sensor.attribute("path_loss_model") == NAKAGAMI:
            raise CallError(
                f"Spawn failed: path_loss_model: found '{NAKAGAMI}', which only cosim "
                "carla-headless has"
            )
        if self._air is None:
            self._air = Airwaves(self.radio)

    def say(self, sensor: Actor, text: bytes) -> None:
        """Send a text with a V2X sensor in the next frame."""
        if self._air is not None:
            self._air.say(sensor, text)

    def transmit(self, world: World) -> None:
        """Take what V2X sensors send in the frame that has just been computed."""
        if self._air is not None:
            self._follow(world)
            self._air.transmit(world)

    def messages(
        self, world: World, sensor: Actor, weather: Weather, record: Record, *, headed: bool = True
    ) -> list[bytes]:
        """Messages of one sensor for the frame that the world has just computed.

        :param headed: with their headers
        """
        device, moment = self._moment(world, sensor, weather, record, headed)
        return device.measure(moment) if moment else []

    def begin(
        self, world: World, sensor: Actor, weather: Weather, record: Record
    ) -> Callable[[], list[bytes]]:
        """Begin to measure, beside others where the sensor can.

        :returns: waits for the messages; call it before the world goes on
        """
        device, moment = self._moment(
            world, sensor, weather, record, True, self._sight.scene_of_frame
        )
        if moment is None:
            return list
        if not device.beside:
            return partial(device.measure, moment)
        moment.scene()  # is made in this thread
        if self._threads is None:
            from concurrent.futures import ThreadPoolExecutor

            _keep_memory()
            self._threads = ThreadPoolExecutor(len(os.sched_getaffinity(0)), "sensor")
        return self._threads.submit(device.measure, moment).result

    def _moment(
        self,
        world: World,
        sensor: Actor,
        weather: Weather,
        record: Record,
        headed: bool,
        scene_of: Callable[[World], TriangleScene] | None = None,
    ) -> tuple[Device, SensedFrame | None]:
        """What a sensor measures; None: nothing in this frame."""
        self._follow(world)
        device, period_ns, born = self._known(world, sensor)
        if not device.may_measure(world):
            return device, None
        now, step = nanoseconds(world.elapsed_s), nanoseconds(world.step_s)
        if not is_due(now - born, step, period_ns):
            return device, None
        usual = max(step, period_ns)
        since = now - self._measured.get(sensor.id, now - usual)
        self._measured[sensor.id] = now
        # A sensor that nothing has listened to for a while begins anew.
        dt = (since if since < 2 * usual else usual) / SECOND
        kind = device.sensor_type if headed else None
        pose = world.pose(sensor)
        return device, self._frame(world, pose, dt, weather, record, kind, scene_of)

    def _frame(
        self,
        world: World,
        pose: Transform,
        dt: float,
        weather: Weather,
        record: Record,
        kind: int | None = None,
        scene_of: Callable[[World], TriangleScene] | None = None,
    ) -> SensedFrame:
        scene = cache(lambda: (scene_of or self.scene)(world))
        return SensedFrame(
            world, pose, dt, weather, scene, lambda lens: self._sight.view(scene(), pose, lens),
            lambda: self._sight.shade(scene(), pose, weather), record,
            b"" if kind is None else pack_sensor_header(kind, world.frame, world.elapsed_s, pose),
            self._air,
        )  # fmt: skip

    def gbuffer(
        self, world: World, sensor: Actor, weather: Weather, buffer: Buffer
    ) -> bytes | None:
        """The message of a G-buffer of a colour camera; None in a frame without one."""
        from ros2_cosim.world.headless.sensing.cameras import RgbCamera
        from ros2_cosim.world.headless.sensing.gbuffers import SENSOR_TYPE, GBuffers

        self._follow(world)
        device, period_ns, born = self._known(world, sensor)
        now, step = nanoseconds(world.elapsed_s), nanoseconds(world.step_s)
        if not isinstance(device, RgbCamera) or not is_due(now - born, step, period_ns):
            return None
        if sensor.id not in self._gbuffers:
            self._gbuffers[sensor.id] = GBuffers(device)
        dt = max(step, period_ns) / SECOND
        moment = self._frame(world, world.pose(sensor), dt, weather, _no_record, SENSOR_TYPE)
        return self._gbuffers[sensor.id].measure(moment, buffer)

    def glance(self, world: World, sensor: Actor, weather: Weather) -> bytes | None:
        """The payload of a camera at the present moment, for an onlooker: nothing changes by it.

        :returns: None of a sensor that is not a camera, or remembers its last picture
        """
        from ros2_cosim.world.headless.sensing.cameras import Camera

        blueprint = sensor.blueprint.id
        kind = device_of(blueprint) if blueprint in DEVICES else None
        if kind is None or not issubclass(kind, Camera) or kind.remembers:
            return None
        moment = self._frame(world, world.pose(sensor), world.step_s, weather, _no_record)
        return kind(sensor).measure(moment)[0]

    def _follow(self, world: World) -> None:
        """Forget the sensors of an earlier episode, and those that are gone."""
        if world.episode != self._episode:
            self._episode = world.episode
            self._devices.clear()
            self._measured.clear()
            self._gbuffers.clear()
            if self._air is not None:
                self._air = type(self._air)(self.radio)
        if len(self._devices) > 2 * len(world.actors):
            for actor_id in self._devices.keys() - world.actors.keys():
                del self._devices[actor_id]
                self._measured.pop(actor_id, None)
                self._gbuffers.pop(actor_id, None)

    def _known(self, world: World, sensor: Actor) -> _Known:
        known = self._devices.get(sensor.id)
        if known is None:
            device = device_of(sensor.blueprint.id)(sensor)
            period_ns = nanoseconds(max(sensor.number("sensor_tick"), 0.0))
            known = _Known(device, period_ns, nanoseconds(world.elapsed_s))
            self._devices[sensor.id] = known
        return known
