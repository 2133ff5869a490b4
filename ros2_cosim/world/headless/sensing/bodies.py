# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Bodies of vehicles and people by their class, as large as the boxes that they collide with.

A vehicle's body is lofted over cross-sections, whose sizes are shares of the box. They are those of
usual vehicles of a class (class estimates), not of a product.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from ros2_cosim.world.headless.labels import RIDERS
from ros2_cosim.world.headless.materials import Colour
from ros2_cosim.world.headless.sensing.figures import Point, SolidFigure, shaded

_GLASS: Final[Colour] = (28, 34, 40)
_TYRE: Final[Colour] = (18, 18, 18)
_HEADLAMP: Final[Colour] = (236, 234, 214)
_TAIL_LAMP: Final[Colour] = (176, 22, 20)
_AMBER: Final[Colour] = (206, 132, 44)
_PLATE: Final[Colour] = (228, 228, 222)
_SKIN: Final[Colour] = (204, 164, 138)
_HAIR: Final[Colour] = (70, 52, 38)
_TROUSERS: Final[Colour] = (44, 50, 66)
_METAL: Final[Colour] = (110, 112, 114)

#: Lights of vehicles in the protocol (``VehicleLightState``).
_POSITION, _DIPPED, _FULL, _BRAKE, _RIGHT, _LEFT, _REVERSE = (1 << bit for bit in range(7))
_RUNNING: Final = _POSITION | _DIPPED | _FULL
#: Lamps at the two ends of a vehicle, from the middle to a side: begin and end as shares of half
#: the width, colour, what they shine with, and the lights that switch them on (to the right).
_TAIL: Final = (
    (0.46, 0.51, _PLATE, (236, 236, 226), _REVERSE),
    (0.51, 0.58, _TAIL_LAMP, (250, 36, 30), _BRAKE),
    (0.58, 0.66, _TAIL_LAMP, (120, 14, 12), _RUNNING),
    (0.66, 0.72, _AMBER, (250, 150, 30), _RIGHT),
)  # fmt: skip
_FRONT: Final = (
    (0.46, 0.66, _HEADLAMP, (255, 250, 234), _RUNNING),
    (0.66, 0.72, _AMBER, (250, 150, 30), _RIGHT),
)  # fmt: skip

#: What a stretch between two cross-sections is made of.
_SHEET, _WINDOWS, _SCREEN = 0, 1, 2
#: The number of the top among the strips around a body.
_TOP: Final = 2


class _Section(NamedTuple):
    """A cross-section: shares of half the length, of the height (3), of half the width (3).

    ``kind`` is that of the stretch to the next one: sheet metal; windows at its sides; windows at
    its sides and a screen on top.
    """

    x: float
    z: tuple[float, float, float]
    y: tuple[float, float, float]
    kind: int = _SHEET


class Outline(NamedTuple):
    """A class of vehicles.

    :ivar parts: closed bodies, each lofted over its sections from the rear
    :ivar wheel: radius as a share of the height, and ``axles``: shares of half the length
    :ivar lamps: heights of the lamps at both ends, shares of the height
    """

    parts: tuple[tuple[_Section, ...], ...]
    wheel: float
    axles: tuple[float, ...]
    lamps: tuple[float, float]


