# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""How a scenario is looked at: the configuration of RViz, and the layout of Foxglove.

Both show what the visualisation publishes, the tracks of the vehicles and what sensors measure,
follow the first vehicle, and name topics of this scenario only.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import yaml

from ros2_cosim.core.documents.files import write_atomically
from ros2_cosim.core.documents.installed import share_file
from ros2_cosim.core.documents.run_files import FOXGLOVE_LAYOUT, RVIZ_VIEW
from ros2_cosim.core.messages.namespaces import ROOT, qualified
from ros2_cosim.core.scenario.schema import Scenario

#: Topics of the visualisation that are drawn.
MARKER_TOPICS = ("/visualization/road", "/visualization/obstacles", "/visualization/scene")
_FRAME = "base_link"
_ODOMETRY = "rviz_default_plugins/Odometry"
_TRACK_TYPE: Final = "nav_msgs/msg/Odometry"
_IMAGE_TYPE: Final = "sensor_msgs/msg/Image"
#: Message type of a sensor -> RViz's display of it.
SENSOR_DISPLAYS: Final = {
    "sensor_msgs/msg/PointCloud2": "rviz_default_plugins/PointCloud2",
    "sensor_msgs/msg/LaserScan": "rviz_default_plugins/LaserScan",
    _IMAGE_TYPE: "rviz_default_plugins/Image",
}


class ViewedTopics(NamedTuple):
    """What of a scenario is looked at: vehicle -> topic of its odometry, in driving order, and
    topic -> message type of what sensors measure.
    """

    tracks: Mapping[str, str]
    sensors: Mapping[str, str]

    @property
    def images(self) -> list[str]:
        """The topics of pictures."""
        return [topic for topic, kind in self.sensors.items() if kind == _IMAGE_TYPE]


def viewed_topics(scenario: Scenario, vehicles: Sequence[str]) -> ViewedTopics:
    """Find them among the outputs; a vehicle whose odometry nothing sends has no track.

    :param vehicles: names of those that are drawn, in driving order
    """
    tracks: dict[str, str] = {}
    sensors: dict[str, str] = {}
    for name in scenario.participants:
        for port, output in scenario.outputs_of(name).items():
            kind, _, vehicle = port.partition("/")
            if kind == "odometry" and output.type == _TRACK_TYPE:
                tracks.setdefault(vehicle, output.topic)
            elif output.type in SENSOR_DISPLAYS:
                sensors[output.topic] = output.type
    return ViewedTopics({name: tracks[name] for name in vehicles if name in tracks}, sensors)


def write_views(
    directory: Path, scenario: Scenario, vehicles: Sequence[str], namespace: str = ROOT
) -> None:
    """Write both files.

    :param vehicles: names of those that are drawn, in driving order
    :param namespace: of the run, in which RViz finds it; Foxglove shows bags and the run itself,
        whose topics have no namespace
    """
    topics = viewed_topics(scenario, vehicles)
    view = rviz_view(vehicles[0], topics, namespace)
    write_atomically(directory / RVIZ_VIEW, yaml.safe_dump(view, sort_keys=False))
    layout = json.dumps(foxglove_layout(vehicles[0], topics), indent=1)
    write_atomically(directory / FOXGLOVE_LAYOUT, layout + "\n")


def rviz_view(followed: str, topics: ViewedTopics, namespace: str = ROOT) -> dict[str, Any]:
    """The configuration of RViz: that of this package, for this scenario.

    :param followed: the vehicle that the view follows
    """
    view: dict[str, Any] = yaml.safe_load(share_file("rviz/platoon.rviz").read_text("utf-8"))
    manager = view["Visualization Manager"]
    displays: list[dict[str, Any]] = []
    for display in manager["Displays"]:
        if display["Class"] != _ODOMETRY:
            displays.append(_placed(display, namespace))
            continue
        for name, topic in topics.tracks.items():
            displays.append(_shown(display, f"Track of {name}", qualified(namespace, topic)))
        for topic, kind in topics.sensors.items():
            plain = {
                "Class": SENSOR_DISPLAYS[kind],
                "Enabled": True,
                "Value": True,
                "Topic": display["Topic"],
            }
            displays.append(_shown(plain, f"Sensor {topic}", qualified(namespace, topic)))
    manager["Displays"] = displays
    for shown in (manager["Views"]["Current"], *manager["Views"]["Saved"]):
        shown["Target Frame"] = f"{followed}/{_FRAME}"
    manager["Views"]["Saved"][0]["Name"] = f"From above, following {followed}"
    return view


def foxglove_layout(followed: str, topics: ViewedTopics) -> dict[str, Any]:
    """The layout of Foxglove: the scene, speeds and places of vehicles, pictures of cameras.

    :param followed: the vehicle that the view follows
    """
    drawn = [topic for topic in topics.sensors if topic not in topics.images]
    scene = {
        "followMode": "follow-pose",
        "followTf": f"{followed}/{_FRAME}",
        "cameraState": {"perspective": True, "distance": 90, "phi": 60, "thetaOffset": 90},
        "scene": {},
        "transforms": {},
        "topics": {topic: {"visible": True} for topic in (*MARKER_TOPICS, *drawn)},
    }
    beside = {
        "Plot!speed": _plot("Speed [m/s]", topics.tracks, "twist.twist.linear.x"),
        "Plot!place": _plot("Place [m]", topics.tracks, "pose.pose.position.x"),
    }
    for number, topic in enumerate(topics.images, start=1):
        beside[f"Image!{number}"] = {"imageMode": {"imageTopic": topic}}
    return {
        "configById": {"3D!scene": scene, **beside},
        "globalVariables": {},
        "userNodes": {},
        "playbackConfig": {"speed": 1},
        "layout": {
            "direction": "row",
            "first": "3D!scene",
            "second": _column(list(beside)),
            "splitPercentage": 65,
        },
    }


def _column(panels: Sequence[str]) -> Any:
    """Panels one below the other, equally high."""
    first, *rest = panels
    if not rest:
        return first
    return {
        "direction": "column",
        "first": first,
        "second": _column(rest),
        "splitPercentage": round(100 / len(panels)),
    }


def _shown(display: Mapping[str, Any], title: str, topic: str) -> dict[str, Any]:
    """A display of another topic."""
    return {**display, "Name": title, "Topic": {**display["Topic"], "Value": topic}}


def _plot(title: str, tracks: Mapping[str, str], field: str) -> dict[str, Any]:
    return {
        "title": title,
        "xAxisVal": "timestamp",
        "showLegend": True,
        "paths": [
            {
                "value": f"{topic}.{field}",
                "label": name,
                "enabled": True,
                "timestampMethod": "headerStamp",
            }
            for name, topic in tracks.items()
        ],
    }


def _placed(display: dict[str, Any], namespace: str) -> dict[str, Any]:
    """A display whose topic, if it has one, is that of a namespace."""
    topic = display.get("Topic")
    if topic is None:
        return display
    return {**display, "Topic": {**topic, "Value": qualified(namespace, topic["Value"])}}
