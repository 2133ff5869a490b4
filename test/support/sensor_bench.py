# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A server's simulation in process, whose sensors all have a listener."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgpack
from support.headless_process import HIGHWAY

from ros2_cosim.world.headless.maps import MapLibrary
from ros2_cosim.world.headless.simulation import Simulation
from ros2_cosim.world.headless.wire_types import (
    ActorDescription,
    AttributeValue,
    EpisodeSettings,
    Rotation,
    Transform,
    Vector,
)

CAR = "vehicle.tesla.model3"
HEADER = 48


class Bench:
    """A simulation whose streams all have a listener, or none."""

    def __init__(
        self,
        step: float = 0.02,
        listening: bool = True,
        path: Path = HIGHWAY,
        has_scenery: bool = False,
    ) -> None:
        self.messages: dict[int, list[bytes]] = {}
        self.simulation = Simulation(
            MapLibrary([path]), 0, self._publish, lambda _: listening, has_scenery=has_scenery
        )
        self.simulation.apply_settings(
            EpisodeSettings(synchronous_mode=True, fixed_delta_seconds=step)
        )

    def _publish(self, stream: int, message: bytes) -> None:
        self.messages.setdefault(stream - 16, []).append(message)

    def car(self, x: float, y: float = 5.25, yaw: float = 0.0) -> int:
        pose = Transform(Vector(x, y, 0.0), Rotation(yaw=yaw))
        return self.simulation.spawn(ActorDescription(0, CAR), pose).id

    def sensor(self, kind: str, pose: Transform, parent: int = 0, **attributes: Any) -> int:
        chosen = tuple(AttributeValue(k, 4, str(v)) for k, v in attributes.items())
        return self.simulation.spawn(ActorDescription(0, kind, chosen), pose, parent).id

    def run(self, ticks: int) -> None:
        for _ in range(ticks):
            self.simulation.tick()

    def payloads(self, sensor: int) -> list[Any]:
        return [msgpack.unpackb(message[HEADER:]) for message in self.messages.get(sensor, [])]
