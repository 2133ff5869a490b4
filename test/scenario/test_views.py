# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Configurations of viewers name what the run of their scenario publishes, and nothing else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from support.sensor_scenario import sensor_scenario

from ros2_cosim.core.documents.installed import share_file
from ros2_cosim.core.documents.run_files import FOXGLOVE_LAYOUT, RVIZ_VIEW
from ros2_cosim.core.scenario.drawing import drawing, drawn_vehicles, undrawable
from ros2_cosim.core.scenario.schema import Scenario, load_scenario
from ros2_cosim.core.scenario.system import with_declared_outputs
from ros2_cosim.core.scenario.views import (
    MARKER_TOPICS,
    SENSOR_DISPLAYS,
    foxglove_layout,
    rviz_view,
    viewed_topics,
    write_views,
)
from ros2_cosim.ros.node.node_parameters import DRAWING

#: In RViz's own words -> the message that a display reads.
TYPES = {
    "rviz_default_plugins/MarkerArray": "visualization_msgs/msg/MarkerArray",
    "rviz_default_plugins/Odometry": "nav_msgs/msg/Odometry",
    **{display: kind for kind, display in SENSOR_DISPLAYS.items()},
}
#: Where an own scenario may have the odometry of a vehicle.
OWN_TOPIC = "/localization/kinematic_state"


LIBRARY = sorted(
    f"library/{path.stem}"
    for path in (share_file("config/platoon.yaml").parent / "library").glob("*.yaml")
)


@pytest.fixture(scope="module", params=["platoon", "endurance", *LIBRARY, "sensors"])
def scenario(request: pytest.FixtureRequest) -> Scenario:
    if request.param == "sensors":
        found = sensor_scenario("lidar", "front", "imu")
        outputs = found.participants["world"].outputs
        outputs["odometry/ego"] = outputs["odometry/ego"].model_copy(update={"topic": OWN_TOPIC})
        return with_declared_outputs(found)
    return with_declared_outputs(load_scenario(share_file(f"config/{request.param}.yaml")))


def published(scenario: Scenario) -> dict[str, str]:
    """Topic -> type of what the run publishes, with the visualisation."""
    topics = {topic: "visualization_msgs/msg/MarkerArray" for topic in MARKER_TOPICS}
    for name in scenario.participants:
        for port in scenario.outputs_of(name).values():
            topics[port.topic] = port.type
    return topics


def test_marker_topics_are_those_of_the_visualisation() -> None:
    drawing = pytest.importorskip("ros2_cosim.ros.node.visualisation")
    names = (drawing.ROAD_TOPIC, drawing.OBSTACLE_TOPIC, drawing.SCENE_TOPIC)
    assert names == MARKER_TOPICS


def sensors(scenario: Scenario) -> set[str]:
    """Topics of what RViz can show of sensors."""
    return {topic for topic, kind in published(scenario).items() if kind in SENSOR_DISPLAYS}


def tracks(scenario: Scenario) -> set[str]:
    """Topics of odometries of vehicles."""
    if scenario.name == "sensors":
        return {OWN_TOPIC, *(f"/{name}/odometry" for name in drawn_vehicles(scenario)[1:])}
    return {f"/{name}/odometry" for name in drawn_vehicles(scenario)}


def test_rviz_shows_topics_that_are_there(scenario: Scenario) -> None:
    vehicles = drawn_vehicles(scenario)
    topics = viewed_topics(scenario, vehicles)
    manager = rviz_view(vehicles[0], topics)["Visualization Manager"]
    shown = {
        display["Topic"]["Value"]: TYPES[display["Class"]]
        for display in manager["Displays"]
        if "Topic" in display
    }
    assert shown.items() <= published(scenario).items()
    assert shown.keys() == tracks(scenario) | sensors(scenario) | {*MARKER_TOPICS}
    views = [manager["Views"]["Current"], *manager["Views"]["Saved"]]
    assert {view["Target Frame"] for view in views} == {f"{vehicles[0]}/base_link"}
    placed = rviz_view(vehicles[0], topics, "/a")["Visualization Manager"]["Displays"]
    assert {d["Topic"]["Value"] for d in placed if "Topic" in d} == {f"/a{t}" for t in shown}


def test_foxglove_shows_topics_and_fields_that_are_there(scenario: Scenario) -> None:
    vehicles = drawn_vehicles(scenario)
    layout = foxglove_layout(vehicles[0], viewed_topics(scenario, vehicles))
    topics = published(scenario)
    panels = layout["configById"]
    pictures = {p["imageMode"]["imageTopic"] for n, p in panels.items() if n[:5] == "Image"}
    drawn = panels["3D!scene"]["topics"].keys()
    assert drawn | pictures == {*MARKER_TOPICS} | sensors(scenario) and not drawn & pictures
    assert all(topics[topic] == "sensor_msgs/msg/Image" for topic in pictures)
    plotted = [
        path["value"] for name, p in panels.items() if name[:4] == "Plot" for path in p["paths"]
    ]
    assert len(plotted) == 2 * len(vehicles)
    for value in plotted:
        topic, _, field = value.partition(".")
        assert topics[topic] == "nav_msgs/msg/Odometry"
        assert field in ("twist.twist.linear.x", "pose.pose.position.x")
    assert {value.partition(".")[0] for value in plotted} == tracks(scenario)

    def named(node: Any) -> set[str]:
        if isinstance(node, str):
            return {node}
        return named(node["first"]) | named(node["second"])

    assert named(layout["layout"]) == panels.keys()


def test_both_are_written(scenario: Scenario, tmp_path: Path) -> None:
    vehicles = drawn_vehicles(scenario)
    topics = viewed_topics(scenario, vehicles)
    write_views(tmp_path, scenario, vehicles)
    assert yaml.safe_load((tmp_path / RVIZ_VIEW).read_text()) == rviz_view(vehicles[0], topics)
    written = json.loads((tmp_path / FOXGLOVE_LAYOUT).read_text())
    assert written == foxglove_layout(vehicles[0], topics)


def test_a_vehicle_whose_size_the_simulator_knows_is_drawn() -> None:
    scenario = sensor_scenario("imu")
    vehicles = scenario.scene["vehicles"]
    for settings in vehicles.values():
        settings.pop("length", None)
    assert drawing(scenario)["lengths"] == [4.792] * len(vehicles)


def test_vehicles_are_drawn_by_the_topics_that_they_have(scenario: Scenario) -> None:
    found = drawing(scenario)
    assert set(found["odometries"]) == tracks(scenario)
    assert len(found["odometries"]) == len(found["vehicles"])
    assert found.keys() <= DRAWING.keys(), "the node describes each of its parameters"


def test_a_scenario_without_vehicles_cannot_be_drawn() -> None:
    assert undrawable(load_scenario(share_file("config/platoon.yaml"))) == ""
    said = undrawable(load_scenario(share_file("config/car_following.yaml")))
    assert said == "nothing is drawn: scenario 'car_following' has no scene.vehicles"
