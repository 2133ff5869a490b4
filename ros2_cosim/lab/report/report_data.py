# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Time series out of a run's bag, sorted by what they are good for in a report.

A bag of hours takes no more memory than one of minutes.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ros2_cosim.core.messages.catalogue import DEFAULT, Catalogue
from ros2_cosim.core.messages.cdr import CdrCodec
from ros2_cosim.core.messages.records import (
    Acceleration,
    CollisionEvent,
    ControlCommand,
    ControllerStatus,
    ObjectList,
    Odometry,
    PlatoonStatus,
    RoadUsers,
    StaticObjects,
    V2VMessage,
)
from ros2_cosim.core.record.bag_metadata import BAG
from ros2_cosim.core.record.bag_reader import read_bag, start_of, topic_types
from ros2_cosim.core.record.known_types import check_definitions
from ros2_cosim.core.record.results import ACTIVATIONS_FILE, load_activations
from ros2_cosim.core.record.series import Events, Series
from ros2_cosim.driving.measures.recorded_encounters import (
    RecordedEncounters,
    recorded_encounters,
)
from ros2_cosim.lab.report.driving_measures import (
    Braking,
    Intended,
    Way,
    intended,
    time_gap_error,
)
from ros2_cosim.lab.report.moves import Moves
from ros2_cosim.world.map.frames import forward_axis

NS = 1e-9


@dataclass
class RunData:
    """What a bag holds. Keys are vehicle names, except where noted."""

    topics: dict[str, tuple[str, Events]] = field(default_factory=dict)
    """topic -> (type, stamps in s)"""
    speed: dict[str, Series] = field(default_factory=lambda: defaultdict(Series))
    """forward speed [m/s]"""
    acceleration: dict[str, Series] = field(default_factory=lambda: defaultdict(Series))
    """forward acceleration [m/s^2]"""
    command: dict[str, Series] = field(default_factory=lambda: defaultdict(Series))
    """demanded acceleration [m/s^2]"""
    pedals: dict[str, Series] = field(default_factory=lambda: defaultdict(Series))
    """throttle minus brake, -1..1"""
    distance: dict[str, Series] = field(default_factory=lambda: defaultdict(Series))
    """distance to the nearest object seen by the vehicle's sensor [m]"""
    mode: dict[str, Series] = field(default_factory=lambda: defaultdict(Series))
    """what the controller does: index into ``CONTROLLER_MODES``"""
    heard: dict[str, Series] = field(default_factory=lambda: defaultdict(Series))
    """age of what the controller knows of its predecessor by V2V [ms]"""
    known_error: dict[str, Series] = field(default_factory=lambda: defaultdict(Series))
    """time-gap error by what the controller knows [s]"""
    kept_time_gap: dict[str, Series] = field(default_factory=lambda: defaultdict(Series))
    """time gap of the controller's spacing policy at present [s]"""
    gaps: list[Series] = field(default_factory=list)
    """gap along the lane behind vehicle i of the platoon [m], to the next one of the platoon"""
    obstacle_gap: Series = field(default_factory=Series)
    """distance of the first vehicle to the obstacle [m]"""
    latency: dict[str, Series] = field(default_factory=lambda: defaultdict(Series))
    """V2V link -> age of a message at its reception [ms]"""
    collisions: int = 0
    first_collision: tuple[float, CollisionEvent] | None = None
    activations: dict[str, list[float]] = field(default_factory=dict)
    """participant -> activation times [s]; empty if the run did not record them"""

    start_pose: dict[str, Odometry] = field(default_factory=dict)
    way: dict[str, Series] = field(default_factory=lambda: defaultdict(Series))
    """way since the start [m]"""
    jerk: dict[str, Series] = field(default_factory=lambda: defaultdict(Series))
    """forward jerk [m/s^3]"""
    encounters: RecordedEncounters = field(default_factory=RecordedEncounters)
    """gap, time to collision and time headway to all that is on the way"""
    time_gap_error: list[Series] = field(default_factory=list)
    """of the vehicle behind vehicle i [s]"""
    braking: dict[str, Braking] = field(default_factory=lambda: defaultdict(Braking))
    """of each vehicle"""
    moves: Moves = field(default_factory=Moves)
    """where everything was"""
    intended: Intended = field(default_factory=Intended)
    """the platoon of the scenario"""
    _ways: dict[str, Way] = field(default_factory=lambda: defaultdict(Way))

    def series(self) -> Iterator[Series]:
        """All curves."""
        found = self.encounters
        tables = [*vars(self).values(), found.gap, found.ttc, found.headway, [self.obstacle_gap]]
        for table in tables:
            each = table.values() if isinstance(table, dict) else table
            if isinstance(table, dict | list):
                yield from (series for series in each if isinstance(series, Series))

    @property
    def vehicles(self) -> list[str]:
        """All vehicles with odometry, the one in front first (as they stood at the start)."""
        if not self.start_pose:
            return []
        ahead_x, ahead_y = self._direction()
        return sorted(
            self.start_pose,
            key=lambda n: (-_along(self.start_pose[n], ahead_x, ahead_y), n),
        )

    def start_way(self, name: str) -> float:
        """How far ahead of the last vehicle one started, along the first direction [m]."""
        ahead_x, ahead_y = self._direction()
        last = min(_along(pose, ahead_x, ahead_y) for pose in self.start_pose.values())
        return _along(self.start_pose[name], ahead_x, ahead_y) - last

    def _direction(self) -> tuple[float, float]:
        """Where the first vehicle by name heads at the start, on the ground."""
        first = self.start_pose[min(self.start_pose)]
        return forward_axis(first.qx, first.qy, first.qz, first.qw)

    @property
    def end(self) -> float:
        """Time of the last message or activation [s]."""
        stamps = [events.last for _, events in self.topics.values() if events.count]
        return max([*stamps, *(t[-1] for t in self.activations.values() if t)], default=0.0)


