# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Contact of boxes: agreement with a second method, symmetry, resolution by the normal."""

from __future__ import annotations

import math

from hypothesis import assume, given
from hypothesis import strategies as st

from ros2_cosim.world.headless.contact import OrientedBox, contact

_PLACE = st.floats(-6.0, 6.0)
_SIZE = st.floats(0.2, 3.0)
_ANGLE = st.floats(-math.pi, math.pi)


@st.composite
def _boxes(draw: st.DrawFn) -> OrientedBox:
    angle = draw(_ANGLE)
    return OrientedBox(
        draw(_PLACE), draw(_PLACE), 0.0, draw(_SIZE), draw(_SIZE), 1.0,
        math.cos(angle), math.sin(angle),
    )  # fmt: skip


def _corners(box: OrientedBox) -> list[tuple[float, float]]:
    signs = ((1, 1), (1, -1), (-1, -1), (-1, 1))
    return [
        (
            box.x + i * box.half_length * box.cos - j * box.half_width * box.sin,
            box.y + i * box.half_length * box.sin + j * box.half_width * box.cos,
        )
        for i, j in signs
    ]


def _overlap_by_clipping(a: OrientedBox, b: OrientedBox) -> float:
    """Area of the common part, by cutting b's outline at each side of a."""
    outline = _corners(b)
    for nx, ny, limit in (
        (a.cos, a.sin, a.half_length),
        (-a.cos, -a.sin, a.half_length),
        (-a.sin, a.cos, a.half_width),
        (a.sin, -a.cos, a.half_width),
    ):
        kept: list[tuple[float, float]] = []
        for (px, py), (qx, qy) in zip(outline, outline[1:] + outline[:1], strict=True):
            p = (px - a.x) * nx + (py - a.y) * ny - limit
            q = (qx - a.x) * nx + (qy - a.y) * ny - limit
            if p <= 0:
                kept.append((px, py))
            if (p < 0 < q) or (q < 0 < p):
                f = p / (p - q)
                kept.append((px + f * (qx - px), py + f * (qy - py)))
        outline = kept
        if not outline:
            return 0.0
    pairs = zip(outline, outline[1:] + outline[:1], strict=True)
    return abs(sum(px * qy - qx * py for (px, py), (qx, qy) in pairs)) / 2


@given(_boxes(), _boxes())
def test_overlap_agrees_with_clipping(a: OrientedBox, b: OrientedBox) -> None:
    area = _overlap_by_clipping(a, b)
    found = contact(a, b)
    assume(found is None or found.depth > 1e-6)
    assert (found is not None) == (area > 0.0)


@given(_boxes(), _boxes())
def test_moving_along_the_normal_by_the_depth_ends_the_contact(
    a: OrientedBox, b: OrientedBox
) -> None:
    found = contact(a, b)
    assume(found is not None)
    assert found is not None
    assert math.isclose(math.hypot(found.normal_x, found.normal_y), 1.0, rel_tol=1e-9)
    way = found.depth + 1e-9
    b.x, b.y = b.x + way * found.normal_x, b.y + way * found.normal_y
    left = contact(a, b)
    assert left is None or left.depth < 1e-8


@given(_boxes(), _boxes())
def test_contact_is_symmetric(a: OrientedBox, b: OrientedBox) -> None:
    one, other = contact(a, b), contact(b, a)
    assert (one is None) == (other is None)
    if one and other:
        assert math.isclose(one.depth, other.depth, rel_tol=1e-9, abs_tol=1e-12)


def test_boxes_above_each_other_do_not_touch() -> None:
    below = OrientedBox(0.0, 0.0, 0.5, 2.0, 1.0, 0.5, 1.0, 0.0)
    assert contact(below, OrientedBox(0.0, 0.0, 1.6, 2.0, 1.0, 0.5, 1.0, 0.0)) is None
    assert contact(below, OrientedBox(0.0, 0.0, 1.4, 2.0, 1.0, 0.5, 1.0, 0.0)) is not None