_CAR: Final = Outline(
    (
        (
            _Section(-1.0, (0.28, 0.50, 0.58), (0.80, 0.92, 0.80)),
            _Section(-0.94, (0.20, 0.56, 0.66), (0.90, 0.98, 0.84)),
            _Section(-0.72, (0.17, 0.60, 0.69), (0.94, 1.0, 0.84), _SCREEN),
            _Section(-0.44, (0.16, 0.62, 0.97), (0.96, 1.0, 0.70), _WINDOWS),
            _Section(-0.05, (0.16, 0.62, 1.0), (0.96, 1.0, 0.72), _WINDOWS),
            _Section(0.16, (0.16, 0.62, 0.96), (0.96, 1.0, 0.70), _SCREEN),
            _Section(0.44, (0.16, 0.60, 0.66), (0.96, 1.0, 0.86)),
            _Section(0.90, (0.18, 0.50, 0.56), (0.92, 0.97, 0.80)),
            _Section(1.0, (0.26, 0.42, 0.48), (0.78, 0.88, 0.74)),
        ),
    ),
    0.22, (-0.58, 0.6), (0.36, 0.5),
)  # fmt: skip
_VAN: Final = Outline(
    (
        (
            _Section(-1.0, (0.20, 0.5, 0.95), (0.92, 0.97, 0.88)),
            _Section(-0.97, (0.16, 0.5, 1.0), (0.96, 1.0, 0.92)),
            _Section(0.25, (0.16, 0.5, 1.0), (0.96, 1.0, 0.92), _WINDOWS),
            _Section(0.50, (0.16, 0.5, 0.97), (0.96, 1.0, 0.88), _SCREEN),
            _Section(0.76, (0.16, 0.48, 0.54), (0.96, 1.0, 0.9)),
            _Section(0.96, (0.18, 0.40, 0.46), (0.92, 0.97, 0.84)),
            _Section(1.0, (0.22, 0.34, 0.40), (0.80, 0.88, 0.78)),
        ),
    ),
    0.15, (-0.6, 0.66), (0.30, 0.42),
)  # fmt: skip
_TRUCK: Final = Outline(
    (
        (
            _Section(-1.0, (0.28, 0.6, 1.0), (1.0, 1.0, 1.0)),
            _Section(0.46, (0.28, 0.6, 1.0), (1.0, 1.0, 1.0)),
        ),
        (
            _Section(0.5, (0.14, 0.5, 0.80), (0.92, 0.96, 0.92), _WINDOWS),
            _Section(0.9, (0.14, 0.5, 0.80), (0.92, 0.96, 0.90), _SCREEN),
            _Section(0.99, (0.14, 0.46, 0.5), (0.92, 0.96, 0.9)),
            _Section(1.0, (0.16, 0.4, 0.46), (0.90, 0.94, 0.88)),
        ),
    ),
    0.14, (-0.72, -0.45, 0.7), (0.24, 0.3),
)  # fmt: skip
_BUS: Final = Outline(
    (
        (
            _Section(-1.0, (0.12, 0.42, 0.96), (0.94, 0.97, 0.9)),
            _Section(-0.97, (0.10, 0.42, 1.0), (1.0, 1.0, 0.94), _WINDOWS),
            _Section(0.88, (0.10, 0.42, 1.0), (1.0, 1.0, 0.94), _WINDOWS),
            _Section(0.96, (0.10, 0.42, 0.94), (1.0, 1.0, 0.92), _SCREEN),
            _Section(0.995, (0.10, 0.36, 0.42), (0.97, 0.98, 0.95)),
            _Section(1.0, (0.14, 0.3, 0.36), (0.92, 0.94, 0.9)),
        ),
    ),
    0.12, (-0.5, 0.62), (0.22, 0.3),
)  # fmt: skip
_OUTLINES: Final = {"car": _CAR, "van": _VAN, "truck": _TRUCK, "bus": _BUS}
#: A truck that is lower than this [m] has a car's outline, as pickups do.
_LOW: Final = 2.2


def outline_of(base_type: str, height: float) -> Outline:
    """The outline of a class of vehicles (CARLA's ``base_type``)."""
    if base_type == "truck" and height < _LOW:
        return _CAR
    return _OUTLINES.get(base_type, _CAR)


