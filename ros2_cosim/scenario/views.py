# SPDX-License-Identifier: Apache-2.0
"""How a scenario is looked at: the configuration of RViz, and the layout of Foxglove.

Both show what the visualisation publishes, follow the first vehicle, and name topics of this
scenario only.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from ros2_cosim.documents.files import write_atomically
from ros2_cosim.documents.installed import share_file

#: Files in the output directory.
RVIZ_VIEW = "view.rviz"
FOXGLOVE_LAYOUT = "foxglove.json"

#: Topics of the visualisation that are drawn.
MARKER_TOPICS = ("/visualization/road", "/visualization/obstacles", "/visualization/scene")
_FRAME = "base_link"
_ODOMETRY = "rviz_default_plugins/Odometry"


def write_views(directory: Path, vehicles: Sequence[str]) -> None:
    """Write both files.

    :param vehicles: names of those that are drawn, in driving order
    """
    write_atomically(directory / RVIZ_VIEW, yaml.safe_dump(rviz_view(vehicles), sort_keys=False))
    layout = json.dumps(foxglove_layout(vehicles), indent=1)
    write_atomically(directory / FOXGLOVE_LAYOUT, layout + "\n")


def rviz_view(vehicles: Sequence[str]) -> dict[str, Any]:
    """The configuration of RViz: that of this package, for these vehicles."""
    view: dict[str, Any] = yaml.safe_load(share_file("rviz/platoon.rviz").read_text("utf-8"))
    manager = view["Visualization Manager"]
    displays: list[dict[str, Any]] = []
    for display in manager["Displays"]:
        if display["Class"] != _ODOMETRY:
            displays.append(display)
            continue
        for name in vehicles:
            topic = {**display["Topic"], "Value": _odometry(name)}
            displays.append({**display, "Name": f"Track of {name}", "Topic": topic})
    manager["Displays"] = displays
    for shown in (manager["Views"]["Current"], *manager["Views"]["Saved"]):
        shown["Target Frame"] = f"{vehicles[0]}/{_FRAME}"
    manager["Views"]["Saved"][0]["Name"] = f"From above, following {vehicles[0]}"
    return view


def foxglove_layout(vehicles: Sequence[str]) -> dict[str, Any]:
    """The layout of Foxglove: the scene, speeds and accelerations of these vehicles."""
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
            "Plot!speed": _plot("Speed [m/s]", vehicles, "twist.twist.linear.x"),
            "Plot!place": _plot("Place [m]", vehicles, "pose.pose.position.x"),
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


def _plot(title: str, vehicles: Sequence[str], field: str) -> dict[str, Any]:
    return {
        "title": title,
        "xAxisVal": "timestamp",
        "showLegend": True,
        "paths": [
            {
                "value": f"{_odometry(name)}.{field}",
                "label": name,
                "enabled": True,
                "timestampMethod": "headerStamp",
            }
            for name in vehicles
        ],
    }


def _odometry(vehicle: str) -> str:
    return f"/{vehicle}/odometry"