def load_run(run_dir: Path, *, catalogue: Catalogue = DEFAULT) -> RunData:
    """Read ``bag`` and, where it exists, the activation file of a run.

    Topics of types without a chart count for the time line only.

    :raises ConfigurationError: there is no bag, it is of another version, or the activation file is
        not understood
    :raises ProtocolError: the bag is damaged
    """
    run_dir = Path(run_dir)
    types = set(topic_types(run_dir / BAG).values())
    kinds = {described.type_name for described in types}
    own = (found for found in types if found.type_name.startswith(OWN_TYPES))
    check_definitions(run_dir / BAG, own, catalogue)
    judged = catalogue.type_name(PlatoonStatus) in kinds
    traffic = catalogue.type_name(RoadUsers) in kinds
    encounters = recorded_encounters(run_dir, judged=judged, traffic=traffic)
    data = RunData(intended=intended(run_dir), encounters=encounters)
    start_ns = start_of(run_dir / BAG)
    handlers: dict[str, tuple[CdrCodec, _Handler] | None] = {}
    for message in read_bag(run_dir / BAG):
        topic = message.topic
        if topic not in handlers:
            handlers[topic] = _handler(message.type_name, catalogue, start_ns)
            data.topics[topic] = (message.type_name, Events())
        time = message.stamp * NS
        data.topics[topic][1].add(time)
        entry = handlers[topic]
        if entry is not None:
            codec, handle = entry
            parts, record = topic.strip("/").split("/"), codec.decode(message.data)[2]
            handle(data, parts, time, record)
            data.moves.take(parts, message.stamp, record)
            encounters.take(parts, message.stamp, record)
    encounters.finish()
    for series in data.series():
        series.finish()
    activations = load_activations(run_dir / ACTIVATIONS_FILE)
    data.activations = {name: [t * NS for t in times] for name, times in activations.items()}
    return data


