# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Scenarios with a foreign node, and the same ones with a model in its place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]
NODES = Path(__file__).resolve().parent / "ros_nodes"
FLOAT = "std_msgs/msg/Float64"

Data = dict[str, Any]


def source(topic: str, period: str, offset: str = "0ms", factor: float = 1.0) -> Data:
    """A participant that counts."""
    return {
        "model": "support.gate_models:Source",
        "period": period,
        "offset": offset,
        "parameters": {"factor": factor},
        "outputs": {"number": {"type": FLOAT, "topic": topic}},
    }


def foreign(script: str, **settings: Any) -> Data:
    """The part of a participant that makes it one of the nodes under test."""
    parameters = {"script": str(NODES / script), **settings}
    return {"model": "foreign_node", "parameters": parameters}


def relay(
    node: Data | None = None, duration: str = "1s", script: str = "relay_node.py", **settings: Any
) -> Data:
    """source -> node -> sink; the node has one input and one output.

    :param node: model in the place of the foreign node
    """
    tied = {"inputs": {"number": "number"}, "outputs": {"sum": "sum"}}
    return {
        "name": "relay",
        "duration": duration,
        "participants": {
            "source": source("/number", "10ms"),
            "relay": {
                **(node or foreign(script, **{**tied, **settings})),
                "activation": {"any": ["number"]},
                "inputs": {"number": "source.number"},
                "outputs": {"sum": {"type": FLOAT, "topic": "/sum"}},
            },
            "sink": {
                "model": "support.gate_models:Sink",
                "activation": {"any": ["sum"]},
                "inputs": {"sum": "relay.sum"},
                "outputs": {"half": {"type": FLOAT, "topic": "/half"}},
            },
        },
    }


def composed(node: Data | None = None, duration: str = "1s", **settings: Any) -> Data:
    """A relay that is two nodes of one process: one sends to the other."""
    data = relay(
        node,
        duration,
        script="composed_node.py",
        outputs={"sum": "sum", "passed": "passed"},
        **settings,
    )
    data["participants"]["relay"]["outputs"]["passed"] = {"type": FLOAT, "topic": "/passed"}
    return data


def polling(kind: str, duration: str = "200ms", **settings: Any) -> Data:
    """A relay that may publish any number of messages, and does so on its own account.

    :param kind: loop, or timer
    """
    data = relay(
        duration=duration,
        script="polling_node.py",
        arguments=[kind],
        outputs={"sum": {"topic": "sum", "expect": "any", "take": "last"}},
        ros_parameters={"kind": kind},
        **settings,
    )
    data["participants"]["relay"]["outputs"]["sum"]["schedule"] = "sparse"
    return data


def fold(node: Data | None = None, duration: str = "1s", **settings: Any) -> Data:
    """Two sources of different rates; an activation delivers several samples of both."""
    tied = {
        "inputs": {"add": "add", "take": "take"},
        "outputs": {"state": {"topic": "state", "expect": "any", "take": "last"}},
    }
    return {
        "name": "fold",
        "duration": duration,
        "participants": {
            "a": source("/a", "10ms"),
            "b": source("/b", "30ms", "5ms", 0.3),
            "fold": {
                **(node or foreign("fold_node.py", **tied, **settings)),
                "activation": {"all": ["add", "take"]},
                "inputs": {"add": "a.number", "take": "b.number"},
                "outputs": {"state": {"type": FLOAT, "topic": "/state", "schedule": "sparse"}},
            },
        },
    }


def transforms() -> Data:
    """The participants of a node that reads ``/tf``, and of what sends it."""
    tied = {"inputs": {"tf": "/tf"}, "outputs": {"sum": "sum"}}
    return {
        "moving": {
            "model": "support.seam_models:Demand",
            "period": "20ms",
            "parameters": {"fields": {}},
            "outputs": {"demand": {"type": "tf2_msgs/msg/TFMessage", "topic": "/tf"}},
        },
        "listener": {
            **foreign("tf_node.py", **tied),
            "activation": {"any": ["tf"]},
            "inputs": {"tf": "moving.demand"},
            "outputs": {"sum": {"type": FLOAT, "topic": "/transforms/sum"}},
        },
    }


def timer(duration: str = "1s", **output: Any) -> Data:
    """A node whose simulated-time timer publishes every 20 ms what it read last."""
    settings = {
        "use_sim_time": True,
        "inputs": {"number": "number"},
        "outputs": {"point": {"topic": "~/point", **output}},
    }
    return {
        "name": "timer",
        "duration": duration,
        "participants": {
            "source": source("/number", "10ms"),
            "timer": {
                **foreign("timer_node.py", **settings),
                "period": "20ms",
                "offset": "40ms",
                "inputs": {"number": "source.number"},
                "outputs": {"point": {"type": "geometry_msgs/msg/PointStamped", "topic": "/point"}},
            },
        },
    }


def platoon(duration: str) -> Data:
    """The platoon with an unmodified cruise control as controller of the last vehicle."""
    data: Data = yaml.safe_load((ROOT / "config" / "platoon.yaml").read_text(encoding="utf-8"))
    data["base_directory"] = str(ROOT / "config")
    data["duration"] = duration
    participants = data["participants"]
    del participants["cacc2"]
    participants["acc2"] = {
        **foreign(
            "acc_node.py",
            inputs={"ego": "ego", "front": "front"},
            outputs={"demand": {"topic": "demand", "stamp": "header"}},
            ros_parameters={"time_gap": 0.8},
        ),
        "activation": {"any": ["ego"]},
        "inputs": {"ego": "world.odometry/follower2", "front": "world.odometry/follower1"},
        "outputs": {
            "demand": {"type": "geometry_msgs/msg/AccelStamped", "topic": "/follower2/demand"}
        },
    }
    participants["pedals2"] = {
        "model": "support.gate_models:Pedals",
        "activation": {"any": ["demand"]},
        "inputs": {"demand": "acc2.demand", "odometry": "world.odometry/follower2"},
        "outputs": {
            "control": {"type": "ros2_cosim/msg/ControlCommand", "topic": "/follower2/control"}
        },
    }
    participants["world"]["inputs"]["control/follower2"] = {
        "from": "pedals2.control",
        "delayed": True,
    }
    return data
