# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The curves of a run out of its bag: each field where it belongs, in the units of its chart."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from record.conftest import write_bag

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.messages.records import (
    Acceleration,
    CollisionEvent,
    ControlCommand,
    ControllerStatus,
    DetectedObject,
    ObjectList,
    Odometry,
    PlatoonStatus,
    V2VMessage,
)
from ros2_cosim.lab.report.driving_measures import Intended, Policy
from ros2_cosim.lab.report.report_data import (
    RunData,
    _status,
    load_activations,
    load_run,
    stamps_between,
)

#: A quarter turn to the left.
LEFT = (0.0, 0.0, math.sqrt(0.5), math.sqrt(0.5))


def odometry(x: float, y: float, vx: float, q: tuple[float, ...] = (0.0, 0.0, 0.0, 1.0)) -> Any:
    return Odometry(x, y, 0.0, *q, vx, 0.0, 0.0, 0.0, 0.0, 0.0)


def seen(*distances: float) -> ObjectList:
    return ObjectList(
        tuple(DetectedObject(n, 1, d, 0.0, 0.0, 4.5, 1.8, 1.0) for n, d in enumerate(distances))
    )


def loaded(tmp_path: Path, *messages: tuple[str, int, Any]) -> RunData:
    write_bag(tmp_path / "bag", iter(messages))
    return load_run(tmp_path)


def points(series: Any) -> list[tuple[float, float]]:
    return list(zip(series.times, series.values, strict=True))


def test_each_record_gives_its_curves(tmp_path: Path) -> None:
    data = loaded(
        tmp_path,
        ("/a/control", 0, ControlCommand(-1.5, 0.25, 0.75, 0.0)),
        ("/a/objects", 0, seen(30.0, 12.5, 40.0)),
        ("/a/odometry", 0, odometry(0.0, 0.0, 10.0)),
        ("/a/status", 0, ControllerStatus(2, 0.8, -0.125, 0.06, 0.1)),
        ("/a/acceleration", 500, Acceleration(2.0, 7.0, 7.0)),
        ("/a/odometry", 500, odometry(5.0, 0.0, 14.0)),
        ("/v2v/b_to_a", 500, V2VMessage(1, 480_000_000, 0, 0, 0, 0, 0, 4.5, False)),
        ("/a/objects", 1000, seen()),
    )
    assert points(data.command["a"]) == [(0.0, -1.5)]
    assert points(data.pedals["a"]) == [(0.0, -0.5)]
    assert points(data.speed["a"]) == [(0.0, 10.0), (0.5, 14.0)]
    # Half a second at 12 m/s on average.
    assert points(data.way["a"]) == [(0.0, 0.0), (0.5, pytest.approx(6.0))]
    assert points(data.acceleration["a"]) == [(0.5, 2.0)]
    assert points(data.mode["a"]) == [(0.0, 2.0)]
    assert points(data.heard["a"]) == [(0.0, 60.0)]
    assert points(data.known_error["a"]) == [(0.0, -0.125)]
    assert points(data.kept_time_gap["a"]) == [(0.0, 0.8)]
    assert points(data.distance["a"])[0] == (0.0, 12.5)
    assert data.distance["a"].times[1] == 1.0 and math.isnan(data.distance["a"].values[1])
    assert points(data.latency["b_to_a"]) == [(0.5, pytest.approx(20.0))]
    assert data.end == 1.0
    name, events = data.topics["/a/odometry"]
    assert (name, events.count, events.times) == ("nav_msgs/msg/Odometry", 2, [0.0, 0.5])


def test_gaps_of_the_platoon_are_numbered_from_the_front(tmp_path: Path) -> None:
    data = loaded(
        tmp_path,
        ("/platoon_status", 0, PlatoonStatus(100.0, 0, False, (7.0,), (10.0, 11.0))),
        ("/platoon_status", 100, PlatoonStatus(99.0, 0, False, (6.0, 8.0), (10.0, 11.0, 12.0))),
    )
    assert points(data.obstacle_gap) == [(0.0, 100.0), (0.1, 99.0)]
    assert [points(gap) for gap in data.gaps] == [[(0.0, 7.0), (0.1, 6.0)], [(0.1, 8.0)]]
    # No scenario says which time gap the vehicles keep.
    assert [points(error) for error in data.time_gap_error] == [[], []]


