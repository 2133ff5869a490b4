# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Which triangle a camera sees in each pixel: spans of rows, and the nearest span wins.

A pixel sees what the ray through its centre meets. One over the depth is linear over the image
of a triangle, so it is compared instead of the depth.
"""

from __future__ import annotations

from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from ros2_cosim.world.headless.sensing import native
from ros2_cosim.world.headless.sensing.axes import NEAREST, BodyAxes, Floats
from ros2_cosim.world.headless.sensing.mesh import (
    LEVEL_STEP,
    Flags,
    Indices,
    Mesh,
    cross,
    dot,
    portions,
    ranges,
    taken,
)
from ros2_cosim.world.headless.sensing.occluders import Hiding
from ros2_cosim.world.headless.sensing.scene import TriangleScene

_Value = TypeVar("_Value", bound=np.generic)

# Details are seen up to where the balls around them are so large [pixels].
_DETAIL_PIXELS = 4.0
# Pixels (with those that lie behind others) that are compared at once: bounds the memory.
_MOST_PIXELS = 4_000_000


class Lens(NamedTuple):
    """Size of the image and the focal length, all in pixels."""

    width: int
    height: int
    focal: float


class View(NamedTuple):
    """A picture before it is coloured.

    :ivar mesh: the triangles in the picture's frame of view
    :ivar planes: (triangles, 3) one over the depth is a + b x + c y; x to the right, y down, both
        in pixels from the middle of the image
    :ivar found: numbers of triangles, -1 for the sky, of pieces of rows; and ``sizes`` of those
    :ivar pixels: the pixels that differ from their piece, and the triangles ``nearest`` there
    """

    mesh: Mesh
    planes: Floats
    found: Indices
    sizes: Indices
    pixels: Indices
    nearest: Indices

    def picture(self, values: NDArray[_Value]) -> NDArray[_Value]:
        """Values of triangles, the last one for the sky, in each pixel (height * width)."""
        picture = np.repeat(values[self.found], self.sizes)
        picture[self.pixels] = values[self.nearest]
        return picture

    @property
    def seen(self) -> Indices:
        """(height * width) number of the triangle, -1 for the sky."""
        return self.picture(np.append(np.arange(len(self.mesh)), -1))

    def sky_rows(self, width: int) -> tuple[int, int]:
        """The first row with sky, and the last one + 1; twice 0: none has any.

        :param width: of the picture [pixels]
        """
        ends, is_sky = np.cumsum(self.sizes), self.found < 0
        alone = self.pixels[self.nearest < 0]
        ends, begins = ends[is_sky], (ends - self.sizes)[is_sky]
        if not len(ends) + len(alone):
            return 0, 0
        first = min(int(part[0]) for part in (begins, alone) if len(part))
        last = max(int(part[-1]) for part in (ends - 1, alone) if len(part))
        return first // width, last // width + 1

    def pieces(self) -> tuple[Indices, Indices]:
        """Triangles, -1 for the sky, of pieces that have one each, and how many pixels they are."""
        if not len(self.pixels):
            return self.found, self.sizes
        seen = self.seen
        cuts = np.flatnonzero(np.diff(seen, prepend=-2))
        return seen.take(cuts), np.diff(cuts, append=len(seen))


def render(scene: TriangleScene, eye: BodyAxes, lens: Lens) -> View:
    """What a camera sees."""
    reach = 1.0 + lens.focal / _DETAIL_PIXELS

    def in_view(centres: Floats, radii: Floats) -> Flags:
        return _in_view(centres, radii, eye, lens)

    def near(centres: Floats, radii: Floats) -> Flags:
        return _is_close(centres, radii, eye, reach) & in_view(centres, radii)

    hiding = None if scene.walls is None else Hiding(scene.walls, eye.origin).hidden
    faced, made = (
        (faces, picture) if native.LIBRARY is None else (native.faces_in_c, native.picture_in_c)
    )
    chosen, parts = [], []
    for mesh, which in scene.near(in_view, near, hiding):
        is_detail = scene.details is not None and mesh is scene.details[0]
        kept, *part = faced(mesh, which, eye, lens, reach if is_detail else 0.0)
        chosen.append((mesh, kept))
        parts.append(part)
    points, planes = (np.concatenate(values) for values in zip(*parts, strict=True))
    levels = np.concatenate([mesh.levels.take(which) for mesh, which in chosen])
    scales = 1.0 + LEVEL_STEP * levels.astype(np.float64)
    return _of_the_shown(chosen, planes, *made(points, planes, scales, lens))


def faces(
    mesh: Mesh, which: Indices, eye: BodyAxes, lens: Lens, reach: float
) -> tuple[Indices, Floats, Floats]:
    """The triangles whose front may be seen, their corners in the eye's frame, and their planes.

    :param which: those of the mesh that are asked about
    :param reach: if it is more than 0, only those that are at most so many radii away
    """
    centres, radii = mesh.centres.take(which, 0), mesh.radii.take(which)
    near = _in_view(centres, radii, eye, lens)
    if reach > 0.0:
        near &= _is_close(centres, radii, eye, reach)
    which = which[near]
    points = eye.inside(mesh.points.take(which, axis=0))
    normals = cross(points[:, 1] - points[:, 0], points[:, 2] - points[:, 0])
    offsets = dot(points[:, 0], normals)
    front = np.flatnonzero(offsets < 0.0)
    # A ray (1, x / f, -y / f) meets the plane at the depth offset / (ray . normal).
    planes = normals.take(front, 0) / offsets.take(front)[:, None]
    planes[:, 1] /= lens.focal
    planes[:, 2] /= 0.0 - lens.focal
    return which.take(front), points.take(front, 0), planes


def _of_the_shown(
    chosen: list[tuple[Mesh, Indices]],
    planes: Floats,
    found: Indices,
    sizes: Indices,
    pixels: Indices,
    nearest: Indices,
) -> View:
    """A view that has only the triangles that it shows: all that follows is quicker."""
    shown = np.zeros(len(planes) + 1, dtype=bool)  # the last one is the sky
    shown[found] = shown[nearest] = True
    shown[-1] = False
    numbers = np.cumsum(shown) - 1
    numbers[-1] = -1
    which = shown[:-1]
    return View(
        taken(chosen, which), planes[which], numbers.take(found), sizes, pixels,
        numbers.take(nearest),
    )  # fmt: skip


def picture(
    points: Floats, planes: Floats, scales: Floats, lens: Lens
) -> tuple[Indices, Indices, Indices, Indices]:
    """What is nearest in each pixel, as a view has it.

    :param points: (n, 3, 3) corners of triangles in the eye's frame
    :param planes: as those of a view
    :param scales: (n) factors of one over the depth, in the comparison
    """
    corners, owners = _clipped(points)
    rows, starts, stops, owners = _spans(corners, owners, lens)
    # Along a span, one over the depth times the factor of the level is a + b column.
    scale = scales[owners]
    b = planes[owners, 1] * scale
    a = (planes[owners, 0] + planes[owners, 2] * (rows + (0.5 - 0.5 * lens.height))) * scale
    a += b * (0.5 - 0.5 * lens.width)
    rows *= lens.width
    return visible(rows + starts, rows + stops, a, b, owners, lens)


def depths(view: View, lens: Lens) -> Floats:
    """Depth along the camera's axis (height * width) [m]; infinite in the sky."""
    x, y = pixel_centres(lens)
    sky = view.seen < 0
    if not len(view.planes):
        return np.full(len(sky), np.inf)
    a, b, c = (np.ascontiguousarray(view.planes[:, i])[view.seen] for i in range(3))
    inverse = (a + b * np.tile(x, lens.height)) + c * np.repeat(y, lens.width)
    return np.where(sky, np.inf, 1.0 / np.where(sky, 1.0, inverse))


