# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Remote methods of walkers: control, navigation, bones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ros2_cosim.world.headless.decoding import (
    Reader,
    listing,
    pair,
    real,
    structure,
    text,
    transform,
    u32,
    walker_control,
)
from ros2_cosim.world.headless.dispatch import AnswerForm, MethodTable, by_world
from ros2_cosim.world.headless.wire_types import Transform
from ros2_cosim.world.headless.world import CallError, World

if TYPE_CHECKING:
    from ros2_cosim.world.headless.simulation import Simulation

TABLE = MethodTable()
_method = TABLE.method
VALUE, NONE = AnswerForm.VALUE, AnswerForm.NONE

_bones: Reader[dict[str, Transform]] = structure(dict, listing(pair(text, transform)))


@_method("get_bones_transform", VALUE, u32)
def _get_bones(simulation: Simulation, actor: int) -> list[Any]:
    walker = simulation.world.require_walker(actor)
    return [walker.skeleton.poses(walker.state.transform)]


@_method("set_bones_transform", NONE, u32, _bones)
def _set_bones(simulation: Simulation, actor: int, bones: dict[str, Transform]) -> None:
    unknown = simulation.world.require_walker(actor).skeleton.set_pose(bones)
    if unknown:
        raise CallError(f"walker {actor} has no bone '{unknown[0][:40]}'")


@_method("blend_pose", NONE, u32, real)
def _blend(simulation: Simulation, actor: int, share: float) -> None:
    # Limited, not refused: CARLA's own example draw_skeleton.py swings from -1 to 1.
    simulation.world.require_walker(actor).skeleton.blend = min(1.0, max(0.0, share))


@_method("get_pose_from_animation", NONE, u32)
def _take_pose(simulation: Simulation, actor: int) -> None:
    simulation.world.require_walker(actor).skeleton.take_pose_of_gait()


@_method("set_actor_dead", NONE, u32)
def _dead(simulation: Simulation, actor: int) -> None:
    simulation.after_life.begin(simulation.world, actor)


TABLE.methods(
    NONE,
    by_world,
    ("apply_control_to_walker", World.apply_walker_control, u32, walker_control),
)
