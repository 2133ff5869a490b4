# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Well-formed calls with wild values: the simulation answers, goes on and stays finite."""

from __future__ import annotations

import math
import random
import struct
from pathlib import Path
from typing import Any

import msgpack
import pytest
from support.headless_process import HIGHWAY

from ros2_cosim.world.headless.blueprints import LIBRARY
from ros2_cosim.world.headless.maps import MapLibrary
from ros2_cosim.world.headless.methods import ALL
from ros2_cosim.world.headless.simulation import Simulation

_WILD = (0.0, -0.0, 1e-40, -1.0, 1.0, 7.5, -120.0, 1e4, 1e6, -3e38, 3e38)
#: Cameras are small: their pictures are not looked at.
_SMALL = {"image_size_x": "64", "image_size_y": "48"}


class _Fuzzer:
    def __init__(self, seed: int) -> None:
        self.draws = random.Random(seed)
        self.messages: list[bytes] = []
        self.simulation = Simulation(
            MapLibrary([Path(HIGHWAY)]),
            1,
            lambda _, data: self.messages.append(data),
            lambda _: True,
        )
        self.call("set_episode_settings", self._settings())

    def call(self, name: str, *arguments: Any) -> Any:
        sent = msgpack.unpackb(msgpack.packb(list(arguments)))
        return msgpack.unpackb(msgpack.packb(ALL.call(self.simulation, name, sent)))

    def number(self) -> float:
        if self.draws.random() < 0.5:
            return self.draws.uniform(-50.0, 50.0)
        return self.draws.choice(_WILD)

    def vector(self) -> list[float]:
        return [self.number() for _ in range(3)]

    def actor(self) -> int:
        return self.draws.choice([*self.simulation.world.actors, 0, 10**6])

    def control(self) -> list[Any]:
        flags = [self.draws.random() < 0.2 for _ in range(3)]
        return [self.number(), self.number(), self.number(), *flags, self.draws.randrange(-1, 6)]

    def spawn(self) -> Any:
        blueprint = self.draws.choice(list(LIBRARY.values()))
        attributes = [[a.id, a.type, _SMALL.get(a.id, a.value)] for a in blueprint.attributes]
        if attributes and self.draws.random() < 0.3:
            self.draws.choice(attributes)[2] = self.draws.choice(
                ["", "x", "nan", "1e99", "-5", "2"]
            )
        pose = [[self.draws.uniform(0, 900), self.draws.uniform(-12, 12), 0.0], self.vector()]
        description = [blueprint.uid, blueprint.id, attributes]
        if self.draws.random() < 0.4:
            return self.call("spawn_actor_with_parent", description, pose, self.actor(), 104, "")
        return self.call("spawn_actor", description, pose)

    def act(self) -> None:
        choice = self.draws.randrange(14)
        actor, vector = self.actor(), self.vector()
        if choice < 3:
            self.spawn()
        elif choice == 3:
            self.call("destroy_actor", actor)
        elif choice == 4:
            self.call("set_actor_transform", actor, [vector, self.vector()])
        elif choice == 5:
            self.call("set_actor_target_velocity", actor, vector)
        elif choice == 6:
            self.call("apply_control_to_vehicle", actor, self.control())
        elif choice == 7:
            numbers = [self.number() for _ in range(5)]
            self.call("apply_ackermann_control_to_vehicle", actor, numbers)
        elif choice == 8:
            self.call("add_actor_impulse", actor, vector)
            self.call("add_actor_force", actor, vector)
        elif choice == 9:
            self.call("enable_actor_constant_velocity", actor, vector)
        elif choice == 10:
            self.call("get_physics_control", actor)
            self.call("get_telemetry_data", actor)
        elif choice == 11:
            self.call("set_actor_collisions", actor, self.draws.random() < 0.7)
            self.call("set_actor_simulate_physics", actor, self.draws.random() < 0.7)
        elif choice == 12:
            self.call("cast_ray", vector, self.vector())
            self.call("project_point", vector, [0.0, 0.0, -1.0], 1e3)
        else:
            index = self.draws.randrange(23)
            self.call("apply_batch", [[[index, [actor, vector]]]], False)
            self.call("set_episode_settings", self._settings())

    def _settings(self) -> list[Any]:
        step = self.draws.choice([0.01, 0.05, 1e-6, 1.0])
        return [True, False, [True, step], True, 0.01, 10, 0.0, True, 3e3, 2e3, True]


@pytest.mark.parametrize("seed", range(4))
def test_wild_values_never_break_the_simulation(seed: int) -> None:
    fuzzer = _Fuzzer(seed)
    for _ in range(150):
        fuzzer.act()
        fuzzer.call("tick_cue")
        snapshot = next(m for m in fuzzer.messages if m[0] == 17)
        for offset in range(84, len(snapshot), 119):
            assert all(math.isfinite(x) for x in struct.unpack_from("<5x15f", snapshot, offset))
        fuzzer.messages.clear()
    assert len(fuzzer.simulation.world.actors) > 1
