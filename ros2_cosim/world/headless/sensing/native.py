# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""``pixels.c``: pixels and rays one by one, with the bits that the modules beside it give.

It is in the library of the compiled modules (``ros2_cosim/compiled.py``). Other threads run on
while it computes.
"""

from __future__ import annotations

from collections.abc import Sequence
from ctypes import (
    CDLL,
    POINTER,
    Structure,
    byref,
    c_double,
    c_float,
    c_int32,
    c_int64,
    c_void_p,
)
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ros2_cosim.compiled import library
from ros2_cosim.world.headless.sensing.axes import NEAREST, BodyAxes, Floats
from ros2_cosim.world.headless.sensing.mesh import Indices, Mesh

Pixels = NDArray[np.uint32]
_Lens = tuple[int, int, float]  # width, height and focal length [pixels]
Singles = NDArray[np.float32]


class ShadowMap(NamedTuple):
    """Heights of what casts shadows, row after row: corner u and v and size of a texel [m]."""

    frame: tuple[float, float, float]
    size: int
    heights: Singles


class ShadowTask(NamedTuple):
    """What decides which cells of a picture are in shadow.

    :ivar step: pixels of a cell
    :ivar planes: (triangles, 3) as those of a view, and ``leans`` (triangles), below 0 of those
        that do not face the sun
    :ivar axes: (3, 4) of u, v and z: of the eye, and along its axes
    :ivar maps: from fine to coarse
    :ivar limits: how far a surface is before its own shadow [m], and how many texels more at most
    """

    step: int
    planes: Floats
    leans: Floats
    axes: Floats
    maps: Sequence[ShadowMap]
    limits: tuple[float, float]


class GrainTask(NamedTuple):
    """What pixels need for their grain.

    :ivar table: (triangles, 12)
    :ivar noise: the square and its copies, which begin at ``starts``
    :ivar power: of 2: cells of the square's side; ``levels``: how many copies
    :ivar least: of one over the depth
    """

    table: Singles
    noise: NDArray[np.int8]
    starts: NDArray[np.int32]
    power: int
    levels: int
    least: float


class Rays(NamedTuple):
    """A grid of rays.

    :ivar ring: azimuths in their order on the ring, twice [rad], and ``order``: their columns
    :ivar slopes: (rows) tangents of the angles above the horizon, in increasing order
    :ivar reach: their length [m]
    :ivar slack: rounding of the angles that choose pairs [rad]
    :ivar nearest: nothing is met that is not farther away [m]
    :ivar level_step: by which share of its distance a triangle of the next level is nearer
    """

    eye: BodyAxes
    ring: Floats
    slopes: Floats
    order: Indices
    reach: float
    slack: float
    nearest: float
    level_step: float


class _Rays(Structure):
    _fields_ = (
        ("axes", c_void_p), ("ring", c_void_p), ("slopes", c_void_p), ("order", c_void_p),
        ("columns", c_int64), ("rows", c_int64), ("reach", c_double), ("slack", c_double),
        ("nearest", c_double), ("level_step", c_double),
    )  # fmt: skip


class _Shadows(Structure):
    _fields_ = (
        ("step", c_int64), ("windows", c_int64), ("focal", c_double), ("planes", c_void_p),
        ("leans", c_void_p), ("axes", c_void_p), ("frames", c_void_p), ("lengths", c_void_p),
        ("heights", c_void_p), ("in_shade", c_void_p), ("before", c_double),
        ("most_before", c_double),
    )  # fmt: skip


class _Grain(Structure):
    _fields_ = (
        ("table", c_void_p), ("noise", c_void_p), ("starts", c_void_p), ("power", c_int32),
        ("levels", c_int32), ("least", c_float),
    )  # fmt: skip


def opened(path: Path) -> CDLL:
    """The functions of a library."""
    found = CDLL(str(path))
    array, number = c_void_p, c_int64
    found.cosim_faces.restype = number
    found.cosim_faces.argtypes = [
        number, array, array, array, array, array, array, array, array, array,
    ]  # fmt: skip
    found.cosim_picture.restype = number
    found.cosim_picture.argtypes = [
        number, array, array, array, number, number, c_double, c_double, array, array,
    ]  # fmt: skip
    found.cosim_heights.restype = None
    found.cosim_heights.argtypes = [number, array, array, array, array, array, number, array]
    found.cosim_paint.restype = number
    found.cosim_paint.argtypes = [
        number, number, array, array, array, POINTER(_Shadows), POINTER(_Grain), array, number,
        number, array,
    ]  # fmt: skip
    found.cosim_cast.restype = number
    found.cosim_cast.argtypes = [
        number, array, array, array, array, array, array, POINTER(_Rays), array, number,
        array, array, array,
    ]  # fmt: skip
    return found


_PATH = library()
#: None: there is no compiled form.
LIBRARY = None if _PATH is None else opened(_PATH)


def faces_in_c(
    mesh: Mesh, which: Indices, eye: BodyAxes, lens: _Lens, reach: float
) -> tuple[Indices, Floats, Floats]:
    """As :func:`~.raster.faces`."""
    assert LIBRARY is not None
    width, height, focal = lens
    count = len(which)
    kept, corners, planes = np.empty(count, np.int64), np.empty((count, 3, 3)), np.empty((count, 3))
    halves = (0.5 * width, 0.5 * height)
    slants = (np.sqrt(half * half + focal * focal) for half in halves)
    view = np.array((*halves, *slants, focal, NEAREST, reach))
    axes = np.array(eye)
    given = [_plain(each, np.float64) for each in (mesh.points, mesh.centres, mesh.radii)]
    asked = _plain(which, np.int64)
    count = LIBRARY.cosim_faces(
        count, asked.ctypes.data, *(each.ctypes.data for each in (*given, axes, view)),
        kept.ctypes.data, corners.ctypes.data, planes.ctypes.data,
    )  # fmt: skip
    return kept[:count], corners[:count], planes[:count]


def picture_in_c(
    points: Floats, planes: Floats, scales: Floats, lens: _Lens
) -> tuple[Indices, Indices, Indices, Indices]:
    """As :func:`~.raster.picture`.

    :raises MemoryError: there is not enough for the spans
    """
    assert LIBRARY is not None
    width, height, focal = lens
    found, sizes = (np.empty(width * height, dtype=np.int64) for _ in range(2))
    given = [_plain(each, np.float64) for each in (points, planes, scales)]
    count = LIBRARY.cosim_picture(
        len(points), *(each.ctypes.data for each in given), width, height, focal,
        NEAREST, found.ctypes.data, sizes.ctypes.data,
    )  # fmt: skip
    if count < 0:
        raise MemoryError
    none = np.zeros(0, dtype=np.int64)
    return found[:count].copy(), sizes[:count].copy(), none, none


def heights(window: ShadowMap, corners: tuple[Floats, Floats, Floats], which: Indices) -> None:
    """Draw triangles into a window.

    :param corners: (n, 3) of u, v and z
    """
    assert LIBRARY is not None
    given = [_plain(each, np.float64) for each in (*corners, np.array(window.frame))]
    asked = _plain(which, np.int64)
    LIBRARY.cosim_heights(
        len(asked), asked.ctypes.data, *(each.ctypes.data for each in given), window.size,
        window.heights.ctypes.data,
    )  # fmt: skip


def paint(
    pieces: tuple[Indices, Indices],
    lens: _Lens,
    palettes: tuple[Pixels, Pixels] | None,
    shadows: ShadowTask | None,
    grain: GrainTask | None,
    sky: tuple[Pixels, int] | None,
    pixels: Pixels | None = None,
) -> Pixels:
    """The colours of a picture (height * width).

    :param pieces: triangles, -1 for the sky, and how many pixels each has
    :param palettes: colours of triangles in the sun and in shadow; None: ``pixels`` has colours
    :param sky: pixels of the rows that have some, and the first one of these rows; None: later
    :param pixels: what is gone on with
    :raises MemoryError: there is not enough for some rows
    """
    assert LIBRARY is not None
    width, height, focal = lens
    shades = grains = in_sun = None
    kept: list[Any] = []  # until C has returned
    if palettes is not None:
        kept = [_plain(each, np.uint32) for each in palettes]
        in_sun = kept[0].ctypes.data
    if shadows is not None and palettes is not None:
        frames = np.array([each.frame for each in shadows.maps], dtype=np.float64)
        sizes = np.array([each.size for each in shadows.maps], dtype=np.int64)
        heights = [_plain(each.heights, np.float32) for each in shadows.maps]
        places = np.array([each.ctypes.data for each in heights], dtype=np.uintp)
        given = [_plain(each, np.float64) for each in shadows[1:4]]
        kept += [frames, sizes, heights, places, given]
        shades = byref(
            _Shadows(
                shadows.step, len(sizes), focal, *(each.ctypes.data for each in given),
                frames.ctypes.data, sizes.ctypes.data, places.ctypes.data, kept[1].ctypes.data,
                *shadows.limits,
            )
        )  # fmt: skip
    if grain is not None:
        table, noise, starts = (
            _plain(each, kind)
            for each, kind in zip(grain[:3], (np.float32, np.int8, np.int32), strict=True)
        )
        kept += [table, noise, starts]
        grains = byref(
            _Grain(
                table.ctypes.data, noise.ctypes.data, starts.ctypes.data, grain.power,
                grain.levels, grain.least,
            )
        )  # fmt: skip
    numbers = [_plain(each, np.int64) for each in pieces]
    heaven, first = (
        (np.zeros(0, np.uint32), 0) if sky is None else (_plain(sky[0], np.uint32), sky[1])
    )
    if pixels is None:
        pixels = np.empty(width * height, dtype=np.uint32)
    result = LIBRARY.cosim_paint(
        width, height, numbers[0].ctypes.data, numbers[1].ctypes.data,
        in_sun, shades, grains, heaven.ctypes.data, first,
        first + len(heaven) // width, pixels.ctypes.data,
    )  # fmt: skip
    if result < 0:
        raise MemoryError
    return pixels


def cast_in_c(
    around: list[tuple[Mesh, Indices]], rays: Rays, directions: Floats
) -> tuple[Floats, Indices, int]:
    """What each ray meets first.

    :param around: triangles that may be met, of several meshes; they are counted through all
    :param directions: (rows * columns, 3) unit vectors
    :returns: distances [m], infinite for nothing; numbers of triangles; how many are within reach
    """
    assert LIBRARY is not None
    count = len(directions)
    ranks, distances = np.full(count, np.inf), np.full(count, np.inf)
    found = np.full(count, -1)
    given = [_plain(each, np.float64) for each in (np.array(rays.eye), *rays[1:3], directions)]
    order = _plain(rays.order, np.int64)
    axes, ring, slopes, ways = (each.ctypes.data for each in given)
    grid = _Rays(
        axes, ring, slopes, order.ctypes.data, len(order) // 2, len(rays.slopes), *rays[4:]
    )
    begin = within = 0
    for mesh, which in around:
        floats = (mesh.points, mesh.normals, mesh.centres, mesh.radii)
        parts = [
            _plain(which, np.int64), *(_plain(each, np.float64) for each in floats),
            _plain(mesh.levels, np.uint8),
        ]  # fmt: skip
        within += LIBRARY.cosim_cast(
            len(which), *(each.ctypes.data for each in parts), byref(grid), ways, begin,
            ranks.ctypes.data, distances.ctypes.data, found.ctypes.data,
        )  # fmt: skip
        begin += len(which)
    return distances, found, within


def _plain(values: Any, kind: Any) -> Any:
    """An array as C has it: one value behind the other."""
    return np.ascontiguousarray(values, dtype=kind)
