# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The one measure of what is in the way (``world/map/encounters.py``), over a recorded run.

It looks when the referee has looked, at the same road users, and so finds the referee's values.
Without a referee it looks every ``PERIOD``, and without a platoon at all vehicles of the scene.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from math import isfinite, nan
from pathlib import Path
from typing import Any, Final

from ros2_cosim.core.documents.plain_data import read_record
from ros2_cosim.core.documents.run_files import RESOLVED_SCENARIO
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.exactmath import sincos
from ros2_cosim.core.kernel.participant import ModelContext
from ros2_cosim.core.messages.catalogue import DEFAULT, Catalogue
from ros2_cosim.core.messages.records import Odometry, PlatoonStatus, RoadUsers, StaticObjects
from ros2_cosim.core.record.bag_reader import read_bag, topic_types
from ros2_cosim.core.record.series import Series
from ros2_cosim.core.scene.scene import scene_settings
from ros2_cosim.world.map.encounters import (
    LONGEST_TTC,
    Encounters,
    Extreme,
    MovingBox,
    Surroundings,
    time_headway,
)
from ros2_cosim.world.map.lane_boxes import LaneBoxes
from ros2_cosim.world.map.lane_frame import heading_of
from ros2_cosim.world.map.movers import Movers, name_of, traffic_name
from ros2_cosim.world.map.post_encroachment import STEP, PostEncroachment, RecordedBox
from ros2_cosim.world.map.scene import scene_boxes, scene_vehicles
from ros2_cosim.world.map.vehicle_info import VehicleInfo

#: Between two looks of a run without a referee [ns].
PERIOD: Final = 100_000_000
_NS: Final = 1e-9


