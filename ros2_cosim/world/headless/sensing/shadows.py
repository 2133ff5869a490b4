# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Where the sun does not come: shadows of houses, plants, poles, vehicles and people.

A place (x, y, z) moves along the sun's rays down to the level 0, to (u, v). Of all that lies on one
ray the highest thing is nearest to the sun: so the map of heights over (u, v) says what is in
shadow. Maps have three levels of detail around an eye; what stands still is drawn into tiles that
are kept. The ground casts no shadow, and the sun of shadows moves in steps of a degree.
"""

from __future__ import annotations

from threading import Lock
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ros2_cosim.world.headless.labels import GROUND, ROAD_LINES, ROADS, SIDEWALKS, TERRAIN
from ros2_cosim.world.headless.sensing import native
from ros2_cosim.world.headless.sensing.axes import BodyAxes, Floats, axes_of
from ros2_cosim.world.headless.sensing.coarse import Coarse, cell_size
from ros2_cosim.world.headless.sensing.mesh import Flags, Indices, Mesh, dot, ranges
from ros2_cosim.world.headless.sensing.native import ShadowMap, ShadowTask
from ros2_cosim.world.headless.sensing.raster import Lens, View, spans
from ros2_cosim.world.headless.sensing.scene import TriangleScene
from ros2_cosim.world.headless.wire_types import Rotation, Transform, Vector, Weather

Heights = NDArray[np.float32]

# Below this height of the sun [deg], and under so many clouds [%], there are no shadows.
_LOWEST, _OVERCAST = 5.0, 80.0
_NO_CASTERS: Final = (ROADS, SIDEWALKS, ROAD_LINES, TERRAIN, GROUND)
# Levels of detail: size of a texel [m], and how large [m] what casts a shadow is at least.
_LEVELS: Final = ((0.0625, 0.0), (0.25, 0.15), (1.0, 0.7))
_TILE: Final = 192  # texels
_AROUND: Final = 2  # tiles on each side of the eye's
_MOST_TILES, _MOST_WINDOWS = 160, 9  # that are kept
# A surface is so far before its own shadow [m], and more where it is flat to the sun; at most so
# many texels.
_BEFORE, _MOST_BEFORE = 0.06, 6.0
# Surfaces that are flatter to the sun have its light nowhere.
_FACING: Final = 0.02
_EMPTY: Final = -1.0e6  # m


class _Window(NamedTuple):
    """Heights of a level from a corner (u, v) on, row after row along u."""

    texel: float
    corner: tuple[float, float]
    size: int
    heights: Heights


class Shade(NamedTuple):
    """The shadows around an eye.

    :ivar sun: unit vector towards it
    :ivar windows: from fine to coarse
    """

    sun: Vector
    windows: tuple[_Window, ...]

    def falls(self, u: Floats, v: Floats, z: Floats, leans: Floats) -> Flags:
        """Which places are in shadow.

        :param u: where the sun's rays through them meet the level 0 [m], and ``v``
        :param leans: by how much their surface rises along u and v, summed
        """
        found = np.zeros(len(u), dtype=bool)
        left = np.arange(len(u))
        for texel, (u0, v0), size, heights in self.windows:
            i = (u - u0) * (1.0 / texel)
            j = (v - v0) * (1.0 / texel)
            inside = (i >= 0.0) & (i < size) & (j >= 0.0) & (j < size)
            within = np.flatnonzero(inside)
            place = i.take(within).astype(np.int64) * size + j.take(within).astype(np.int64)
            before = _BEFORE + texel * np.minimum(leans.take(within), _MOST_BEFORE)
            found[left.take(within)] = heights.take(place) > z.take(within) + before
            rest = np.flatnonzero(~inside)
            if not len(rest):
                break
            left = left.take(rest)
            u, v, z, leans = u.take(rest), v.take(rest), z.take(rest), leans.take(rest)
        return found


class _Casters:
    """Triangles along the sun's rays: corners (n, 3) of u, v and z each, and what they cover."""

    def __init__(self, mesh: Mesh, sun: Vector) -> None:
        mesh = mesh.take(~np.isin(mesh.tags, _NO_CASTERS))
        self.u, self.v, self.z = along(mesh.points, sun)
        self.radii = mesh.radii
        self.low_u, self.high_u = self.u.min(axis=1), self.u.max(axis=1)
        self.low_v, self.high_v = self.v.min(axis=1), self.v.max(axis=1)

    def on(self, window: _Window, least: float) -> Indices:
        """The numbers of those that are at least so large [m], and lie over a window."""
        texel, (u0, v0), size, _ = window
        reach = texel * size
        return np.flatnonzero(
            (self.high_u > u0) & (self.low_u < u0 + reach)
            & (self.high_v > v0) & (self.low_v < v0 + reach) & (self.radii >= least)
        )  # fmt: skip

    def draw(self, window: _Window, which: Indices) -> None:
        """Draw some of them into a window."""
        if native.LIBRARY is not None:
            native.heights(_map_of(window), (self.u, self.v, self.z), which)
            return
        texel, (u0, v0), size, heights = window
        # Texels have their middles at whole numbers.
        x = ((self.v.take(which, 0) - v0) * (1.0 / texel) - 0.5).T
        y = ((self.u.take(which, 0) - u0) * (1.0 / texel) - 0.5).T
        z = self.z.take(which, 0).T
        x1, x2, y1, y2, z1, z2 = x[1] - x[0], x[2] - x[0], y[1] - y[0], y[2] - y[0], \
            z[1] - z[0], z[2] - z[0]  # fmt: skip
        area = x1 * y2 - x2 * y1
        seen = np.abs(area) > 1.0e-9
        area = np.where(seen, area, 1.0)
        rise_x, rise_y = (z1 * y2 - z2 * y1) / area, (x1 * z2 - x2 * z1) / area
        rows, starts, stops, owners = spans(x, y, size, size)
        counts = stops - starts
        columns, owners = ranges(starts, counts), np.repeat(owners, counts)
        rows = np.repeat(rows, counts)
        # Between the corners, whatever rounding makes of thin triangles.
        values = z[0].take(owners) + rise_x.take(owners) * (columns - x[0].take(owners))
        values += rise_y.take(owners) * (rows - y[0].take(owners))
        low, high = z.min(axis=0), z.max(axis=0)
        values = np.minimum(np.maximum(values, low.take(owners)), high.take(owners))
        kept = seen.take(owners)
        places = (rows * size + columns)[kept]
        np.maximum.at(heights, places, values[kept].astype(np.float32))


