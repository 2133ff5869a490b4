# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Traffic lights and signs of a map as actors, and which vehicle is at which light."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Final

from ros2_cosim.core.kernel.exactmath import degrees, sincos
from ros2_cosim.core.kernel.time import SECOND
from ros2_cosim.world.headless.actors import Actor, VehicleActor
from ros2_cosim.world.headless.blueprints import Blueprint, traffic_blueprint
from ros2_cosim.world.headless.body import VehicleBody
from ros2_cosim.world.headless.snapshot import (
    LightStatus,
    Numbers,
    pack_light_record,
    pack_sign_record,
)
from ros2_cosim.world.headless.wire_types import BoundingBox, Rotation, Transform, Vector
from ros2_cosim.world.map import RoadNetwork, frames
from ros2_cosim.world.map.junctions import JunctionConnection
from ros2_cosim.world.map.signal_places import (
    SignalPlace,
    TriggerVolume,
    signal_place,
    trigger_volume,
)
from ros2_cosim.world.map.signals import SPEED_LIMIT, STOP, TRAFFIC_LIGHT, YIELD, Signal
from ros2_cosim.world.map.stop_lines import StopLine, stop_lines, way_up_to
from ros2_cosim.world.map.traffic_lights import GREEN, RED, YELLOW, Light, network_lights
from ros2_cosim.world.vehicle.pedals import max_deceleration

# A vehicle is at a light or stop sign when full brakes, used so late [s], just stop it so far
# before the line [m]; at a light, as in CARLA, also when its front is nearer than 4.5 m.
_LATE, _STOP_BEFORE, _LIGHT_REACH = 0.1, 1.5, 4.5
#: A front that is so far over the line has passed it [m].
_PASSED = 0.5
_LONGEST_REACH = 120.0  # m
# As in CARLA (carla-simulator/carla 568f1e54, StopSignComponent.cpp): a stop sign is red for 2 s at
# least, and vehicles before a junction count from three boxes of 0.45 lane widths on [m].
_STOP_NS: Final = 2 * SECOND
_ENTERS: Final = 4.7
SIGN_SIZE: Final = 0.7
"""Width and height of signs whose map gives none [m]."""
PLATE: Final = 0.04
"""Half the depth of a sign [m]."""
# Where a map puts a sign on the ground, its pole belongs to it: height of the plate or lamps [m].
_SIGN_STAND, _LIGHT_STAND = 2.0, 2.6


