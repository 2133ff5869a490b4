# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The data of a page's player: the road, and the positions of all vehicles over time."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from math import isfinite
from pathlib import Path
from typing import Any, Final

from markupsafe import Markup

from ros2_cosim.core.documents.run_files import RESOLVED_SCENARIO
from ros2_cosim.core.kernel.errors import ConfigurationError, CosimError
from ros2_cosim.core.messages.catalogue import DEFAULT as CATALOGUE
from ros2_cosim.core.messages.records import (
    Acceleration,
    ControlCommand,
    Odometry,
    RoadUsers,
    StaticObjects,
)
from ros2_cosim.core.record.bag_reader import read_bag, topic_types
from ros2_cosim.core.record.known_types import check_definitions
from ros2_cosim.core.record.past import BoundedPast, Row
from ros2_cosim.core.scenario.schema import Scenario, load_scenario
from ros2_cosim.core.scene.scene import DEFAULT_SIZE, read_scene
from ros2_cosim.lab.report.road_of_scenario import road_of, sectors
from ros2_cosim.world.map.frames import yaw_from_quaternion
from ros2_cosim.world.map.movers import obstacle_name, traffic_name
from ros2_cosim.world.pictures.road_shapes import RoadShapes

#: What a row has.
FIELDS: Final = ("time_s", "speed", "acceleration", "x", "y", "yaw", "brake")
_KINDS: Final = (Odometry, Acceleration, ControlCommand, RoadUsers, StaticObjects)


class Moves:
    """Takes the messages of a run in recorded order, and keeps as much as a page needs."""

    def __init__(self) -> None:
        self._past = BoundedPast()
        self._accelerations: dict[str, float] = {}
        self._brakes: dict[str, float] = {}
        self._sizes: dict[str, tuple[float, float]] = {}
        self._objects: list[dict[str, Any]] = []

    def wants(self, topic: Sequence[str], kind: type, stamp: int) -> bool:
        """Whether a record of this type, topic and time [ns] is of use."""
        return kind in _KINDS and (kind is not Odometry or self._past.wants(topic[0], stamp))

    def take(self, topic: Sequence[str], stamp: int, record: object) -> None:
        """Take a record.

        :param topic: its parts; the first one names the vehicle
        :param stamp: [ns]
        """
        name = topic[0]
        if isinstance(record, Odometry):
            if self._past.wants(name, stamp):
                yaw = yaw_from_quaternion(record.qx, record.qy, record.qz, record.qw)
                own = record.vx, self._accelerations.get(name), record.x, record.y, yaw
                self._past.add(name, stamp, (*own, self._brakes.get(name)))
        elif isinstance(record, Acceleration):
            self._accelerations[name] = record.ax
        elif isinstance(record, ControlCommand):
            self._brakes[name] = record.brake
        elif isinstance(record, RoadUsers):
            for user in record.users:
                other = traffic_name(user.id)
                if isfinite(user.length) and isfinite(user.width):
                    self._sizes[other] = user.length, user.width
                self._past.add(other, stamp, (user.vx, None, user.x, user.y, user.yaw, None))
        elif isinstance(record, StaticObjects):
            self._objects = [
                {"name": obstacle_name(o.id), "x": o.x, "y": o.y, "yaw": o.yaw}
                | {"length": o.length, "width": o.width}
                for o in record.objects
                if all(map(isfinite, (o.x, o.y, o.yaw, o.length, o.width)))
            ]

    def rows(self, first: Iterable[str] = ()) -> dict[str, list[Row]]:
        """Name -> rows of ``FIELDS``.

        :param first: names that come first, in the order of their colours
        """
        found = self._past.rows()
        return {name: found[name] for name in dict.fromkeys([*first, *found]) if name in found}

    def plain(self, scenario: Scenario | None, first: Iterable[str] = ()) -> dict[str, Any]:
        """What the script of a page needs.

        :param scenario: knows the sizes of the vehicles
        :param first: see :meth:`rows`
        """
        sizes = sizes_of(scenario)
        rows = self.rows([*first, *sizes])
        return {
            "fields": FIELDS,
            "vehicles": rows,
            "sizes": {name: size for name, size in (sizes | self._sizes).items() if name in rows},
            "objects": self._objects,
        }


def sizes_of(scenario: Scenario | None) -> dict[str, tuple[float, float]]:
    """Length and width of the vehicles of a scene, and of objects that move, as persons do [m]."""
    if scenario is None:
        return {}
    try:
        scene = read_scene(scenario.scene)
    except ConfigurationError:
        return {}
    length, width = DEFAULT_SIZE[:2]
    bodies: dict[str, Any] = {**scene.vehicles, **scene.objects}
    return {name: (body.length or length, body.width or width) for name, body in bodies.items()}


def read_moves(bag: Path) -> Moves:
    """Take them out of a bag.

    :raises ConfigurationError: there is no bag, or it is of another version
    :raises ProtocolError: the bag is damaged
    """
    check_definitions(bag, topic_types(bag).values(), CATALOGUE)
    found, known = Moves(), set(CATALOGUE)
    for message in read_bag(bag):
        parts = message.topic.strip("/").split("/")
        if message.type_name in known and found.wants(
            parts, CATALOGUE.record(message.type_name), message.stamp
        ):
            record = CATALOGUE.codec(message.type_name).decode(message.data)[2]
            found.take(parts, message.stamp, record)
    return found


def scenario_of_run(run_dir: Path) -> Scenario | None:
    """The resolved scenario of a run; None: there is none that this version reads."""
    path = run_dir / RESOLVED_SCENARIO
    try:
        return load_scenario(path) if path.is_file() else None
    except ConfigurationError:
        return None


def played(runs: Mapping[str, tuple[Moves, Scenario | None]], first: Sequence[str] = ()) -> Markup:
    """The data of a player as JSON inside a page; empty: nothing has moved.

    :param runs: what each is called -> what moved, and its scenario; the road is that of the first
    :param first: names of vehicles in the order of their colours
    """
    moved = {
        label: moves.plain(scenario, first)
        for label, (moves, scenario) in runs.items()
        if moves.rows()
    }
    if not moved:
        return Markup("")
    scenario = next(iter(runs.values()))[1]
    road, fields = RoadShapes(), []
    if scenario is not None:
        fields = [sector._asdict() for sector in sectors(scenario, own_code=False)]
        try:
            road = road_of(scenario)
        except CosimError:
            pass  # the file of the road has changed since the run: the rest is shown without it
    data = {
        "road": {**road._asdict(), "sectors": fields},
        "runs": [{"label": label, **each} for label, each in moved.items()],
    }
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    return Markup(text.replace("<", "\\u003c"))
