# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The section ``scene``: one reader, strict values, faults that name their place."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.participant import ModelContext
from ros2_cosim.core.scene.scene import scene_settings

PLATOON = Path(__file__).parents[2] / "config" / "platoon.yaml"


def read(scene: dict[str, Any]) -> Any:
    return scene_settings(ModelContext("world", {}, scene, 1, Path(".")))


def test_the_scene_of_the_platoon() -> None:
    scene = read(yaml.safe_load(PLATOON.read_text(encoding="utf-8"))["scene"])
    assert scene.map == "highway.xodr"
    assert [scene.identity(name) for name in scene.vehicles] == [1, 2, 3]
    assert scene.vehicles["leader"].driver.stop_gap == 7.0
    assert scene.vehicles["follower1"].driver is None
    assert scene.roadblock.count == 3
    assert scene.platoon == ("leader", "follower1", "follower2")


def test_what_is_left_out_has_defaults() -> None:
    scene = read({"vehicles": {"a": {}, "b": {"id": 7}}, "objects": None})
    assert [scene.identity(name) for name in "ab"] == [1, 7]
    assert (scene.objects, scene.roadblock) == ({}, None)
    scene.require_vehicle("a", "here")
    with pytest.raises(ConfigurationError, match=r"^here: found vehicle 'c'; allowed are a, b$"):
        scene.require_vehicle("c", "here")


@pytest.mark.parametrize(
    ("scene", "text"),
    [
        ({"roadblok": {}}, "scene.roadblok: unknown key; did you mean 'roadblock'?"),
        ({"roadblock": {"lane": 1, "s": 5.0, "count": -1}}, "scene.roadblock.count: found -1"),
        ({"roadblock": {"s": 5.0}}, "scene.roadblock.lane: missing"),
        ({"vehicles": {"a": {"length": 0}}}, "scene.vehicles.a.length: found 0"),
        ({"vehicles": {"a": {"length": "4"}}}, "scene.vehicles.a.length: found '4'"),
        ({"vehicles": {"a": {"length": True}}}, "scene.vehicles.a.length: found true"),
        ({"vehicles": {"a": {"speed": float("inf")}}}, "scene.vehicles.a.speed: found inf"),
        ({"vehicles": {"a": {"speed": 101}}}, "scene.vehicles.a.speed: found 101"),
        ({"vehicles": {"a": {"lane": 1.5}}}, "scene.vehicles.a.lane: found 1.5"),
        ({"vehicles": {"a": {"blueprint": "static.x"}}}, "scene.vehicles.a.blueprint: found"),
        ({"vehicles": {"a": {"driver": {"stopgap": 1}}}}, "scene.vehicles.a.driver.stopgap: unkn"),
        ({"vehicles": ["a"]}, "scene.vehicles: found ['a']; allowed is a mapping"),
        ({"objects": {"o": {"lane": 1}}}, "scene.objects.o.s: missing"),
        ({"vehicles": {"a": {}}, "platoon": ["b"]}, "scene.platoon.0: found vehicle 'b'"),
    ],
)
def test_wrong_scenes_are_refused_at_their_place(scene: dict[str, Any], text: str) -> None:
    with pytest.raises(ConfigurationError, match="^" + re.escape(text)):
        read(scene)
