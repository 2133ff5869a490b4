# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Dead walkers lie where they died for a while, and are gone then."""

from __future__ import annotations

from typing import Final

from ros2_cosim.world.headless.world import World

LIFE_SPAN_S: Final = 10.0
"""As in CARLA (``AfterLifeSpan`` in louiszengCN/CarlaAir d70247b, Unreal/CarlaUE4/Plugins/Carla/
Source/Carla/Walker/WalkerBase.h) [s]."""


class AfterLife:
    """When each dead walker is gone.

    A client's navigation calls a walker dead that a vehicle stands on, and leads it no longer. For
    ever there it would stop all traffic.
    """

    def __init__(self) -> None:
        self._due: dict[int, float] = {}

    def begin(self, world: World, actor_id: int) -> None:
        """Let a walker die, also one that is invincible: CARLA does not ask.

        :raises CallError: if it is not a walker
        """
        world.require_walker(actor_id).alive = False
        self._due.setdefault(actor_id, world.elapsed_s + LIFE_SPAN_S)

    def step(self, world: World) -> None:
        """Remove those whose time is over."""
        for actor_id, due in list(self._due.items()):
            if actor_id not in world.actors:
                del self._due[actor_id]
            elif world.elapsed_s >= due:
                del self._due[actor_id]
                world.destroy(actor_id)
