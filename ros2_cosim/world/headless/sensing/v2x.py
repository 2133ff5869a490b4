# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""V2X sensors: what they send in each frame, and what of it arrives at others.

As in CARLA 0.9.16 (``V2XSensor.cpp``, ``CaService.cpp``) a sensor belongs to the actor that carries
it, hears messages of its own kind from other actors in the frame in which they are sent, and sends
CAMs by the triggering conditions of ETSI EN 302 637-2. Two things differ: the time of a CAM counts
from the start of the episode, so that it is repeatable, and what stands beside roads can be a road
side unit.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

from ros2_cosim.core.kernel.exactmath import hypot, total, wrap_angle
from ros2_cosim.core.kernel.time import SECOND
from ros2_cosim.world.headless.actors import VehicleActor
from ros2_cosim.world.headless.sensing import cam_message
from ros2_cosim.world.headless.sensing.axes import BodyAxes, axes_of
from ros2_cosim.world.headless.sensing.boxes import box_of
from ros2_cosim.world.headless.sensing.cam_message import (
    CAM_SENSOR,
    TEXT_SENSOR,
    VehicleMotion,
    VehicleRole,
)
from ros2_cosim.world.headless.sensing.device import Device, SensedFrame, SentMessage
from ros2_cosim.world.headless.sensing.draws import Draws
from ros2_cosim.world.headless.sensing.motion import SensorNoise, geolocation
from ros2_cosim.world.headless.sensing.path_loss import (
    MODELS,
    NAKAGAMI,
    SCENARIOS,
    KnifeEdge,
    Link,
    PathState,
    Propagation,
    RadioFactory,
    log10,
)
from ros2_cosim.world.headless.sensing.probes import is_hidden
from ros2_cosim.world.headless.walkers import WalkerActor
from ros2_cosim.world.headless.wire_types import Vector

if TYPE_CHECKING:
    from ros2_cosim.world.headless.actors import Actor
    from ros2_cosim.world.headless.sensing.scene import TriangleScene
    from ros2_cosim.world.headless.world import World

#: An antenna stands so far above its vehicle [m].
_MAST: Final = 0.02
_ROLE_NS: Final = SECOND // 2
_ROAD_SIDE_NS: Final = SECOND // 2
#: A CAM is triggered by larger changes: heading [rad], position [m], speed [m/s].
_HEADING, _POSITION, _SPEED = 0.06981317007977318, 4.0, 0.5
#: So many CAMs follow at the interval that the motion has set.
_REPEATED: Final = 3
#: Kinds of stations by label: pedestrian, cyclist, motorcycle, car, bus, light truck.
_STATIONS: Final = {12: 1, 19: 2, 18: 4, 14: 5, 16: 6, 15: 7}
_BUS, _SPECIAL = 6, 10
_PUBLIC_TRANSPORT, _EMERGENCY = 1, 6
#: CARLA's flags of lights, and their bits in a CAM: low and high beam, left and right blinker,
#: reverse, fog, parking.
_LIGHTS: Final = ((2, 128), (4, 64), (32, 32), (16, 16), (64, 4), (128, 2), (1, 1))


class Airwaves:
    """What all V2X sensors of a world send."""

    def __init__(self, radio: RadioFactory | None) -> None:
        self.radio = radio
        self._services: dict[int, CamService] = {}
        self._texts: dict[int, bytes] = {}
        self._sent: dict[str, list[SentMessage]] = {}

    def say(self, sensor: Actor, text: bytes) -> None:
        """Send a text in the next frame; a later one of the same frame takes its place."""
        self._texts[sensor.id] = text

    def transmit(self, world: World) -> None:
        """Take what is sent in the frame that has just been computed."""
        services, texts = self._services, self._texts
        self._services, self._texts, self._sent = {}, {}, {CAM_SENSOR: [], TEXT_SENSOR: []}
        for sensor in world.sensors():
            kind, owner = sensor.blueprint.id, world.actors.get(sensor.parent)
            if owner is None or kind not in self._sent:
                continue
            body = None
            if kind == TEXT_SENSOR:
                if sensor.id in texts:
                    body = cam_message.custom(owner.id, texts[sensor.id])
            else:
                service = services.get(sensor.id) or CamService(sensor)
                self._services[sensor.id] = service
                body = service.message(world, owner)
            if body is not None and all(sent.owner != owner.id for sent in self._sent[kind]):
                power = sensor.number("transmit_power")
                self._sent[kind].append(SentMessage(owner.id, power, body))

    def heard_by(self, sensor: Actor) -> Iterator[SentMessage]:
        """What others send of a sensor's kind, in the order of the senders."""
        for sent in self._sent.get(sensor.blueprint.id, ()):
            if sent.owner != sensor.parent:
                yield sent


class _LastCam(NamedTuple):
    """What the last CAM said, and when [ns]."""

    time: int
    place: Vector
    yaw: float
    speed: float


