# SPDX-License-Identifier: Apache-2.0
"""Traffic lights and signs of a map as actors, and which vehicle is at which light."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ros2_cosim.carla_headless.actors import Actor
from ros2_cosim.carla_headless.blueprints import Blueprint, traffic_blueprint
from ros2_cosim.carla_headless.snapshot import (
    LightStatus,
    Numbers,
    pack_light_record,
    pack_sign_record,
)
from ros2_cosim.carla_headless.traffic_lights import (
    GREEN,
    RED,
    YELLOW,
    Light,
    LightGroup,
    make_groups,
)
from ros2_cosim.carla_headless.wire_types import BoundingBox, Rotation, Transform, Vector
from ros2_cosim.kernel.exactmath import degrees, radians, sincos
from ros2_cosim.models import frames
from ros2_cosim.models.road import RoadNetwork, RoadPosition
from ros2_cosim.models.road.signals import SPEED_LIMIT, STOP, TRAFFIC_LIGHT, YIELD, Signal
from ros2_cosim.models.road.stop_lines import StopLine, stop_lines, way_up_to

# The client moves the lights of a map so far forwards before it compares them [m].
_FORWARD = 0.25
# Half the length of the volume before a stop line that a sign's actor names [m].
_TRIGGER_HALF = 1.5
# A vehicle is at a light over the way that it needs to stop from the speed limit [m/s^2, m].
_BRAKING, _LEAST_REACH = 5.0, 10.0
_USUAL_SPEED = 14.0  # m/s, where a road names no limit
SIGN_SIZE: Final = 0.7
"""Width and height of signs whose map gives none [m]."""
PLATE: Final = 0.04
"""Half the depth of a sign [m]."""
# Where a map puts a sign on the ground, its pole belongs to it: height of the plate or lamps [m].
_SIGN_STAND, _LIGHT_STAND = 2.0, 2.6


class SignActor(Actor):
    """A traffic sign that a map has."""

    def __init__(
        self, actor_id: int, blueprint: Blueprint, signal: Signal, pose: Transform
    ) -> None:
        super().__init__(actor_id, blueprint, blueprint.describe({}), pose)
        self.signal = signal
        #: Where the sign is obeyed, relative to the actor; the protocol's ``trigger_volume``.
        self.trigger = BoundingBox(actor_id=actor_id)
        self._packed: tuple[Numbers, bytes] | None = None

    def stand(self) -> float:
        """Height of the plate's lower edge above the actor's place [m]."""
        return 0.0 if self.signal.z_offset > 0.0 else _SIGN_STAND

    def size(self) -> tuple[float, float]:
        """Width and height of the plate [m]."""
        return self.signal.width or SIGN_SIZE, self.signal.height or SIGN_SIZE

    def head(self) -> BoundingBox:
        """The box of the plate, in the world."""
        x, y, z = self.state.transform.location
        width, height = self.size()
        return BoundingBox(
            Vector(x, y, z + self.stand() + 0.5 * height),
            Vector(PLATE, 0.5 * width, 0.5 * height),
            self.state.transform.rotation,
        )

    def pack(self, numbers: Numbers) -> bytes:
        """Snapshot record with the id of the signal in the map; made once for each place."""
        if self._packed is None or self._packed[0] is not self.numbers:
            self._packed = self.numbers, pack_sign_record(self.id, self.numbers, self.signal.id)
        return self._packed[1]


class LightActor(SignActor):
    """A traffic light that a map has."""

    def __init__(
        self, actor_id: int, blueprint: Blueprint, signal: Signal, pose: Transform, light: Light
    ) -> None:
        super().__init__(actor_id, blueprint, signal, pose)
        self.light = light
        self._pole = light.group.lights.index(light)

    def head(self) -> BoundingBox:
        """The box of the lamps, in the world; of the size that the map gives them."""
        x, y, z = self.state.transform.location
        half, high = 0.5 * self.signal.width, 0.5 * self.signal.height
        return BoundingBox(
            Vector(x, y, z + self.stand() + high),
            Vector(half, half, high),
            self.state.transform.rotation,
        )

    def stand(self) -> float:
        """Height of the lowest lamp above the actor's place [m]."""
        return 0.0 if self.signal.z_offset > 0.0 else _LIGHT_STAND

    def pack(self, numbers: Numbers) -> bytes:
        """Snapshot record with the state of the light."""
        light = self.light
        times = light.controller.times
        status = LightStatus(
            self.signal.id,
            times[GREEN],
            times[YELLOW],
            times[RED],
            light.group.elapsed_s,
            self._pole,
            light.group.frozen,
            light.state,
        )
        return pack_light_record(self.id, self.numbers, status)


