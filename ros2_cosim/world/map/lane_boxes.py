# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The boxes of vehicles in messages: found once for all models that look.

That they are shared never changes a result.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import floor, isfinite
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from ros2_cosim.core.kernel import exactmath
from ros2_cosim.core.kernel.sample import Sample
from ros2_cosim.core.messages.records import Odometry, RoadUser, RoadUsers
from ros2_cosim.world.map.lane_frame import LaneBox, LaneGeometry, box_at, heading_of


class VehiclePort(NamedTuple):
    """A vehicle with an odometry: its input port, identity, class, length and width [m]."""

    port: str
    id: int
    classification: int
    length: float
    width: float


class _Kept:
    """The box of an odometry, found from a road position before."""

    __slots__ = ("box", "hint", "source")

    def __init__(self, source: Odometry | RoadUser, hint: Any, box: LaneBox) -> None:
        self.source = source
        self.hint = hint
        self.box = box


class LaneBoxes:
    """The boxes on one road.

    Several models of a process that share this object look at the same sample, each from the
    position before: the newest boxes are kept by the identity of their sample (which is kept
    as well, so that its identity stays its own). What is kept never changes a result.

    :param road: the road network
    """

    MAX_KEPT = 4096
    """Several times the vehicles of a large scene: those of one instant must find room."""

    def __init__(self, road: LaneGeometry) -> None:
        self.road = road
        self._kept: dict[int, _Kept] = {}
        self._fleets: dict[tuple[VehiclePort, ...], VehicleSource] = {}
        self._users: dict[str, VehicleSource] = {}

    def fleet(self, vehicles: Sequence[VehiclePort]) -> VehicleSource:
        """Return what looks at vehicles by the odometry of each.

        All that ask for the same ones share it.
        """
        key = tuple(vehicles)
        if key not in self._fleets:
            self._fleets[key] = _OdometrySource(self, key)
        return self._fleets[key]

    def users(self, port: str) -> VehicleSource:
        """Return what looks at the vehicles of the messages at an input port.

        All that ask for the same port share it.
        """
        if port not in self._users:
            self._users[port] = _MessageSource(self, port)
        return self._users[port]

    def vehicle(self, odometry: Odometry, length: float, width: float, hint: Any = None) -> LaneBox:
        """Return the box of a vehicle whose odometry gives the centre of its footprint.

        :param hint: an earlier road position nearby; it only makes the projection faster
        """
        kept = self._kept.get(id(odometry))
        if kept is not None and kept.source is odometry and kept.hint is hint:
            box = kept.box
            if box.length == length and box.width == width:
                return box
        c, s = heading_of(odometry)
        x, y, vx, vy = odometry.x, odometry.y, odometry.vx, odometry.vy
        box = box_at(self.road, x, y, c, s, length, width, hint, vx, vy)
        self._keep(odometry, hint, box)
        return box

    def road_user(self, user: RoadUser, hint: Any = None) -> LaneBox:
        """Return the box of a vehicle that is not a participant's.

        :param hint: as of ``vehicle``
        """
        kept = self._kept.get(id(user))
        if kept is not None and kept.source is user and kept.hint is hint:
            return kept.box
        s, c = exactmath.sincos(user.yaw)
        length, width, vx, vy = user.length, user.width, user.vx, user.vy
        box = box_at(self.road, user.x, user.y, c, s, length, width, hint, vx, vy)
        self._keep(user, hint, box)
        return box

    def begin(self, count: int) -> None:
        """Let go of the boxes of earlier looks, before one at so many vehicles.

        To keep them would fill the processor's caches with what no model asks for again.
        """
        if len(self._kept) >= 2 * count:
            self._kept.clear()

    def _keep(self, source: Odometry | RoadUser, hint: Any, box: LaneBox) -> None:
        if len(self._kept) >= self.MAX_KEPT:
            self._kept.clear()
        self._kept[id(source)] = _Kept(source, hint, box)


class _Grid:
    """Which boxes are near a point: a grid of squares, whose size is the distance asked for."""

    __slots__ = ("_near", "_size", "_squares")

    def __init__(self, boxes: Sequence[LaneBox], size: float) -> None:
        self._size = size
        self._squares: dict[tuple[int, int], list[int]] = {}
        #: Square -> what is in it and in those around it, as far as known.
        self._near: dict[tuple[int, int], list[int]] = {}
        for number, box in enumerate(boxes):
            if isfinite(box.x) and isfinite(box.y):
                self._squares.setdefault(self._square(box.x, box.y), []).append(number)

    def near(self, x: float, y: float) -> list[int]:
        """The numbers of the boxes in the squares around a point, ascending."""
        if x - x != 0.0 or y - y != 0.0:
            return []
        square = self._square(x, y)
        found = self._near.get(square)
        if found is None:
            column, row = square
            around = [(column + i, row + k) for i in (-1, 0, 1) for k in (-1, 0, 1)]
            found = sorted([number for key in around for number in self._squares.get(key, ())])
            self._near[square] = found
        return found

    def _square(self, x: float, y: float) -> tuple[int, int]:
        return floor(x / self._size), floor(y / self._size)


