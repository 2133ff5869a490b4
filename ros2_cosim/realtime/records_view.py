# SPDX-License-Identifier: Apache-2.0
"""A picture of any run, made from the records that its participants exchange.

Whoever hears a run (a subscription, an observer of the scheduler) hands its records in; nothing
else of the run has to be known.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any, NamedTuple

from ros2_cosim.interfaces.records import (
    Acceleration,
    CollisionEvent,
    ControlCommand,
    Odometry,
    StaticObjects,
)
from ros2_cosim.models.frames import yaw_from_quaternion
from ros2_cosim.realtime.data_port_view import BoxView, VehicleView, picture_of


class Footprint(NamedTuple):
    """Identity in collision events, and size [m], of a vehicle."""

    id: int
    length: float
    width: float


class RecordsView:
    """A ``RunView`` of vehicles that are known by their records.

    :param vehicles: name -> footprint, in the order in which they are shown
    """

    def __init__(self, vehicles: Mapping[str, Footprint]) -> None:
        self._vehicles = dict(vehicles)
        self._lock = threading.Lock()
        self._poses: dict[str, Odometry] = {}
        self._accelerations: dict[str, Acceleration] = {}
        self._controls: dict[str, ControlCommand] = {}
        self._struck: set[int] = set()
        self._boxes: tuple[BoxView, ...] = ()

    def take(self, vehicle: str, record: Any) -> None:
        """Hear a record; ``vehicle`` says whose it is, where it belongs to one.

        Kinds that the picture does not need are left alone.
        """
        with self._lock:
            if isinstance(record, Odometry):
                self._poses[vehicle] = record
            elif isinstance(record, Acceleration):
                self._accelerations[vehicle] = record
            elif isinstance(record, ControlCommand):
                self._controls[vehicle] = record
            elif isinstance(record, CollisionEvent):
                self._struck |= {record.vehicle, record.other}
            elif isinstance(record, StaticObjects):
                self._boxes = tuple(
                    BoxView(f"object {o.id}", o.x, o.y, o.yaw, o.length, o.width)
                    for o in record.objects
                )

    def picture(self) -> dict[str, Any]:
        """The vehicles that have been heard of."""
        with self._lock:
            views = [
                self._view(name, size, self._poses[name])
                for name, size in self._vehicles.items()
                if name in self._poses
            ]
            boxes = self._boxes
        return picture_of(views, boxes)

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