class ShadowMaps:
    """Makes the shadows around eyes, and keeps what stands still; any thread may ask."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._map: Mesh | None = None
        self._scene: TriangleScene | None = None
        self._sun = Vector()
        self._fixed: _Casters | None = None
        self._moving: _Casters | None = None
        self._tiles: dict[tuple[int, int, int], Heights] = {}
        self._still: dict[tuple[int, int, int], _Window] = {}
        self._windows: dict[tuple[int, int, int], _Window] = {}

    def around(self, scene: TriangleScene, eye: Vector, weather: Weather) -> Shade | None:
        """The shadows around an eye; None: there are none."""
        if weather.sun_altitude_angle < _LOWEST or weather.cloudiness >= _OVERCAST:
            return None
        sun = sun_of(weather)
        with self._lock:
            self._follow(scene, sun)
            u, v, _ = _slanted(eye, sun)
            windows = [
                self._window(level, int(u // (texel * _TILE)), int(v // (texel * _TILE)))
                for level, (texel, _) in enumerate(_LEVELS)
            ]
            return Shade(sun, tuple(windows))

    def _follow(self, scene: TriangleScene, sun: Vector) -> None:
        """Forget what belongs to another map, frame or sun."""
        if scene.map is not self._map or sun != self._sun:
            self._fixed, self._map, self._sun = _Casters(scene.map, sun), scene.map, sun
            self._scene = None
            self._tiles.clear()
            self._still.clear()
        if scene is not self._scene:
            self._moving, self._scene = _Casters(scene.actors, sun), scene
            self._windows.clear()

    def _window(self, level: int, i: int, j: int) -> _Window:
        """What is around a tile, with what moves, which casts no shadow in the coarsest level."""
        assert self._moving is not None
        key = level, i, j
        if key not in self._windows:
            window = self._fixed_window(*key)
            least = _LEVELS[level][1]
            moving = self._moving.on(window, least)
            if level + 1 < len(_LEVELS) and len(moving):
                window = window._replace(heights=window.heights.copy())
                self._moving.draw(window, moving)
            self._windows[key] = window
        return self._windows[key]

    def _fixed_window(self, level: int, i: int, j: int) -> _Window:
        """What stands still around a tile."""
        key = level, i, j
        window = self._still.get(key)
        if window is None:
            texel, count = _LEVELS[level][0], 2 * _AROUND + 1
            size = count * _TILE
            whole = np.empty((size, size), dtype=np.float32)
            for di in range(count):
                for dj in range(count):
                    tile = self._tile(level, i + di - _AROUND, j + dj - _AROUND)
                    whole[di * _TILE : (di + 1) * _TILE, dj * _TILE : (dj + 1) * _TILE] = tile
            corner = (i - _AROUND) * _TILE * texel, (j - _AROUND) * _TILE * texel
            window = _Window(texel, corner, size, whole.reshape(-1))
            if len(self._still) >= _MOST_WINDOWS:
                del self._still[next(iter(self._still))]
            self._still[key] = window
        return window

    def _tile(self, level: int, i: int, j: int) -> Heights:
        assert self._fixed is not None
        key = level, i, j
        tile = self._tiles.pop(key, None)
        if tile is None:
            texel, least = _LEVELS[level]
            flat = np.full(_TILE * _TILE, _EMPTY, dtype=np.float32)
            corner = i * _TILE * texel, j * _TILE * texel
            window = _Window(texel, corner, _TILE, flat)
            self._fixed.draw(window, self._fixed.on(window, least))
            tile = flat.reshape(_TILE, _TILE)
        self._tiles[key] = tile  # the one that was used last is the last one
        while len(self._tiles) > _MOST_TILES:
            del self._tiles[next(iter(self._tiles))]
        return tile


def sun_of(weather: Weather) -> Vector:
    """Unit vector towards the sun of shadows: in steps of a degree."""
    altitude, azimuth = weather.sun_altitude_angle, weather.sun_azimuth_angle
    turned = Rotation(float(np.floor(altitude + 0.5)), float(np.floor(azimuth + 0.5)))
    return axes_of(Transform(Vector(), turned)).forward


def along(points: Floats, sun: Vector) -> tuple[Floats, Floats, Floats]:
    """Where the sun's rays through points (..., 3) meet the level 0, u and v, and heights [m]."""
    x, y, z = (np.ascontiguousarray(points[..., part]) for part in range(3))
    return x - z * (sun.x / sun.z), y - z * (sun.y / sun.z), z


