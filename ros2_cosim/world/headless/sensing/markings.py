# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What is painted on roads across their lanes: crosswalks, stop lines, arrows, words.

Maps have them as objects; those of RoadRunner say what they are by their names. Widths that a map
does not give are class estimates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

import numpy as np

from ros2_cosim.core.kernel.exactmath import PI, sincos, sqrt
from ros2_cosim.world.headless.labels import ROAD_LINES
from ros2_cosim.world.headless.materials import Colour
from ros2_cosim.world.headless.sensing.axes import Floats
from ros2_cosim.world.headless.sensing.lettering import strokes
from ros2_cosim.world.headless.sensing.mesh import PAINT, MeshBuilder, dot
from ros2_cosim.world.map import RoadNetwork
from ros2_cosim.world.map.objects import RoadObject

WHITE: Final[Colour] = (222, 222, 216)
YELLOW: Final[Colour] = (214, 176, 48)
_BAR_PERIOD: Final = 1.0  # m, of the bars of a crosswalk
_STOP, _USUAL, _BORDER = 0.4, 0.15, 0.3  # m, widths of stop lines, other ones, those of crosswalks
#: Length and period of the strokes of broken lines [m], by the beginnings of their names.
_BROKEN: Final = {"DashedShort": (0.6, 1.2), "Dashed": (3.0, 9.0)}
#: Lines are made of pieces so long [m]: roads are not level.
_PIECE: Final = 1.0

#: An arrow to the right: x along the way, y to the left, as shares of its length and width.
_ARROW: Final = (
    ((-0.5, 0.18), (0.3, 0.18), (0.3, 0.36), (-0.5, 0.36)),
    ((0.12, -0.1), (0.3, -0.1), (0.3, 0.18), (0.12, 0.18)),
    ((-0.08, -0.1), (0.21, -0.5), (0.5, -0.1)),
)  # fmt: skip

Owner = Callable[[int], int]
#: Corners of a quadrilateral in the map frame [m].
_Quad = tuple[tuple[float, float], ...]


def add_markings(builder: MeshBuilder, network: RoadNetwork, owner: Owner) -> None:
    """Paint what a map has across its lanes.

    :param owner: gives the number of a road's paint
    """
    for road in network.roads.values():
        for thing in road.objects:
            if not 0.0 <= thing.s <= road.length:
                continue
            paint = _Paint(builder, network, owner(road.id), thing)
            if thing.type.lower() == "crosswalk":
                paint.crosswalk()
            elif thing.outline and thing.name.startswith(("StopLine", "Solid", "Dashed")):
                paint.line()
            elif thing.name.startswith("Stencil_Arrow"):
                paint.arrow()
            elif thing.name.startswith("Stencil_STOP"):
                paint.word("STOP")


