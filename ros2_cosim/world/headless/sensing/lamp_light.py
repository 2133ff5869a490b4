# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The light of street lamps and headlamps in colour pictures, place by place.

A surface as large as a house's wall is one triangle: a lamp before it lights a spot of it. So the
light is worked out for the places that a picture shows, in a grid of every second pixel or coarser.
A lamp's height above a triangle's plane is the same all over the triangle; the rest is the distance
of the place. Single operations on 32 bit floats in a fixed order: the same bits on every machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ros2_cosim.core.kernel.exactmath import sqrt
from ros2_cosim.world.headless.sensing.axes import NEAREST, BodyAxes, Floats
from ros2_cosim.world.headless.sensing.coarse import Coarse
from ros2_cosim.world.headless.sensing.mesh import dot, length
from ros2_cosim.world.headless.sensing.raster import Lens, View, pixel_centres
from ros2_cosim.world.headless.wire_types import Vector

Pixels = NDArray[np.uint32]
Singles = NDArray[np.float32]
_Part = slice | tuple[slice, slice]

_COLUMNS: Final = 320  # of the grid, at most
_AT_ONCE: Final = 16_384  # pixels; what they need stays in a processor's cache
# Planes are the same if their normals and distances from the origin [m] differ by less than about
# a step of one over these.
_SAME_TURN, _SAME_WAY = 16.0, 4.0
_KEY: Final = np.array((1, 1 << 8, 1 << 16, 1 << 24), dtype=np.int64)
_FAR: Final = 1.0e9  # tangent of what is beside the eye, or behind
_ONE: Final = np.float32(1.0)
_LAMP_NEAREST: Final = np.float32(1.0)  # m^2; a lamp is not a point
# Beams open by this share of the way; two headlamps apart are not a point.
_OPENING: Final = 0.6
_BEAM_NEAREST: Final = np.float32(25.0)  # m^2


class LightSource(NamedTuple):
    """A lamp that shines to all sides, or along a way.

    :ivar place: in the world, within this module then in the camera's frame [m]
    :ivar strength: brightness in 1 m, of which 1 is that of day
    :ivar reach: it lights nothing farther away [m]
    :ivar colour: shares of red, green, blue
    :ivar ahead: unit vector, None: to all sides
    """

    place: Vector
    strength: float
    reach: float
    colour: tuple[float, float, float]
    ahead: Vector | None = None


class _Places(NamedTuple):
    """Places in the camera's frame [m], and which triangle (a row of ``normals``) is there.

    :ivar rows: y of the rows from the middle of the image [pixels], and ``columns`` x, None: the
        places are single ones, each with its row
    :ivar owners: the last row of ``normals`` where there is none
    :ivar normals: (3, triangles) unit vectors away from the eye, and ``offsets`` of the planes [m]
    """

    rows: Floats
    columns: Floats | None
    ahead: Singles
    right: Singles
    up: Singles
    owners: NDArray[np.int32]
    normals: Singles
    offsets: Singles


def add_lamps(
    pixels: Pixels,
    view: View,
    lens: Lens,
    eye: BodyAxes,
    sources: Sequence[LightSource],
    given_back: Pixels,
) -> None:
    """Add the light of lamps to a picture.

    :param pixels: (height * width) 0xAARRGGBB
    :param given_back: of triangles: 0xRRGGBB of a place that has the light of day
    """
    if not sources or not len(view.mesh):
        return
    coarse = Coarse(view, lens, _COLUMNS)
    planes, numbers, faces = _table(view)
    owners = numbers.take(coarse.seen).reshape(coarse.shape)
    grid = _places(planes, lens, owners, coarse.x, coarse.y[:, None])
    grid = grid._replace(rows=coarse.y, columns=coarse.x)
    inside = eye.inside(np.array([source.place for source in sources])).tolist()
    lamps = [
        source._replace(place=Vector(*place), ahead=_turned(source.ahead, eye))
        for source, place in zip(sources, inside, strict=True)
    ]
    light = coarse.spread(_brightness(grid, lamps, lens))
    # What lies in another plane than the next place of the grid is lit separately.
    seen = view.picture(numbers)
    edge = np.flatnonzero(faces.take(seen) != coarse.spread(faces.take(owners.reshape(-1))))
    if len(edge):
        x, y = pixel_centres(lens)
        rows, columns = np.divmod(edge, lens.width)
        x, y = x.take(columns), y.take(rows)
        own = _places(planes, lens, seen.take(edge), x, y)
        light[edge] = _brightness(own._replace(rows=y), lamps, lens)
    _add(pixels, light, view.picture(np.append(given_back, np.uint32(0))))


def _turned(way: Vector | None, eye: BodyAxes) -> Vector | None:
    return way and Vector(*eye.directions_inside(np.array(way)).tolist())


def _table(view: View) -> tuple[Floats, NDArray[np.int32], NDArray[np.int32]]:
    """The planes of what is shown, the last one for the sky; rows of the table by numbers of
    triangles; and of each row a number that those in the same plane share.
    """
    shown = np.zeros(len(view.mesh), dtype=bool)
    for found in (view.found, view.nearest):
        shown[found[found >= 0]] = True
    which = np.flatnonzero(shown)
    numbers = np.full(len(shown) + 1, len(which), dtype=np.int32)
    numbers[which] = np.arange(len(which))
    # Nothing lights the sky; it has a plane so that it needs no case of its own.
    planes = np.append(view.planes.take(which, 0), [[1.0, 0.0, 0.0]], axis=0)
    normals = view.mesh.normals.take(which, 0)
    offsets = dot(normals, view.mesh.points[which, 0])
    steps = np.append(normals * _SAME_TURN, offsets[:, None] * _SAME_WAY, axis=1)
    keys = np.floor(np.append(steps, [[99.0] * 4], axis=0) + 0.5).astype(np.int64)
    _, faces = np.unique(keys @ _KEY, return_inverse=True)
    return planes, numbers, faces.reshape(-1).astype(np.int32)


