# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What stands where beside the roads of a map.

Lots lie along both sides of each road outside junctions. A road with a sidewalk runs through a
town, whose quarters differ; another one through the country, where houses are rare. Then come
plants, wherever there is room.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

import numpy as np

from ros2_cosim.core.kernel.exactmath import PI, radians, sincos
from ros2_cosim.world.headless.sensing.axes import Floats
from ros2_cosim.world.headless.sensing.figures import Point, SolidFigure
from ros2_cosim.world.headless.sensing.scenery import buildings, furniture, landmarks, plants
from ros2_cosim.world.headless.sensing.scenery.dice import Dice
from ros2_cosim.world.headless.sensing.scenery.free_ground import FreeGround, rectangle
from ros2_cosim.world.headless.sensing.scenery.kerbs import kerb_of
from ros2_cosim.world.headless.things import Thing
from ros2_cosim.world.map import RoadNetwork, frames
from ros2_cosim.world.map.opendrive import Road

_TURN: Final = 2.0 * PI
_QUARTER: Final = 110.0  # m, size of a quarter of a town
_QUARTERS: Final = (
    buildings.TOWN, buildings.SUBURB, buildings.CENTRE, buildings.TOWN + buildings.WORKS,
)  # fmt: skip
_COUNTRY: Final = buildings.SUBURB + buildings.WORKS
#: Houses, walls and plants stay so far from what is paved [m]: more than half a square's diagonal.
_HOUSE_ROOM, _FENCE_ROOM, _PLANT_ROOM = 2.5, 1.0, 1.2
_FAST: Final = 16.0  # m/s; roads without a sidewalk that are faster have guard rails
_RAIL_AWAY: Final = 1.3  # m beyond the outermost lane
#: Trees: one after so many metres of a road's side, from near to far away from it [m].
_TREE_STEP, _NEAR, _FAR = 12.0, 4.0, 95.0
#: From one place where a pond, a siding or a billboard may be to the next [m]; level land differs
#: by less than this [m].
_LANDMARK_STEP, _LEVEL = 30.0, 0.3
_RARE: Final = {"Siding": "RailTrack", "Pond": "Pond"}
_PAVING: Final = 0.1  # m, of a forecourt above the land
_GROVE: Final = 35.0  # m, size of a patch with trees of one kind

Height = Callable[[float, float], float]


class Placed(NamedTuple):
    """A form in the world: where its origin is, in CARLA's frame [m], and its direction [rad].

    :ivar is_loose: it stands on hills, too
    """

    name: str
    form: SolidFigure
    place: Point
    heading: float
    is_loose: bool = False


class _Frontage(NamedTuple):
    """A place [m] on the outer border of a road, in CARLA's frame.

    :ivar turn: direction [rad] of a form that stands there with its y axis away from the road
    """

    x: float
    y: float
    turn: float

    def at(self, along: float, across: float) -> tuple[float, float]:
        """A place in the world that is so far along the road, and away from it [m]."""
        sin, cos = sincos(self.turn)
        return self.x + (along * cos - across * sin), self.y + (along * sin + across * cos)

    def covered(self, along: tuple[float, float], across: tuple[float, float]) -> Floats:
        """Points (n, 2) over a rectangle before this place [m]."""
        sin, cos = sincos(self.turn)
        return rectangle(self.x, self.y, (cos, sin), (*along, *across))


class _Lot(NamedTuple):
    """A house that has been placed: the middle of its front is ``away`` from ``front`` [m]."""

    front: _Frontage
    kind: buildings.Facade
    half: float
    away: float
    dice: Dice


