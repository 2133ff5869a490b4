# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""OSI's ground truth of a run, and what its object sensors see and report, from its messages.

It takes the messages in the order of their stamps, recorded or live, and gives the present when a
later one comes: so it is the same in every run shape.

Needs the package ``osi-python`` (extra ``osi``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from osi3.osi_groundtruth_pb2 import GroundTruth
from osi3.osi_sensordata_pb2 import SensorData
from osi3.osi_sensorview_pb2 import SensorView

from ros2_cosim.core.kernel.exactmath import wrap_angle
from ros2_cosim.core.kernel.time import SECOND
from ros2_cosim.core.messages.records import (
    Acceleration,
    ObjectList,
    Odometry,
    RoadUser,
    RoadUsers,
    StaticObjects,
    TrafficLightAhead,
)
from ros2_cosim.core.scene.simulator import SETTLE_TICKS
from ros2_cosim.driving.osi import messages
from ros2_cosim.driving.osi.messages import Form, SensorFrame, Vector
from ros2_cosim.driving.osi.road import OsiRoad
from ros2_cosim.driving.osi.sources import Lanes
from ros2_cosim.world.map import RoadNetwork, RoadPosition
from ros2_cosim.world.map.traffic_lights import UNKNOWN, LightPhases

#: The name of the ground truth beside those of sensors.
TRUTH: Final = "ground_truth"


class SensorPlace(NamedTuple):
    """An object sensor: its frame, the vehicle that carries it, and its latency if it is fixed.

    ``latency`` [ns] is None where it changes.
    """

    frame: SensorFrame
    ego: str
    latency: int | None


class OsiMessage(NamedTuple):
    """An OSI message: the name of the sensor that it is of, or ``TRUTH``; and its time [ns]."""

    name: str
    time: int
    message: GroundTruth | SensorView | SensorData


@dataclass(frozen=True, kw_only=True)
class OsiCast:
    """What is known of a run before it begins.

    :ivar vehicles: those of the scene by name
    :ivar walkers: numbers of the road users that are persons
    :ivar host: the host vehicle of the ground truth
    :ivar sensors: object sensors by name
    :ivar network: the road; None: there is no map
    :ivar step_ns: of the world; None: the run has no traffic lights
    """

    vehicles: Mapping[str, Form]
    host: str
    walkers: frozenset[int] = frozenset()
    sensors: Mapping[str, SensorPlace] = field(default_factory=dict)
    network: RoadNetwork | None = None
    map_name: str = ""
    step_ns: int | None = None


class _Seen(NamedTuple):
    """A road user at one message, with what follows from the one before."""

    user: RoadUser
    time: int
    velocity: Vector
    acceleration: Vector
    yaw_rate: float


class TruthOfRun:
    """Makes OSI messages of the messages of a run.

    :param period: between two ground truths [ns]; sensors have their own times
    :param lanes: which messages have lanes, their boundaries, signs and objects of the map
    """

    def __init__(self, cast: OsiCast, period: int, lanes: Lanes) -> None:
        self._cast = cast
        self._period = period
        self._lanes = lanes
        self._road: OsiRoad | None = None
        self._phases: LightPhases | None = None
        if cast.network is not None:
            lit = cast.step_ns is not None
            self._road = OsiRoad(cast.network, cast.map_name, lit=lit)
            if cast.step_ns is not None:
                self._phases = LightPhases(cast.network, cast.step_ns)
        self._places: dict[int, RoadPosition] = {}
        self._odometry: dict[str, Odometry] = {}
        self._acceleration: dict[str, Acceleration] = {}
        self._users: dict[str, dict[int, _Seen]] = {}
        self._static: StaticObjects | None = None
        self._ahead: dict[int, int] = {}
        self._lists: dict[str, ObjectList] = {}
        self._now = -1
        self._next = 0
        self._moved = False
        self._truth: GroundTruth | None = None
        #: What does not move, and what it was made of.
        self._kept: tuple[Any, GroundTruth] = None, GroundTruth()
        #: The names of those whose messages have had lanes already.
        self._described: set[str] = set()

    def take(self, kind: str, name: str, stamp: int, record: Any) -> Iterator[OsiMessage]:
        """Take a message, and give what is complete before it.

        :param kind: of it, as the ports of models are named: ``odometry``, ``acceleration``,
            ``traffic``, ``static_objects``, ``light``, ``objects``
        :param name: the vehicle, the sensor, or the topic
        :param stamp: [ns], never less than before
        """
        if stamp > self._now:
            yield from self.present()
            self._now, self._moved = stamp, False
            self._truth = None
            self._ahead.clear()
        if isinstance(record, Odometry):
            self._odometry[name] = record
            self._moved = True
        elif isinstance(record, Acceleration):
            self._acceleration[name] = record
        elif isinstance(record, RoadUsers):
            before = self._users.get(name, {})
            self._users[name] = {u.id: _seen(u, stamp, before.get(u.id)) for u in record.users}
        elif isinstance(record, StaticObjects):
            self._static = record
        elif isinstance(record, TrafficLightAhead):
            if record.light and record.state != UNKNOWN:
                self._ahead[record.light - 1] = record.state
        elif isinstance(record, ObjectList):
            self._lists[name] = record

    def present(self) -> Iterator[OsiMessage]:
        """Give all that has the present time; once, when nothing more has it."""
        now = self._now
        if self._moved and now >= self._next:
            self._next = (now // self._period + 1) * self._period
            truth = self._whole(TRUTH)
            yield OsiMessage(TRUTH, now, truth)
        lists, self._lists = self._lists, {}
        for name, found in lists.items():
            sensor = self._cast.sensors[name]
            if not self._odometry:
                continue
            yield OsiMessage(name, now, self.view(name))
            data = SensorData()
            measured = None if sensor.latency is None else now - sensor.latency
            messages.sensor_data(data, found, sensor.frame, now, measured)
            yield OsiMessage(name, now, data)

    def view(self, name: str) -> SensorView:
        """What there is to see for a sensor at the present time."""
        sensor = self._cast.sensors[name]
        view = SensorView()
        view.version.CopyFrom(messages.VERSION)
        messages.set_time(view.timestamp, self._now)
        view.sensor_id.value = sensor.frame.id
        messages.mount(view, sensor.frame)
        host = self._cast.vehicles[sensor.ego].id
        view.global_ground_truth.CopyFrom(self._whole(name))
        view.global_ground_truth.host_vehicle_id.value = host
        view.host_vehicle_id.value = host
        return view

    def _whole(self, name: str) -> GroundTruth:
        """The world now, with lanes if messages of that name are to have them now."""
        wanted = self._lanes == "every" or (self._lanes == "first" and name not in self._described)
        self._described.add(name)
        if wanted:
            return self._made(lanes=True)
        if self._truth is None:
            self._truth = self._made(lanes=False)
        return self._truth

    def _made(self, *, lanes: bool) -> GroundTruth:
        truth = GroundTruth()
        truth.CopyFrom(self._still(lanes=lanes))
        messages.set_time(truth.timestamp, self._now)
        truth.host_vehicle_id.value = self._cast.vehicles[self._cast.host].id
        for name, form in self._cast.vehicles.items():
            odometry = self._odometry.get(name)
            if odometry is None:
                continue
            message = truth.moving_object.add()
            messages.moving_object(message, form, odometry, self._acceleration.get(name))
            self._assign(message, form.id, odometry.x, odometry.y, odometry.z)
        for seen in (each for name in sorted(self._users) for each in self._users[name].values()):
            message = truth.moving_object.add()
            user = seen.user
            messages.moving_user(
                message,
                user,
                walker=user.id in self._cast.walkers,
                acceleration=seen.acceleration,
                yaw_rate=seen.yaw_rate,
            )
            self._assign(message, user.id, user.x, user.y, user.z)
        return truth

    def _still(self, *, lanes: bool) -> GroundTruth:
        """What does not move; it is kept, because it seldom changes."""
        states = () if self._phases is None else tuple(self._lights(self._phases))
        key = states, self._static, lanes
        if self._kept[0] != key:
            self._kept = key, self._made_still(states, lanes=lanes)
        return self._kept[1]

    def _made_still(self, states: tuple[int, ...], *, lanes: bool) -> GroundTruth:
        truth = GroundTruth()
        truth.version.CopyFrom(messages.VERSION)
        if self._static is not None:
            for item in self._static.objects:
                messages.stationary_object(truth.stationary_object.add(), item)
        if self._road is not None:
            self._road.refer(truth)
            self._road.write_lights(truth, states, lanes=lanes)
            if lanes:
                self._road.describe(truth)
        elif self._cast.map_name:
            truth.map_reference = self._cast.map_name
        return truth

    def _lights(self, phases: LightPhases) -> list[int]:
        """What the lights show: nothing but time changes it, and vehicles see the next one."""
        assert self._cast.step_ns is not None
        states = list(phases.states(SETTLE_TICKS + self._now // self._cast.step_ns))
        for number, state in self._ahead.items():
            states[number] = state
        return states

    def _assign(self, message: Any, number: int, x: float, y: float, z: float) -> None:
        """Name the lane that an object is in."""
        if self._road is None or self._cast.network is None:
            return
        place = self._cast.network.project(x, y, self._places.get(number), z)
        self._places[number] = place
        lane = self._road.lane_of(place)
        if lane is not None:
            message.moving_object_classification.assigned_lane_id.add().value = lane


def _seen(user: RoadUser, time: int, before: _Seen | None) -> _Seen:
    """A road user with its acceleration and yaw rate, which messages do not have."""
    velocity = messages.velocity_of(user)
    if before is None or time <= before.time:
        return _Seen(user, time, velocity, (0.0, 0.0, 0.0), 0.0)
    seconds = (time - before.time) / SECOND
    ax, ay, az = ((a - b) / seconds for a, b in zip(velocity, before.velocity, strict=True))
    rate = wrap_angle(user.yaw - before.user.yaw) / seconds
    return _Seen(user, time, velocity, (ax, ay, az), rate)