class SignActor(Actor):
    """A traffic sign that a map has."""

    #: Nearer to its line than this a vehicle's front is always told of it [m].
    reach = 0.0
    #: Every vehicle sees it red for so long [ns],
    stop_ns = 0
    #: and while another is on one of these roads, or just before them.
    crossed_by: frozenset[int] = frozenset()

    def __init__(
        self, actor_id: int, blueprint: Blueprint, signal: Signal, pose: Transform
    ) -> None:
        super().__init__(actor_id, blueprint, blueprint.describe({}), pose)
        self.signal = signal
        #: At which end of its x axis the face is, -1 or 1.
        self.front = 1.0
        #: Where the sign is obeyed, relative to the actor; the protocol's ``trigger_volume``.
        self.trigger = BoundingBox(actor_id=actor_id)
        self._packed: tuple[Numbers, bytes] | None = None

    def told(self, driven: frozenset[int], waited_ns: int) -> tuple[int, int] | None:
        """The light that a vehicle there is at, 0 at a sign, and its state; None: it may pass.

        :param driven: roads that vehicles are on, or enter next
        :param waited_ns: how long the vehicle has been at the sign [ns]
        """
        is_red = waited_ns < self.stop_ns or not driven.isdisjoint(self.crossed_by)
        return (0, RED) if is_red else None

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

    reach = _LIGHT_REACH

    def __init__(
        self, actor_id: int, blueprint: Blueprint, signal: Signal, pose: Transform, light: Light
    ) -> None:
        super().__init__(actor_id, blueprint, signal, pose)
        self.light = light
        self._pole = light.group.lights.index(light)

    def told(self, driven: frozenset[int], waited_ns: int) -> tuple[int, int]:
        """The light that a vehicle there is at, and its state."""
        return self.id, self.light.state

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
        lights, self.groups = network_lights(network)
        #: Roads that vehicles are on, or enter next.
        self._driven: frozenset[int] = frozenset()
        #: (road, lane) -> roads inside the junction that it leads into.
        self._entered: dict[tuple[int, int], frozenset[int]] = {}
        #: (road, lane) -> pieces of it before a light or sign: low, high, way to the line.
        self._before: dict[tuple[int, int], list[tuple[float, float, float, SignActor]]] = {}
        self._by_light: dict[int, LightActor] = {}
        for signal in network.signals.values():
            blueprint = traffic_blueprint(_kind(signal))
            place = signal_place(network, signal)
            pose = _to_carla(place, signal)
            actor_id = first_id + len(self.actors)
            lines = stop_lines(network, signal.id)
            actor: SignActor
            if signal.id in lights:
                light = lights[signal.id]
                actor = LightActor(actor_id, blueprint, signal, pose, light)
                self._by_light[id(light)] = actor
            else:
                actor = SignActor(actor_id, blueprint, signal, pose)
            if signal.type in (STOP, YIELD):
                actor.crossed_by = frozenset(_crossed_by(network, lines))
                actor.stop_ns = _STOP_NS if signal.type == STOP else 0
                self._entered.update(_entered(network, lines))
            for line in lines if signal.type in (TRAFFIC_LIGHT, STOP, YIELD) else ():
                self._add_way(line, actor)
            actor.front = _front(network, signal, lines, place.heading)
            actor.trigger = _box(trigger_volume(network, lines, place), actor_id)
            self.actors.append(actor)

    def _add_way(self, line: StopLine, actor: SignActor) -> None:
        for road_id, lane_id, low, high, beyond in way_up_to(self._network, line, _LONGEST_REACH):
            self._before.setdefault((road_id, lane_id), []).append((low, high, beyond, actor))

    def step(self, step_ns: int) -> None:
        """Let time pass for all lights."""
        for group in self.groups:
            group.step(step_ns)

    def states(self) -> dict[str, int]:
        """Signal of the map -> what its light shows."""
        return {actor.signal.id: actor.light.state for actor in self._by_light.values()}

    @property
    def are_obeyed(self) -> bool:
        """Whether there is a light or sign that holds for vehicles."""
        return bool(self._before)

    def watch(self, vehicles: Collection[VehicleActor], now_ns: int) -> None:
        """Tell every vehicle the light, stop or yield sign that holds for it where it is."""
        driven = set()
        for vehicle in vehicles:
            road_id, s, _, lane_id, _ = vehicle.body.place_on_road()
            driven.add(road_id)
            way = self._network.length(road_id) - s if lane_id < 0 else s
            if way - vehicle.blueprint.front < _ENTERS:
                driven |= self._entered.get((road_id, lane_id), frozenset())
        self._driven = frozenset(driven)
        for vehicle in vehicles:
            self._tell(vehicle, now_ns)

    def _tell(self, vehicle: VehicleActor, now_ns: int) -> None:
        """Tell a vehicle.

        In the step in which a light leaves green, it holds for no vehicle that can still stop:
        CARLA's traffic manager remembers green as long as it sees a light, and would go on.
        """
        road_id, s, _, lane_id, _ = vehicle.body.place_on_road()
        (was_at, showed), (stops_at, since_ns) = vehicle.at_light or (0, RED), vehicle.stops_at
        vehicle.at_light, vehicle.stops_at = None, (0, now_ns)
        for low, high, beyond, actor in self._before.get((road_id, lane_id), ()):
            if low <= s <= high:
                way = beyond + (high - s if lane_id < 0 else s - low) - vehicle.blueprint.front
                stop = _stopping_way(vehicle.body)
                known = actor.id == was_at
                if way < -_PASSED or not (known or way <= max(stop + _STOP_BEFORE, actor.reach)):
                    continue
                if actor.stop_ns:
                    vehicle.stops_at = actor.id, since_ns if actor.id == stops_at else now_ns
                told = actor.told(self._driven, now_ns - vehicle.stops_at[1])
                if told is not None:
                    leaves = known and showed == GREEN and told[1] != GREEN
                    vehicle.at_light = None if leaves and way >= stop else told
                    return

    def actor_of(self, light: Light) -> LightActor:
        """The actor of a light."""
        return self._by_light[id(light)]