class _Paint:
    """One object, and where it is."""

    def __init__(
        self, builder: MeshBuilder, network: RoadNetwork, owner: int, thing: RoadObject
    ) -> None:
        self._builder = builder
        self._network = network
        self._owner = owner
        self._thing = thing
        self._x, self._y, self._z, self._heading = network.pose(thing.road_id, thing.s, thing.t)

    def crosswalk(self) -> None:
        """Bars across the longer sides of four corners, or lines along them."""
        corners = [self._outside(u, v) for u, v, _ in self._thing.outline[:4]]
        if len(corners) < 4:
            return
        a, b, c, d = np.array([_on_road(self._network, x, y, self._z) for x, y in corners])
        if dot(b - a, b - a) < dot(c - b, c - b):
            a, b, c, d = b, c, d, a
        if self._thing.name.startswith(("Simple", "Ladder")):
            high = _BORDER / sqrt(float(dot(d - a, d - a)))
            self._quads(a, b, b + high * (c - b), a + high * (d - a))
            self._quads(d + high * (a - d), c + high * (b - c), c, d)
        if self._thing.name.startswith("Simple"):
            return
        count = int(sqrt(float(dot(b - a, b - a))) / _BAR_PERIOD + 0.5)
        first = (np.arange(count) / max(count, 1))[:, None]
        last = first + 0.5 / max(count, 1)
        self._quads(
            a + first * (b - a), a + last * (b - a), d + last * (c - d), d + first * (c - d)
        )

    def line(self) -> None:
        """A line along the outline."""
        name = self._thing.name
        width = _STOP if name.startswith("StopLine") else _USUAL
        colour = YELLOW if name.endswith("Yellow") else WHITE
        broken = next((_BROKEN[word] for word in _BROKEN if name.startswith(word)), None)
        places = [self._outside(u, v) for u, v, _ in self._thing.outline]
        self._fill(_strip(places, width, broken), colour)

    def arrow(self) -> None:
        """An arrow in the driving direction, to the side that its name ends with."""
        side = -1.0 if self._thing.name.endswith("L") else 1.0
        long, wide = self._size()
        shapes = [[(x * long, side * y * wide) for x, y in shape] for shape in _ARROW]
        self._fill([self._driven(shape) for shape in shapes], WHITE)

    def word(self, text: str) -> None:
        """A word that is read in the driving direction."""
        high, wide = (0.5 * size for size in self._size())
        self._fill(
            [
                self._driven([(v * high, 0.0 - u * wide) for u, v in
                              ((low, down), (right, down), (right, up), (low, up))])
                for low, right, down, up in strokes(text)
            ],
            WHITE,
        )  # fmt: skip

    def _size(self) -> tuple[float, float]:
        """Its size along the way and across [m]: the file does not say which is which."""
        return (max(self._thing.length, self._thing.width),
                min(self._thing.length, self._thing.width))  # fmt: skip

    def _outside(self, u: float, v: float) -> tuple[float, float]:
        """A place of the object's frame in the map frame."""
        return _turned((self._x, self._y), self._heading + self._thing.heading, u, v)

    def _driven(self, corners: list[tuple[float, float]]) -> _Quad:
        """Corners whose x axis is the driving direction, in the map frame."""
        at = self._network.project(self._x, self._y, z=self._z)
        turn = at.heading if at.lane_id < 0 or (at.lane_id == 0 and at.t < 0.0) else at.heading + PI
        places = [_turned((self._x, self._y), turn, x, y) for x, y in corners]
        return tuple(places if len(places) == 4 else [*places, places[-1]])

    def _fill(self, quads: list[_Quad], colour: Colour) -> None:
        _add_quads(self._builder, self._network, quads, self._z, colour, self._owner)

    def _quads(self, a: Floats, b: Floats, c: Floats, d: Floats) -> None:
        a, b, c, d = (np.atleast_2d(corners) for corners in (a, b, c, d))
        self._builder.quads(a, b, c, d, ROAD_LINES, WHITE, PAINT, self._owner)


def _add_quads(
    builder: MeshBuilder,
    network: RoadNetwork,
    quads: list[_Quad],
    z: float,
    colour: Colour,
    owner: int,
) -> None:
    """Paint on the roads below corners in the map frame, near a height [m]."""
    if quads:
        places = np.array([[_on_road(network, x, y, z) for x, y in quad] for quad in quads])
        a, b, c, d = (places[:, n] for n in range(4))
        builder.quads(a, b, c, d, ROAD_LINES, colour, PAINT, owner)


def _on_road(network: RoadNetwork, x: float, y: float, z: float) -> tuple[float, float, float]:
    """A place of the map frame on the road there, in CARLA's frame."""
    at = network.project(x, y, z=z)
    return x, 0.0 - y, network.pose(at.road_id, at.s, at.t)[2]


def _turned(origin: tuple[float, float], heading: float, u: float, v: float) -> tuple[float, float]:
    sin, cos = sincos(heading)
    return origin[0] + (u * cos - v * sin), origin[1] + (u * sin + v * cos)


def _strip(
    places: list[tuple[float, float]], width: float, broken: tuple[float, float] | None
) -> list[_Quad]:
    """A line through places, in pieces."""
    found: list[_Quad] = []
    way = 0.0
    for (x0, y0), (x1, y1) in zip(places, places[1:], strict=False):
        dx, dy = x1 - x0, y1 - y0
        size = sqrt(dx * dx + dy * dy)
        if size > 0.0:
            across = -0.5 * width * dy / size, 0.5 * width * dx / size
            for low, high in _pieces(way, way + size, broken):
                a, b = (low - way) / size, (high - way) / size
                one, two = ((x0 + share * dx, y0 + share * dy) for share in (a, b))
                found.append(tuple(
                    (x + side * across[0], y + side * across[1])
                    for (x, y), side in ((one, 1.0), (two, 1.0), (two, -1.0), (one, -1.0))
                ))  # fmt: skip
        way += size
    return found


def _pieces(
    begin: float, end: float, broken: tuple[float, float] | None
) -> Iterator[tuple[float, float]]:
    """From where to where a line is painted [m]."""
    stroke, period = broken or (_PIECE, _PIECE)
    place = begin - begin % period
    while place < end:
        low, high = max(place, begin), min(place + stroke, end)
        if high > low:
            yield low, high
        place += period