class Signals:
    """The signals of a map: actors from ``first_id`` on, groups of lights, places at lights."""

    def __init__(self, network: RoadNetwork, first_id: int) -> None:
        self.actors: list[SignActor] = []
        self._network = network
        lights, self.groups = _lights(network)
        #: (road, lane) -> pieces of the lane before a light: low, high, light.
        self._before: dict[tuple[int, int], list[tuple[float, float, LightActor]]] = {}
        self._by_light: dict[int, LightActor] = {}
        for signal in network.signals.values():
            blueprint = traffic_blueprint(_kind(signal))
            pose = _pose(network, signal)
            actor_id = first_id + len(self.actors)
            lines = stop_lines(network, signal.id)
            actor: SignActor
            if signal.id in lights:
                light = lights[signal.id]
                actor = LightActor(actor_id, blueprint, signal, pose, light)
                self._by_light[id(light)] = actor
                for line in lines:
                    self._add_way(line, actor)
            else:
                actor = SignActor(actor_id, blueprint, signal, pose)
            actor.trigger = _trigger(network, lines, pose, actor_id)
            self.actors.append(actor)

    def _add_way(self, line: StopLine, actor: LightActor) -> None:
        limit = self._network.speed_limit(line.road_id, line.s, line.lane_id) or _USUAL_SPEED
        reach = max(_LEAST_REACH, limit * limit / (2.0 * _BRAKING))
        for road_id, lane_id, low, high in way_up_to(self._network, line, reach):
            self._before.setdefault((road_id, lane_id), []).append((low, high, actor))

    def step(self, step_ns: int) -> None:
        """Let time pass for all lights."""
        for group in self.groups:
            group.step(step_ns)

    def light_at(self, place: RoadPosition) -> LightActor | None:
        """The light that a vehicle waits for at a place, None if there is none."""
        for low, high, actor in self._before.get((place.road_id, place.lane_id), ()):
            if low <= place.s <= high:
                return actor
        return None

    def actor_of(self, light: Light) -> LightActor:
        """The actor of a light."""
        return self._by_light[id(light)]


def _lights(network: RoadNetwork) -> tuple[dict[str, Light], list[LightGroup]]:
    def controllers(ids: tuple[str, ...]) -> Iterator[tuple[int, tuple[str, ...]]]:
        for controller_id in ids:
            controller = network.controllers.get(controller_id)
            if controller is not None:
                yield controller.sequence, controller.signals

    junctions = [
        [signals for _, signals in sorted(controllers(j.controllers), key=lambda item: item[0])]
        for j in network.junctions.values()
    ]
    found = (s.id for s in network.signals.values() if s.type == TRAFFIC_LIGHT)
    return make_groups(junctions, found)


def _kind(signal: Signal) -> str:
    if signal.type == SPEED_LIMIT and signal.value > 0.0:
        return f"traffic.speed_limit.{signal.value:g}"
    names = {
        TRAFFIC_LIGHT: "traffic.traffic_light",
        STOP: "traffic.stop",
        YIELD: "traffic.yield",
    }
    return names.get(signal.type, "traffic.unknown")


def _pose(network: RoadNetwork, signal: Signal) -> Transform:
    """Where CARLA's client places a signal: in its frame, lights a little forwards."""
    x, y, z, heading = network.signal_pose(signal.id)
    if signal.type == TRAFFIC_LIGHT:
        sin, cos = sincos(heading)
        x, y = x + _FORWARD * cos, y + _FORWARD * sin
    return Transform(
        Vector(*frames.vector_to_carla(x, y, z)),
        Rotation(degrees(signal.pitch), frames.yaw_to_carla(heading), degrees(signal.roll)),
    )


def _trigger(
    network: RoadNetwork, lines: list[StopLine], pose: Transform, actor_id: int
) -> BoundingBox:
    """The volume before the stop lines on the first of their roads, relative to the actor."""
    lines = [line for line in lines if line.road_id == lines[0].road_id]
    if not lines:
        return BoundingBox(actor_id=actor_id)
    spans = [network.lane_borders(line.road_id, line.lane_id, line.s) for line in lines]
    low, high = min(min(span) for span in spans), max(max(span) for span in spans)
    road_id, lane_id, s = lines[0]
    back = s - _TRIGGER_HALF if lane_id < 0 else s + _TRIGGER_HALF
    back = min(max(back, 0.0), network.length(road_id))
    x, y, z, heading = network.pose(road_id, back, 0.5 * (low + high))
    px, py, pz = frames.vector_to_carla(x, y, z)
    dx, dy, dz = px - pose.location.x, py - pose.location.y, pz - pose.location.z
    sin, cos = sincos(radians(pose.rotation.yaw))
    return BoundingBox(
        Vector(dx * cos + dy * sin, dy * cos - dx * sin, dz),
        Vector(_TRIGGER_HALF, 0.5 * (high - low), 1.0),
        Rotation(yaw=frames.yaw_to_carla(heading) - pose.rotation.yaw),
        actor_id,
    )
