# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""G-buffers of a colour camera: what Unreal's renderer keeps of each pixel before it is lit.

All are pictures of 8 bits: blue, green, red, alpha. Without materials and without occlusion in
screen space some of them are the same everywhere; what Unreal does not have for a scene is black,
as in CARLA.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from ros2_cosim.world.headless.sensing.cameras import (
    DepthCamera,
    FlowCamera,
    NormalsCamera,
    RgbCamera,
    SemanticCamera,
    packed,
    painted,
)
from ros2_cosim.world.headless.sensing.device import SensedFrame
from ros2_cosim.world.headless.sensing.raster import View

SENSOR_TYPE = 18
"""The number by which the protocol knows pictures of G-buffers."""


class Buffer(IntEnum):
    """The G-buffers as the protocol numbers them (``GBufferTextureID``)."""

    SCENE_COLOR = 0
    SCENE_DEPTH = 1
    SCENE_STENCIL = 2
    A = 3  # normals
    B = 4  # metal, gloss, roughness
    C = 5  # colours without light
    D = 6  # of special materials
    E = 7  # shadows that are worked out beforehand
    F = 8  # tangents
    VELOCITY = 9
    SSAO = 10
    CUSTOM_DEPTH = 11
    CUSTOM_STENCIL = 12


#: Metal, gloss and roughness of all that there is, as Unreal's default material has them.
_MATERIAL = (0, 128, 128)
_NOTHING_HIDDEN = (255, 255, 255)
_BLACK = (0, 0, 0)
_UNIFORM = {
    Buffer.B: _MATERIAL,
    Buffer.D: _BLACK,
    Buffer.E: _BLACK,
    Buffer.F: _BLACK,
    Buffer.SSAO: _NOTHING_HIDDEN,
}
# Unreal's coding of a motion from -2 to 2 in halves of the picture: 0 is "none", so that the
# middle stands for no motion.
_MOTION_SCALE, _MOTION_MIDDLE = 0.499 * 0.5 * 255.0, 127.0


class GBuffers:
    """The G-buffers of one camera."""

    def __init__(self, camera: RgbCamera) -> None:
        self._camera = camera
        self._depth = DepthCamera(camera.sensor)
        self._labels = SemanticCamera(camera.sensor)
        self._normals = NormalsCamera(camera.sensor)
        self._flow = FlowCamera(camera.sensor)

    def measure(self, moment: SensedFrame, buffer: Buffer) -> bytes:
        """The payload of a picture."""
        view = moment.view(self._camera.lens)
        return self._camera.message(moment, self._pixels(moment, view, buffer))

    def _pixels(self, moment: SensedFrame, view: View, buffer: Buffer) -> bytes | memoryview:
        if buffer is Buffer.SCENE_COLOR:
            return self._camera.pixels(moment, view)
        if buffer in (Buffer.SCENE_DEPTH, Buffer.CUSTOM_DEPTH):
            return self._depth.pixels(moment, view)
        if buffer in (Buffer.SCENE_STENCIL, Buffer.CUSTOM_STENCIL):
            return self._labels.pixels(moment, view)
        if buffer is Buffer.A:
            return self._normals.pixels(moment, view)
        if buffer is Buffer.C:
            red, green, blue = view.mesh.colours.astype(np.uint32).T
            return painted(view, packed(red, green, blue), 0)
        if buffer is Buffer.VELOCITY:
            return self._velocity(moment, view)
        red, green, blue = _UNIFORM[buffer]
        size = self._camera.lens.width * self._camera.lens.height
        return bytes((blue, green, red, 255)) * size

    def _velocity(self, moment: SensedFrame, view: View) -> bytes:
        motion = np.frombuffer(self._flow.pixels(moment, view), "<f4").reshape(-1, 2)
        coded = motion.astype(np.float64) * _MOTION_SCALE + (_MOTION_MIDDLE + 0.5)
        across, up = np.clip(coded, 0.0, 255.0).astype(np.uint32).T
        none: NDArray[np.uint32] = np.zeros_like(across)
        return packed(across, up, none).astype("<u4").tobytes()
