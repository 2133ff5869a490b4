# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The grain of surfaces in colour pictures: without it there is nothing to match on a road.

One square of noise lies on every surface, again and again: on what stands still along the axes of
the world, on actors along an edge of each triangle, so that it moves with them. The square has
coarser copies, and each pixel takes the one whose cells are as large as what the pixel covers: so
far away nothing flickers. How strong and how fine the grain of a label is, is a class estimate.

Everything is worked out by single operations on 32 bit floats and by integers: the same bits on
every machine.
"""

from __future__ import annotations

from functools import cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ros2_cosim.world.headless import labels
from ros2_cosim.world.headless.sensing.axes import BodyAxes, Floats
from ros2_cosim.world.headless.sensing.draws import Draws
from ros2_cosim.world.headless.sensing.mesh import Mesh, cross, dot, length
from ros2_cosim.world.headless.sensing.native import GrainTask
from ros2_cosim.world.headless.sensing.raster import Lens, View, pixel_centres

Pixels = NDArray[np.uint32]
Singles = NDArray[np.float32]

#: Of labels: contrast (standard deviation of the brightness, a share), and size of a cell [m].
_USUAL: Final = (0.05, 0.01)
_GRAINS: Final = {
    labels.ROADS: (0.12, 0.01),
    labels.SIDEWALKS: (0.08, 0.01),
    labels.BUILDINGS: (0.09, 0.02),
    labels.WALLS: (0.12, 0.02),
    labels.VEGETATION: (0.25, 0.02),
    labels.TERRAIN: (0.20, 0.02),
    labels.GROUND: (0.20, 0.02),
    labels.ROAD_LINES: (0.06, 0.01),
    labels.CARS: (0.03, 0.01),
}

_POWER: Final = 10
_SIZE: Final = 1 << _POWER  # cells, of a side of the square
_LEVELS: Final = _POWER  # the coarsest copy has two by two cells
_DEVIATION: Final = 36  # of the noise, in 8 bits
_VARIANCE: Final = 4.9  # of all sizes of cells together, of which the finest has 1
_SEED: Final = 20_260_901
_GAIN: Final = 8  # bits of a brightness of one
# Pixels that are worked on at once: what they need stays in a processor's cache.
_AT_ONCE: Final = 16_384
_LEAST_INVERSE: Final = np.float32(1.0e-5)  # 1/m, of depths


def grained(pixels: Pixels, view: View, eye: BodyAxes, lens: Lens) -> Pixels:
    """A picture with the grain of what it shows.

    :param pixels: (height * width) 0xAARRGGBB
    """
    if not len(view.mesh):
        return pixels
    # Of the sky it is the last one.
    numbers = np.append(np.arange(len(view.mesh), dtype=np.int32), np.int32(-1))
    owners = view.picture(numbers)
    table = _table(view, eye, lens)
    noise, starts = _noise()
    x, y = (part.astype(np.float32) for part in pixel_centres(lens))
    rows = max(1, _AT_ONCE // lens.width)
    columns = np.tile(x, rows)
    result = np.empty_like(pixels)
    for first in range(0, lens.height, rows):
        down = np.repeat(y[first : first + rows], lens.width)
        part = slice(first * lens.width, first * lens.width + len(down))
        own = owners[part]
        values = [column.take(own) for column in table]
        cells, levels = _cells(values, columns[: len(down)], down)
        ways = np.int32(_POWER) - levels
        mask = (np.int32(1) << ways) - np.int32(1)
        u, v = ((cell >> levels) & mask for cell in cells)
        value = noise.take(starts.take(levels) + (v << ways) + u)
        gain = np.maximum(value * values[-1] + np.float32(1 << _GAIN), np.float32(0.0))
        result[part] = _lit(pixels[part], gain.astype(np.uint32))
    return result


def grain_task(view: View, eye: BodyAxes, lens: Lens) -> GrainTask:
    """The same for what computes pixel by pixel."""
    table = np.stack(_table(view, eye, lens), axis=1)
    return GrainTask(table, *_noise(), _POWER, _LEVELS, float(_LEAST_INVERSE))


def _lit(pixels: Pixels, gain: Pixels) -> Pixels:
    """Colours with another brightness, of 8 bits behind the point."""
    low = np.uint32(0xFF)
    lit = pixels & np.uint32(0xFF000000)
    for shift in (np.uint32(0), np.uint32(8), np.uint32(16)):
        part = (((pixels >> shift) & low) * gain) >> np.uint32(_GAIN)
        lit |= np.minimum(part, low) << shift
    return lit


def _table(view: View, eye: BodyAxes, lens: Lens) -> list[Singles]:
    """What pixels need of triangles, and of the sky behind them.

    One over the depth is a + b x + c y (three arrays), and so is the cell in each direction of the
    square, divided by the depth (three each); then the square of how many cells a pixel covers at a
    depth of 1 m, looked at from above; how much the depth leans; and the contrast.
    """
    mesh, planes = view.mesh, view.planes
    contrasts, sizes = (
        np.array([_GRAINS.get(tag, _USUAL)[part] for tag in range(256)]).take(mesh.tags)
        for part in range(2)
    )
    values = [*planes.T]
    for start, axis in _directions(mesh):
        origin = dot(np.array(eye.origin) - start, axis) / sizes
        origin -= _SIZE * np.floor(origin / _SIZE)
        forward, right, up = (dot(axis, np.array(way)) / sizes for way in eye[1:])
        ways = forward, right / lens.focal, 0.0 - up / lens.focal
        values += [origin * plane + way for plane, way in zip(planes.T, ways, strict=True)]
    finest = 1.0 / (lens.focal * sizes)
    lean = np.sqrt(planes[:, 1] * planes[:, 1] + planes[:, 2] * planes[:, 2]) * lens.focal
    values += [finest * finest, lean, contrasts * ((1 << _GAIN) / _DEVIATION)]
    sky = [1.0] + [0.0] * (len(values) - 1)
    return [
        np.append(part, last).astype(np.float32) for part, last in zip(values, sky, strict=True)
    ]


def _directions(mesh: Mesh) -> list[tuple[Floats, Floats]]:
    """Where the square begins (n, 3), and along which unit vectors (n, 3) it lies: two of both."""
    points, normals = mesh.points, mesh.normals
    moves = (mesh.actors > 0)[:, None]
    edge = points[:, 1] - points[:, 0]
    edge = edge / length(edge)[:, None]
    start = np.where(moves, points[:, 0], 0.0)
    # What stands still is covered along the two axes that it faces least.
    facing = np.abs(normals).argmax(axis=1)
    unit = np.eye(3)
    one, two = unit[np.where(facing == 0, 1, 0)], unit[np.where(facing == 2, 1, 2)]
    return [
        (start, np.where(moves, edge, one)),
        (start, np.where(moves, cross(normals, edge), two)),
    ]


def _cells(
    values: list[Singles], x: Singles, y: Singles
) -> tuple[list[NDArray[np.int32]], NDArray[np.int32]]:
    """Cells of the square in both directions, and the level of its copy, of each pixel."""

    def plane(first: int) -> Singles:
        a, b, c = values[first : first + 3]
        return a + b * x + c * y

    # Rounding could make the depth of what is seen edge-on infinite.
    depth = np.float32(1.0) / np.maximum(plane(0), _LEAST_INVERSE)
    finest, lean = values[9:11]
    lean *= depth
    # Between what a pixel covers along the slope of the surface, and across.
    covered = depth * depth * finest * np.sqrt(np.float32(1.0) + lean * lean)
    # The exponent of the square of how many cells that are; a copy has half as many in each step.
    exponent = (covered.view(np.int32) >> np.int32(23)) - np.int32(127 - 2)
    levels = np.minimum(np.maximum(exponent >> np.int32(1), np.int32(0)), np.int32(_LEVELS - 1))
    return [np.floor(plane(first) * depth).astype(np.int32) for first in (3, 6)], levels


def _between(values: Floats) -> Floats:
    """Means of each value and its neighbours, around the edges: no squares are seen."""
    rows = values + np.roll(values, 1, axis=0)
    return 0.25 * (rows + np.roll(rows, 1, axis=1))


@cache
def _noise() -> tuple[NDArray[np.int8], NDArray[np.int32]]:
    """The square and its copies one after the other, row by row, and where each begins.

    Each finer copy is the coarser one and noise of its own, equally strong at every size.
    """
    draws = Draws(_SEED, "grain")
    sizes = [_SIZE >> level for level in range(_LEVELS)]
    value = np.zeros((1, 1))
    copies = []
    for size in reversed(sizes):
        own = draws.uniform(size * size).reshape(size, size) - 0.5
        value = _between(np.repeat(np.repeat(value, 2, axis=0), 2, axis=1)) + own
        copies.append(value.reshape(-1))
    # The variance of a number drawn evenly from [0, 1) is a twelfth; coarse cells have less of it.
    scale = _DEVIATION / np.sqrt(_VARIANCE / 12.0)
    noise = np.concatenate(copies[::-1]) * scale
    starts = np.cumsum([0, *(size * size for size in sizes[:-1])])
    return np.clip(np.floor(noise + 0.5), -127, 127).astype(np.int8), starts.astype(np.int32)