def shaded_pixels(view: View, lens: Lens, eye: BodyAxes, shade: Shade) -> tuple[Indices, Indices]:
    """The pixels (numbers) of a picture that show what is in shadow, and the triangles there."""
    coarse = Coarse(view, lens)
    leans = _leans(view.mesh, shade.sun)
    which = np.flatnonzero(np.append(leans, -1.0)[coarse.seen] >= 0.0)
    depth = coarse.depths(which)
    x, y = coarse.places(which)
    x /= lens.focal
    y /= lens.focal
    u, v, z = (
        start + depth * ((ahead + x * right) - y * up)
        for start, ahead, right, up in zip(*(_slanted(a, shade.sun) for a in eye), strict=True)
    )
    hidden = shade.falls(u, v, z, leans.take(coarse.seen.take(which)))
    mask = np.zeros(len(coarse.seen), dtype=bool)
    mask[which[hidden]] = True
    pixels = np.flatnonzero(coarse.spread(mask))
    return pixels, view.seen.take(pixels)


def shadow_task(view: View, lens: Lens, eye: BodyAxes, shade: Shade) -> ShadowTask:
    """The same for what computes pixel by pixel."""
    return ShadowTask(
        cell_size(lens), view.planes, _leans(view.mesh, shade.sun),
        np.array([_slanted(axis, shade.sun) for axis in eye]).T.copy(),
        [_map_of(window) for window in shade.windows],
        (_BEFORE, _MOST_BEFORE),
    )  # fmt: skip


def _map_of(window: _Window) -> ShadowMap:
    return ShadowMap((*window.corner, window.texel), window.size, window.heights)


def _leans(mesh: Mesh, sun: Vector) -> Floats:
    """By how much triangles rise along u and v, summed; below 0 of those that face no sun."""
    facing = dot(mesh.normals, np.array(sun))
    leans = (np.abs(mesh.normals[:, 0]) + np.abs(mesh.normals[:, 1])) * sun.z
    return np.where(facing > _FACING, 0.5 * leans / np.maximum(facing, _FACING), -1.0)


def _slanted(axis: Vector, sun: Vector) -> tuple[float, float, float]:
    """A place or direction, moved along the sun's rays."""
    return axis.x - axis.z * (sun.x / sun.z), axis.y - axis.z * (sun.y / sun.z), axis.z