class SceneryLayout:
    """Places things on free ground, one after the other."""

    def __init__(
        self,
        network: RoadNetwork,
        ground: FreeGround,
        height: Height,
        seed: int,
        lamps: Sequence[Thing],
    ) -> None:
        """:param lamps: what comes first: everything else keeps away from it"""
        self._network = network
        self._ground = ground
        self._height = height
        self._seed = seed
        self.placed: list[Placed] = []
        #: Points (n, 2) of what stands on level ground.
        self.level: list[Floats] = [np.zeros((0, 2))]
        self._lots: list[_Lot] = []
        self._first_landmark = 0
        for lamp in lamps:
            self._add_lamp(lamp)

    def fill(self) -> list[Placed]:
        """Everything that stands beside the roads, the lamps first."""
        for road in self._network.roads.values():
            kerb = kerb_of(self._network, road)
            if kerb is not None:
                self.placed.append(Placed("Kerb", kerb, (0.0, 0.0, 0.0), 0.0))
            bridge = landmarks.bridge_of(self._network, road, self._height)
            if bridge is not None:
                self.placed.append(Placed("Bridge", bridge, (0.0, 0.0, 0.0), 0.0))
        roads = [road for road in self._network.roads.values() if road.junction is None]
        for road in roads:
            for side in (-1, 1):
                self._add_rails(road, side)
        for road in roads:
            for side in (-1, 1):
                self._add_lots(road, side, Dice(self._seed, f"lots {road.id} {side}"))
        for lot in self._lots:
            self._add_garden(lot)
        for road in roads:
            for side in (-1, 1):
                self._add_avenue(road, side, Dice(self._seed, f"avenue {road.id} {side}"))
            self._add_benches(road, Dice(self._seed, f"benches {road.id}"))
        for road in roads:
            for side in (-1, 1):
                self._add_plants(road, side, Dice(self._seed, f"plants {road.id} {side}"))
        self._first_landmark = len(self.placed)
        for road in roads:
            self._add_landmarks(road, Dice(self._seed, f"landmarks {road.id}"))
        return self.placed

    def _put(self, name: str, form: SolidFigure, x: float, y: float, heading: float) -> None:
        self.placed.append(Placed(name, form, (x, y, self._height(x, y)), heading, is_loose=True))

    def _frontage(self, road: Road, side: int, s: float) -> _Frontage:
        right, left = road.lanes.edges(s)
        x, y, _, heading = self._network.pose(road.id, s, left if side > 0 else right)
        place = frames.vector_to_carla(x, y, 0.0)
        yaw = frames.yaw_to_carla(heading) * PI / 180.0
        # To the right of the road (side -1) the form's y axis, right of its x, points away.
        return _Frontage(place[0], place[1], yaw if side < 0 else yaw + PI)

    def _has_sidewalk(self, road: Road, side: int, s: float) -> bool:
        walks = self._network.lane_ids(road.id, s, "sidewalk")
        return any(lane * side > 0 for lane in walks)

    # Lots --------------------------------------------------------------------------------

    def _add_lots(self, road: Road, side: int, dice: Dice) -> None:
        s = dice.between(0.0, 6.0)
        while s < road.length - 4.0:
            town = self._has_sidewalk(road, side, s)
            front = self._frontage(road, side, s)
            kind = dice.pick(self._quarter(front) if town else _COUNTRY)
            width = dice.between(*kind.width)
            middle = s + 0.5 * width
            if middle >= road.length:
                return
            if town or dice.falls(0.25):
                away = dice.between(3.0, 7.0) if town else dice.between(12.0, 40.0)
                self._add_lot(self._frontage(road, side, middle), kind, width, away, dice)
            gap = dice.between(1.5, 9.0) if town else dice.between(20.0, 90.0)
            s += width + gap

    def _quarter(self, front: _Frontage) -> tuple[buildings.Facade, ...]:
        column, row = int(front.x // _QUARTER), int(front.y // _QUARTER)
        return Dice(self._seed, f"quarter {column} {row}").pick(_QUARTERS)

    def _add_lot(
        self, front: _Frontage, kind: buildings.Facade, width: float, away: float, dice: Dice
    ) -> None:
        depth = dice.between(*kind.depth)
        half, back = 0.5 * width, away + depth
        if not self._ground.is_free(front.covered((0.0 - half, half), (away, back)), _HOUSE_ROOM):
            return
        covered = front.covered((-1.0 - half, half + 1.0), (away - 1.0, back + 1.0))
        self._ground.take(covered)
        self.level.append(covered)
        corners = [front.at(x, y) for x in (0.0 - half, half) for y in (away, back)]
        # The floor is at the lowest corner: on a slope the rest of the house is in the ground.
        floor = min(self._height(x, y) for x, y in corners)
        evening = Dice(self._seed, f"evening {len(self.placed)}")
        form = buildings.house(kind, width, depth, dice, evening)
        self.placed.append(Placed(kind.name, form, (*corners[0], floor), front.turn))
        self._lots.append(_Lot(front, kind, half, away, dice))

    def _add_garden(self, lot: _Lot) -> None:
        """What is beside a house, and between it and its road: a car, a border with a way in."""
        front, kind, half, away, dice = lot
        for side in (-1.0, 1.0):
            middle = side * (half + 2.3)
            spot = front.covered((middle - 1.1, middle + 1.1), (away - 0.5, away + 4.5))
            if dice.falls(0.5) and self._ground.is_free(spot, _FENCE_ROOM):
                place, turn = front.at(middle, away + 2.0), dice.pick((0.25, 0.75)) * _TURN
                self._put("ParkedCar", furniture.parked_car(dice), *place, front.turn + turn)
                self._ground.take(spot)
        if kind.is_shop:
            self._add_forecourt(front, half, away)
        if kind not in buildings.SUBURB or away < 4.0:
            return
        word, border = dice.pick(
            (("Hedge", plants.hedge), ("Fence", furniture.fence), ("GardenWall", furniture.wall))
        )
        for low, high in ((0.0 - half, -1.5), (1.5, half)):
            line = front.covered((low, high), (1.2, 1.9))
            if high - low > 1.5 and self._ground.is_free(line, _FENCE_ROOM):
                self._put(word, border(high - low, dice), *front.at(low, 1.2), front.turn)
                self._ground.take(line)

    def _add_forecourt(self, front: _Frontage, half: float, away: float) -> None:
        """Paving between a shop and its street, where the land is level and free."""
        area = front.covered((0.0 - half, half), (0.1, away))
        bottom, top = self._levels(area)
        # The house has taken the last metre before it.
        between = front.covered((0.0 - half, half), (1.2, max(1.3, away - 2.0)))
        if top - bottom < _LEVEL and self._ground.is_free(between, _FENCE_ROOM):
            form = landmarks.forecourt(2.0 * half, away - 0.1, top - bottom + _PAVING)
            x, y = front.at(0.0 - half, 0.1)
            self.placed.append(Placed("Forecourt", form, (x, y, bottom), front.turn))
            self._ground.take(between)

    def _levels(self, area: Floats) -> tuple[float, float]:
        """The lowest and the highest land [m] at points (n, 2)."""
        heights = [self._height(x, y) for x, y in area.tolist()]
        return min(heights), max(heights)

    # Guard rails -------------------------------------------------------------------------

    def _add_rails(self, road: Road, side: int) -> None:
        run: list[tuple[float, float]] = []
        count = int(road.length / furniture.RAIL_STEP)
        for n in range(count + 1):
            s = n * furniture.RAIL_STEP
            limit = self._network.speed_limit(road.id, s)
            point = None
            if (limit or 0.0) >= _FAST and not self._has_sidewalk(road, side, s):
                place = self._frontage(road, side, s).at(0.0, _RAIL_AWAY)
                if self._ground.is_free(np.array([place]), 0.8):
                    point = place
            if point is not None:
                run.append(point)
            if point is None or n == count or len(run) > 12:
                self._end_rail(run)
                # The next piece begins where this one ends.
                run = run[-1:] if point is not None else []

    def _end_rail(self, run: list[tuple[float, float]]) -> None:
        if len(run) < 3:
            return
        points = [(x, y, self._height(x, y)) for x, y in run]
        self.placed.append(Placed("GuardRail", furniture.guard_rail(points), (0.0, 0.0, 0.0), 0.0))
        self._ground.take(np.array(run))

    # Plants ------------------------------------------------------------------------------

    def _add_plants(self, road: Road, side: int, dice: Dice) -> None:
        """Trees and bushes beside a road: the nearer, the more."""
        s = dice.between(0.0, _TREE_STEP)
        while s < road.length:
            share = dice.share()
            x, y = self._frontage(road, side, s).at(0.0, _NEAR + (_FAR - _NEAR) * share * share)
            grove = Dice(self._seed, f"grove {int(x // _GROVE)} {int(y // _GROVE)}")
            kind = grove.pick(plants.TREES)
            height = dice.between(*kind.height)
            radius = kind.crown * height
            spread = rectangle(x, y, (1.0, 0.0), (0.0 - radius, radius, 0.0 - radius, radius))
            if self._ground.is_free(spread, _PLANT_ROOM):
                form = plants.tree(kind, height, dice)
                self._put(kind.name, form, x, y, dice.between(0.0, _TURN))
                self._ground.take(rectangle(x, y, (1.0, 0.0), (-1.0, 1.0, -1.0, 1.0)))
            elif dice.falls(0.4) and self._ground.is_free(np.array([(x, y)]), 2.0):
                self._put("Bush", plants.bush(dice), x, y, 0.0)
            s += dice.between(0.5 * _TREE_STEP, 1.5 * _TREE_STEP)

    def _add_avenue(self, road: Road, side: int, dice: Dice) -> None:
        """Young trees along a sidewalk, where nothing else stands."""
        kind = dice.pick(plants.AVENUE)
        s = dice.between(3.0, 12.0)
        while s < road.length - 3.0:
            if self._has_sidewalk(road, side, s):
                x, y = self._frontage(road, side, s).at(0.0, 2.2)
                trunk = rectangle(x, y, (1.0, 0.0), (-0.5, 0.5, -0.5, 0.5))
                if self._ground.is_free(trunk, _PLANT_ROOM):
                    height = dice.between(*plants.YOUNG)
                    form = plants.tree(kind, height, dice)
                    self._put(kind.name, form, x, y, dice.between(0.0, _TURN))
                    self._ground.take(trunk)
            s += dice.between(9.0, 16.0)

    def _add_benches(self, road: Road, dice: Dice) -> None:
        s = dice.between(10.0, 60.0)
        while s < road.length - 5.0:
            side = dice.pick((-1, 1))
            if self._has_sidewalk(road, side, s):
                front = self._frontage(road, side, s)
                spot = front.covered((-1.0, 2.2), (1.2, 1.9))
                if self._ground.is_free(spot, 0.9):
                    # A bench looks to the road, its back away from it.
                    self._put("Bench", furniture.bench(), *front.at(0.0, 1.6), front.turn)
                    self._put("Bin", furniture.litter_bin(), *front.at(1.4, 1.6), 0.0)
                    self._ground.take(spot)
            s += dice.between(50.0, 140.0)

    # Lamps and landmarks -----------------------------------------------------------------

    def _add_lamp(self, lamp: Thing) -> None:
        """A street lamp, where it has been named."""
        (x, y, _), rotation = lamp.pose
        turn, far = radians(rotation.yaw), lamp.half.y
        place = lamp.lamp or lamp.pose.location
        self.placed.append(Placed(lamp.name, furniture.street_lamp(), place, turn))
        sin, cos = sincos(turn)
        self._ground.take(rectangle(x, y, (cos, sin), (-0.2, 0.2, far - 0.4, far)))

    def _add_landmarks(self, road: Road, dice: Dice) -> None:
        """Ponds, sidings and billboards, where the land is level and nothing else stands."""
        for _ in range(int(road.length / _LANDMARK_STEP) + 1):
            s, side = dice.between(0.0, road.length), dice.pick((-1, 1))
            front, word = self._frontage(road, side, s), dice.pick(("Pond", "Siding", "Board"))
            has = {placed.name for placed in self.placed[self._first_landmark :]}
            # Each map has one of both, if there is room.
            word = next((kind for kind in _RARE if _RARE[kind] not in has), word)
            away = dice.between(25.0, 90.0)
            if word == "Pond":
                radius = dice.between(7.0, 14.0)
                area = front.covered((0.0 - radius, radius), (away, away + 2.0 * radius))
                x, y = front.at(0.0, away + radius)
                self._put_level("Pond", landmarks.pond(radius, dice), (x, y), 0.0, area)
            elif word == "Siding":
                count = dice.whole(2, 3)
                size = count * landmarks.CARRIAGE + 6.0
                half = landmarks.TRACK
                area = front.covered((0.0, size), (away - half, away + half))
                x, y = front.at(0.0, away)
                if self._put_level("RailTrack", landmarks.siding(size), (x, y), front.turn, area):
                    train = landmarks.train(count, dice)
                    x, y = front.at(3.0, away)
                    self._put("Train", train, x, y, front.turn)
            elif not self._has_sidewalk(road, side, s):
                area = front.covered((-2.4, 2.4), (5.0, 6.0))
                if self._ground.is_free(area, _HOUSE_ROOM):
                    self._put("Billboard", landmarks.billboard(dice), *front.at(0.0, 5.5),
                              front.turn)  # fmt: skip
                    self._ground.take(area)

    def _put_level(
        self, name: str, form: SolidFigure, place: tuple[float, float], turn: float, area: Floats
    ) -> bool:
        """Put something on land that is level and free; False: there is none."""
        if not self._ground.is_free(area, _HOUSE_ROOM):
            return False
        bottom, top = self._levels(area)
        if top - bottom >= _LEVEL:
            return False
        self.placed.append(Placed(name, form, (*place, top + 0.02), turn))
        self._ground.take(area)
        self.level.append(area)
        return True
