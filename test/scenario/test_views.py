# SPDX-License-Identifier: Apache-2.0
"""Configurations of viewers name what the run of their scenario publishes, and nothing else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from ros2_cosim.documents.installed import share_file
from ros2_cosim.scenario.plan import drawn_vehicles, undrawable, with_declared_outputs
from ros2_cosim.scenario.schema import Scenario, load_scenario
from ros2_cosim.scenario.views import (
    FOXGLOVE_LAYOUT,
    MARKER_TOPICS,
    RVIZ_VIEW,
    foxglove_layout,
    rviz_view,
    write_views,
)

#: In RViz's own words -> the message that a display reads.
TYPES = {
    "rviz_default_plugins/MarkerArray": "visualization_msgs/msg/MarkerArray",
    "rviz_default_plugins/Odometry": "nav_msgs/msg/Odometry",
}


@pytest.fixture(scope="module", params=["platoon", "endurance"])
def scenario(request: pytest.FixtureRequest) -> Scenario:
    return with_declared_outputs(load_scenario(share_file(f"config/{request.param}.yaml")))


def published(scenario: Scenario) -> dict[str, str]:
    """Topic -> type of what the run publishes, with the visualisation."""
    topics = {topic: "visualization_msgs/msg/MarkerArray" for topic in MARKER_TOPICS}
    for name in scenario.participants:
        for port in scenario.outputs_of(name).values():
            topics[port.topic] = port.type
    return topics


def test_marker_topics_are_those_of_the_visualisation() -> None:
    drawing = pytest.importorskip("ros2_cosim.ros.visualisation")
    names = (drawing.ROAD_TOPIC, drawing.OBSTACLE_TOPIC, drawing.SCENE_TOPIC)
    assert names == MARKER_TOPICS


def test_rviz_shows_topics_that_are_there(scenario: Scenario) -> None:
    vehicles = drawn_vehicles(scenario)
    manager = rviz_view(vehicles)["Visualization Manager"]
    shown = {
        display["Topic"]["Value"]: TYPES[display["Class"]]
        for display in manager["Displays"]
        if "Topic" in display
    }
    assert shown.items() <= published(scenario).items()
    assert {f"/{name}/odometry" for name in vehicles} | {*MARKER_TOPICS} == shown.keys()
    views = [manager["Views"]["Current"], *manager["Views"]["Saved"]]
    assert {view["Target Frame"] for view in views} == {f"{vehicles[0]}/base_link"}


def test_foxglove_shows_topics_and_fields_that_are_there(scenario: Scenario) -> None:
    layout = foxglove_layout(drawn_vehicles(scenario))
    topics = published(scenario)
    panels = layout["configById"]
    assert panels["3D!scene"]["topics"].keys() <= topics.keys()
    plotted = [
        path["value"] for name, p in panels.items() if name[:4] == "Plot" for path in p["paths"]
    ]
    assert len(plotted) == 2 * len(drawn_vehicles(scenario))
    for value in plotted:
        topic, _, field = value.partition(".")
        assert topics[topic] == "nav_msgs/msg/Odometry"
        assert field in ("twist.twist.linear.x", "pose.pose.position.x")

    def named(node: Any) -> set[str]:
        if isinstance(node, str):
            return {node}
        return named(node["first"]) | named(node["second"])

    assert named(layout["layout"]) == panels.keys()


def test_both_are_written(tmp_path: Path) -> None:
    write_views(tmp_path, ["a", "b"])
    assert yaml.safe_load((tmp_path / RVIZ_VIEW).read_text()) == rviz_view(["a", "b"])
    assert json.loads((tmp_path / FOXGLOVE_LAYOUT).read_text()) == foxglove_layout(["a", "b"])


def test_a_scenario_without_vehicles_cannot_be_drawn() -> None:
    assert undrawable(load_scenario(share_file("config/platoon.yaml"))) == ""
    said = undrawable(load_scenario(share_file("config/car_following.yaml")))
    assert said == "nothing is drawn: scenario 'car_following' has no scene.vehicles"