def pixel_centres(lens: Lens) -> tuple[Floats, Floats]:
    """X of the columns and y of the rows, from the middle of the image [pixels]."""
    x = np.arange(lens.width, dtype=np.float64) + (0.5 - 0.5 * lens.width)
    y = np.arange(lens.height, dtype=np.float64) + (0.5 - 0.5 * lens.height)
    return x, y


def _is_close(centres: Floats, radii: Floats, eye: BodyAxes, reach: float) -> Flags:
    """Balls that are at most so many radii away."""
    away = centres - np.array(eye.origin)
    close: Flags = dot(away, away) < (reach * radii) * (reach * radii)
    return close


def _in_view(centres: Floats, radii: Floats, eye: BodyAxes, lens: Lens) -> Flags:
    """Balls that are not wholly beside the view or behind it."""
    depth, right, up = eye.inside(centres).T.copy()
    inside: Flags = depth + radii > NEAREST
    for across, half in ((right, 0.5 * lens.width), (up, 0.5 * lens.height)):
        # Distance beyond the side planes of the view, which open by half / focal.
        reach = radii * np.sqrt(half * half + lens.focal * lens.focal) * 1.000001
        inside &= np.abs(across) * lens.focal - depth * half <= reach
    return inside


def _clipped(points: Floats) -> tuple[Floats, Indices]:
    """Triangles (n, 3, 3) without their parts behind the near plane, and whose parts they are."""
    behind = points[..., 0] < NEAREST
    count = behind[:, 0].astype(np.int64) + behind[:, 1] + behind[:, 2]
    whole = np.flatnonzero(count == 0)
    corners, owners = [points.take(whole, axis=0)], [whole]
    for number in (1, 2):
        which = np.flatnonzero(count == number)
        if not len(which):
            continue
        # Turn the lone corner to the first place.
        lone = behind[which] if number == 1 else ~behind[which]
        first = lone.argmax(axis=1)
        a, b, c = (points[which, (first + i) % 3] for i in range(3))
        ab, ac = _cut(a, b), _cut(a, c)
        if number == 2:
            corners.append(np.stack((a, ab, ac), axis=1))
            owners.append(which)
        else:
            corners += [np.stack((ab, b, c), axis=1), np.stack((ab, c, ac), axis=1)]
            owners += [which, which]
    return np.concatenate(corners), np.concatenate(owners)