def test_collisions_are_counted_and_the_first_is_kept(tmp_path: Path) -> None:
    data = loaded(
        tmp_path,
        ("/collisions", 200, CollisionEvent(1, 2, 50.0)),
        ("/collisions", 300, CollisionEvent(2, 3, 60.0)),
    )
    assert data.collisions == 2
    assert data.first_collision == (0.2, CollisionEvent(1, 2, 50.0))


def test_the_vehicle_in_front_is_first_whatever_its_heading(tmp_path: Path) -> None:
    """All drive to the north: ``c`` is 30 m ahead of ``a``, which is 10 m ahead of ``b``."""
    data = loaded(
        tmp_path,
        ("/a/odometry", 0, odometry(50.0, 10.0, 1.0, LEFT)),
        ("/b/odometry", 0, odometry(90.0, 0.0, 1.0, LEFT)),
        ("/c/odometry", 0, odometry(0.0, 40.0, 1.0, LEFT)),
        # Later places do not count.
        ("/b/odometry", 100, odometry(90.0, 500.0, 1.0, LEFT)),
    )
    assert data.vehicles == ["c", "a", "b"]
    assert [data.start_way(name) for name in "abc"] == pytest.approx([10.0, 0.0, 40.0])


def test_a_run_without_vehicles_has_none(tmp_path: Path) -> None:
    data = loaded(tmp_path, ("/x", 70, ControlCommand(0.0, 0.0, 0.0, 0.0)))
    assert (data.vehicles, data.end) == ([], 0.07)
    assert RunData().end == 0.0
    assert RunData(activations={"a": [0.5, 2.0], "b": []}).end == 2.0


def test_the_stamps_of_a_stretch_include_both_ends(tmp_path: Path) -> None:
    command = ControlCommand(0.0, 0.0, 0.0, 0.0)
    loaded(tmp_path, *(("/x", ms, command) for ms in range(0, 1000, 250)), ("/y", 800, command))
    found = stamps_between(tmp_path, 0.25, 0.75)
    assert found == {"/x": [0.25, 0.5, 0.75]}


def test_activations_come_as_seconds_from_their_file(tmp_path: Path) -> None:
    path = tmp_path / "activations.json"
    assert load_activations(path) == {}
    path.write_text(json.dumps({"a": [0, 10_000_000], "b": []}))
    assert load_activations(path) == {"a": [0, 10_000_000], "b": []}
    for bad in ("[]", '{"a": 5}', '{"a": ["x"]}', "{"):
        path.write_text(bad)
        with pytest.raises(ConfigurationError, match="not a table of activation times"):
            load_activations(path)


def test_a_time_gap_is_judged_by_the_policy_of_the_vehicle_behind_the_gap() -> None:
    """(gap - standstill gap) / speed - time gap; the third vehicle has no policy."""
    policies = {"a": Policy(9.0, 9.0), "b": Policy(2.0, 0.5), "d": Policy(1.0, 1.0)}
    data = RunData(intended=Intended(("a", "b", "c", "d"), policies))
    # Of the last vehicle the first message has no speed; a fifth is not of the platoon.
    for time, speeds in ((0.0, (20.0, 10.0, 5.0)), (0.1, (20.0, 10.0, 5.0, 4.0, 3.0))):
        _status(data, ["platoon_status"], time, PlatoonStatus(50.0, 0, False, (8.0,) * 4, speeds))
    errors = [points(error) for error in data.time_gap_error]
    assert errors == [
        [(0.0, pytest.approx(0.1)), (0.1, pytest.approx(0.1))],
        [],
        [(0.1, pytest.approx(0.75))],
        [],
    ]
    assert [len(gap.times) for gap in data.gaps] == [2, 2, 2, 2]
