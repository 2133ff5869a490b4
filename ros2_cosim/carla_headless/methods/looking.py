# SPDX-License-Identifier: Apache-2.0
"""Remote methods of the project's own pages, which show a world of another process.

They are no calls of CARLA's client. They read, and nothing waits for what reads them: no frame is
held back for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ros2_cosim.carla_headless.decoding import u32
from ros2_cosim.carla_headless.dispatch import AnswerForm, MethodTable
from ros2_cosim.carla_headless.onlooker import LOOK_AT_CAMERA, LOOK_AT_WORLD

if TYPE_CHECKING:
    from ros2_cosim.carla_headless.onlooker import CameraPicture, WorldPicture
    from ros2_cosim.carla_headless.simulation import Simulation

TABLE = MethodTable()
_method = TABLE.method
VALUE = AnswerForm.VALUE


@_method(LOOK_AT_WORLD, VALUE)
def _look(simulation: Simulation) -> WorldPicture:
    return simulation.glances.world()


@_method(LOOK_AT_CAMERA, VALUE, u32)
def _camera(simulation: Simulation, number: int) -> CameraPicture | None:
    return simulation.glances.camera(number)
