# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The services of CARLA's ROS bridge: names, requests, answers; without their package."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from ros2_cosim.core.scene.scene import read_scene
from ros2_cosim.driving.ros_bridge.ros_bridge_objects import BridgeObjects
from ros2_cosim.ros.node.bridge_services import BridgeServices


class Node:
    """Keeps what would be offered, and what is logged."""

    def __init__(self) -> None:
        self.offered: dict[str, tuple[Any, Callable[[Any, Any], Any], Any]] = {}
        self.warnings: list[str] = []
        self.sent: list[Any] = []

    def get_namespace(self) -> str:
        return "/"

    def create_service(self, kind: Any, name: str, take: Callable[[Any, Any], Any]) -> Any:
        service = SimpleNamespace(send_response=lambda response, header: self.sent.append(response))
        self.offered[name] = kind, take, service
        return service

    def get_logger(self) -> Any:
        return SimpleNamespace(warning=self.warnings.append)

    def ask(self, name: str, **fields: Any) -> Any:
        """What an executor does with a request."""
        _, take, service = self.offered[name]
        response = SimpleNamespace()
        service.send_response(take(SimpleNamespace(**fields), response), "header")
        return self.sent.pop()


@pytest.fixture
def node(monkeypatch: pytest.MonkeyPatch) -> Node:
    package, services = ModuleType("carla_msgs"), ModuleType("carla_msgs.srv")
    for name in ("SpawnObject", "DestroyObject", "GetBlueprints"):
        setattr(services, name, name)
    setattr(package, "srv", services)  # noqa: B010 - a module of a test
    monkeypatch.setitem(sys.modules, "carla_msgs", package)
    monkeypatch.setitem(sys.modules, "carla_msgs.srv", services)
    made: Any = Node()
    objects = BridgeObjects(read_scene({"vehicles": {"ego": {}}}), ("ego",), ())
    BridgeServices(made, objects)
    found: Node = made
    return found


def test_services_have_the_names_and_types_of_the_bridge(node: Node) -> None:
    assert {name: kind for name, (kind, _, _) in node.offered.items()} == {
        "/carla/spawn_object": "SpawnObject",
        "/carla/destroy_object": "DestroyObject",
        "/carla/get_blueprints": "GetBlueprints",
    }


def test_a_vehicle_of_the_scenario_is_found_and_another_one_refused(node: Node) -> None:
    asked = {"type": "vehicle.*", "attach_to": 0}
    found = node.ask("/carla/spawn_object", id="ego", **asked)
    assert (found.id, found.error_string) == (1, "")
    refused = node.ask("/carla/spawn_object", id="hero", **asked)
    assert refused.id == -1 and "allowed are those of the scenario, ego" in refused.error_string
    assert "vehicle.tesla.model3" in node.ask("/carla/get_blueprints", filter="").blueprints


def test_nothing_is_destroyed_and_the_log_says_why(node: Node) -> None:
    assert node.ask("/carla/destroy_object", id=1).success is False
    assert "found 1; no object can be destroyed while a run goes on" in node.warnings[0]


def test_a_run_without_topics_of_the_bridge_offers_none() -> None:
    node: Any = Node()
    assert BridgeServices.offer(node, None) is None and not node.offered
