# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The picture of a run made from the records of its participants."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from ros2_cosim.core.kernel.participant import Sample
from ros2_cosim.core.kernel.sequential import SequentialScheduler
from ros2_cosim.core.kernel.time import SECOND
from ros2_cosim.core.messages.records import (
    Acceleration,
    CollisionEvent,
    ControlCommand,
    ObjectList,
    Odometry,
    RoadUser,
    RoadUsers,
    StaticObject,
    StaticObjects,
    V2VMessage,
)
from ros2_cosim.core.scenario.schema import load_scenario
from ros2_cosim.core.scenario.system import build_graph, build_model
from ros2_cosim.lab.web.records_view import Footprint, RecordsView
from ros2_cosim.world.map.frames import quaternion_from_yaw

PLATOON = Path(__file__).resolve().parents[2] / "config" / "platoon.yaml"


def pose(x: float, y: float, yaw: float, speed: float) -> Odometry:
    return Odometry(x, y, 0.0, *quaternion_from_yaw(yaw), speed, 0.0, 0.0, 0.0, 0.0, 0.0)


def by_name(picture: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    return {vehicle["name"]: vehicle for vehicle in picture["vehicles"]}


def test_the_picture_grows_with_what_is_heard() -> None:
    view = RecordsView({"ego": Footprint(1, 4.0, 2.0), "other": Footprint(2, 6.0, 2.0)})
    assert view.picture()["vehicles"] == []
    view.take("ego", pose(0.0, 0.0, 0.0, 7.0), 10)
    ego = by_name(view.picture())["ego"]
    assert (ego["speed"], ego["acceleration"], ego["throttle"], ego["gap"]) == (
        7.0,
        0.0,
        None,
        None,
    )
    view.take("other", pose(20.0, 0.0, 0.5, 3.0), 10)
    view.take("ego", Acceleration(1.5, -0.5, 0.0), 10)
    view.take("ego", ControlCommand(1.0, 0.25, 0.0, 0.1), 10)
    view.take("ego", ObjectList(()), 10)
    ego, other = (by_name(view.picture())[name] for name in ("ego", "other"))
    assert (ego["acceleration"], ego["lateral"], ego["throttle"]) == (1.5, -0.5, 0.25)
    # To the corner at the rear left of the other, 3 cos 0.5 + sin 0.5 before its centre.
    nearest = pytest.approx(18.0 - 3.0 * math.cos(0.5) - math.sin(0.5))
    assert (ego["ahead"], ego["gap"], ego["status"]) == ("other", nearest, "driven")
    assert other["yaw"] == pytest.approx(0.5)
    view.take("", StaticObjects((StaticObject(9, 3, 10.0, 0.0, 0.0, 0.0, 2.0, 3.0, 1.0),)), 0)
    view.take("", CollisionEvent(2, 77, 100.0), 10)
    picture = view.picture()
    assert (picture["objects"][0]["name"], by_name(picture)["ego"]["gap"]) == ("obstacle 9", 7.0)
    assert [v["status"] for v in picture["vehicles"]] == ["driven", "collided"]


def test_other_vehicles_are_shown_as_long_as_they_are_told() -> None:
    view = RecordsView({"ego": Footprint(1, 4.0, 2.0)})
    user = RoadUser(1001, 1, 30.0, 3.5, 0.0, 0.5, 8.0, 0.0, 4.7, 2.1, 1.5)
    view.take("", RoadUsers((user, user._replace(id=1002, x=60.0))), 0)
    assert [found["name"] for found in view.picture()["objects"]] == [
        "traffic 1001",
        "traffic 1002",
    ]
    view.take("", RoadUsers((user._replace(x=31.0),)), 10)
    (shown,) = view.picture()["objects"]
    assert (shown["name"], shown["x"]) == ("traffic 1001", 31.0)


def test_poses_of_one_time_are_shown_together() -> None:
    view = RecordsView({"a": Footprint(1, 4.0, 2.0), "b": Footprint(2, 4.0, 2.0)})

    def shown() -> dict[str, float]:
        return {name: vehicle["x"] for name, vehicle in by_name(view.picture()).items()}

    view.take("a", pose(0.0, 0.0, 0.0, 5.0), 0)
    assert shown() == {"a": 0.0}
    view.take("b", pose(10.0, 0.0, 0.0, 5.0), 0)
    assert shown() == {"a": 0.0, "b": 10.0}
    view.take("a", pose(1.0, 0.0, 0.0, 5.0), 1)
    view.take("a", pose(2.0, 0.0, 0.0, 5.0), 2)
    assert shown() == {"a": 0.0, "b": 10.0}
    view.take("b", pose(12.0, 0.0, 0.0, 5.0), 2)
    assert shown() == {"a": 2.0, "b": 12.0}
    # One that falls silent does not hold the other for ever.
    for time in range(3, 153):
        view.take("a", pose(float(time), 0.0, 0.0, 5.0), time)
    assert shown() == {"a": 152.0, "b": 12.0}
    # A run that begins anew is shown from its start.
    view.take("a", pose(7.0, 0.0, 0.0, 5.0), 10**10)
    view.take("a", pose(1.0, 0.0, 0.0, 5.0), 0)
    assert shown() == {"a": 1.0}


def told(sender: int, generated: int) -> V2VMessage:
    return V2VMessage(sender, generated, 0.0, 0.0, 5.0, 0.0, 0.0, 4.0, False)


def test_messages_between_vehicles_are_links_with_an_age() -> None:
    view = RecordsView({"a": Footprint(1, 4.0, 2.0), "b": Footprint(2, 4.0, 2.0)})
    view.take("b", told(1, SECOND // 10), SECOND // 5)
    assert view.picture()["links"] == []  # nothing is known of where they are
    for stamp in (0, SECOND):
        view.take("a", pose(0.0, 0.0, 0.0, 5.0), stamp)
        view.take("b", pose(20.0, 0.0, 0.0, 5.0), stamp)
    (link,) = view.picture()["links"]
    assert link == {"sender": "a", "receiver": "b", "age": pytest.approx(0.9)}
    view.take("b", told(77, SECOND), SECOND)  # of a sender that is not shown
    view.take("nowhere", told(1, SECOND), SECOND)
    view.take("b", told(1, SECOND), SECOND)
    assert [link["age"] for link in view.picture()["links"]] == [0.0]


def test_the_platoon_can_be_watched() -> None:
    scenario = load_scenario(PLATOON)
    sizes = scenario.scene["vehicles"]
    view = RecordsView({n: Footprint(v["id"], v["length"], v["width"]) for n, v in sizes.items()})
    graph = build_graph(scenario)
    ports = {name: spec.outputs for name, spec in graph.participants.items()}

    def observe(participant: str, port: int, sample: Sample, data: bytes) -> None:
        vehicle = ports[participant][port].name.partition("/")[2]
        view.take(vehicle, sample.value, sample.stamp)

    models = {name: build_model(scenario, name, "inproc") for name in graph.order}
    scheduler = SequentialScheduler(
        graph, models, stop_latency_ns=scenario.stop_latency, observer=observe
    )
    scheduler.run(12_000_000_000, scenario.duration)
    for model in models.values():
        getattr(model, "close", lambda: None)()
    picture = view.picture()
    assert [v["name"] for v in picture["vehicles"]] == list(sizes)
    vehicles = by_name(picture)
    assert vehicles["follower1"]["ahead"] == "leader"
    assert 2.0 < vehicles["follower1"]["gap"] < 40.0
    assert vehicles["leader"]["ahead"] in {box["name"] for box in picture["objects"]}
    assert 0.0 < vehicles["leader"]["gap"] < 150.0
    assert all(vehicle["speed"] > 1.0 for vehicle in vehicles.values())


def test_a_late_page_learns_what_was_before() -> None:
    view = RecordsView({"a": Footprint(1, 4.0, 2.0), "b": Footprint(2, 4.0, 2.0)})
    for number in range(5000):  # 50 s
        stamp = number * SECOND // 100
        for name, x in (("a", 0.0), ("b", 20.0)):
            view.take(name, pose(x, 0.0, 0.0, number / 100), stamp)
    past = view.history()
    assert list(past) == ["a", "b"]
    assert [row[0] for row in past["a"]] == pytest.approx([0.1 * n for n in range(500)])
    assert past["a"][-1] == (49.9, 49.9, 16.0, 0.0, 0.0, 0.0, 0.0, None)
    assert past["b"][-1] == (49.9, 49.9, None, 0.0, 20.0, 0.0, 0.0, None)
    view.take("a", pose(0.0, 0.0, 0.0, 1.0), 0)  # the run has begun anew
    view.take("b", pose(20.0, 0.0, 0.0, 1.0), 0)
    assert [row[0] for row in view.history()["a"]] == [0.0]
