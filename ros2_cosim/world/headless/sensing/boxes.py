# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The box of an actor as sensors see it: turned with the actor in all three angles."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ros2_cosim.world.headless.sensing.axes import BodyAxes, axes_of
from ros2_cosim.world.headless.wire_types import Vector

if TYPE_CHECKING:
    from ros2_cosim.world.headless.actors import Actor
    from ros2_cosim.world.headless.world import World


def box_of(world: World, actor: Actor) -> tuple[BodyAxes, Vector]:
    """Axes at the centre of an actor's box, and its half sizes."""
    axes = axes_of(world.pose(actor))
    centre = axes.outside(np.array(actor.bounding_box.location))
    return axes._replace(origin=Vector(*centre.tolist())), actor.bounding_box.extent