class RecordedEncounters:
    """Curves and smallest values of the vehicles that are judged, from messages in recorded order.

    :ivar gap, ttc, headway: vehicle -> gap [m] to the nearest of all that is on its way, least time
        to collision [s], and time headway [s]
    :ivar least_gap, least_ttc: of the run
    :param boxes: the road; None: there are no gaps
    :param vehicles: of the scene
    :param platoon: those that are judged; none: all
    :param judged: whether a referee tells when it looks
    :param traffic: whether there may be messages of background traffic
    """

    def __init__(
        self,
        boxes: LaneBoxes | None = None,
        vehicles: Mapping[str, VehicleInfo] | None = None,
        platoon: tuple[str, ...] = (),
        *,
        judged: bool = False,
        traffic: bool = True,
    ) -> None:
        self._boxes = boxes
        self._vehicles = dict(vehicles or {})
        self._egos = platoon or tuple(self._vehicles)
        self._judged = judged
        self._movers = None if boxes is None else Movers(boxes, self._vehicles)
        self._odometry: dict[str, Odometry] = {}
        self._traffic: tuple[int, RoadUsers] | None = None
        self._fixed: list[MovingBox] = []
        self._now = -1
        self._next = 0
        self._due = False
        self.gap: dict[str, Series] = {}
        self.ttc: dict[str, Series] = {}
        self.headway: dict[str, Series] = {}
        self.least_gap = Extreme()
        self.least_ttc = Extreme()
        #: None: no pair that counts can cross.
        self._post_encroachment = (
            PostEncroachment(platoon) if traffic or _may_cross(self._vehicles, platoon) else None
        )

    @property
    def least_pet(self) -> Extreme:
        """Smallest post-encroachment time of the run [s]."""
        return Extreme() if self._post_encroachment is None else self._post_encroachment.least

    def name_of(self, identity: int) -> str:
        """The name of what a collision names by its number."""
        return name_of(identity, self._vehicles)

    def take(self, topic: list[str], stamp: int, record: object) -> None:
        """Take a message over.

        :param topic: its parts
        :param stamp: [ns]
        """
        if stamp > self._now:
            self._look()
            self._now = stamp
        if isinstance(record, PlatoonStatus):
            self._due = True
        elif isinstance(record, Odometry):
            info = self._vehicles.get(topic[0])
            if topic[1:] == ["odometry"] and info is not None:
                self._odometry[topic[0]] = record
                if self._post_encroachment is not None:
                    size = info.length, info.width
                    box = RecordedBox(record.x, record.y, *heading_of(record), *size)
                    self._post_encroachment.add(stamp, topic[0], box)
        elif isinstance(record, RoadUsers):
            self._traffic = stamp, record
            if self._post_encroachment is None:
                return
            for user in record.users:
                sine, cosine = sincos(user.yaw)
                box = RecordedBox(user.x, user.y, cosine, sine, user.length, user.width)
                self._post_encroachment.add(stamp, traffic_name(user.id), box)
        elif isinstance(record, StaticObjects) and self._movers is not None:
            self._fixed = self._movers.fixed(record)

    def finish(self) -> None:
        """Look the last time."""
        self._look()

    def _look(self) -> None:
        """Look at all that has the present time, if it is time to."""
        if not self._judged and self._now >= self._next:
            self._due, self._next = True, (self._now // PERIOD + 1) * PERIOD
        if not self._due or self._movers is None or self._boxes is None:
            return
        self._due = False
        seen = {n: self._movers.vehicle(n, found) for n, found in self._odometry.items()}
        egos = [seen[name] for name in self._egos if name in seen]
        others = [*egos, *(each for name, each in seen.items() if name not in self._egos)]
        if self._traffic is not None:
            others += self._movers.traffic(*self._traffic)
        surroundings = Surroundings([*others, *self._fixed])
        for ego in egos:
            self._judge(self._boxes, ego, surroundings)

    def _judge(self, boxes: LaneBoxes, ego: MovingBox, surroundings: Surroundings) -> None:
        watch = Encounters(boxes.road)
        watch.look_around(self._now, ego, surroundings)
        gap, ttc = watch.gap, watch.ttc
        if gap.value < self.least_gap.value:
            self.least_gap = gap
        if ttc.value < self.least_ttc.value:
            self.least_ttc = ttc
        headway = time_headway(gap.value, ego.vx)
        for table, value in (
            (self.gap, gap.value),
            (self.ttc, ttc.value),
            (self.headway, headway if headway <= LONGEST_TTC else nan),
        ):
            shown = value if isfinite(value) else nan
            table.setdefault(ego.name, Series()).add(self._now * _NS, shown)


def _may_cross(vehicles: Collection[str], platoon: Collection[str]) -> bool:
    """Whether two vehicles of a scene count that can cross each other's way."""
    return len(vehicles) > 1 and set(platoon) != set(vehicles)


def recorded_encounters(run_dir: Path, *, judged: bool, traffic: bool) -> RecordedEncounters:
    """What is to take the messages of a run; it finds nothing where scene or road are not known.

    :param judged: whether its bag has the messages of a referee
    :param traffic: whether it has those of background traffic
    """
    try:
        data = read_record(run_dir / RESOLVED_SCENARIO)
        context = _context(data["scene"], Path(data["base_directory"]))
        vehicles = scene_vehicles(context)
        platoon = tuple(scene_settings(context).platoon)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, ConfigurationError):
        return RecordedEncounters()
    try:
        boxes = scene_boxes(context)
    except ConfigurationError:
        boxes = None
    return RecordedEncounters(boxes, vehicles, platoon, judged=judged, traffic=traffic)


def least_pet(bag: Path, scene: Mapping[str, Any], catalogue: Catalogue = DEFAULT) -> float | None:
    """Smallest post-encroachment time of a run [s]; None: there is none, or no bag to find it in.

    :raises ProtocolError: the bag is damaged
    """
    try:
        context = _context(scene, bag)
        vehicles, platoon = scene_vehicles(context), tuple(scene_settings(context).platoon)
        topics = topic_types(bag)
    except ConfigurationError:
        return None
    names = catalogue.type_name(Odometry), catalogue.type_name(RoadUsers)
    traffic = any(topic.type_name == names[1] for topic in topics.values())
    if not traffic and not _may_cross(vehicles, platoon):
        return None
    codecs = {name: catalogue.codec(name) for name in names}
    seen: dict[str, int] = {}
    found = RecordedEncounters(None, vehicles, platoon)
    for message in read_bag(bag):
        if message.type_name in codecs and message.stamp >= seen.get(message.topic, 0):
            seen[message.topic] = message.stamp + STEP
            record = codecs[message.type_name].decode(message.data)[2]
            found.take(message.topic.strip("/").split("/"), message.stamp, record)
    return found.least_pet.value if found.least_pet.pair is not None else None


def _context(scene: Mapping[str, Any], base: Path) -> ModelContext:
    return ModelContext("report", {}, scene, 0, base)
