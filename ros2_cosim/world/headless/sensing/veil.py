# SPDX-License-Identifier: Apache-2.0
"""What fog and rain do to the picture of a colour camera.

Each pixel is blended to the colour of the horizon by the way to what it shows; in rain drops that
are near are seen as bright strokes, drawn anew in each frame.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from ros2_cosim.world.headless.sensing.air import Air
from ros2_cosim.world.headless.sensing.axes import BodyAxes
from ros2_cosim.world.headless.sensing.draws import Words
from ros2_cosim.world.headless.sensing.exact_arrays import exp
from ros2_cosim.world.headless.sensing.mesh import Flags, Indices, ranges
from ros2_cosim.world.headless.sensing.raster import Lens, View, depths, pixel_centres

Pixels = NDArray[np.uint32]

_ALL: Final = 256  # steps from a colour to that of the fog
# Thickness and height come in steps, each of which has its veil, and its fog, in a table.
_STEPS_OF_ONE, _THICKEST = 64, 8
_STEP_UP, _HIGHEST = 0.5, 128.0  # m

# Strokes in the heaviest rain as a share of the pixels, their lengths as shares of the picture.
_STROKES: Final = 1.2e-3
_LENGTHS: Final = 0.012, 0.07
_STROKE_VEIL: Final = 56
_WIDE: Final = 1000  # pixels of a picture's width for each of a stroke's
_HEAVIEST: Final = 50.0  # mm/h
_UNIFORM: Final = 2.0**-53


def veil(pixels: Pixels, view: View, lens: Lens, eye: BodyAxes, air: Air, colour: int) -> None:
    """Blend what a picture shows to the colour of the fog; the sky is left as it is."""
    away = depths(view, lens)
    seen = np.flatnonzero(np.isfinite(away))
    x, y = pixel_centres(lens)
    across, down = x / lens.focal, y[:, None] / lens.focal
    longer = np.sqrt((1.0 + across * across) + down * down).reshape(-1)
    rise = ((eye.forward.z + across * eye.right.z) - down * eye.up.z).reshape(-1)
    away = away.take(seen)
    height = np.clip(eye.origin.z + away * rise.take(seen), 0.0, _HIGHEST)
    away *= longer.take(seen)
    levels = np.arange(int(_HIGHEST / _STEP_UP) + 1).astype(np.float64) * _STEP_UP
    means = air.mean(eye.origin.z, levels)
    fog = means.take((height / _STEP_UP + 0.5).astype(np.int64))
    thickness = np.maximum(away - air.begin, 0.0) * (air.in_fog * fog) + away * air.in_rain
    steps = np.minimum(thickness * _STEPS_OF_ONE + 0.5, float(_THICKEST * _STEPS_OF_ONE))
    left = exp(np.arange(_THICKEST * _STEPS_OF_ONE + 1) / (0.0 - _STEPS_OF_ONE))
    shares = ((1.0 - left) * _ALL + 0.5).astype(np.int32)
    _blend(pixels, seen, colour, shares.take(steps.astype(np.int64)))


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
    covered = np.unique((places[:, None] + np.arange(wide)).reshape(-1))
    _blend(pixels, covered, colour, np.full(len(covered), _STROKE_VEIL, dtype=np.int32))


def _blend(pixels: Pixels, which: Indices, colour: int, shares: NDArray[np.int32]) -> None:
    """Move some pixels to a colour 0xRRGGBB by shares of ``_ALL``."""
    channels = pixels.view(np.uint8).reshape(-1, 4)
    chosen = channels.take(which, axis=0)
    for place in range(3):
        part = chosen[:, place].astype(np.int32)
        chosen[:, place] = part + (((colour >> (8 * place) & 0xFF) - part) * shares + 128 >> 8)
    channels[which] = chosen