def vehicle_body(outline: Outline, size: Point, paint: Colour, label: int) -> SolidFigure:
    """A vehicle of a length, width and height [m], its middle at the origin of the ground."""
    figure = SolidFigure(label)
    for part in outline.parts:
        _loft(figure, part, size, paint)
    length, width, height = size
    radius = outline.wheel * height
    for axle in outline.axles:
        for side in (-1.0, 1.0):
            outer, inner = side * 0.5 * width, side * (0.5 * width - 0.6 * radius)
            figure.wheel((0.5 * length * axle, outer, radius), inner - outer, radius, _TYRE)
    for x, out, lamps in ((-0.5 * length, -1.0, _TAIL), (0.5 * length, 1.0, _FRONT)):
        z = outline.lamps[0] * height, outline.lamps[1] * height
        for low, high, colour, shine, lights in lamps:
            for side in (-0.5, 0.5):
                y = side * low * width, side * high * width
                switch = _LEFT if side < 0.0 and lights == _RIGHT else lights
                figure.patch(_upright(x, y, z), (out, 0.0, 0.0), colour, shine, switch)
        y, z = (-0.26, 0.26), (z[0] - 0.02, z[0] + 0.09)
        figure.patch(_upright(x, y, z), (out, 0.0, 0.0), _PLATE)
    return figure


def _upright(x: float, y: tuple[float, float], z: tuple[float, float]) -> list[Point]:
    return [(x, y[0], z[0]), (x, y[1], z[0]), (x, y[1], z[1]), (x, y[0], z[1])]


def _ring(section: _Section, size: Point) -> list[Point]:
    """The corners of a cross-section, around from below on the right."""
    length, width, height = size
    right = [
        (0.5 * length * section.x, 0.5 * width * y, height * z)
        for y, z in zip(section.y, section.z, strict=True)
    ]
    return [*right, *((x, 0.0 - y, z) for x, y, z in reversed(right))]


def _loft(figure: SolidFigure, part: tuple[_Section, ...], size: Point, paint: Colour) -> None:
    rings = [_ring(section, size) for section in part]
    for section, one, two in zip(part, rings, rings[1:], strict=False):
        glass = paint if section.kind == _SHEET else _GLASS
        top = _GLASS if section.kind == _SCREEN else paint
        # Sides from below on the right to below on the left, then the floor.
        colours = (paint, glass, top, glass, paint, shaded(paint, 0.3))
        inside = _middle(_middle(one[0], one[3]), _middle(two[0], two[3]))
        for n, colour in enumerate(colours):
            m = (n + 1) % 6
            quads = [[one[n], one[m], two[m], two[n]]]
            if n == _TOP:  # of two halves, each of which has its own texture
                a, b = (_middle(ring[n], ring[m]) for ring in (one, two))
                quads = [[one[n], a, b, two[n]], [a, one[m], two[m], b]]
            figure.convex(quads, inside, colour)
    middle = 0.5 * (part[0].x + part[-1].x) * 0.5 * size[0]
    for ring in (rings[0], rings[-1]):
        under, over = ((ring[0][0], 0.0, ring[n][2]) for n in (0, 2))
        halves = [under, *ring[:3], over], [over, *ring[3:], under]
        figure.convex(halves, (middle, 0.0, ring[1][2]), paint)


def _middle(one: Point, two: Point) -> Point:
    return 0.5 * (one[0] + two[0]), 0.5 * (one[1] + two[1]), 0.5 * (one[2] + two[2])


#: The bones that the pieces of ``person_body`` follow, the lower and the upper end of each.
PERSON_LIMBS: Final = (
    *(
        (f"crl_{low}__{side}", f"crl_{high}__{side}")
        for side in "LR"
        for low, high in (("foot", "foot"), ("leg", "thigh"), ("foreArm", "arm"))
    ),
    ("crl_hips__C", "crl_spine01__C"),
    *[("crl_Head__C", "crl_Head__C")] * 3,
    ("crl_spine01__C", "crl_spine01__C"),
)