def _cut(a: Floats, b: Floats) -> Floats:
    """Where edges from a to b (n, 3) pass the near plane."""
    share = (NEAREST - a[:, 0]) / (b[:, 0] - a[:, 0])
    return a + share[:, None] * (b - a)


def _spans(
    corners: Floats, owners: Indices, lens: Lens
) -> tuple[Indices, Indices, Indices, Indices]:
    """Rows, first and last + 1 columns, and triangles of the spans that triangles cover."""
    depth = corners[..., 0]
    # Columns and rows where pixel n has its centre at n.
    x = (corners[..., 1] / depth * lens.focal + (0.5 * lens.width - 0.5)).T.copy()
    y = ((0.5 * lens.height - 0.5) - corners[..., 2] / depth * lens.focal).T.copy()
    row, start, stop, which = spans(x, y, lens.width, lens.height)
    return row, start, stop, owners.take(which)


def spans(
    x: Floats, y: Floats, width: int, height: int
) -> tuple[Indices, Indices, Indices, Indices]:
    """Rows, first and last + 1 columns, and numbers of the triangles that cover them.

    :param x: (3 corners, n) columns, and ``y`` rows: the middle of one is a whole number
    """
    top = np.clip(np.ceil(y.min(axis=0)), 0, height).astype(np.int64)
    bottom = np.clip(np.ceil(y.max(axis=0)), 0, height).astype(np.int64)
    count = np.where((x.max(axis=0) > -1.0) & (x.min(axis=0) < width), bottom - top, 0)
    which = np.repeat(np.arange(x.shape[1]), count)
    row = ranges(top, count)
    level = row.astype(np.float64)
    left = np.full(len(which), np.inf)
    right = np.full(len(which), -np.inf)
    for i, j in ((0, 1), (1, 2), (2, 0)):
        rise = y[j] - y[i]
        slope = (x[j] - x[i]) / np.where(rise == 0.0, 1.0, rise)
        y0, y1 = y[i].take(which), y[j].take(which)
        at = x[i].take(which) + (level - y0) * slope.take(which)
        passes = (y0 <= level) != (y1 <= level)
        left = np.minimum(left, np.where(passes, at, np.inf))
        right = np.maximum(right, np.where(passes, at, -np.inf))
    start = np.clip(np.ceil(left), 0.0, float(width)).astype(np.int64)
    stop = np.clip(np.ceil(right), 0.0, float(width)).astype(np.int64)
    filled = np.flatnonzero(stop > start)
    return row.take(filled), start.take(filled), stop.take(filled), which.take(filled)


