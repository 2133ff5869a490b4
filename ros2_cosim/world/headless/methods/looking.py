# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Remote methods of the project's own: for pages that show a world, and for runs.

They are not calls of CARLA's client. They change nothing in the world, and nothing waits for what
reads them: no frame is held back for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ros2_cosim.world.headless.decoding import u32
from ros2_cosim.world.headless.dispatch import AnswerForm, MethodTable
from ros2_cosim.world.headless.onlooker import LOOK_AT_CAMERA, LOOK_AT_WORLD
from ros2_cosim.world.headless.outsiders import OUTSIDE_CHANGES, RUN_CLIENT

if TYPE_CHECKING:
    from ros2_cosim.world.headless.onlooker import CameraPicture, WorldPicture
    from ros2_cosim.world.headless.outsiders import OutsideChange
    from ros2_cosim.world.headless.simulation import Simulation

TABLE = MethodTable()
_method = TABLE.method
VALUE = AnswerForm.VALUE


@_method(LOOK_AT_WORLD, VALUE)
def _look(simulation: Simulation) -> WorldPicture:
    return simulation.glances.world()


@_method(LOOK_AT_CAMERA, VALUE, u32)
def _camera(simulation: Simulation, number: int) -> CameraPicture | None:
    return simulation.glances.camera(number)


@_method(RUN_CLIENT, AnswerForm.VALUE, u32)
def _run_client(simulation: Simulation, process: int) -> bool:
    simulation.outsiders.begin(process, simulation.world.frame)
    return True


@_method(OUTSIDE_CHANGES, VALUE)
def _outside_changes(simulation: Simulation) -> list[OutsideChange]:
    return simulation.outsiders.changes()
