# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Remote methods by subject; ``ALL`` is the whole table that the server speaks."""

from ros2_cosim.world.headless.dispatch import MethodTable
from ros2_cosim.world.headless.methods import (
    actors,
    batch,
    debug,
    environment,
    looking,
    recorder,
    scenery,
    session,
    vehicles,
    walkers,
)

ALL = MethodTable()
for _module in (
    *(session, environment, debug, recorder, actors, vehicles, walkers, scenery, batch),
    looking,
):
    ALL.include(_module.TABLE)