def stamps_between(run_dir: Path, start: float, end: float) -> dict[str, list[float]]:
    """The stamps [s] of all messages of a run in a stretch of time, by topic."""
    found: dict[str, list[float]] = {}
    for message in read_bag(Path(run_dir) / BAG, int(start / NS), int(end / NS) + 1):
        found.setdefault(message.topic, []).append(message.stamp * NS)
    return found


def _along(pose: Odometry, ahead_x: float, ahead_y: float) -> float:
    return pose.x * ahead_x + pose.y * ahead_y


#: Standard types do not change.
OWN_TYPES = "ros2_cosim/"
_Handler = Callable[[RunData, list[str], float, Any], None]


def _handler(kind: str, catalogue: Catalogue, start: int) -> tuple[CdrCodec, _Handler] | None:
    if kind not in set(catalogue):
        return None
    handle = _HANDLERS.get(catalogue.record(kind))
    return None if handle is None else (catalogue.codec(kind, start_ns=start), handle)


def _odometry(data: RunData, topic: list[str], time: float, record: Odometry) -> None:
    data.speed[topic[0]].add(time, record.vx)
    data.way[topic[0]].add(time, data._ways[topic[0]].add(time, record.vx))
    data.start_pose.setdefault(topic[0], record)


def _acceleration(data: RunData, topic: list[str], time: float, record: Acceleration) -> None:
    data.acceleration[topic[0]].add(time, record.ax)
    jerk = data.braking[topic[0]].add(time, record.ax)
    if jerk is not None:
        data.jerk[topic[0]].add(time, jerk)


def _control(data: RunData, topic: list[str], time: float, record: ControlCommand) -> None:
    data.command[topic[0]].add(time, record.acceleration)
    data.pedals[topic[0]].add(time, record.throttle - record.brake)


def _controller(data: RunData, topic: list[str], time: float, record: ControllerStatus) -> None:
    data.mode[topic[0]].add(time, float(record.mode))
    data.heard[topic[0]].add(time, record.predecessor_age * 1e3)
    data.known_error[topic[0]].add(time, record.time_gap_error)
    data.kept_time_gap[topic[0]].add(time, record.time_gap)


def _objects(data: RunData, topic: list[str], time: float, record: ObjectList) -> None:
    nearest = min((found.distance for found in record.objects), default=math.nan)
    data.distance[topic[0]].add(time, nearest)


def _status(data: RunData, topic: list[str], time: float, record: PlatoonStatus) -> None:
    data.obstacle_gap.add(time, record.obstacle_gap)
    while len(data.gaps) < len(record.gaps):
        data.gaps.append(Series())
        data.time_gap_error.append(Series())
    own = zip(data.intended.platoon[1:], record.speeds[1:], strict=False)
    for gaps, gap in zip(data.gaps, record.gaps, strict=False):
        gaps.add(time, gap)
    for errors, gap, (name, speed) in zip(data.time_gap_error, record.gaps, own, strict=False):
        policy = data.intended.policies.get(name)
        if policy is not None:
            errors.add(time, time_gap_error(gap, speed, policy))


def _v2v(data: RunData, topic: list[str], time: float, record: V2VMessage) -> None:
    data.latency[topic[-1]].add(time, (time - record.generation_time * NS) * 1e3)


def _collision(data: RunData, topic: list[str], time: float, record: CollisionEvent) -> None:
    data.collisions += 1
    data.first_collision = data.first_collision or (time, record)


def _seen_by_encounters(data: RunData, topic: list[str], time: float, record: object) -> None:
    """Of what only the measure of encounters looks at, nothing more is kept."""


#: Each takes the records of its type.
_HANDLERS: dict[type, _Handler] = {
    Odometry: _odometry,
    Acceleration: _acceleration,
    ControlCommand: _control,
    ControllerStatus: _controller,
    ObjectList: _objects,
    PlatoonStatus: _status,
    V2VMessage: _v2v,
    CollisionEvent: _collision,
    RoadUsers: _seen_by_encounters,
    StaticObjects: _seen_by_encounters,
}
