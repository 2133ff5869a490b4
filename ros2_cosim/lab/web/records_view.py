# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A picture of any run, made from the records that its participants exchange.

A subscription or an observer of the scheduler passes the records in; nothing else of the run is
needed.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any, NamedTuple

from ros2_cosim.core.kernel.time import SECOND
from ros2_cosim.core.messages.records import (
    Acceleration,
    CollisionEvent,
    ControlCommand,
    Odometry,
    RoadUsers,
    StaticObjects,
    V2VMessage,
)
from ros2_cosim.core.record.past import BoundedPast, Row
from ros2_cosim.vds.data_port.view import HISTORY, BoxView, LinkView, VehicleView, picture_of
from ros2_cosim.world.map.encounters import MovingBox
from ros2_cosim.world.map.frames import yaw_from_quaternion
from ros2_cosim.world.map.lane_boxes import LaneBoxes
from ros2_cosim.world.map.lane_frame import LaneGeometry
from ros2_cosim.world.map.movers import Movers, obstacle_name, traffic_name
from ros2_cosim.world.map.open_ground import OPEN_GROUND
from ros2_cosim.world.map.vehicle_info import VehicleInfo


class Footprint(NamedTuple):
    """Identity in collision events, and size [m], of a vehicle."""

    id: int
    length: float
    width: float


#: Number of times that wait for the pose of a vehicle; then the others are shown without it.
_PATIENCE = 50


History = dict[str, list[Row]]
"""Vehicle -> rows: time [s], then what ``HISTORY`` names."""