class Sighting:
    """Vehicles at one look.

    :ivar source: what was looked at
    :ivar latest: where that was, if it cannot be written in: it is known by identity then
    :ivar before: where the vehicles had been found before
    :ivar positions: of the vehicles now; the next look begins there
    :ivar boxes: of the vehicles that are there
    :ivar identities: of each of them, and its class
    """

    def __init__(self, source: Any, before: Any, positions: Any) -> None:
        self.source = source
        self.latest: object = None
        self.before = before
        self.positions = positions
        self.boxes: list[LaneBox] = []
        # Compiled, a tuple of numbers would be taken apart and made anew by each that reads it.
        self.identities: list[Any] = []
        self._grids: dict[float, _Grid] = {}

    def near(self, x: float, y: float, reach: float) -> list[int]:
        """The numbers of the boxes that may lie within reach of a point [m], ascending."""
        grid = self._grids.get(reach)
        if grid is None:
            largest = max([box.length + box.width for box in self.boxes], default=0.0)
            grid = self._grids[reach] = _Grid(self.boxes, reach + largest)
        return grid.near(x, y)


class VehicleSource:
    """Vehicles to look at.

    Each is looked for from where the look before has found it, so a model has to hand over the
    positions of its own last look.
    """

    def __init__(self, boxes: LaneBoxes) -> None:
        self._boxes = boxes
        # One object: participants may run in threads.
        self._newest = Sighting(None, None, None)

    def nowhere(self) -> Any:
        """Return the positions before the first look."""
        raise NotImplementedError(type(self).__name__)

    def look(self, before: Any, latest: Mapping[str, Sample | None]) -> Sighting:
        """Look at each vehicle.

        :param before: the positions of the last look of the same model
        :param latest: input port -> newest sample
        """
        raise NotImplementedError(type(self).__name__)


class _OdometrySource(VehicleSource):
    """Vehicles with an odometry each."""

    def __init__(self, boxes: LaneBoxes, vehicles: Sequence[VehiclePort]) -> None:
        super().__init__(boxes)
        self._vehicles = list(vehicles)

    def nowhere(self) -> Any:
        return (None,) * len(self._vehicles)

    def look(self, before: Any, latest: Mapping[str, Sample | None]) -> Sighting:
        newest = self._newest
        if latest is newest.latest and before is newest.before:
            return newest
        samples = [latest[vehicle.port] for vehicle in self._vehicles]
        if samples == newest.source and (before is newest.before or before == newest.before):
            return newest
        self._boxes.begin(len(samples))
        positions = list(before)
        look = Sighting(samples, before, None)
        for place, sample in enumerate(samples):
            if sample is not None:
                vehicle = self._vehicles[place]
                box = self._boxes.vehicle(
                    sample.value, vehicle.length, vehicle.width, positions[place]
                )
                positions[place] = box.position
                look.boxes.append(box)
                look.identities.append((vehicle.id, vehicle.classification))
        look.positions = tuple(positions)
        if isinstance(latest, MappingProxyType):
            look.latest = latest
        self._newest = look
        return look


class _MessageSource(VehicleSource):
    """The vehicles of one message."""

    def __init__(self, boxes: LaneBoxes, port: str) -> None:
        super().__init__(boxes)
        self._port = port

    def nowhere(self) -> Any:
        return {}

    def look(self, before: Any, latest: Mapping[str, Sample | None]) -> Sighting:
        sample = latest[self._port]
        users: RoadUsers = _NONE if sample is None else sample.value
        newest = self._newest
        if users is newest.source and (before is newest.before or before == newest.before):
            return newest
        self._boxes.begin(len(users.users))
        look = Sighting(users, before, {})
        for user in users.users:
            box = self._boxes.road_user(user, before.get(user.id))
            look.positions[user.id] = box.position
            look.boxes.append(box)
            look.identities.append((user.id, user.classification))
        self._newest = look
        return look


_NONE: Final = RoadUsers(())