def person_body(size: Point, shirt: Colour, label: int) -> SolidFigure:
    """A person of a depth, width and height [m] at rest, the feet at the origin."""
    figure = SolidFigure(label)
    x, y, z = 0.5 * size[0], 0.5 * size[1], size[2]
    for side in (-1.0, 1.0):
        figure.box((-0.45 * x, min(0.08 * side, 0.6 * side) * y, 0.0),
                   (1.0 * x, max(0.08 * side, 0.6 * side) * y, 0.06 * z), _TYRE)  # fmt: skip
        figure.pillar((0.0, 0.34 * side * y, 0.04 * z), 0.46 * z, (0.38 * x, 0.46 * x), _TROUSERS)
        figure.pillar((0.0, 0.69 * side * y, 0.44 * z), 0.36 * z, (0.24 * x, 0.3 * x), shirt, 5)
    figure.box((-0.6 * x, -0.62 * y, 0.48 * z), (0.6 * x, 0.62 * y, 0.82 * z), shirt,
               has_floor=True)  # fmt: skip
    _add_head(figure, (0.0, 0.0, 0.92 * z), (0.62 * x, 0.5 * y, 0.08 * z))
    # Elbows and shoulders reach to the sides of the box, the back of the head to its rear.
    figure.box((-1.0 * x, -1.0 * y, 0.62 * z), (0.3 * x, 1.0 * y, 0.72 * z), shirt, has_floor=True)
    return figure


def _add_head(figure: SolidFigure, middle: Point, radii: Point, label: int | None = None) -> None:
    x, y, z = middle
    figure.box((x - 0.3 * radii[0], y - 0.4 * radii[1], z - 1.4 * radii[2]),
               (x + 0.3 * radii[0], y + 0.4 * radii[1], z - 0.6 * radii[2]), _SKIN,
               label)  # fmt: skip
    face, hair = (0.8 * radii[0], radii[0]), (radii[0], 0.6 * radii[0])
    figure.pillar((x, y, z - 0.9 * radii[2]), 1.3 * radii[2], face, _SKIN, label=label)
    figure.pillar((x, y, z + 0.4 * radii[2]), 0.6 * radii[2], hair, _HAIR, label=label)


def cycle_body(
    size: Point, paint: Colour, shirt: Colour, label: int, *, motor: bool
) -> SolidFigure:
    """A cycle of a length, width and height [m], and its rider with another label."""
    figure = SolidFigure(label)
    length, width, height = size
    x, y, radius = 0.5 * length, 0.5 * width, 0.19 * height if motor else 0.2 * height
    thick = (0.3 if motor else 0.08) * y
    for middle in (radius - x, x - radius):
        figure.wheel((middle, 0.0 - thick, radius), 2.0 * thick, radius, _TYRE)
    body = (0.24, 0.5) if motor else (0.44, 0.48)
    figure.box((radius - x, 0.0 - thick, body[0] * height), (0.7 * x, thick, body[1] * height),
               paint, has_floor=True)  # fmt: skip
    figure.box((0.5 * x, 0.0 - y, 0.56 * height), (0.58 * x, y, 0.6 * height), _METAL,
               has_floor=True)  # fmt: skip
    figure.pillar((0.5 * x, 0.0, radius), 0.6 * height - radius, (0.04, 0.04), _METAL, 4)
    for side in (-1.0, 1.0):
        low, high = sorted((0.16 * side * y, 0.5 * side * y))
        figure.box((-0.12 * x, low, 0.2 * height), (0.06 * x, high, 0.52 * height), _TROUSERS,
                   RIDERS, has_floor=True)  # fmt: skip
        figure.box((0.0, low, 0.64 * height), (0.56 * x, high, 0.7 * height), shirt,
                   RIDERS, has_floor=True)  # fmt: skip
    figure.box((-0.3 * x, -0.55 * y, 0.5 * height), (0.02 * x, 0.55 * y, 0.84 * height), shirt,
               RIDERS, has_floor=True)  # fmt: skip
    _add_head(figure, (-0.1 * x, 0.0, 0.93 * height), (0.13, 0.1, 0.07 * height), RIDERS)
    return figure
