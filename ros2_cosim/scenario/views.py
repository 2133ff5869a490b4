# SPDX-License-Identifier: Apache-2.0
"""How a scenario is looked at: the configuration of RViz, and the layout of Foxglove.

Both show what the visualisation publishes, follow the first vehicle, and name topics of this
scenario only.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from ros2_cosim.documents.files import write_atomically
from ros2_cosim.documents.installed import share_file
from ros2_cosim.interfaces.namespaces import ROOT, qualified

#: Files in the output directory.
RVIZ_VIEW = "view.rviz"
FOXGLOVE_LAYOUT = "foxglove.json"

#: Topics of the visualisation that are drawn.
MARKER_TOPICS = ("/visualization/road", "/visualization/obstacles", "/visualization/scene")
_FRAME = "base_link"
_ODOMETRY = "rviz_default_plugins/Odometry"


def write_views(directory: Path, vehicles: Sequence[str], namespace: str = ROOT) -> None:
    """Write both files.

    :param vehicles: names of those that are drawn, in driving order
    :param namespace: of the run, in which RViz finds it; Foxglove shows bags and the run itself,
        whose topics have no namespace
    """
    view = rviz_view(vehicles, namespace)
    write_atomically(directory / RVIZ_VIEW, yaml.safe_dump(view, sort_keys=False))
    layout = json.dumps(foxglove_layout(vehicles), indent=1)
    write_atomically(directory / FOXGLOVE_LAYOUT, layout + "\n")


def rviz_view(vehicles: Sequence[str], namespace: str = ROOT) -> dict[str, Any]:
    """The configuration of RViz: that of this package, for these vehicles."""
    view: dict[str, Any] = yaml.safe_load(share_file("rviz/platoon.rviz").read_text("utf-8"))
    manager = view["Visualization Manager"]
    displays: list[dict[str, Any]] = []
    for display in manager["Displays"]:
        if display["Class"] != _ODOMETRY:
            displays.append(_placed(display, namespace))
            continue
        for name in vehicles:
            topic = {**display["Topic"], "Value": _odometry(name, namespace)}
            displays.append({**display, "Name": f"Track of {name}", "Topic": topic})
    manager["Displays"] = displays
    for shown in (manager["Views"]["Current"], *manager["Views"]["Saved"]):
        shown["Target Frame"] = f"{vehicles[0]}/{_FRAME}"
    manager["Views"]["Saved"][0]["Name"] = f"From above, following {vehicles[0]}"
    return view


def foxglove_layout(vehicles: Sequence[str]) -> dict[str, Any]:
    """The layout of Foxglove: the scene, speeds and accelerations of these vehicles."""
    tracks = {name: _odometry(name) for name in vehicles}
    scene = {
        "followMode": "follow-pose",
        "followTf": f"{vehicles[0]}/{_FRAME}",
        "cameraState": {"perspective": True, "distance": 90, "phi": 60, "thetaOffset": 90},
        "scene": {},
        "transforms": {},
        "topics": {topic: {"visible": True} for topic in MARKER_TOPICS},
    }
    return {
        "configById": {
            "3D!scene": scene,
            "Plot!speed": _plot("Speed [m/s]", tracks, "twist.twist.linear.x"),
            "Plot!place": _plot("Place [m]", tracks, "pose.pose.position.x"),
        },
        "globalVariables": {},
        "userNodes": {},
        "playbackConfig": {"speed": 1},
        "layout": {
            "direction": "row",
            "first": "3D!scene",
            "second": {
                "direction": "column",
                "first": "Plot!speed",
                "second": "Plot!place",
                "splitPercentage": 50,
            },
            "splitPercentage": 65,
        },
    }


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


def _odometry(vehicle: str, namespace: str = ROOT) -> str:
    return qualified(namespace, f"/{vehicle}/odometry")


def _placed(display: dict[str, Any], namespace: str) -> dict[str, Any]:
    """A display whose topic, if it has one, is that of a namespace."""
    topic = display.get("Topic")
    if topic is None:
        return display
    return {**display, "Topic": {**topic, "Value": qualified(namespace, topic["Value"])}}
