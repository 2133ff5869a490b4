# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Trees of six kinds, bushes and hedges."""

from __future__ import annotations

from typing import Final, NamedTuple

from ros2_cosim.world.headless.labels import VEGETATION
from ros2_cosim.world.headless.materials import Colour
from ros2_cosim.world.headless.sensing.figures import SolidFigure, shaded
from ros2_cosim.world.headless.sensing.scenery.dice import Dice

_BARK: Final[Colour] = (86, 68, 52)
_BIRCH_BARK: Final[Colour] = (206, 202, 192)
_HEDGE: Final[Colour] = (58, 84, 46)
_LIGHTER: Final = 1.22


class Tree(NamedTuple):
    """A kind of tree.

    :ivar height: least and most [m]
    :ivar trunk: share of the height that is free of leaves
    :ivar crown: radius of the crown as a share of the height
    :ivar tiers: cones one above the other, 0: a round crown
    """

    name: str
    leaves: Colour
    bark: Colour
    height: tuple[float, float]
    trunk: float
    crown: float
    tiers: int = 0


TREES: Final = (
    Tree("Lime", (74, 106, 50), _BARK, (7.0, 11.0), 0.28, 0.26),
    Tree("Oak", (64, 90, 44), _BARK, (9.0, 14.0), 0.25, 0.34),
    Tree("Birch", (104, 128, 62), _BIRCH_BARK, (8.0, 12.0), 0.3, 0.18),
    Tree("Poplar", (82, 110, 54), _BARK, (12.0, 18.0), 0.12, 0.11),
    Tree("Spruce", (42, 70, 46), _BARK, (9.0, 16.0), 0.12, 0.2, tiers=3),
    Tree("Pine", (56, 82, 52), (120, 84, 58), (10.0, 15.0), 0.5, 0.2, tiers=2),
)

#: Of trees along sidewalks: their kinds, and least and most height [m].
AVENUE: Final = TREES[0], TREES[2]
YOUNG: Final = 5.0, 6.5


def tree(kind: Tree, height: float, dice: Dice) -> SolidFigure:
    """A tree at the origin."""
    form = SolidFigure(VEGETATION)
    radius, free = kind.crown * height, kind.trunk * height
    leaves = shaded(kind.leaves, dice.between(0.85, 1.15))
    light = shaded(leaves, _LIGHTER)
    thick = 0.018 * height
    half = 0.5 * (height - free)
    # Up into the crown, whose round body begins a little higher.
    top = free + (0.2 if kind.tiers else 0.3 * half)
    form.pillar((0.0, 0.0, -0.3), top + 0.3, (thick, 0.8 * thick), kind.bark, sides=5)
    form.block((0.0 - thick, 0.0 - thick, -0.3), (thick, thick, free))
    if kind.tiers:
        step = (height - free) / kind.tiers
        for tier in range(kind.tiers):
            low, share = free + tier * step, 1.0 - tier / (kind.tiers + 0.6)
            tall = height - low if tier == kind.tiers - 1 else 1.35 * step
            colour = light if tier % 2 else leaves
            form.pillar((0.0, 0.0, low), tall, (share * radius, 0.0), colour, has_floor=True)
        return form
    form.ball((0.0, 0.0, free + half), (radius, radius, half), (leaves, light))
    return form


def bush(dice: Dice) -> SolidFigure:
    """A low round bush at the origin."""
    form = SolidFigure(VEGETATION)
    size = dice.between(0.5, 1.1)
    leaves = shaded(_HEDGE, dice.between(0.9, 1.4))
    form.ball((0.0, 0.0, 0.7 * size), (size, size, 0.8 * size), (leaves, shaded(leaves, _LIGHTER)))
    return form


def hedge(length: float, dice: Dice) -> SolidFigure:
    """A hedge along x from 0 to its length [m]."""
    form = SolidFigure(VEGETATION)
    leaves = shaded(_HEDGE, dice.between(0.9, 1.2))
    form.box((0.0, 0.0, -0.3), (length, 0.7, dice.between(0.9, 1.6)), leaves)
    form.block((0.0, 0.0, -0.3), (length, 0.7, 0.9))
    return form