def _front(
    network: RoadNetwork, signal: Signal, lines: Sequence[StopLine], heading: float
) -> float:
    """The end of a signal's x axis that looks to the traffic that it holds for."""
    if lines:
        road_id, lane_id, s = lines[0]
        driven = network.lane_pose(road_id, lane_id, s).heading
    else:
        s = min(max(signal.s, 0.0), network.length(signal.road_id))
        driven = network.pose(signal.road_id, s, signal.t)[3]
    return -1.0 if sincos(driven - heading)[1] > 0.0 else 1.0


def _crossed_by(network: RoadNetwork, lines: Sequence[StopLine]) -> Iterator[int]:
    """The roads of the junction behind stop lines that begin at other roads."""
    for line in lines:
        for connection in _connections(network, line):
            if connection.incoming_road != line.road_id:
                yield connection.connecting_road


def _entered(
    network: RoadNetwork, lines: Sequence[StopLine]
) -> dict[tuple[int, int], frozenset[int]]:
    """The lanes that lead into the junction behind stop lines, with the roads that follow."""
    found: dict[tuple[int, int], frozenset[int]] = {}
    for line in lines:
        for incoming, connecting, _, lanes in _connections(network, line):
            for lane, _ in lanes:
                key = incoming, lane
                found[key] = found.get(key, frozenset()) | {connecting}
    return found


def _connections(network: RoadNetwork, line: StopLine) -> tuple[JunctionConnection, ...]:
    """The ways into the junction behind a stop line."""
    junction = network.roads[line.road_id].junction_at(line.lane_id < 0)
    return () if junction is None else network.junctions[junction].connections


def _stopping_way(body: VehicleBody) -> float:
    """Way to a stop at full brake [m]."""
    p, speed = body.parameters, abs(body.forward_speed())
    # Drag, which fades with the speed, is left out.
    return speed * (_LATE + p.brake_lag + 0.5 * speed / max_deceleration(p, 0.0))


def _kind(signal: Signal) -> str:
    if signal.type == SPEED_LIMIT and signal.value > 0.0:
        return f"traffic.speed_limit.{signal.value:g}"
    names = {
        TRAFFIC_LIGHT: "traffic.traffic_light",
        STOP: "traffic.stop",
        YIELD: "traffic.yield",
    }
    return names.get(signal.type, "traffic.unknown")


def _to_carla(place: SignalPlace, signal: Signal) -> Transform:
    """Where CARLA's client places a signal."""
    return Transform(
        Vector(*frames.vector_to_carla(place.x, place.y, place.z)),
        Rotation(degrees(signal.pitch), frames.yaw_to_carla(place.heading), degrees(signal.roll)),
    )


def _box(volume: TriggerVolume | None, actor_id: int) -> BoundingBox:
    """The volume before the stop lines of a signal, relative to its actor."""
    if volume is None:
        return BoundingBox(actor_id=actor_id)
    return BoundingBox(
        Vector(*frames.vector_to_carla(*volume.centre)),
        Vector(*volume.half),
        Rotation(yaw=frames.yaw_to_carla(volume.yaw)),
        actor_id,
    )
