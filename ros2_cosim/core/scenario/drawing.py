# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What is drawn of a scenario, by the visualisation node and in bags."""

from __future__ import annotations

from math import degrees
from pathlib import Path
from typing import Any

from ros2_cosim.core.scenario.declaration import declare_all
from ros2_cosim.core.scenario.schema import Scenario
from ros2_cosim.core.scenario.views import viewed_topics
from ros2_cosim.core.scene.scene import DEFAULT_SIZE


def undrawable(scenario: Scenario) -> str:
    """Why the visualisation has nothing to draw; empty if it has."""
    if drawn_vehicles(scenario):
        return ""
    return f"nothing is drawn: scenario '{scenario.name}' has no scene.vehicles"


def drawn_vehicles(scenario: Scenario) -> list[str]:
    """The vehicles that the visualisation shows, in driving order."""
    return [str(name) for name in scenario.scene.get("platoon", scenario.scene.get("vehicles", {}))]


def road_file(scenario: Scenario) -> Path:
    """The file of the road; a directory if the scene has none."""
    return Path(scenario.base_directory) / str(scenario.scene.get("map", ""))


def drawing(scenario: Scenario) -> dict[str, Any]:
    """What is drawn, and cannot be learnt from topics: parameters of the visualisation node."""
    vehicles = scenario.scene.get("vehicles", {})
    names = drawn_vehicles(scenario)
    tracks = viewed_topics(scenario, names).tracks
    sectors = [s for d in declare_all(scenario).values() for s in d.sectors]
    parameters: dict[str, Any] = {
        "road_file": str(road_file(scenario)),
        "vehicles": names,
        "odometries": [tracks.get(name, f"/{name}/odometry") for name in names],
        # A size that the scene leaves to the simulator is drawn as that of the usual car.
        "lengths": [float(vehicles[name].get("length") or DEFAULT_SIZE[0]) for name in names],
        "widths": [float(vehicles[name].get("width") or DEFAULT_SIZE[1]) for name in names],
    }
    if sectors:
        parameters["sensors"] = [sector.vehicle for sector in sectors]
        parameters["sensor_fov_deg"] = degrees(sectors[0].angle)
        parameters["sensor_range_m"] = sectors[0].range
    return parameters