class CamService:
    """Makes the CAMs of one sensor."""

    def __init__(self, sensor: Actor) -> None:
        draws = Draws(int(sensor.number("noise_seed")), f"{CAM_SENSOR}/sent")
        place = ("lat", "lon", "alt")
        self._place_noise = SensorNoise(
            draws,
            [sensor.number(f"noise_{axis}_bias") for axis in place],
            [sensor.number(f"noise_{axis}_stddev") for axis in place],
        )
        self._felt_noise = SensorNoise(
            draws, [0.0] * 3, [sensor.number(f"noise_accel_stddev_{axis}") for axis in "xyz"]
        )
        self._other_noise = SensorNoise(  # heading, yaw rate, speed
            draws,
            [sensor.number("noise_head_bias"), sensor.number("noise_yawrate_bias"), 0.0],
            [sensor.number(f"noise_{n}_stddev{x}") for n, x in
             (("head", ""), ("yawrate", ""), ("vel", "_x"))],
        )  # fmt: skip
        self._least = int(sensor.number("gen_cam_min") * SECOND + 0.5)
        self._most = int(sensor.number("gen_cam_max") * SECOND + 0.5)
        self._is_fixed = sensor.attribute("fixed_rate") == "true"
        self._interval = self._most
        self._in_a_row = 0
        self._last: _LastCam | None = None
        self._told_role: int | None = None

    def message(self, world: World, owner: Actor) -> bytes | None:
        """The CAM of this frame, None: there is none."""
        now = int(world.elapsed_s * SECOND + 0.5)
        speed = owner.body.forward_speed() if isinstance(owner, VehicleActor) else 0.0
        pose = world.pose(owner)
        if not self._is_due(now, pose.location, pose.rotation.yaw, speed, owner):
            return None
        self._last = _LastCam(now, pose.location, pose.rotation.yaw, speed)
        x, y, z = pose.location
        latitude, longitude, altitude = self._place_noise.on((*geolocation(world.network, x, y), z))
        motion = role = None
        station = _station_of(owner)
        if isinstance(owner, VehicleActor):
            motion = self._motion(world, owner, speed)
            if self._told_role is None or now - self._told_role >= _ROLE_NS:
                self._told_role, role = now, _role_of(owner, station)
        place = (latitude, longitude, altitude)
        return cam_message.cam(owner.id, station, now // 1_000_000, place, motion, role)

    def _is_due(self, now: int, place: Vector, yaw: float, speed: float, owner: Actor) -> bool:
        last = self._last
        if last is None:
            return True
        elapsed = now - last.time
        if not isinstance(owner, (VehicleActor, WalkerActor)):
            return elapsed >= _ROAD_SIDE_NS
        if elapsed < self._least:
            return False
        way = hypot(*(a - b for a, b in zip(place, last.place, strict=True)))
        turn = abs(wrap_angle((yaw - last.yaw) * (_HEADING / 4.0)))
        if turn > _HEADING or way > _POSITION or abs(speed - last.speed) > _SPEED:
            self._interval = min(elapsed, self._most)
            self._in_a_row = 0
            return True
        if self._is_fixed:
            return True
        if elapsed < self._interval:
            return False
        self._in_a_row += 1
        if self._in_a_row >= _REPEATED:
            self._interval = self._most
        return True

    def _motion(self, world: World, owner: VehicleActor, speed: float) -> VehicleMotion:
        state, box = owner.state, owner.bounding_box
        axes = axes_of(state.transform)
        ax, ay, az = state.acceleration
        felt = [ax * d.x + ay * d.y + (az + world.gravity) * d.z for d in axes[1:]]
        along, across, above = self._felt_noise.on((felt[0], felt[1], felt[2]))
        compass = state.transform.rotation.yaw + 90.0
        heading, turn, told = self._other_noise.on((compass, state.angular_velocity.z, speed))
        return VehicleMotion(
            heading % 360.0, max(told, 0.0), speed < 0.0, 2.0 * box.extent.x, 2.0 * box.extent.y,
            (along, across, above), turn,
        )  # fmt: skip


def _station_of(owner: Actor) -> int:
    if owner.attribute("special_type") == "emergency":
        return _SPECIAL
    if isinstance(owner, (VehicleActor, WalkerActor)):
        return _STATIONS.get(owner.blueprint.semantic_tag, 0)
    return cam_message.ROAD_SIDE_UNIT


def _role_of(owner: VehicleActor, station: int) -> VehicleRole:
    role = {_BUS: _PUBLIC_TRANSPORT, _SPECIAL: _EMERGENCY}.get(station, 0)
    lights = 0
    for flag, bit in _LIGHTS:
        lights |= bit if owner.lights & flag else 0
    return VehicleRole(role, lights)


class CamReceiver(Device):
    """CAMs of other actors with the power that they arrive with; no message without one."""

    sensor_type = 20

    def __init__(self, sensor: Actor) -> None:
        super().__init__(sensor)
        if sensor.blueprint.id == CAM_SENSOR:
            for name in ("gen_cam_min", "gen_cam_max"):
                self.within(name, 0.0, 60.0)
        self.within("transmit_power", -100.0, 100.0)
        self._gain = self.within("combined_antenna_gain", -100.0, 100.0)
        self._sensitivity = self.within("receiver_sensitivity", -200.0, 100.0)
        self._reach = self.within("filter_distance", 0.0, 1.0e5)
        own_fading = self.within("custom_fading_stddev", 0.0, 100.0)
        self._propagation = Propagation(
            self._one_of("path_loss_model", MODELS),
            self._one_of("scenario", SCENARIOS),
            self.within("frequency_ghz", 0.1, 100.0),
            self.within("path_loss_exponent", 0.0, 10.0),
            self.within("d_ref", 0.01, 1000.0),
            None if sensor.attribute("use_etsi_fading") == "true" else own_fading,
        )
        self._draws = Draws(int(sensor.number("noise_seed")), sensor.blueprint.id)

    def _one_of(self, name: str, allowed: tuple[str, ...]) -> str:
        value = self.sensor.attribute(name) or ""
        if value not in allowed:
            raise ValueError(
                f"attribute '{name}' of '{self.sensor.blueprint.id}': found '{value[:40]}'; "
                f"allowed is {', '.join(allowed)}"
            )
        return value

    def measure(self, moment: SensedFrame) -> list[bytes]:
        """What has arrived."""
        world = moment.world
        own = world.actors.get(self.sensor.parent)
        if own is None or moment.air is None:
            return []
        parts = []
        for sent in moment.air.heard_by(self.sensor):
            other = world.actors.get(sent.owner)
            if other is None:
                continue
            power = self._power(moment, own, other, sent.power + self._gain)
            if power is not None:
                parts.append(cam_message.received(power, sent.body))
        return [moment.header + b"".join(parts)] if parts else []

    def _power(self, moment: SensedFrame, own: Actor, other: Actor, sent: float) -> float | None:
        """The power that arrives [dBm], None: too little."""
        start, end = _antenna(moment.world, other), _antenna(moment.world, own)
        distance = hypot(*(a - b for a, b in zip(start, end, strict=True)))
        if distance >= self._reach:
            return None
        distance = max(distance, 0.1)
        if self._propagation.model == NAKAGAMI:
            assert moment.air is not None and moment.air.radio is not None  # see SensorHub.prepare
            waves = moment.air.radio(sent, self._sensitivity)
            mean = waves.mean_power(distance)
            chance = waves.reception(mean, 0.0)
            return 10.0 * log10(mean) if float(self._draws.uniform(1)[0]) < chance else None
        link = link_between(moment.world, moment.scene(), other, own)
        fading = self._propagation.deviation(link.state) * float(self._draws.normal(1)[0])
        power = sent - (self._propagation.loss(link) + fading)
        return power if power >= self._sensitivity else None


class CustomReceiver(CamReceiver):
    """Texts of other actors."""

    sensor_type = 21


def _antenna(world: World, owner: Actor) -> Vector:
    x, y, z = world.pose(owner).location
    return Vector(x, y, z + 2.0 * owner.bounding_box.extent.z + _MAST)


def link_between(world: World, scene: TriangleScene, sender: Actor, receiver: Actor) -> Link:
    """The way between the antennas of two actors, and what is on it."""
    start, end = _antenna(world, sender), _antenna(world, receiver)
    ground = min(world.pose(sender).location.z, world.pose(receiver).location.z)
    state, edges = PathState.CLEAR, []
    for actor in world.collidable():
        if actor.id in (sender.id, receiver.id) or not _crosses(start, end, *box_of(world, actor)):
            continue
        if not isinstance(actor, VehicleActor):
            state = PathState.BLOCKED
            break
        state = PathState.VEHICLES
        top = _antenna(world, actor)
        edges.append(
            KnifeEdge(
                hypot(top.x - start.x, top.y - start.y),
                hypot(end.x - top.x, end.y - top.y),
                top.z - ground,
            )
        )
    if state is not PathState.BLOCKED and is_hidden(scene, start, end):
        state = PathState.BLOCKED
    distance = max(hypot(*(a - b for a, b in zip(start, end, strict=True))), 0.1)
    heights = start.z - ground, end.z - ground
    return Link(distance, heights, state, tuple(edges) if state is PathState.VEHICLES else ())


def _crosses(start: Vector, end: Vector, axes: BodyAxes, half: Vector) -> bool:
    """Whether a straight way goes through a box."""
    low, high = 0.0, 1.0
    for axis, size in zip(axes[1:], half, strict=True):
        begin = total((a - o) * d for a, o, d in zip(start, axes.origin, axis, strict=True))
        way = total((b - a) * d for a, b, d in zip(start, end, axis, strict=True))
        if abs(way) < 1.0e-12:
            if abs(begin) > size:
                return False
            continue
        ends = (0.0 - size - begin) / way, (size - begin) / way
        low, high = max(low, min(ends)), min(high, max(ends))
    return low <= high