def _places(planes: Floats, lens: Lens, owners: NDArray[np.int32], x: Floats, y: Floats) -> _Places:
    """The places at x and y from the middle of the image [pixels]."""
    across, down = x.astype(np.float32), y.astype(np.float32)
    a, b, c = (part.astype(np.float32).take(owners) for part in planes.T)
    b *= across
    c *= down
    a += b
    a += c
    depth = _ONE / a
    focal = np.float32(1.0 / lens.focal)
    normals = planes * np.array((1.0, lens.focal, 0.0 - lens.focal))
    offsets = 1.0 / length(normals)
    return _Places(
        y, None, depth, depth * (across * focal), depth * (down * (0.0 - focal)), owners,
        (normals * offsets[:, None]).T.astype(np.float32), offsets.astype(np.float32),
    )  # fmt: skip


def _part(lamp: LightSource, lens: Lens, places: _Places) -> _Part | None:
    """The places that a lamp may light, at most; None: none."""
    depth, right, up = lamp.place
    reach = lamp.reach
    if depth + reach <= NEAREST:
        return None
    rows = _between(depth, 0.0 - up, reach, places.rows, lens)
    if places.columns is None:
        return rows if rows.start < rows.stop else None
    columns = _between(depth, right, reach, places.columns, lens)
    return (rows, columns) if rows.start < rows.stop and columns.start < columns.stop else None


def _between(depth: float, aside: float, reach: float, grid: Floats, lens: Lens) -> slice:
    """The part of a grid [pixels] that a ball may cover, between its tangents from the eye."""
    square = depth * depth + aside * aside - reach * reach
    if square <= 0.0:
        return slice(0, len(grid))
    way = sqrt(square)
    ends = []
    for side in (-1.0, 1.0):
        # Tangent of the sum of two angles.
        ahead = depth * way - side * aside * reach
        ends.append((aside * way + side * depth * reach) / ahead if ahead > 0.0 else side * _FAR)
    begin, end = np.searchsorted(grid, [tangent * lens.focal for tangent in ends])
    return slice(int(begin), int(end))


def _light(lamp: LightSource, places: _Places, part: _Part) -> Singles:
    """The brightness by a lamp in a part of the places."""
    normals = places.normals
    x0, y0, z0 = (np.float32(value) for value in lamp.place)
    # Above the plane, on the side of the eye.
    above = places.offsets - (normals[0] * x0 + normals[1] * y0 + normals[2] * z0)
    np.maximum(above, np.float32(0.0), out=above)
    above[-1] = 0.0
    x, y, z = (places.ahead[part] - x0, places.right[part] - y0, places.up[part] - z0)
    square = x * x
    square += y * y
    square += z * z
    left = square * np.float32(-1.0 / (lamp.reach * lamp.reach))
    left += _ONE
    np.maximum(left, np.float32(0.0), out=left)
    left *= np.float32(lamp.strength)
    heights = above.take(places.owners[part])
    if lamp.ahead is None:
        left *= heights
        np.maximum(square, _LAMP_NEAREST, out=square)
        left /= square * np.sqrt(square)
        return left
    x0, y0, z0 = (np.float32(value) for value in lamp.ahead)
    along = x * x0
    along += y * y0
    along += z * z0
    ways = along * along
    aside = np.maximum(square - ways, np.float32(0.0))
    ways *= np.float32(_OPENING * _OPENING)
    edge = _ONE - aside / np.maximum(ways, np.float32(1.0e-6))
    left *= np.where((along > 0.0) & (heights > 0.0), np.maximum(edge, np.float32(0.0)), 0.0)
    square += _BEAM_NEAREST
    left /= square
    return left


def _brightness(places: _Places, lamps: Sequence[LightSource], lens: Lens) -> Pixels:
    """The light of all lamps, 0xRRGGBB of 255 for that of day, which is never reached."""
    lights: dict[tuple[float, float, float], Singles] = {}
    for lamp in lamps:
        part = _part(lamp, lens, places)
        if part is not None:
            if lamp.colour not in lights:
                lights[lamp.colour] = np.zeros_like(places.ahead)
            lights[lamp.colour][part] += _light(lamp, places, part)
    whole: Pixels = np.zeros(places.ahead.size, dtype=np.uint32)
    if not lights:
        return whole
    for channel, shift in enumerate((16, 8, 0)):
        total = np.zeros(len(whole), dtype=np.float32)
        for colour, light in lights.items():
            total += light.reshape(-1) * np.float32(colour[channel])
        # As bright as day is enough: what is brighter is not told apart.
        total /= _ONE + total
        total *= np.float32(255.0)
        total += np.float32(0.5)
        whole |= total.astype(np.uint32) << np.uint32(shift)
    return whole


def _add(pixels: Pixels, light: Pixels, given_back: Pixels) -> None:
    low = np.uint32(0xFF)
    for begin in range(0, len(pixels), _AT_ONCE):
        part = slice(begin, begin + _AT_ONCE)
        shown, shine, back = pixels[part], light[part], given_back[part]
        result = np.full_like(shown, 0xFF000000)
        for shift in (np.uint32(0), np.uint32(8), np.uint32(16)):
            more = ((shine >> shift) & low) * ((back >> shift) & low)
            more >>= np.uint32(8)
            more += (shown >> shift) & low
            np.minimum(more, low, out=more)
            result |= more << shift
        pixels[part] = result
