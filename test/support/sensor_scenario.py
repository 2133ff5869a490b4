# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A scenario with a sensor of every kind that messages are made of."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from ros2_cosim.core.scenario.schema import Scenario, make_scenario

CONFIG = Path(__file__).resolve().parents[2] / "config"
_SMALL = {"image_size_x": 64, "image_size_y": 48}
_CERTAIN = {
    "dropoff_general_rate": 0.0,
    "dropoff_intensity_limit": 0.0,
    "dropoff_zero_intensity": 0.0,
}
_SCAN = {
    "channels": 1,
    "upper_fov": 0.0,
    "lower_fov": 0.0,
    "points_per_second": 3600,
    "range": 50.0,
    "rotation_frequency": 10.0,
    **_CERTAIN,
}
SENSORS: dict[str, dict[str, Any]] = {
    "gnss": {"blueprint": "other.gnss", "attributes": {"noise_lat_stddev": 0.00001}},
    "imu": {"blueprint": "other.imu", "period": "20ms", "z": 0.5},
    "lidar": {
        "blueprint": "lidar.ray_cast",
        "z": 2.0,
        "attributes": {"channels": 8, "points_per_second": 8000, "range": 50.0},
    },
    "scan": {"blueprint": "lidar.ray_cast", "x": 2.4, "z": 0.5, "attributes": _SCAN},
    "labels": {
        "blueprint": "lidar.ray_cast_semantic",
        "z": 2.0,
        "attributes": {"points_per_second": 60000, "range": 50.0, "rotation_frequency": 5.0},
    },
    "radar": {"blueprint": "other.radar", "x": 2.4, "z": 0.5},
    "front": {"blueprint": "camera.rgb", "x": 1.0, "z": 2.0, "pitch": 0.1, "attributes": _SMALL},
    "depth": {"blueprint": "camera.depth", "x": 1.0, "z": 2.0, "attributes": _SMALL},
    "tags": {"blueprint": "camera.semantic_segmentation", "z": 2.0, "attributes": _SMALL},
    "instances": {
        "blueprint": "camera.instance_segmentation",
        "x": -8.0,
        "z": 3.0,
        "attributes": _SMALL,
    },
    "normals": {"blueprint": "camera.normals", "z": 2.0, "attributes": _SMALL},
    "flow": {"blueprint": "camera.optical_flow", "x": 1.0, "z": 2.0, "attributes": _SMALL},
}
_TYPES = {
    "odometry": "nav_msgs/msg/Odometry",
    "acceleration": "geometry_msgs/msg/AccelStamped",
    "static_objects": "ros2_cosim/msg/StaticObjects",
    "collision": "ros2_cosim/msg/CollisionEvent",
    "fix": "sensor_msgs/msg/NavSatFix",
    "imu": "sensor_msgs/msg/Imu",
    "points": "sensor_msgs/msg/PointCloud2",
    "scan": "sensor_msgs/msg/LaserScan",
    "image": "sensor_msgs/msg/Image",
    "camera_info": "sensor_msgs/msg/CameraInfo",
}
_PORTS = {"gnss": ("fix",), "imu": ("imu",), "scan": ("points", "scan"), "front": ("camera_info",)}


def ports_of(name: str, blueprint: str) -> list[str]:
    """The ports of a sensor."""
    kinds = list(_PORTS.get(name, ()))
    if blueprint.startswith("camera."):
        kinds.append("image")
    return [f"{kind}/{name}" for kind in kinds or ["points"]]


def sensor_data(names: tuple[str, ...] = tuple(SENSORS), **changes: Any) -> dict[str, Any]:
    """The scenario as plain data.

    :param names: its sensors
    :param changes: sections that are replaced
    """
    sensors = {
        name: {
            "vehicle": "ego",
            "period": "200ms",
            **SENSORS[name],
            "blueprint": f"sensor.{SENSORS[name]['blueprint']}",
        }
        for name in names
    }
    if "scan" in sensors:
        sensors["scan"]["period"] = "100ms"
    sparse = {"static_objects": "once", "collision": "sparse"}
    ports = ["odometry/ego", "acceleration/ego", *sparse]
    for name in names:
        found = ports_of(name, SENSORS[name]["blueprint"])
        ports += found
        if sensors[name]["period"] != "20ms":
            sparse |= dict.fromkeys(found, "sparse")
    outputs = {
        port: {
            "type": _TYPES[port.partition("/")[0]],
            "topic": "/" + port,
            "schedule": sparse.get(port, "every"),
        }
        for port in ports
    }
    return {
        "version": 1,
        "name": "sensors",
        "seed": 7,
        "duration": "300ms",
        "simulator": {"kind": "headless", "port": 0},
        "scene": {
            "map": str(CONFIG / "highway.xodr"),
            "weather": "MidRainySunset",
            "vehicles": {
                "ego": {"length": 4.792, "width": 2.163, "lane": -2, "s": 700.0, "speed": 10.0,
                        "driver": {}},
            },
            "objects": {
                "ahead": {"lane": -2, "s": 720.0},
                "left": {"lane": -2, "s": 712.0, "offset": 4.0},
            },
            "sensors": sensors,
        },
        "participants": {
            "world": {
                "model": "carla_world",
                "period": "20ms",
                "parameters": {"dcp": {}, "traffic": 2},
                "outputs": outputs,
            },
        },
        **changes,
    }  # fmt: skip


def sensor_scenario(*names: str, **changes: Any) -> Scenario:
    """The scenario with all sensors, or with those that are named."""
    return make_scenario(sensor_data(names or tuple(SENSORS), **changes), "sensors")


def sensor_file(path: Path, **changes: Any) -> Path:
    """The scenario as a file."""
    path.write_text(yaml.safe_dump(sensor_data(**changes), sort_keys=False), encoding="utf-8")
    return path
