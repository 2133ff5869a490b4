# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Cameras: one picture of triangles, coloured in the way of each kind of camera.

A payload is width, height (u32), field of view (f32, deg), then the pixels row after row from the
top left: blue, green, red, alpha (u8), or two f32 for the optical flow.
"""

from __future__ import annotations

import struct
from abc import abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ros2_cosim.core.kernel.exactmath import pow, radians, tan
from ros2_cosim.core.kernel.random_streams import stream_key
from ros2_cosim.world.headless.sensing import native
from ros2_cosim.world.headless.sensing.air import WeatherAir
from ros2_cosim.world.headless.sensing.axes import NEAREST, BodyAxes, Floats, axes_of
from ros2_cosim.world.headless.sensing.device import Device, SensedFrame
from ros2_cosim.world.headless.sensing.drawn import mesh_of_shapes
from ros2_cosim.world.headless.sensing.grain import grain_task, grained
from ros2_cosim.world.headless.sensing.lamp_light import add_lamps
from ros2_cosim.world.headless.sensing.light import Illumination, beams_of
from ros2_cosim.world.headless.sensing.mesh import Flags
from ros2_cosim.world.headless.sensing.raster import (
    Lens,
    View,
    depths,
    pixel_centres,
    render,
)
from ros2_cosim.world.headless.sensing.scene import TriangleScene
from ros2_cosim.world.headless.sensing.shadows import Shade, shaded_pixels, shadow_task
from ros2_cosim.world.headless.sensing.veil import mirror, rain_strokes, veil
from ros2_cosim.world.headless.wire_types import Vector

if TYPE_CHECKING:
    from ros2_cosim.world.headless.actors import Actor

_HEAD = struct.Struct("<IIf")
_LARGEST = 4096  # pixels, of a side
_MOST_PIXELS = 4096 * 2304  # about 60 bytes each while a picture is made
_OPAQUE = 0xFF000000
_SKY_LABEL = 11
_FARTHEST = 1000.0  # m, where the scale of the depth camera ends
_DEPTH_STEPS = 256**3 - 1
_LAST_OWNER = 0xFFFF
_MOST_FLOW = 2.0  # images per frame
_USUAL_GAMMA = 2.2

Pixels = NDArray[np.uint32]


class Camera(Device):
    """A pinhole without distortion; forward is x, the image's right y, its top z.

    :cvar remembers: whether what it measures depends on its last picture
    """

    beside = True
    remembers = False

    def __init__(self, sensor: Actor) -> None:
        super().__init__(sensor)
        width = int(self.within("image_size_x", 1, _LARGEST))
        height = int(self.within("image_size_y", 1, _LARGEST))
        if width * height > _MOST_PIXELS:
            raise ValueError(
                f"image size of '{sensor.blueprint.id}': found {width} x {height}; "
                f"allowed are {_MOST_PIXELS} pixels"
            )
        self._field = self.within("fov", 1.0, 170.0)
        focal = width / (2.0 * tan(0.5 * radians(self._field)))
        self.lens = Lens(width, height, focal)

    def measure(self, moment: SensedFrame) -> list[bytes]:
        """The picture."""
        return [self.message(moment, self.pixels(moment, moment.view(self.lens)))]

    def message(self, moment: SensedFrame, pixels: bytes | memoryview) -> bytes:
        """A picture with what stands before its pixels."""
        head = _HEAD.pack(self.lens.width, self.lens.height, self._field)
        return b"".join((moment.header, head, pixels))

    @staticmethod
    def pixels_of(payload: bytes) -> tuple[int, int, bytes]:
        """Width, height and pixels of the payload of a camera."""
        width, height, _ = _HEAD.unpack_from(payload)
        return width, height, payload[_HEAD.size :]

    @abstractmethod
    def pixels(self, moment: SensedFrame, view: View) -> bytes | memoryview:
        """The pixels of a picture."""


def painted(view: View, palette: Pixels, sky: int) -> memoryview:
    """A picture by the colours of its triangles, 0xAARRGGBB."""
    return view.picture(np.append(palette, np.uint32(sky | _OPAQUE)).astype("<u4")).data


def packed(red: Pixels, green: Pixels, blue: Pixels) -> Pixels:
    """Opaque colours from their parts."""
    colour: Pixels = blue | (green << np.uint32(8)) | (red << np.uint32(16)) | np.uint32(_OPAQUE)
    return colour


def heaven(lens: Lens, eye: BodyAxes, sky: Pixels, first: int, last: int) -> Pixels:
    """The pixels of rows, first to before last, where nothing hides the sky.

    The shade goes by the rise of the ray, (a + b x) / sqrt(d + x x): it changes near the roots of
    quadratic equations. Pixels next to a root are worked out one by one, the others by pieces.
    """
    x, y = pixel_centres(lens)
    dx, dy = x / lens.focal, y[first:last, None] / lens.focal
    a, b, d = eye.forward.z - dy * eye.up.z, eye.right.z, 1.0 + dy * dy
    share = np.arange(1, len(sky)) / (len(sky) - 1.0)
    square, half, rest = b * b - share * share, a * b, a * a - share * share * d
    under = half * half - square * rest
    with np.errstate(divide="ignore", invalid="ignore"):
        # Where rounding hides whether there is a root, there is one.
        root = np.sqrt(np.where(under < -1.0e-9 * d * d, np.nan, np.maximum(under, 0.0)))
        root = 0.0 - (half + np.copysign(root, half))
        columns = np.stack((root / square, rest / root)) * lens.focal + (0.5 * lens.width - 0.5)
    near = (columns > -2.0) & (columns < lens.width + 1.0)
    places = np.ceil(columns[near]).astype(np.int64) + np.nonzero(near)[1] * lens.width
    marks = np.zeros(lens.width * len(dy) + 6, dtype=bool)
    for step in range(1, 5):  # from the pixel before the one on the left
        marks[places + step] = True
    marks = marks[3:-3]
    marks[:: lens.width] = True
    cuts = np.flatnonzero(marks)
    row, column = np.divmod(cuts, lens.width)
    dx, dy = dx[column], dy[row, 0]
    rise = (eye.forward.z + dx * b) - dy * eye.up.z
    rise /= np.sqrt((1.0 + dx * dx) + dy * dy)
    shades = (np.clip(rise, 0.0, 1.0) * (len(sky) - 1)).astype(np.int64)
    return np.repeat(sky[shades], np.diff(cuts, append=len(marks)))


def coloured(
    view: View,
    lens: Lens,
    eye: BodyAxes,
    palettes: tuple[Pixels, Pixels],
    shade: Shade | None,
    has_grain: bool,
    sky: Pixels,
    change: Callable[[Pixels], Pixels] | None = None,
) -> Pixels:
    """The colours of a picture.

    :param palettes: of triangles and of the sky, in the sun and in shadow
    :param shade: where the sun does not come; None: everywhere it does
    :param sky: its shades
    :param change: what is done to the light before surfaces get their grain; None: nothing
    """
    first, last = view.sky_rows(lens.width)
    shown = heaven(lens, eye, sky, first, last)
    if native.LIBRARY is not None:
        pieces, heavens = view.pieces(), (shown, first)
        shadows = None if shade is None else shadow_task(view, lens, eye, shade)
        grain = grain_task(view, eye, lens) if has_grain else None
        if change is None:
            return native.paint(pieces, lens, palettes, shadows, grain, heavens)
        begun = change(native.paint(pieces, lens, palettes, shadows, None, None))
        return native.paint(pieces, lens, None, None, grain, heavens, begun)
    pixels = view.picture(palettes[0])
    if shade is not None:
        dark, triangles = shaded_pixels(view, lens, eye, shade)
        pixels[dark] = palettes[1][triangles]
    if change is not None:
        pixels = change(pixels)
    if has_grain:
        pixels = grained(pixels, view, eye, lens)
    is_sky = np.zeros(len(view.mesh) + 1, dtype=bool)
    is_sky[-1] = True
    part = np.s_[first * lens.width : last * lens.width]
    np.copyto(pixels[part], shown, where=view.picture(is_sky)[part])
    return pixels


class RgbCamera(Camera):
    """Colours by the light of the weather, with haze and sky."""

    sensor_type = 13

    def __init__(self, sensor: Actor) -> None:
        super().__init__(sensor)
        self._exposure = pow(2.0, self.within("exposure_compensation", -20.0, 20.0))
        self._gamma = _USUAL_GAMMA / self.within("gamma", 0.1, 20.0)
        self._pictures = 0

    def pixels(self, moment: SensedFrame, view: View) -> bytes | memoryview:
        """What the eye sees."""
        eye = axes_of(moment.pose)
        world = moment.world
        light = Illumination(moment.weather, world.lamps.burning(), beams_of(world))
        sky = self._developed(light.veiled_sky(eye.origin.z))
        lit = [self._exposed(part) for part in light.lit(view.mesh, eye.origin)]
        # Behind the triangles: the sky.
        in_sun, in_shade = (np.append(part, sky[0]) for part in lit[:2])
        sources = light.sources(eye.origin)

        def lamps(pixels: Pixels) -> Pixels:
            add_lamps(pixels, view, self.lens, eye, sources, lit[2])
            return self._curved(pixels)

        if not sources:
            in_sun, in_shade = self._curved(in_sun), self._curved(in_shade)
        pixels = coloured(
            view, self.lens, eye, (in_sun, in_shade), None if world.is_plain else moment.shade(),
            world.has_scenery and not world.is_plain, sky, lamps if sources else None,
        )  # fmt: skip
        mirror(pixels, view, self.lens, eye, light.wet, int(sky[0]))
        air = WeatherAir(moment.weather)
        if not air.is_clear:
            veil(pixels, view, self.lens, eye, air, int(sky[0]))
            # By place and picture, which are the same in every run shape; ids of actors are not.
            where = "drops {:.3f} {:.3f} {:.3f}".format(*moment.pose.location)
            key = stream_key(self._pictures, "carla_headless", where)
            self._pictures += 1
            rain_strokes(pixels, self.lens, air.rain, key, int(sky[-1]))
        self._draw_shapes(moment, view, pixels)
        return pixels.astype("<u4", copy=False).data

    def _draw_shapes(self, moment: SensedFrame, view: View, pixels: Pixels) -> None:
        """What clients have drawn into the world, where nothing hides it."""
        world = moment.world
        mesh = mesh_of_shapes(world.shapes.alive(world.elapsed_s, world.step_s))
        if mesh is None:
            return
        over = render(TriangleScene(mesh, mesh.take(np.zeros(len(mesh), dtype=bool))),
                      axes_of(moment.pose), self.lens)  # fmt: skip
        drawn = over.seen >= 0
        drawn &= depths(over, self.lens) < depths(view, self.lens)
        palette = self._developed(over.mesh.colours / 255.0)
        pixels[drawn] = palette[over.seen[drawn]]

    def _exposed(self, colours: Floats) -> Pixels:
        """Colours (n, 3) from 0 to 1, by exposure, as pixels."""
        values = np.clip(colours * self._exposure, 0.0, 1.0)
        red, green, blue = ((values * 255.0 + 0.5).astype(np.uint32)).T
        return packed(red, green, blue)

    def _curved(self, pixels: Pixels) -> Pixels:
        """Pixels by gamma."""
        if self._gamma == 1.0:
            return pixels
        levels = [pow(level / 255.0, self._gamma) * 255.0 + 0.5 for level in range(256)]
        return np.array(levels).astype(np.uint8).take(pixels.view(np.uint8)).view(pixels.dtype)

    def _developed(self, colours: Floats) -> Pixels:
        """Colours (n, 3) from 0 to 1, by exposure and gamma, as pixels."""
        return self._curved(self._exposed(colours))


class DepthCamera(Camera):
    """Depth along the axis: red + 256 green + 65536 blue, of 2^24 - 1 for a kilometre."""

    sensor_type = 1

    def pixels(self, moment: SensedFrame, view: View) -> bytes | memoryview:
        """Depths."""
        share = np.minimum(depths(view, self.lens), _FARTHEST) / _FARTHEST
        steps = (share * _DEPTH_STEPS + 0.5).astype(np.uint32)
        low = np.uint32(0xFF)
        return packed(
            steps & low, (steps >> np.uint32(8)) & low, steps >> np.uint32(16)
        ).astype("<u4").tobytes()  # fmt: skip


class SemanticCamera(Camera):
    """The label of the protocol in the red channel."""

    sensor_type = 14

    def pixels(self, moment: SensedFrame, view: View) -> bytes | memoryview:
        """Labels."""
        tags = view.mesh.tags.astype(np.uint32)
        none = np.zeros_like(tags)
        return painted(view, packed(tags, none, none), _SKY_LABEL << 16)


class InstanceCamera(Camera):
    """The label in red; an id in green (low byte) and blue: of the actor, or a number that counts
    down from 65535 by the id of what stands beside roads; 0 for the ground.
    """

    sensor_type = 15

    def pixels(self, moment: SensedFrame, view: View) -> bytes | memoryview:
        """Labels and actors."""
        tags, things = view.mesh.tags.astype(np.uint32), view.mesh.things
        low = np.uint32(0xFF)
        owners = np.where(things > 0, np.uint32(_LAST_OWNER) - things, view.mesh.actors)
        palette = packed(tags, owners & low, (owners >> np.uint32(8)) & low)
        return painted(view, palette, _SKY_LABEL << 16)


class NormalsCamera(Camera):
    """World normals: red, green, blue are x, y, z from -1 (0) to 1 (255)."""

    sensor_type = 2

    def pixels(self, moment: SensedFrame, view: View) -> bytes | memoryview:
        """Normals."""
        red, green, blue = ((view.mesh.shades + 1.0) * 127.5 + 0.5).astype(np.uint32).T
        return painted(view, packed(red, green, blue), 0x808080)


class FlowCamera(Camera):
    """How far each pixel's point has moved in the picture since the last one.

    In halves of the image, to the right and up: -2 to 2. The first picture shows no motion.
    """

    sensor_type = 8
    remembers = True

    def __init__(self, sensor: Actor) -> None:
        super().__init__(sensor)
        self._eye: BodyAxes | None = None
        self._places: dict[int, BodyAxes] = {}

    def pixels(self, moment: SensedFrame, view: View) -> bytes | memoryview:
        """The motion in the image."""
        world, lens = moment.world, self.lens
        eye = axes_of(moment.pose)
        owners = np.append(view.mesh.actors, np.uint32(0))[view.seen]
        seen = [int(i) for i in np.unique(owners).tolist() if i in world.actors]
        # All actors are remembered: one that comes into view has moved, too.
        places = {
            actor.id: axes_of(world.pose(actor))
            for actor in world.actors.values()
            if not actor.blueprint.streams
        }
        before, self._eye = self._eye, eye
        earlier, self._places = self._places, places
        if before is None:
            return bytes(8 * len(view.seen))
        depth = depths(view, lens)
        sky = np.isinf(depth)
        x, y = (
            np.tile(pixel_centres(lens)[0], lens.height),
            np.repeat(pixel_centres(lens)[1], lens.width),
        )
        points = np.empty((len(depth), 3))
        points[:, 0] = np.where(sky, 1.0, depth)
        points[:, 1] = points[:, 0] * x / lens.focal
        points[:, 2] = 0.0 - points[:, 0] * y / lens.focal
        past = before.inside(eye.outside(points))
        for actor in seen:
            if actor in earlier and earlier[actor] != places[actor]:
                own = owners == actor
                local = places[actor].inside(eye.outside(points[own]))
                past[own] = before.inside(earlier[actor].outside(local))
        # The sky is so far away that only turning moves it.
        far = eye._replace(origin=Vector())
        past[sky] = before.directions_inside(far.outside(points[sky]))
        return self._motion(x, y, past).astype("<f4").tobytes()

    def _motion(self, x: Floats, y: Floats, past: Floats) -> Floats:
        lens = self.lens
        ahead: Flags = past[:, 0] > NEAREST * 1.0e-3
        depth = np.where(ahead, past[:, 0], 1.0)
        flow = np.empty((len(x), 2))
        flow[:, 0] = (x - past[:, 1] / depth * lens.focal) * (2.0 / lens.width)
        flow[:, 1] = (0.0 - y - past[:, 2] / depth * lens.focal) * (2.0 / lens.height)
        flow[~ahead] = 0.0
        return np.clip(flow, -_MOST_FLOW, _MOST_FLOW)