class RecordsView:
    """A ``RunPicture`` of vehicles that are known by their records.

    Poses that are shown together are of the same time: between a new pose and an old one, the
    gap would be wrong by the distance driven meanwhile.

    :param vehicles: name -> footprint, in the order in which they are shown
    :param road: whose lanes they follow
    """

    def __init__(self, vehicles: Mapping[str, Footprint], road: LaneGeometry = OPEN_GROUND) -> None:
        self._vehicles = dict(vehicles)
        self._road = road
        self._movers = Movers(
            LaneBoxes(road), {name: VehicleInfo(*size) for name, size in vehicles.items()}
        )
        self._lock = threading.Lock()
        self._poses: dict[str, Odometry] = {}
        self._coming: dict[int, dict[str, Odometry]] = {}
        self._shown: int | None = None
        self._heard: set[str] = set()
        self._accelerations: dict[str, Acceleration] = {}
        self._controls: dict[str, ControlCommand] = {}
        self._struck: set[int] = set()
        self._past = BoundedPast()
        self._boxes: tuple[BoxView, ...] = ()
        self._fixed: list[MovingBox] = []
        self._traffic: tuple[BoxView, ...] = ()
        self._moving: list[MovingBox] = []
        self._names = {size.id: name for name, size in vehicles.items()}
        #: Sender and receiver -> when the newest message was made [ns].
        self._told: dict[tuple[str, str], int] = {}

    def take(self, vehicle: str, record: Any, stamp: int) -> None:
        """Take a record and its stamp [ns]; ``vehicle`` is its vehicle, if it has one.

        Records that the picture does not need are ignored.
        """
        with self._lock:
            if isinstance(record, Odometry):
                self._take_pose(vehicle, record, stamp)
            elif isinstance(record, Acceleration):
                self._accelerations[vehicle] = record
            elif isinstance(record, ControlCommand):
                self._controls[vehicle] = record
            elif isinstance(record, V2VMessage):
                sender = self._names.get(record.sender)
                if sender is not None and vehicle in self._vehicles:
                    self._told[sender, vehicle] = record.generation_time
            elif isinstance(record, CollisionEvent):
                self._struck |= {record.vehicle, record.other}
            elif isinstance(record, RoadUsers):
                self._traffic = tuple(
                    BoxView(traffic_name(u.id), u.x, u.y, u.yaw, u.length, u.width)
                    for u in record.users
                )
                self._moving = self._movers.traffic(stamp, record)
            elif isinstance(record, StaticObjects):
                self._boxes = tuple(
                    BoxView(obstacle_name(o.id), o.x, o.y, o.yaw, o.length, o.width)
                    for o in record.objects
                )
                self._fixed = self._movers.fixed(record)

    def history(self) -> History:
        """Vehicle -> rows of ``HISTORY`` of all that was heard, for a page that is opened late."""
        with self._lock:
            return self._past.rows()

    def beginning(self) -> RecordsView:
        """Another view of the same vehicles and objects, which has heard of nothing else."""
        other = RecordsView(self._vehicles, self._road)
        with self._lock:
            other._boxes, other._fixed = self._boxes, self._fixed
        return other

    def picture(self) -> dict[str, Any]:
        """The vehicles that have sent a pose."""
        with self._lock:
            return self._picture()

    def _picture(self) -> dict[str, Any]:
        movers = [
            *(self._movers.vehicle(name, pose) for name, pose in self._poses.items()),
            *self._moving,
            *self._fixed,
        ]
        boxes = (*self._boxes, *self._traffic)
        return picture_of(self._views(), boxes, links=self._links(), movers=movers, road=self._road)

    def _links(self) -> list[LinkView]:
        """The links between vehicles that are shown."""
        now = self._shown or 0
        return [
            LinkView(sender, receiver, max(now - time, 0) / SECOND)
            for (sender, receiver), time in self._told.items()
            if sender in self._poses and receiver in self._poses
        ]

    def _views(self) -> list[VehicleView]:
        return [
            self._view(name, size, self._poses[name])
            for name, size in self._vehicles.items()
            if name in self._poses
        ]

    def _remember(self, stamp: int) -> None:
        """Keep a row of each vehicle, if the last ones are old enough."""
        if not any(self._past.wants(name, stamp) for name in self._poses):
            return
        for vehicle in self._picture()["vehicles"]:
            self._past.add(vehicle["name"], stamp, [vehicle[field] for field in HISTORY[1:]])
        for box in self._traffic:
            place = None, None, None, box.x, box.y, box.yaw, None
            self._past.add(box.name, stamp, place)

    def _take_pose(self, vehicle: str, pose: Odometry, stamp: int) -> None:
        if self._shown is not None and stamp < self._shown - SECOND:
            # Time has gone back: the run was reset.
            self._shown, self._poses, self._coming = None, {}, {}
            self._heard, self._struck = set(), set()
            self._past = BoundedPast()
            self._told = {}
        self._heard.add(vehicle)
        if self._shown is not None and stamp <= self._shown:
            if stamp == self._shown or vehicle not in self._poses:
                self._poses[vehicle] = pose
            return
        poses = self._coming.setdefault(stamp, {})
        poses[vehicle] = pose
        if poses.keys() >= self._heard:
            self._show(stamp)
        elif len(self._coming) > _PATIENCE:
            self._heard = {name for found in self._coming.values() for name in found}
            self._show(min(self._coming))

    def _show(self, stamp: int) -> None:
        """Show the poses of a time; older ones are dropped."""
        self._shown = stamp
        self._poses |= self._coming[stamp]
        self._coming = {s: poses for s, poses in self._coming.items() if s > stamp}
        self._remember(stamp)

    def _view(self, name: str, size: Footprint, pose: Odometry) -> VehicleView:
        acceleration = self._accelerations.get(name, Acceleration(0.0, 0.0, 0.0))
        control = self._controls.get(name)
        return VehicleView(
            *(name, pose.x, pose.y, yaw_from_quaternion(pose.qx, pose.qy, pose.qz, pose.qw)),
            *(pose.vx, acceleration.ax, size.length, size.width, acceleration.ay),
            throttle=None if control is None else control.throttle,
            brake=None if control is None else control.brake,
            status="collided" if size.id in self._struck else "driven",
        )
