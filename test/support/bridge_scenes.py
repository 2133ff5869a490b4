# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Scenes that the tests of this room share."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ros2_cosim.core.scene.simulator import MapChoice, Simulator
from ros2_cosim.world.carla.parameters import DriverSpec, SceneParameters, VehicleSpec, roadblock
from ros2_cosim.world.carla.scene import ActorCommand, Scene

HIGHWAY = Path(__file__).resolve().parents[2] / "config" / "highway.xodr"
NAN = float("nan")
GENERATED = MapChoice(opendrive=HIGHWAY.read_text(encoding="utf-8"))


def platoon(
    chosen: MapChoice = GENERATED, leader_s: float = 700.0, **changes: Any
) -> SceneParameters:
    """Three vehicles before a roadblock 300 m ahead, running into the curve."""
    values: dict[str, Any] = {
        "map": chosen,
        "step_ns": 10_000_000,
        "vehicles": (
            VehicleSpec("leader", -2, leader_s, 25.0, driver=DriverSpec()),
            VehicleSpec("follower1", -2, leader_s - 22.0, 25.0),
            VehicleSpec("follower2", -2, leader_s - 44.0, 25.0),
        ),
        "objects": roadblock(-2, leader_s + 300.0),
    }
    return SceneParameters(**(values | changes))


def careless_commands(step: int) -> dict[str, ActorCommand]:
    """Followers that accelerate: they run into the one ahead."""
    return {
        "follower1": ActorCommand(0.2 + 0.001 * (step % 100), 0.0),
        "follower2": ActorCommand(0.9, 0.0, 0.002 if 40 < step < 60 else None),
    }


def record(simulator: Simulator, parameters: SceneParameters, steps: int) -> list[str]:
    """Everything that a scene reports, state by state, as text (shows every bit of a float)."""
    scene = Scene(simulator, parameters)
    scene.initialise()
    try:
        found = [repr(scene.static_objects()), repr(scene.dimensions()), repr(scene.read())]
        for step in range(steps):
            scene.step(careless_commands(step))
            found.append(repr((scene.read(), scene.collisions())))
        return found
    finally:
        scene.dismantle()
