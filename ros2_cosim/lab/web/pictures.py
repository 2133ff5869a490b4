# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Pictures of simulated cameras as PNG, in colours for the eye."""

from __future__ import annotations

import struct
import zlib

import numpy as np
from numpy.typing import NDArray

from ros2_cosim.world.headless.onlooker import CameraPicture

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_DEPTH_STEPS = 256**3 - 1
#: Depth is shown by its logarithm, from this share of the farthest on: 1 m of a kilometre.
_NEAR = 1.0e-3
#: The colours of the labels 0 to 28, those of the Cityscapes data set as CARLA extends them.
_PALETTE = np.array(
    [
        (0, 0, 0), (128, 64, 128), (244, 35, 232), (70, 70, 70), (102, 102, 156), (190, 153, 153),
        (153, 153, 153), (250, 170, 30), (220, 220, 0), (107, 142, 35), (152, 251, 152),
        (70, 130, 180), (220, 20, 60), (255, 0, 0), (0, 0, 142), (0, 0, 70), (0, 60, 100),
        (0, 80, 100), (0, 0, 230), (119, 11, 32), (110, 190, 160), (170, 120, 50), (55, 90, 80),
        (45, 60, 150), (157, 234, 50), (81, 0, 81), (150, 100, 100), (230, 150, 140),
        (180, 165, 180),
    ],
    np.uint8,
)  # fmt: skip
#: Actors of one label differ in brightness by this share, in turn.
_SHADES = (1.0, 0.8, 0.6, 0.9, 0.7)

Pixels = NDArray[np.uint8]


def png_of(picture: CameraPicture) -> bytes:
    """The picture as a PNG file: depth as grey, labels and instances as colours."""
    return png(rgb_of(picture))


def rgb_of(picture: CameraPicture) -> Pixels:
    """The picture as (height, width, 3) pixels in colours for the eye."""
    size = picture.height, picture.width
    bgra = np.frombuffer(picture.pixels, np.uint8).reshape(*size, 4)
    rgb = bgra[..., 2::-1]
    if picture.kind == "depth":
        rgb = _grey(rgb)
    elif picture.kind in ("semantic_segmentation", "instance_segmentation"):
        rgb = _labels(rgb)
    return np.ascontiguousarray(rgb)


def png(rgb: Pixels) -> bytes:
    """A PNG file of (height, width, 3) pixels."""
    height, width, _ = rgb.shape
    rows = np.zeros((height, 1 + 3 * width), np.uint8)  # a row begins with its filter: none
    rows[:, 1:] = rgb.reshape(height, -1)
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    body = zlib.compress(rows.tobytes(), 1)
    return _SIGNATURE + _chunk(b"IHDR", head) + _chunk(b"IDAT", body) + _chunk(b"IEND", b"")


def _chunk(kind: bytes, data: bytes) -> bytes:
    checked = kind + data
    return struct.pack(">I", len(data)) + checked + struct.pack(">I", zlib.crc32(checked))


def _grey(rgb: Pixels) -> Pixels:
    parts = rgb.astype(np.float64)
    share = (parts[..., 0] + 256.0 * parts[..., 1] + 65536.0 * parts[..., 2]) / _DEPTH_STEPS
    level = 1.0 - np.log(np.maximum(share, _NEAR)) / np.log(_NEAR)
    return np.repeat((255.0 * level).astype(np.uint8)[..., None], 3, axis=2)


def _labels(rgb: Pixels) -> Pixels:
    """Label (red) and actor (green and blue) as a colour: actors of one label differ a little."""
    labels = np.minimum(rgb[..., 0], len(_PALETTE) - 1)
    actors = rgb[..., 1].astype(np.int64) + 256 * rgb[..., 2].astype(np.int64)
    shades = np.array(_SHADES)[actors % len(_SHADES)]
    return (_PALETTE[labels] * shades[..., None]).astype(np.uint8)