def visible(
    begins: Indices, ends: Indices, a: Floats, b: Floats, owners: Indices, lens: Lens
) -> tuple[Indices, Indices, Indices, Indices]:
    """What is nearest in each pixel, as a view has it.

    The ends of spans cut the picture into pieces, in each of which the same spans compete. Most are
    won at both ends, and so throughout, by more than rounding; only the others need each pixel.

    :param begins: of spans, numbers of pixels; and ``ends``: a span is nearest where ``a + b
        column`` is largest, and the last one of those that are equal
    """
    marks = np.zeros(lens.width * lens.height + 1, dtype=bool)
    marks[0] = marks[-1] = True
    marks[begins] = marks[ends] = True
    cuts = np.flatnonzero(marks)
    sizes = np.diff(cuts)
    ranks = np.empty(len(marks), dtype=np.int64)  # of cuts only
    ranks[cuts] = np.arange(len(cuts))
    first = ranks.take(begins)
    counts = ranks.take(ends) - first
    spans, pieces = np.repeat(np.arange(len(owners)), counts), ranges(first, counts)
    slack = (1.0e-15 * (np.abs(a) + np.abs(b) * lens.width)).take(spans)
    a, b = a.take(spans), b.take(spans)
    column = (cuts % lens.width).astype(np.float64).take(pieces)
    last = column + (sizes - 1.0).take(pieces)
    may = np.zeros(len(spans), dtype=bool)  # be the nearest one
    leads = ~may
    won = np.ones(len(sizes), dtype=bool)
    for value in (a + b * column, a + b * last):
        least = value - slack
        best = np.zeros(len(sizes))
        np.maximum.at(best, pieces, least)
        won &= best > 0.0
        best = best.take(pieces)
        leads &= least == best
        may |= value + slack >= best
    led = np.zeros(len(sizes), dtype=bool)
    led[pieces[leads]] = True
    may |= ~led.take(pieces)
    left = np.flatnonzero(may)
    pieces, owners = pieces.take(left), owners.take(spans.take(left))
    won &= np.bincount(pieces, minlength=len(sizes)) == 1
    found = np.full(len(sizes), -1)
    clear = won.take(pieces)
    found[pieces[clear]] = owners[clear]
    left, pieces, owners = left[~clear], pieces[~clear], owners[~clear]
    a, b, columns = a.take(left), b.take(left), column.take(left).astype(np.int64)
    # Pixels of such pieces, with those that lie behind others; place: among those pixels.
    disputed = np.zeros(len(sizes), dtype=bool)
    disputed[pieces] = True
    found[disputed] = 0
    which = np.flatnonzero(disputed)
    places = np.zeros(len(sizes), dtype=np.int64)
    places[which] = np.cumsum(sizes[which]) - sizes[which]
    pixels = ranges(cuts[which], sizes[which])
    nearest, seen = np.zeros(len(pixels)), np.full(len(pixels), -1)
    counts = sizes[pieces]
    for part in portions(counts, _MOST_PIXELS):
        size = counts[part]
        inverse = np.repeat(a[part], size) + np.repeat(b[part], size) * ranges(columns[part], size)
        place = ranges(places[pieces[part]], size)
        np.maximum.at(nearest, place, inverse)
        nearer = inverse == nearest[place]
        seen[place[nearer]] = np.repeat(owners[part], size)[nearer]
    return found, sizes, pixels, seen
