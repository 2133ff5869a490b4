# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What fog, rain and water do to the picture of a colour camera.

Wet pavement shows the sky, the more the flatter one looks at it; ponds do so always. Each pixel is
blended to the colour of the horizon by the way to what it shows. In rain drops that are near are
seen as bright strokes, drawn anew in each frame.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from ros2_cosim.world.headless.labels import ROAD_LINES, ROADS, SIDEWALKS, WATER
from ros2_cosim.world.headless.sensing.air import WeatherAir
from ros2_cosim.world.headless.sensing.axes import BodyAxes
from ros2_cosim.world.headless.sensing.coarse import Coarse
from ros2_cosim.world.headless.sensing.draws import Words
from ros2_cosim.world.headless.sensing.exact_arrays import exp
from ros2_cosim.world.headless.sensing.mesh import Flags, ranges
from ros2_cosim.world.headless.sensing.raster import Lens, View

Pixels = NDArray[np.uint32]

_ALL: Final = 256  # steps from a colour to that of the fog
_OPAQUE: Final = 0xFF000000
# Thickness and height come in steps, each of which has its veil, and its fog, in a table.
_STEPS_OF_ONE, _THICKEST = 64, 8
_STEP_UP, _HIGHEST = 0.5, 128.0  # m

# So much of the sky is seen at a flat angle, on surfaces that are about level.
_MIRROR: Final = 0.75
_LEVEL: Final = 0.9
_PAVED: Final = (ROADS, SIDEWALKS, ROAD_LINES)

# Strokes in the heaviest rain as a share of the pixels, their lengths as shares of the picture.
_STROKES: Final = 1.2e-3
_LENGTHS: Final = 0.012, 0.07
_STROKE_VEIL: Final = 56
_WIDE: Final = 1000  # pixels of a picture's width for each of a stroke's
_HEAVIEST: Final = 50.0  # mm/h
_UNIFORM: Final = 2.0**-53


def veil(
    pixels: Pixels, view: View, lens: Lens, eye: BodyAxes, air: WeatherAir, colour: int
) -> None:
    """Blend what a picture shows to the colour of the fog; not the sky."""
    coarse = Coarse(view, lens)
    which = np.flatnonzero(coarse.seen >= 0)
    away, longer, rise = coarse.depths(which), *coarse.rays(which, eye)
    height = np.clip(eye.origin.z + away * rise, 0.0, _HIGHEST)
    away *= longer
    levels = np.arange(int(_HIGHEST / _STEP_UP) + 1).astype(np.float64) * _STEP_UP
    fog = air.mean(eye.origin.z, levels).take((height / _STEP_UP + 0.5).astype(np.int64))
    thickness = np.maximum(away - air.begin, 0.0) * (air.in_fog * fog) + away * air.in_rain
    steps = np.minimum(thickness * _STEPS_OF_ONE + 0.5, float(_THICKEST * _STEPS_OF_ONE))
    left = exp(np.arange(_THICKEST * _STEPS_OF_ONE + 1) / (0.0 - _STEPS_OF_ONE))
    table = ((1.0 - left) * _ALL + 0.5).astype(np.uint32)
    shares = np.zeros(len(coarse.seen), dtype=np.uint32)
    shares[which] = table.take(steps.astype(np.int64))
    pixels[:] = blended(pixels, colour, coarse.spread(shares))


def mirror(pixels: Pixels, view: View, lens: Lens, eye: BodyAxes, wet: float, colour: int) -> None:
    """Let pavement, as far as it is wet, and ponds show the sky.

    :param wet: 0 to 1
    """
    tags, level = view.mesh.tags, view.mesh.normals[:, 2] > _LEVEL
    most = np.where(np.isin(tags, _PAVED) & level, _MIRROR * wet, 0.0)
    most = np.append(np.where(tags == WATER, _MIRROR, most), 0.0)
    if not most.any():
        return
    shares = view.picture((most * _ALL + 0.5).astype(np.uint32))
    which = np.flatnonzero(shares)
    coarse = Coarse(view, lens)
    longer, rise = coarse.rays(coarse.of_pixels(which), eye)
    flat = np.clip(1.0 + rise / longer, 0.0, 1.0)
    flat *= flat
    slanted = (flat * flat * _ALL + 0.5).astype(np.uint32)
    shares = shares.take(which) * slanted >> np.uint32(8)
    pixels[which] = blended(pixels.take(which), colour, shares)


def rain_strokes(pixels: Pixels, lens: Lens, rain: float, key: int, colour: int) -> None:
    """Draw drops that fall before a camera.

    :param rain: [mm/h]
    :param key: of the random numbers by which they are drawn
    """
    count = int(_STROKES * lens.width * lens.height * rain / _HEAVIEST)
    words = Words(key).part(0, 3 * count)
    column, row, size = ((words >> np.uint64(11)).astype(np.float64) * _UNIFORM).reshape(3, -1)
    short, long = (share * lens.height + 1.0 for share in _LENGTHS)
    lengths = (short + (long - short) * size * size).astype(np.int64)
    wide = 1 + lens.width // _WIDE
    columns = np.repeat((column * (lens.width - wide)).astype(np.int64), lengths)
    rows = ranges((row * lens.height).astype(np.int64), lengths)
    inside: Flags = rows < lens.height
    places = (rows * lens.width + columns)[inside]
    # Where strokes cross, each makes the same of what was there before.
    covered = (places[:, None] + np.arange(wide)).reshape(-1)
    veils = np.full(len(covered), _STROKE_VEIL, dtype=np.uint32)
    pixels[covered] = blended(pixels.take(covered), colour, veils)


def blended(pixels: Pixels, colour: int, shares: Pixels) -> Pixels:
    """Pixels that are moved to a colour 0xRRGGBB by shares of 256; they become opaque."""
    left, result = np.uint32(_ALL) - shares, np.full_like(pixels, _OPAQUE)
    # Red and blue at once, then green: each has room for the product with a share.
    for lanes, down in ((0xFF00FF, 0), (0x0000FF, 8)):
        shift, part = np.uint32(down), np.uint32(lanes)
        towards = np.uint32(colour >> down & lanes)
        moved = (pixels >> shift & part) * left + towards * shares
        result |= (moved >> np.uint32(8) & part) << shift
    return result
